/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c - see columns.h. Here: recorders of a node one after the other, and the blocks of each.
 */
#include "query/columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/columns_state.h"
#include "query/run_open.h"

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

/* Whether the column is made when the batch is complete. Larger blocks would be in several. */
static bool is_late(const struct column_ask *ask, const struct fold_parts *p)
{
    return ask->where && p->limits && p->n > 1 && p->block->rows <= BATCH;
}

float *lane_room(struct lane *l, uint32_t ask)
{
    if (!l->v[ask])
        l->v[ask] = xmalloc(l->cap * sizeof(float));
    return l->v[ask];
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
        const struct column_ask *ask = &c->asks[first->ask];
        const struct column_limits *limits = first->fold == FOLD_MAX ? ask->limits : NULL;
        const struct fold_parts parts = {b, list, n, first->fold, limits, NULL};
        if (is_late(ask, &parts))
            late_add(&c->lates, (size_t)(l - c->lanes), &parts, first->ask);
        else
            fold_columns(&c->room, &parts, lane_room(l, first->ask));
        l->has[first->ask] = true;
    }
}

void lane_load(struct columns *c, struct lane *l)
{
    l->rows = l->row = l->first = 0;
    late_end(&c->lates, (size_t)(l - c->lanes));
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
    c->n_inputs = c->n_lanes = c->lates.n = 0;
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
        lane_load(c, &c->lanes[i]);
    return true;
}

/* ---- batches ---- */

bool columns_next(struct columns *c, struct column_batch *out)
{
    int64_t period_us = 0;
    batch_clear(c);
    while (c->n == 0) {
        if (!c->store && !open_session(c))
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
    lates_free(&c->lates);
    free(c->heads);
    free(c->list);
    for (size_t k = 0; k < COUNT_OF(c->made); k++)
        made_close(&c->made[k], c->n_asks);
    free(c->filled);
    free(c->ever);
    free(c);
}
