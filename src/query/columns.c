/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c - see columns.h.
 *
 * A lane is one group of one recorder: its blocks one after the other, the current one decoded to
 * floats. Rows of all lanes are taken in order of time. The sweep that each row belongs to is
 * noted, and ranges of rows are copied when a block or a batch ends. */
#include "query/columns.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/columns_fold.h"
#include "query/sweepgrid.h"
#include "query/sweepteam.h"
#include "record/record.h"
#include "store/reader.h"

enum { BATCH = 4096 };

/* A column of a block that an ask is made of. */
struct column_input {
    uint32_t block, ask, column;
    enum fold fold;
};

struct column_lane {
    uint32_t *blocks; /* of the store, in order of time */
    uint32_t n_blocks, next_block;
    uint32_t rows, row; /* of the current block; the next one to take */
    uint32_t first;     /* of the rows that are noted and not copied yet */
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
    size_t session; /* in run_info.nodes; the next to open */

    struct arena arena; /* of what follows: the session being read */
    const struct store *store;
    struct column_input *inputs; /* sorted by block, ask and column */
    size_t n_inputs;
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

/* ---- which columns of which blocks an ask is made of ---- */

static bool column_is_total(const struct store_series *s)
{
    return strcmp(s->entity, ENTITY_TOTAL) == 0;
}

static bool column_has_total(const struct store *s, const char *metric)
{
    for (uint32_t i = 0; i < s->n_series; i++)
        if (strcmp(s->series[i].metric, metric) == 0 && column_is_total(&s->series[i]))
            return true;
    return false;
}

static enum fold column_fold_of(const struct store *s, const struct column_ask *ask)
{
    if (ask->which == COLUMN_PEAK)
        return FOLD_MAX;
    if (ask->which != COLUMN_TOTAL || column_has_total(s, ask->metric))
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

/* The next series that the ask wants, from number `i` on; NULL: there is none. */
static const struct store_series *
column_next_wanted(const struct store *s, const struct column_ask *ask, enum fold fold, uint32_t *i)
{
    while (*i < s->n_series) {
        const struct store_series *x = &s->series[(*i)++];
        if (!column_is_wanted(ask, fold, x))
            continue;
        if (ask->which == COLUMN_ONLY)
            *i = s->n_series;
        return x;
    }
    return NULL;
}

static bool columns_are_in(const struct store *s, const struct column_ask *ask)
{
    uint32_t i = 0;
    return column_next_wanted(s, ask, column_fold_of(s, ask), &i) != NULL;
}

struct column_plan {
    const struct store *store;
    const struct column_ask *asks;
    uint32_t *ends; /* by block: the index after its last input so far */
    struct column_input *v;
};

typedef void plan_see_ref(struct column_plan *p, struct store_ref r, uint32_t ask, enum fold fold);

/* The inputs of a block come after those of all blocks before it. */
static void plan_count_ref(struct column_plan *p, struct store_ref r, uint32_t ask, enum fold fold)
{
    (void)ask;
    (void)fold;
    p->ends[r.block + 1]++;
}

/* Asks come in order; series of one ask are in the order in which they were first recorded. */
static void plan_put_ref(struct column_plan *p, struct store_ref r, uint32_t ask, enum fold fold)
{
    const struct column_input one = {r.block, ask, r.column, fold};
    uint32_t at = p->ends[r.block]++;
    for (; at > 0 && p->v[at - 1].block == r.block && p->v[at - 1].ask == ask &&
           p->v[at - 1].column > r.column;
         at--)
        p->v[at] = p->v[at - 1];
    p->v[at] = one;
}

static void plan_see_ask(struct column_plan *p, uint32_t ask, plan_see_ref *see)
{
    const enum fold fold = column_fold_of(p->store, &p->asks[ask]);
    uint32_t i = 0;
    for (const struct store_series *x; (x = column_next_wanted(p->store, &p->asks[ask], fold, &i));)
        for (uint32_t k = 0; k < x->n_refs; k++)
            see(p, x->refs[k], ask, fold);
}

/* All inputs, sorted, in the arena; returns how many. */
static size_t columns_make_plan(const struct store *s, const struct column_ask *asks, size_t n_asks,
                                struct arena *a, struct column_input **out)
{
    struct column_plan p = {
        .store = s, .asks = asks, .ends = xcalloc(s->n_blocks + 1, sizeof *p.ends)};
    for (uint32_t i = 0; i < n_asks; i++)
        plan_see_ask(&p, i, plan_count_ref);
    for (uint32_t b = 0; b < s->n_blocks; b++)
        p.ends[b + 1] += p.ends[b];
    const size_t n = p.ends[s->n_blocks];
    *out = p.v = arena_array(a, struct column_input, n + 1);
    for (uint32_t i = 0; i < n_asks; i++)
        plan_see_ask(&p, i, plan_put_ref);
    free(p.ends);
    return n;
}

/* ---- lanes ---- */

static struct column_lane *lane_find(struct columns *c, uint32_t block)
{
    const struct rows_block *all = c->store->blocks;
    for (size_t i = 0; i < c->n_lanes; i++)
        if (block_same_group(&all[c->lanes[i].blocks[0]], &all[block]))
            return &c->lanes[i];
    struct column_lane *l = &c->lanes[c->n_lanes++];
    l->blocks = arena_array(&c->arena, uint32_t, c->store->n_blocks);
    l->v = arena_array(&c->arena, float *, c->n_asks);
    l->has = arena_array(&c->arena, bool, c->n_asks);
    return l;
}

static void columns_make_lanes(struct columns *c)
{
    c->lanes = arena_array(&c->arena, struct column_lane, c->store->n_blocks);
    for (size_t i = 0; i < c->n_inputs; i++) {
        if (i && c->inputs[i - 1].block == c->inputs[i].block)
            continue;
        struct column_lane *l = lane_find(c, c->inputs[i].block);
        l->blocks[l->n_blocks++] = c->inputs[i].block;
    }
}

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

static const struct column_input *columns_inputs_of(const struct columns *c, uint32_t block)
{
    size_t lo = 0, hi = c->n_inputs;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (c->inputs[mid].block < block)
            lo = mid + 1;
        else
            hi = mid;
    }
    return c->inputs + lo;
}

static void columns_fit_heads(struct columns *c, uint32_t n)
{
    if (n <= c->cap_heads)
        return;
    c->cap_heads = n;
    c->heads = xrealloc(c->heads, n, sizeof *c->heads);
    c->list = xrealloc(c->list, n, sizeof *c->list);
}

/* For an ask, of as many rows as any block of the lane has had. */
static float *lane_room(struct column_lane *l, uint32_t ask)
{
    if (!l->v[ask])
        l->v[ask] = xmalloc(l->cap * sizeof(float));
    return l->v[ask];
}

static void lane_fill(struct columns *c, struct column_lane *l, uint32_t block)
{
    const struct rows_block *b = &c->store->blocks[block];
    const struct column_input *end = c->inputs + c->n_inputs;
    columns_fit_heads(c, b->n_columns);
    const struct column **list = c->list, *all = block_columns_once(b, c->heads);
    memset(l->has, 0, c->n_asks * sizeof *l->has);
    for (const struct column_input *in = columns_inputs_of(c, block);
         in < end && in->block == block;) {
        const struct column_input *first = in;
        size_t n = 0;
        for (; in < end && in->block == block && in->ask == first->ask; in++)
            list[n++] = &all[in->column];
        assert(n <= b->n_columns);
        const struct fold_parts parts = {b, list, n, first->fold};
        fold_columns(&c->room, &parts, lane_room(l, first->ask));
        l->has[first->ask] = true;
    }
}

/* The next block whose times can be read becomes the current one; without one row == rows. */
static void lane_load(struct columns *c, struct column_lane *l)
{
    l->rows = l->row = l->first = 0;
    while (l->next_block < l->n_blocks && l->rows == 0) {
        const uint32_t block = l->blocks[l->next_block++];
        const struct rows_block *b = &c->store->blocks[block];
        lane_fit(c, l, b->rows);
        l->period_us = MAX_OF(b->period_ns / NS_PER_US, 1);
        if (store_times(c->room.scan.codec, b, l->times))
            lane_fill(c, l, block);
        else
            l->rows = 0;
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
    c->inputs = NULL;
    c->n_inputs = c->n_lanes = 0;
}

static bool columns_open_session(struct columns *c)
{
    const struct run_info *info = &c->run->info;
    columns_close_session(c);
    while (c->session < info->n_nodes && !c->store) {
        const size_t i = c->session++;
        if (strcmp(info->nodes[i].id, c->node) == 0)
            c->store = c->run->stores[i];
    }
    if (!c->store)
        return false;
    c->n_inputs = columns_make_plan(c->store, c->asks, c->n_asks, &c->arena, &c->inputs);
    columns_make_lanes(c);
    for (size_t i = 0; i < c->n_lanes; i++)
        lane_load(c, &c->lanes[i]);
    return true;
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
    const int64_t t = l->times[l->row];
    const unsigned group = (unsigned)(l - c->lanes);
    if ((c->n >= BATCH || (c->n && c->period_us != period_us)) &&
        sweepgrid_begins(&c->grid, group, t, period_us))
        return false;
    if (sweepgrid_row(&c->grid, group, t, period_us)) /* the first row of a batch does */
        c->now->at[c->n++] = store_wall(c->store, c->grid.at_us);
    assert(c->n > 0);
    l->to[l->row++] = (uint32_t)c->n - 1;
    return true;
}

/* ---- sweeps in step ---- */

static size_t batch_find_team(const struct columns *c, struct sweepteam *t, int64_t period_us)
{
    sweepteam_open(t);
    for (unsigned i = 0; i < c->n_lanes; i++) {
        const struct column_lane *l = &c->lanes[i];
        if (l->row < l->rows)
            sweepteam_put(t, i, l->times + l->row, l->rows - l->row);
    }
    return sweepteam_count(t, period_us, BATCH - c->n);
}

static void batch_take_sweeps(struct columns *c, const struct sweepteam *t, size_t n)
{
    c->grid = (struct sweepgrid){.begun = true, .at_us = t->times[0][n - 1]};
    for (size_t i = 0; i < n; i++)
        c->now->at[c->n + i] = store_wall(c->store, t->times[0][i]);
    for (size_t k = 0; k < t->n; k++) {
        struct column_lane *l = &c->lanes[t->groups[k]];
        for (size_t i = 0; i < n; i++)
            l->to[l->row + i] = (uint32_t)(c->n + i);
        l->row += (uint32_t)n;
        c->grid.groups |= sweepgrid_bit(t->groups[k]);
    }
    c->n += n;
}

/* Takes sweeps as long as they have rows of the same lanes, from the next row on, which is that of
 * `l`. False: there is none. No lane's last row is taken, since what follows must be loaded. */
static bool batch_take_in_step(struct columns *c, const struct column_lane *l, int64_t period_us)
{
    const int64_t at = l->times[l->row];
    struct sweepteam t;
    if (c->n_lanes > SWEEP_GROUPS_MOST || c->period_us != period_us ||
        (c->grid.begun && at < c->grid.at_us) ||
        !sweepgrid_begins(&c->grid, (unsigned)(l - c->lanes), at, period_us))
        return false;
    const size_t n = batch_find_team(c, &t, period_us);
    if (n)
        batch_take_sweeps(c, &t, n);
    return n > 0;
}

/* As many sweeps as it takes; none: the recorder has no more. */
static void batch_fill(struct columns *c, int64_t *period_us)
{
    columns_find_period(c);
    *period_us = c->period_us;
    c->grid.begun = false; /* whatever comes next begins a sweep */
    for (struct column_lane *l; (l = columns_earliest_lane(c));) {
        if (batch_take_in_step(c, l, *period_us))
            continue;
        if (!batch_take_row(c, l, *period_us))
            break;
        if (l->row < l->rows)
            continue;
        batch_copy_rows(c, l);
        lane_load(c, l);
        columns_find_period(c);
    }
    for (size_t i = 0; i < c->n_lanes; i++)
        batch_copy_rows(c, &c->lanes[i]);
    for (size_t k = 0; k < c->n_asks; k++)
        if (c->ever[k])
            batch_fill_to(c, k, (uint32_t)c->n);
}

bool columns_next(struct columns *c, struct column_batch *out)
{
    int64_t period_us = 0;
    batch_clear(c);
    while (c->n == 0) {
        if (!c->store && !columns_open_session(c))
            return false;
        batch_fill(c, &period_us);
        if (c->n == 0)
            c->store = NULL;
    }
    *out = (struct column_batch){c->n, c->now->at, period_us * NS_PER_US, c->now->v};
    return true;
}

/* ---- open and close ---- */

/* Whether any recorder of the node read what the ask wants. */
static bool columns_have(const struct columns *c, const struct column_ask *ask)
{
    const struct run_info *info = &c->run->info;
    for (size_t i = 0; i < info->n_nodes; i++)
        if (c->run->stores[i] && strcmp(info->nodes[i].id, c->node) == 0 &&
            columns_are_in(c->run->stores[i], ask))
            return true;
    return false;
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
    bool known = false;
    for (size_t i = 0; i < r->info.n_nodes; i++)
        known |= strcmp(r->info.nodes[i].id, node) == 0;
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
    free(c);
}
