/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c - see columns.h.
 *
 *     blocks of a store --block_groups--> one lane per group --fold--> floats of the current block
 *     rows of all lanes in order of time --sweepgrid--> sweeps of a batch
 *
 * A lane is one group of one recorder: its blocks one after the other, the current one decoded to
 * floats. Rows of all lanes are taken in order of time. The sweep that each row belongs to is
 * noted, and ranges of rows are copied when a block or a batch ends.
 *
 * Why every row is copied once, into the right sweep:
 *
 * - lane->row only grows, and a row gets its number in the batch (lane->to) in the same call.
 * - Rows [first, row) of a lane are numbered and not copied. A block is replaced, and a batch is
 *   handed out, only after they were copied. So numbers of a batch never outlive it.
 * - Numbers of a lane only grow within a batch, because rows are taken in order of time. */
#include "query/columns.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "query/block_cursor.h"
#include "query/reduce.h"
#include "record/record.h"
#include "store/column.h"

/* ---- what is read ---- */

enum { BATCH = 4096 };

/* The series of a store that an ask consists of, in the order in which they were first recorded. */
struct column_source {
    const struct store_series **v;
    size_t n;
    enum fold fold;
};

struct column_lane {
    struct block_group group;
    uint32_t next_block;
    uint32_t rows, row; /* of the current block; the next one to take */
    uint32_t first;     /* of the rows that have a sweep and are not copied yet */
    int64_t *times;     /* us */
    int64_t period_us;
    float **v;    /* by ask; NULL: not allocated yet */
    bool *has;    /* by ask: it is in this block */
    uint32_t *to; /* by row: its sweep in the batch */
    uint32_t cap; /* rows that there is room for */
};

struct column_room {
    wall_ns at[BATCH];
    float **batch;   /* by ask */
    const float **v; /* the same, or NULL where the node never had it */
};

struct columns {
    const struct run *run;
    const char *node;
    const struct column_ask *asks;
    size_t n_asks;
    struct fold_room room;
    struct column *heads; /* of a block, where the store does not cache them */
    const struct column **list;
    uint32_t cap_heads;
    size_t session;                 /* in run_info.nodes; the next to open */
    bool times_only;                /* no values are needed */
    bool follows, passed;           /* columns_follow was called; the last final sweep is read */
    wall_ns until;                  /* of columns_follow */
    const struct columns_place *at; /* while its session is being opened */
    int64_t limit_us;               /* sweeps that begin after it are not final */
    struct columns_place *place;    /* where those begin; NULL: not reached */

    struct arena arena; /* of what follows: the session being read */
    const struct store *store;
    struct column_source *sources; /* by ask */
    struct column_lane *lanes;
    size_t n_lanes;
    struct sweepgrid grid;
    int64_t period_us; /* the shortest of the lanes now */

    struct column_room rooms[2]; /* in turns: the batch before stays valid while the next is made */
    struct column_room *now;
    size_t n;         /* sweeps of it */
    uint32_t *filled; /* by ask: sweeps of the batch that have a value or NAN */
    bool *ever;       /* by ask: the node had it */
};

/* ---- which series an ask is made of ---- */

static bool column_is_total(const struct store_series *s)
{
    return strcmp(s->entity, ENTITY_TOTAL) == 0;
}

static enum fold column_fold_of(const struct store *s, const struct column_ask *ask)
{
    if (ask->which == COLUMN_PEAK)
        return FOLD_MAX;
    if (ask->which != COLUMN_TOTAL)
        return FOLD_NONE;
    for (uint32_t i = 0; i < s->n_series; i++)
        if (strcmp(s->series[i].metric, ask->metric) == 0 && column_is_total(&s->series[i]))
            return FOLD_NONE;
    const enum metric_id m = metric_find(ask->metric);
    return m < METRIC_N && metrics[m].unit == UNIT_PERCENT ? FOLD_MEAN : FOLD_SUM;
}

static bool column_is_wanted(const struct column_ask *ask, enum fold fold,
                             const struct store_series *s)
{
    if (strcmp(ask->metric, s->metric) != 0)
        return false;
    switch (ask->which) {
    case COLUMN_ENTITY:
        return strcmp(ask->entity, s->entity) == 0;
    case COLUMN_TOTAL:
        return column_is_total(s) == (fold == FOLD_NONE);
    case COLUMN_PEAK:
        return !column_is_total(s);
    default:
        return true;
    }
}

static struct column_source column_source_of(const struct store *s, const struct column_ask *ask,
                                             struct arena *a)
{
    struct column_source out = {.fold = column_fold_of(s, ask)};
    const size_t most = ask->which == COLUMN_ONLY ? 1 : s->n_series;
    size_t cap = 0;
    for (uint32_t i = 0; i < s->n_series && out.n < most; i++)
        if (column_is_wanted(ask, out.fold, &s->series[i]))
            *ARENA_ADD(a, out.v, out.n, cap) = &s->series[i];
    return out;
}

/* By block: whether an ask needs anything in it. Times of the others are not read. */
static bool *columns_used_blocks(struct columns *c)
{
    bool *used = arena_array(&c->arena, bool, c->store->n_blocks + 1);
    for (size_t k = 0; k < c->n_asks; k++)
        for (size_t i = 0; i < c->sources[k].n; i++)
            for (uint32_t r = 0; r < c->sources[k].v[i]->n_refs; r++)
                used[c->sources[k].v[i]->refs[r].block] = true;
    return used;
}

/* ---- lanes ---- */

static void lane_fit(struct columns *c, struct column_lane *l, uint32_t rows)
{
    l->rows = rows;
    if (rows <= l->cap)
        return;
    l->cap = rows;
    l->times = xrealloc(l->times, rows, sizeof *l->times);
    l->to = xrealloc(l->to, rows, sizeof *l->to);
    for (size_t k = 0; k < c->n_asks; k++) {
        free(l->v[k]);
        l->v[k] = NULL;
    }
}

/* The columns of a source in a block, in their order there, into c->list; returns how many. */
static size_t columns_list(struct columns *c, const struct column_source *from, uint32_t block,
                           const struct column *all)
{
    const uint32_t n_columns = c->store->blocks[block].n_columns;
    size_t n = 0;
    for (size_t i = 0; i < from->n; i++) {
        const struct store_series *s = from->v[i];
        for (size_t r = series_first_ref(s, block); r < s->n_refs && s->refs[r].block == block;
             r++) {
            const struct column *column = &all[s->refs[r].column];
            assert(s->refs[r].column < n_columns && n < n_columns);
            size_t at = n++;
            for (; at > 0 && c->list[at - 1] > column; at--)
                c->list[at] = c->list[at - 1];
            c->list[at] = column;
        }
    }
    return n;
}

static void lane_fill(struct columns *c, struct column_lane *l, uint32_t block)
{
    const struct rows_block *b = &c->store->blocks[block];
    if (b->n_columns > c->cap_heads) {
        c->cap_heads = b->n_columns;
        c->heads = xrealloc(c->heads, c->cap_heads, sizeof *c->heads);
        c->list = xrealloc(c->list, c->cap_heads, sizeof *c->list);
    }
    const struct column *all = block_columns_once(b, c->heads);
    for (size_t k = 0; k < c->n_asks; k++) {
        const size_t n = columns_list(c, &c->sources[k], block, all);
        l->has[k] = n > 0;
        if (n == 0)
            continue;
        if (!l->v[k])
            l->v[k] = xmalloc(l->cap * sizeof(float));
        const struct fold_parts parts = {b, c->list, n, c->sources[k].fold};
        fold_columns(&c->room, &parts, l->v[k]);
    }
}

/* The next block whose times can be read becomes the current one; without one row == rows. */
static void lane_load(struct columns *c, struct column_lane *l)
{
    assert(l->first == l->row); /* nothing of the block before is left to copy */
    l->rows = l->row = l->first = 0;
    while (l->next_block < l->group.n && l->rows == 0) {
        const uint32_t block = l->group.blocks[l->next_block++];
        const struct rows_block *b = &c->store->blocks[block];
        lane_fit(c, l, b->rows);
        l->period_us = MAX_OF(b->period_ns / NS_PER_US, 1);
        if (!store_times(c->room.scan.codec, b, l->times))
            l->rows = 0;
        else if (!c->times_only)
            lane_fill(c, l, block);
    }
}

static void columns_close_session(struct columns *c)
{
    for (size_t i = 0; i < c->n_lanes; i++) {
        struct column_lane *l = &c->lanes[i];
        for (size_t k = 0; k < c->n_asks; k++)
            free(l->v[k]);
        free(l->times);
        free(l->to);
    }
    arena_free(&c->arena);
    c->store = NULL;
    c->n_lanes = 0;
}

/* ---- what is final ----
 *
 * Why sweeps that begin at or before the limit are final:
 *
 * - Rows of a group are sealed in order of time. A group that is still read gets no more rows
 *   before its last sealed one, so all rows before the earliest of those (H) are there.
 * - A row belongs to a sweep that began less than a period before it (columns.h). Sweeps that
 *   begin a period before H, or earlier, therefore have all their rows, and these are sealed.
 * - Sealed blocks do not change, and blocks of a group are numbered in order of time. A place, the
 *   block and the row of every group, stays what it is.
 * - Groups that are not read any more do not count for H. When one comes back, when a new group, a
 *   new series of an ask or a new session appears, or when the clock was set, columns_follow
 *   refuses the place: all of these may change how earlier rows are read. */

enum { GROUP_GONE_US = 60 * 1000 * 1000 }; /* it is not read any more */

struct columns_place {
    size_t session, sessions; /* the one that it is in, in run_info.nodes; of the node */
    uint64_t sources;         /* a hash of the series that asks are made of */
    uint32_t clock_steps;
    size_t n_lanes;
    struct {
        uint32_t block, row; /* of the group; the next to take */
        bool gone;
    } lanes[];
};

/* Of all sessions up to the one that is open. */
static uint64_t columns_sources_hash(struct columns *c)
{
    const struct run_info *info = &c->run->info;
    struct arena scratch = {0};
    uint64_t h = HASH_BEGIN;
    for (size_t i = 0; i < info->n_nodes; i++)
        for (size_t k = 0; k < c->n_asks && c->run->stores[i]; k++) {
            if (strcmp(info->nodes[i].id, c->node) != 0)
                continue;
            const struct column_source s =
                c->run->stores[i] == c->store
                    ? c->sources[k]
                    : column_source_of(c->run->stores[i], &c->asks[k], &scratch);
            h = hash_more(h, &s.fold, sizeof s.fold);
            h = hash_more(h, &s.n, sizeof s.n);
            for (size_t x = 0; x < s.n; x++)
                h = hash_more(h, s.v[x]->entity, strlen(s.v[x]->entity) + 1);
        }
    arena_free(&scratch);
    return h;
}

static size_t columns_count_sessions(const struct columns *c)
{
    return SUM_OF(i, c->run->info.n_nodes, strcmp(c->run->info.nodes[i].id, c->node) == 0);
}

/* Where its sealed rows end; INT64_MIN: it has none. */
static int64_t lane_sealed_us(const struct columns *c, const struct column_lane *l)
{
    int64_t end = INT64_MIN;
    for (uint32_t i = 0; i < l->group.n; i++) {
        const struct rows_block *b = &c->store->blocks[l->group.blocks[i]];
        if (b->in_tail)
            break;
        end = b->t_last_us;
    }
    return end;
}

static bool lane_is_gone(const struct columns *c, const struct column_lane *l)
{
    const struct rows_block *last = &c->store->blocks[l->group.blocks[l->group.n - 1]];
    const int64_t most_us = MAX_OF(3 * (last->period_ns / NS_PER_US), (int64_t)GROUP_GONE_US);
    return c->store->t_last_us - last->t_last_us > most_us;
}

/* Of the session that is open: the last one of a node may grow. */
static int64_t columns_limit_us(const struct columns *c)
{
    const struct run_info *info = &c->run->info;
    int64_t sealed = INT64_MAX, period_us = 1;
    for (size_t i = c->session; i < info->n_nodes; i++)
        if (strcmp(info->nodes[i].id, c->node) == 0)
            return INT64_MAX;
    for (const struct column_lane *l = c->lanes; l < c->lanes + c->n_lanes; l++) {
        for (uint32_t i = 0; i < l->group.n; i++)
            period_us =
                MAX_OF(period_us, c->store->blocks[l->group.blocks[i]].period_ns / NS_PER_US);
        if (!lane_is_gone(c, l))
            sealed = MIN_OF(sealed, lane_sealed_us(c, l));
    }
    if (sealed == INT64_MIN || sealed == INT64_MAX)
        return INT64_MIN;
    const int64_t until = c->until.ns ? store_mono_us(c->store, c->until) - 1 : INT64_MAX;
    return MIN_OF(sealed - period_us, until);
}

/* The next row of every lane. */
static struct columns_place *columns_here(struct columns *c)
{
    struct columns_place *p = xcalloc(1, sizeof *p + c->n_lanes * sizeof p->lanes[0]);
    p->session = c->session - 1;
    p->sessions = columns_count_sessions(c);
    p->sources = columns_sources_hash(c);
    p->clock_steps = c->store->n_steps;
    p->n_lanes = c->n_lanes;
    for (size_t i = 0; i < c->n_lanes; i++) {
        const struct column_lane *l = &c->lanes[i];
        const bool inside = l->row < l->rows;
        p->lanes[i].block = inside ? l->next_block - 1 : l->next_block;
        p->lanes[i].row = inside ? l->row : 0;
        p->lanes[i].gone = lane_is_gone(c, l);
    }
    return p;
}

struct columns_place *columns_place(const struct columns *c)
{
    if (!c->place)
        return NULL;
    const size_t bytes = sizeof *c->place + c->place->n_lanes * sizeof c->place->lanes[0];
    return memcpy(xmalloc(bytes), c->place, bytes);
}

/* Whether the open session is the one of the place, and its files have not changed. */
static bool columns_fit(struct columns *c, const struct columns_place *p)
{
    bool fit = p->sessions == columns_count_sessions(c) && p->n_lanes == c->n_lanes &&
               p->clock_steps == c->store->n_steps && p->sources == columns_sources_hash(c);
    for (size_t i = 0; fit && i < p->n_lanes; i++) {
        const struct column_lane *l = &c->lanes[i];
        fit = p->lanes[i].block <= l->group.n &&
              (!p->lanes[i].gone || p->lanes[i].block == l->group.n);
    }
    return fit;
}

/* False: the block of the place cannot be read any more: it is damaged, or its space was given back
 * because another machine has it. */
static bool columns_lane_seek(struct columns *c, struct column_lane *l, uint32_t block,
                              uint32_t row)
{
    if (block == l->group.n && block > 0) /* what counts of a lane that has ended */
        l->period_us =
            MAX_OF(c->store->blocks[l->group.blocks[block - 1]].period_ns / NS_PER_US, 1);
    l->row = l->first = l->rows;
    l->next_block = block;
    lane_load(c, l);
    if (row && (l->next_block != block + 1 || row >= l->rows))
        return false;
    l->row = l->first = row;
    return true;
}

static bool columns_open_session(struct columns *c)
{
    const struct run_info *info = &c->run->info;
    struct block_group *groups;
    columns_close_session(c);
    while (c->session < info->n_nodes && !c->store) {
        const size_t i = c->session++;
        if (strcmp(info->nodes[i].id, c->node) == 0)
            c->store = c->run->stores[i];
    }
    if (!c->store)
        return false;
    c->sources = arena_array(&c->arena, struct column_source, c->n_asks + 1);
    for (size_t k = 0; k < c->n_asks; k++)
        c->sources[k] = column_source_of(c->store, &c->asks[k], &c->arena);
    c->n_lanes = block_groups(c->store, columns_used_blocks(c), &c->arena, &groups);
    c->lanes = arena_array(&c->arena, struct column_lane, c->n_lanes + 1);
    for (size_t i = 0; i < c->n_lanes; i++) {
        c->lanes[i].group = groups[i];
        c->lanes[i].v = arena_array(&c->arena, float *, c->n_asks + 1);
        c->lanes[i].has = arena_array(&c->arena, bool, c->n_asks + 1);
        if (!c->at)
            lane_load(c, &c->lanes[i]);
    }
    if (c->follows)
        c->limit_us = columns_limit_us(c);
    return true;
}

bool columns_follow(struct columns *c, const struct columns_place *from, wall_ns until)
{
    assert(!c->store && c->session == 0);
    c->follows = true;
    c->until = until;
    if (!from)
        return true;
    c->at = from;
    c->session = from->session;
    bool fit = columns_open_session(c) && c->session == from->session + 1 && columns_fit(c, from);
    c->at = NULL;
    for (size_t i = 0; fit && i < c->n_lanes; i++)
        fit = columns_lane_seek(c, &c->lanes[i], from->lanes[i].block, from->lanes[i].row);
    if (!fit) {
        columns_close_session(c);
        c->session = 0;
    }
    return fit;
}

/* ---- copying ---- */

/* A peak may come from several groups; of all else there is one value in a sweep. */
static void batch_copy_value(float *to, float v, bool peak)
{
    if (!peak || isnan(*to) || v > *to)
        *to = v;
}

/* Sweeps before `end` that nothing was copied to have nothing so far. */
static void batch_fill_to(struct columns *c, size_t ask, uint32_t end)
{
    for (; c->filled[ask] < end; c->filled[ask]++)
        c->now->batch[ask][c->filled[ask]] = NAN;
}

/* Values of sweeps one after the other. */
static void batch_copy_range(struct columns *c, size_t ask, uint32_t to, const float *v, uint32_t n)
{
    const bool peak = c->asks[ask].which == COLUMN_PEAK;
    assert(to + n <= c->n && c->n <= BATCH);
    float *batch = c->now->batch[ask];
    if (!peak || c->filled[ask] <= to) {
        batch_fill_to(c, ask, to);
        memcpy(batch + to, v, n * sizeof *v);
        c->filled[ask] = MAX_OF(c->filled[ask], to + n);
        return;
    }
    batch_fill_to(c, ask, to + n);
    for (uint32_t i = 0; i < n; i++)
        if (!isnan(v[i]))
            batch_copy_value(&batch[to + i], v[i], peak);
}

static void batch_copy_ask(struct columns *c, struct column_lane *l, uint32_t ask)
{
    const uint32_t first = l->first, n = l->row - first, *to = l->to + first;
    assert(n > 0 && to[0] <= to[n - 1] && to[n - 1] < c->n); /* numbers of a lane grow */
    const bool whole = to[n - 1] - to[0] == n - 1;
    const float *v = l->v[ask] + first;
    if (whole) {
        batch_copy_range(c, ask, to[0], v, n);
        return;
    }
    batch_fill_to(c, ask, to[n - 1] + 1);
    for (uint32_t i = 0; i < n; i++)
        if (!isnan(v[i]))
            batch_copy_value(&c->now->batch[ask][to[i]], v[i], c->asks[ask].which == COLUMN_PEAK);
}

static void batch_copy_rows(struct columns *c, struct column_lane *l)
{
    for (uint32_t k = 0; l->first < l->row && k < c->n_asks; k++)
        if (l->has[k])
            batch_copy_ask(c, l, k);
    l->first = l->row;
}

static struct column_lane *columns_earliest_lane(const struct columns *c)
{
    struct column_lane *best = NULL;
    int64_t at = 0;
    for (struct column_lane *l = c->lanes; l < c->lanes + c->n_lanes; l++)
        if (l->row < l->rows && (!best || l->times[l->row] < at)) {
            best = l;
            at = l->times[l->row];
        }
    return best;
}

/* That of a lane that has ended still counts: the last rows of a run are like those before. */
static void columns_find_period(struct columns *c)
{
    c->period_us = INT64_MAX;
    for (size_t i = 0; i < c->n_lanes; i++)
        c->period_us = MIN_OF(c->period_us, c->lanes[i].period_us);
}

/* Another batch, empty. */
static void batch_clear(struct columns *c)
{
    c->n = 0;
    c->now = &c->rooms[c->now == &c->rooms[0]];
    memset(c->filled, 0, c->n_asks * sizeof *c->filled);
}

/* Takes the lane's next row. False: it begins a sweep that is not of this batch. */
static bool batch_take_row(struct columns *c, struct column_lane *l, int64_t period_us)
{
    assert(l->first <= l->row && l->row < l->rows && l->rows <= l->cap);
    const int64_t t = l->times[l->row];
    const unsigned group = (unsigned)(l - c->lanes);
    const bool passes = c->follows && !c->passed && t > c->limit_us;
    if ((passes || c->n >= BATCH || (c->n && c->period_us != period_us)) &&
        sweepgrid_begins(&c->grid, group, t, period_us)) {
        c->passed |= passes;
        return false;
    }
    if (sweepgrid_row(&c->grid, group, t, period_us)) /* the first row of a batch does */
        c->now->at[c->n++] = store_wall(c->store, c->grid.at_us);
    assert(c->n > 0);
    l->to[l->row++] = (uint32_t)c->n - 1;
    return true;
}

/* As many sweeps as it takes; none: the recorder has no more. */
static void batch_fill(struct columns *c, int64_t *period_us)
{
    columns_find_period(c);
    *period_us = c->period_us;
    c->grid.begun = false; /* whatever comes next begins a sweep */
    for (struct column_lane *l; (l = columns_earliest_lane(c));) {
        if (!batch_take_row(c, l, *period_us))
            break;
        if (l->row < l->rows)
            continue;
        batch_copy_rows(c, l);
        lane_load(c, l);
        columns_find_period(c);
    }
    if (c->passed && !c->place)
        c->place = columns_here(c);
    for (size_t i = 0; i < c->n_lanes; i++)
        batch_copy_rows(c, &c->lanes[i]);
    for (size_t k = 0; k < c->n_asks; k++)
        if (c->ever[k])
            batch_fill_to(c, k, (uint32_t)c->n);
}

bool columns_next(struct columns *c, struct column_batch *out)
{
    int64_t period_us = 0;
    bool final = false;
    batch_clear(c);
    while (c->n == 0) {
        if (!c->store && !columns_open_session(c))
            return false;
        const bool passed = c->passed;
        batch_fill(c, &period_us);
        if (c->n == 0 && passed == c->passed)
            c->store = NULL;
        final = !passed;
    }
    *out = (struct column_batch){c->n, c->now->at, period_us * NS_PER_US, c->now->v,
                                 c->follows && final};
    return true;
}

/* As batch_fill begins: the earliest row of all lanes, and their shortest period. */
bool columns_first(struct columns *c, struct column_batch *out)
{
    const struct column_lane *l = NULL;
    batch_clear(c);
    c->times_only = true;
    while (!l && columns_open_session(c))
        l = columns_earliest_lane(c);
    if (!l)
        return false;
    columns_find_period(c);
    c->now->at[0] = store_wall(c->store, l->times[l->row]);
    *out = (struct column_batch){.n = 1, .at = c->now->at, .period_ns = c->period_us * NS_PER_US};
    return true;
}

/* ---- open and close ---- */

/* Whether any recorder of the node read the requested metric. */
static bool columns_have(const struct columns *c, const struct column_ask *ask)
{
    const struct run_info *info = &c->run->info;
    bool found = false;
    struct arena scratch = {0};
    for (size_t i = 0; i < info->n_nodes && !found; i++)
        if (c->run->stores[i] && strcmp(info->nodes[i].id, c->node) == 0)
            found = column_source_of(c->run->stores[i], ask, &scratch).n > 0;
    arena_free(&scratch);
    return found;
}

static void column_room_open(struct column_room *m, const bool *ever, size_t n)
{
    m->batch = xcalloc(n, sizeof *m->batch);
    m->v = xcalloc(n, sizeof *m->v);
    for (size_t i = 0; i < n; i++)
        if (ever[i])
            m->v[i] = m->batch[i] = xmalloc(BATCH * sizeof(float));
}

static void column_room_close(struct column_room *m, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(m->batch[i]);
    free(m->batch);
    free(m->v);
}

int columns_open(struct columns **out, struct run *r, const char *node,
                 const struct column_ask *asks, size_t n, struct err *e)
{
    const bool known = FIND_ANY(i, r->info.n_nodes, strcmp(r->info.nodes[i].id, node) == 0);
    if (!known)
        return err_set(e, ERR_NOT_FOUND, "run '%s' has no node '%s'", r->info.name, node);
    struct columns *c = xcalloc(1, sizeof *c);
    c->run = r;
    c->node = node;
    c->asks = asks;
    c->n_asks = n;
    c->filled = xcalloc(n, sizeof *c->filled);
    c->ever = xcalloc(n, sizeof *c->ever);
    for (size_t i = 0; i < n; i++)
        c->ever[i] = columns_have(c, &asks[i]);
    for (size_t k = 0; k < COUNT_OF(c->rooms); k++)
        column_room_open(&c->rooms[k], c->ever, n);
    fold_room_open(&c->room);
    *out = c;
    return 0;
}

void columns_close(struct columns *c)
{
    if (!c)
        return;
    columns_close_session(c);
    fold_room_close(&c->room);
    free(c->heads);
    free(c->list);
    for (size_t k = 0; k < COUNT_OF(c->rooms); k++)
        column_room_close(&c->rooms[k], c->n_asks);
    free(c->filled);
    free(c->ever);
    free(c->place);
    free(c);
}
