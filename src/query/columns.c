/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c - see columns.h.
 *
 * A lane is one group of one recorder: its blocks one after the other, the current one decoded to
 * floats. Rows of all lanes are taken in order of time; which sweep each belongs to is noted, and
 * whole stretches of rows are copied when a block or a batch ends. */
#include "query/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/columns_own.h"
#include "query/run_open.h"
#include "query/sweepteam.h"

enum { BATCH = 4096 };

struct lane {
    uint32_t *blocks; /* of the store, in order of time */
    uint32_t n_blocks, next_block;
    uint32_t rows, row; /* of the current block; the next one to take */
    uint32_t first;     /* of those that are noted and not copied yet */
    int64_t *times;     /* us */
    int64_t period_us;
    float **v;    /* by ask; NULL: no room yet */
    bool *has;    /* by ask: it is in this block */
    uint32_t *to; /* by row: its sweep in the batch */
    uint32_t cap; /* rows that there is room for */
};

/* Room for a batch. */
struct made {
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
    struct column *heads; /* of a block, where the store does not keep them */
    const struct column **list;
    uint32_t cap_heads;
    size_t session; /* in run_info.nodes; the next to open */

    struct arena arena; /* of what follows: the session being read */
    const struct store *store;
    struct input *inputs; /* sorted by block */
    size_t n_inputs;
    struct lane *lanes;
    size_t n_lanes;
    struct sweepgrid grid;
    int64_t period_us; /* the shortest of the lanes now */

    struct made made[2]; /* in turns: the batch before stays while the next is made */
    struct made *now;
    size_t n;
    uint32_t *filled; /* by ask: sweeps of the batch that have a value or NAN */
    bool *ever;       /* by ask: the node had it */
};

/* ---- lanes ---- */

static bool same_group(const struct rows_block *a, const struct rows_block *b)
{
    return a->group.n == b->group.n && memcmp(a->group.p, b->group.p, a->group.n) == 0;
}

static struct lane *lane_of(struct columns *c, uint32_t block)
{
    const struct rows_block *all = c->store->blocks;
    for (size_t i = 0; i < c->n_lanes; i++)
        if (same_group(&all[c->lanes[i].blocks[0]], &all[block]))
            return &c->lanes[i];
    struct lane *l = &c->lanes[c->n_lanes++];
    l->blocks = arena_array(&c->arena, uint32_t, c->store->n_blocks);
    l->v = arena_array(&c->arena, float *, c->n_asks);
    l->has = arena_array(&c->arena, bool, c->n_asks);
    return l;
}

static void make_lanes(struct columns *c)
{
    c->lanes = arena_array(&c->arena, struct lane, c->store->n_blocks);
    for (size_t i = 0; i < c->n_inputs; i++) {
        if (i && c->inputs[i - 1].block == c->inputs[i].block)
            continue;
        struct lane *l = lane_of(c, c->inputs[i].block);
        l->blocks[l->n_blocks++] = c->inputs[i].block;
    }
}

static void fit_lane(struct columns *c, struct lane *l, uint32_t rows)
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

static const struct input *inputs_of(const struct columns *c, uint32_t block)
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

static void fit_heads(struct columns *c, uint32_t n)
{
    if (n <= c->cap_heads)
        return;
    c->cap_heads = n;
    c->heads = xrealloc(c->heads, n, sizeof *c->heads);
    c->list = xrealloc(c->list, n, sizeof *c->list);
}

static void fill_lane(struct columns *c, struct lane *l, uint32_t block)
{
    const struct rows_block *b = &c->store->blocks[block];
    const struct input *end = c->inputs + c->n_inputs;
    fit_heads(c, b->n_columns);
    const struct column **list = c->list, *all = block_columns_once(b, c->heads);
    memset(l->has, 0, c->n_asks * sizeof *l->has);
    for (const struct input *in = inputs_of(c, block); in < end && in->block == block;) {
        const struct input *first = in;
        size_t n = 0;
        for (; in < end && in->block == block && in->ask == first->ask; in++)
            list[n++] = &all[in->column];
        if (!l->v[first->ask])
            l->v[first->ask] = xmalloc(l->cap * sizeof(float));
        const struct column_limits *limits =
            first->fold == FOLD_MAX ? c->asks[first->ask].limits : NULL;
        const struct fold_parts parts = {b, list, n, first->fold, limits};
        fold_columns(&c->room, &parts, l->v[first->ask]);
        l->has[first->ask] = true;
    }
}

/* The next block whose times can be read becomes the current one; without one row == rows. */
static void load(struct columns *c, struct lane *l)
{
    l->rows = l->row = l->first = 0;
    while (l->next_block < l->n_blocks && l->rows == 0) {
        const uint32_t block = l->blocks[l->next_block++];
        const struct rows_block *b = &c->store->blocks[block];
        fit_lane(c, l, b->rows);
        l->period_us = MAX_OF(b->period_ns / NS_PER_US, 1);
        if (store_times(c->room.codec, b, l->times))
            fill_lane(c, l, block);
        else
            l->rows = 0;
    }
}

static void close_session(struct columns *c)
{
    for (size_t i = 0; i < c->n_lanes; i++) {
        struct lane *l = &c->lanes[i];
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

static bool open_session(struct columns *c)
{
    const struct run_info *info = &c->run->info;
    close_session(c);
    while (c->session < info->n_nodes && !c->store) {
        const size_t i = c->session++;
        if (strcmp(info->nodes[i].id, c->node) == 0)
            c->store = c->run->stores[i];
    }
    if (!c->store)
        return false;
    c->n_inputs = columns_plan(c->store, c->asks, c->n_asks, &c->arena, &c->inputs);
    make_lanes(c);
    for (size_t i = 0; i < c->n_lanes; i++)
        load(c, &c->lanes[i]);
    return true;
}

/* ---- batches ---- */

/* A peak may come from several groups; of all else there is one value in a sweep. */
static void copy_value(float *to, float v, bool peak)
{
    if (!peak || isnan(*to) || v > *to)
        *to = v;
}

/* Sweeps before `end` that nothing was copied to have nothing so far. */
static void fill_to(struct columns *c, size_t ask, uint32_t end)
{
    for (; c->filled[ask] < end; c->filled[ask]++)
        c->now->batch[ask][c->filled[ask]] = NAN;
}

static void copy_ask(struct columns *c, const struct lane *l, size_t ask)
{
    const uint32_t first = l->first, n = l->row - first;
    const uint32_t *to = l->to + first;
    const float *v = l->v[ask] + first;
    const bool peak = c->asks[ask].which == COLUMN_PEAK;
    const bool whole = to[n - 1] - to[0] == n - 1;
    if (whole && (!peak || c->filled[ask] <= to[0])) {
        fill_to(c, ask, to[0]);
        memcpy(c->now->batch[ask] + to[0], v, n * sizeof *v);
        c->filled[ask] = MAX_OF(c->filled[ask], to[0] + n);
        return;
    }
    fill_to(c, ask, to[n - 1] + 1);
    for (uint32_t i = 0; i < n; i++)
        if (!isnan(v[i]))
            copy_value(&c->now->batch[ask][to[i]], v[i], peak);
}

static void copy_rows(struct columns *c, struct lane *l)
{
    for (size_t k = 0; l->first < l->row && k < c->n_asks; k++)
        if (l->has[k])
            copy_ask(c, l, k);
    l->first = l->row;
}

static struct lane *earliest(const struct columns *c)
{
    struct lane *best = NULL;
    int64_t at = 0;
    for (struct lane *l = c->lanes; l < c->lanes + c->n_lanes; l++)
        if (l->row < l->rows && (!best || l->times[l->row] < at)) {
            best = l;
            at = l->times[l->row];
        }
    return best;
}

/* That of a lane that has ended still counts: the last rows of a run are like those before. */
static void find_period(struct columns *c)
{
    c->period_us = INT64_MAX;
    for (size_t i = 0; i < c->n_lanes; i++)
        c->period_us = MIN_OF(c->period_us, c->lanes[i].period_us);
}

static void clear_batch(struct columns *c)
{
    c->n = 0;
    c->now = &c->made[c->now == &c->made[0]];
    memset(c->filled, 0, c->n_asks * sizeof *c->filled);
}

/* Takes the lane's next row. False: it begins a sweep that is not of this batch. */
static bool take(struct columns *c, struct lane *l, int64_t period_us)
{
    const int64_t t = l->times[l->row];
    const unsigned group = (unsigned)(l - c->lanes);
    if ((c->n == BATCH || (c->n && c->period_us != period_us)) &&
        sweepgrid_begins(&c->grid, group, t, period_us))
        return false;
    if (sweepgrid_row(&c->grid, group, t, period_us))
        c->now->at[c->n++] = store_wall(c->store, c->grid.at_us);
    l->to[l->row++] = (uint32_t)c->n - 1;
    return true;
}

/* ---- sweeps in step ---- */

static size_t find_team(const struct columns *c, struct sweepteam *t, int64_t period_us)
{
    sweepteam_open(t);
    for (unsigned i = 0; i < c->n_lanes; i++) {
        const struct lane *l = &c->lanes[i];
        if (l->row < l->rows)
            sweepteam_put(t, i, l->times + l->row, l->rows - l->row);
    }
    return sweepteam_count(t, period_us, BATCH - c->n);
}

static void take_sweeps(struct columns *c, const struct sweepteam *t, size_t n)
{
    c->grid = (struct sweepgrid){.begun = true, .at_us = t->times[0][n - 1]};
    for (size_t i = 0; i < n; i++)
        c->now->at[c->n + i] = store_wall(c->store, t->times[0][i]);
    for (size_t k = 0; k < t->n; k++) {
        struct lane *l = &c->lanes[t->groups[k]];
        for (size_t i = 0; i < n; i++)
            l->to[l->row + i] = (uint32_t)(c->n + i);
        l->row += (uint32_t)n;
        c->grid.groups |= sweepgrid_bit(t->groups[k]);
    }
    c->n += n;
}

/* Takes sweeps as long as they have rows of the same lanes, from the next row on, which is that of
 * `l`. False: there is none. No lane's last row is taken, since what follows must be loaded. */
static bool take_in_step(struct columns *c, const struct lane *l, int64_t period_us)
{
    const int64_t at = l->times[l->row];
    struct sweepteam t;
    if (c->n_lanes > SWEEP_GROUPS_MOST || c->period_us != period_us ||
        (c->grid.begun && at < c->grid.at_us) ||
        !sweepgrid_begins(&c->grid, (unsigned)(l - c->lanes), at, period_us))
        return false;
    const size_t n = find_team(c, &t, period_us);
    if (n)
        take_sweeps(c, &t, n);
    return n > 0;
}

static void fill_batch(struct columns *c, int64_t *period_us)
{
    find_period(c);
    *period_us = c->period_us;
    c->grid.begun = false; /* whatever comes next begins a sweep */
    for (struct lane *l; (l = earliest(c));) {
        if (take_in_step(c, l, *period_us))
            continue;
        if (!take(c, l, *period_us))
            break;
        if (l->row < l->rows)
            continue;
        copy_rows(c, l);
        load(c, l);
        find_period(c);
    }
    for (size_t i = 0; i < c->n_lanes; i++)
        copy_rows(c, &c->lanes[i]);
    for (size_t k = 0; k < c->n_asks; k++)
        if (c->ever[k])
            fill_to(c, k, (uint32_t)c->n);
}

bool columns_next(struct columns *c, struct column_batch *out)
{
    int64_t period_us = 0;
    clear_batch(c);
    while (c->n == 0) {
        if (!c->store && !open_session(c))
            return false;
        fill_batch(c, &period_us);
        if (c->n == 0)
            c->store = NULL;
    }
    *out = (struct column_batch){c->n, c->now->at, period_us * NS_PER_US, c->now->v};
    return true;
}

/* ---- open and close ---- */

/* Whether any recorder of the node read what the ask wants. */
static bool is_there(const struct columns *c, const struct column_ask *ask)
{
    const struct run_info *info = &c->run->info;
    for (size_t i = 0; i < info->n_nodes; i++)
        if (c->run->stores[i] && strcmp(info->nodes[i].id, c->node) == 0 &&
            columns_are_in(c->run->stores[i], ask))
            return true;
    return false;
}

static void made_open(struct made *m, const bool *ever, size_t n)
{
    m->batch = xcalloc(n, sizeof *m->batch);
    m->v = xcalloc(n, sizeof *m->v);
    for (size_t i = 0; i < n; i++)
        if (ever[i])
            m->v[i] = m->batch[i] = xmalloc(BATCH * sizeof(float));
}

static void made_close(struct made *m, size_t n)
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
        c->ever[i] = is_there(c, &asks[i]);
    for (size_t k = 0; k < COUNT_OF(c->made); k++)
        made_open(&c->made[k], c->ever, n);
    fold_room_open(&c->room);
    *out = c;
    return 0;
}

void columns_close(struct columns *c)
{
    if (!c)
        return;
    close_session(c);
    fold_room_close(&c->room);
    free(c->heads);
    free(c->list);
    for (size_t k = 0; k < COUNT_OF(c->made); k++)
        made_close(&c->made[k], c->n_asks);
    free(c->filled);
    free(c->ever);
    free(c);
}
