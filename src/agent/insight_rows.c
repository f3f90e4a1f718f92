/* SPDX-License-Identifier: Apache-2.0 */
/* insight_rows.c - rows as the probes commit them become sweeps. See insight_internal.h.
 *
 * Probes that are read in one tick commit within milliseconds of each other, each with its own
 * time; the same grid that reads files brings them together. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/insight_internal.h"
#include "base/mem.h"

/* Sweeps that may wait: what a thread that is kept from running for long loses is evidence. */
enum { SWEEPS_MOST = 8192 };

enum which { TOTAL, ONLY, PEAK };

#define NODE_SIGNAL(id, metric, which) [SIG_##id] = {M_##metric, which},
static const struct {
    enum metric_id metric;
    enum which which;
} node_signals[NODE_SIGNAL_N] = {
#include "rules/signals.def"
};

#define GPU_SIGNAL(id, metric) [GPU_SIG_##id] = M_##metric,
static const enum metric_id gpu_signals[GPU_SIGNAL_N] = {
#include "rules/signals.def"
};

/* ---- which slots are of use ---- */

static void want(struct known_group *k, struct wanted_slot w)
{
    if (k->n == k->cap) {
        k->cap = k->cap ? 2 * k->cap : 16;
        k->v = xrealloc(k->v, k->cap, sizeof *k->v);
    }
    k->v[k->n++] = w;
}

static int gpu_index(struct sweep_buf *b, const char *entity)
{
    for (size_t i = 0; i < b->n_gpus; i++)
        if (strcmp(b->entity[i], entity) == 0)
            return (int)i;
    if (b->n_gpus == SIGHT_GPUS_MOST)
        return -1;
    const size_t g = b->n_gpus++;
    snprintf(b->entity[g], sizeof b->entity[g], "%s", entity);
    for (size_t k = 0; k < GPU_SIGNAL_N; k++) {
        b->gpu[g][k] = xrealloc(NULL, MAX_OF(b->cap, 1), sizeof(float));
        for (size_t i = 0; i < b->n; i++)
            b->gpu[g][k][i] = NAN;
    }
    return (int)g;
}

static void want_slot(struct sweep_buf *b, struct known_group *k, slot_id s,
                      const struct slot *slot)
{
    const bool total = strcmp(slot->entity, ENTITY_TOTAL) == 0;
    for (uint8_t i = 0; i < NODE_SIGNAL_N; i++) {
        const enum which which = node_signals[i].which;
        if (node_signals[i].metric == slot->metric && (which == ONLY || (which == TOTAL) == total))
            want(k, (struct wanted_slot){s, -1, i, which == PEAK});
    }
    for (uint8_t i = 0; i < GPU_SIGNAL_N; i++)
        if (gpu_signals[i] == slot->metric) {
            const int gpu = gpu_index(b, slot->entity);
            if (gpu >= 0)
                want(k, (struct wanted_slot){s, gpu, i, false});
        }
}

static bool insight_rows_is_known(const struct known_group *k, const struct group *g)
{
    return k->generation == g->generation && k->slots == g->n && strcmp(k->name, g->name) == 0;
}

static void insight_rows_look_at(struct sweep_buf *b, struct known_group *k, const struct group *g)
{
    k->generation = g->generation;
    k->slots = g->n;
    memcpy(k->name, g->name, sizeof k->name);
    k->n = 0;
    for (uint32_t s = 0; s < g->n; s++)
        if (g->slots[s].used)
            want_slot(b, k, s, &g->slots[s]);
}

static const struct known_group *know(struct sweep_buf *b, const struct group *g)
{
    size_t i = 0;
    while (i < b->n_groups && b->groups[i].group != g)
        i++;
    if (i == b->n_groups) {
        b->groups = xrealloc(b->groups, ++b->n_groups, sizeof *b->groups);
        b->groups[i] = (struct known_group){.group = g};
    }
    if (!insight_rows_is_known(&b->groups[i], g))
        insight_rows_look_at(b, &b->groups[i], g);
    return &b->groups[i];
}

/* ---- sweeps ---- */

static void insight_rows_fit(struct sweep_buf *b, size_t n)
{
    if (n <= b->cap)
        return;
    b->cap = MAX_OF(n, MAX_OF(2 * b->cap, (size_t)64));
    b->at = xrealloc(b->at, b->cap, sizeof *b->at);
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        b->v[k] = xrealloc(b->v[k], b->cap, sizeof(float));
    for (size_t g = 0; g < b->n_gpus; g++)
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            b->gpu[g][k] = xrealloc(b->gpu[g][k], b->cap, sizeof(float));
}

static void clear_sweep(struct sweep_buf *b, size_t i)
{
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        b->v[k][i] = NAN;
    for (size_t g = 0; g < b->n_gpus; g++)
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            b->gpu[g][k][i] = NAN;
}

/* Where the row belongs; SIZE_MAX: its sweep is gone already. */
static size_t insight_rows_place(struct sweep_buf *b, const struct known_group *k, mono_ns t,
                                 struct clock_tie tie)
{
    const unsigned number = (unsigned)(k - b->groups);
    if (!sweepgrid_row(&b->grid, number, t.ns / NS_PER_US, b->period_ns / NS_PER_US))
        return b->n ? b->n - 1 : SIZE_MAX;
    if (b->n == SWEEPS_MOST) /* nobody takes any */
        b->n = 0;
    insight_rows_fit(b, b->n + 1);
    b->at[b->n].ns = t.ns - tie.mono.ns + tie.wall.ns;
    clear_sweep(b, b->n);
    return b->n++;
}

void sweep_buf_row(struct sweep_buf *b, const struct group *g, mono_ns t, struct clock_tie tie)
{
    const struct known_group *k = know(b, g);
    const size_t i = k->n ? insight_rows_place(b, k, t, tie) : SIZE_MAX;
    if (i == SIZE_MAX)
        return;
    for (size_t w = 0; w < k->n; w++) {
        const struct wanted_slot *s = &k->v[w];
        float *to = s->gpu < 0 ? &b->v[s->signal][i] : &b->gpu[s->gpu][s->signal][i];
        if (g->cells[s->slot] == CELL_MISSING)
            continue;
        const float v = (float)((double)g->cells[s->slot] * g->slots[s->slot].step);
        *to = s->peak && *to > v ? *to : v;
    }
}

size_t sweep_buf_before(const struct sweep_buf *b, wall_ns t)
{
    size_t n = 0;
    while (n < b->n && b->at[n].ns < t.ns)
        n++;
    return n;
}

struct sweeps sweep_buf_view(const struct sweep_buf *b, struct gpu_sweeps *gpus)
{
    struct sweeps s = {
        .n = b->n, .at = b->at, .period_ns = b->period_ns, .gpus = gpus, .n_gpus = b->n_gpus};
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        s.v[k] = b->v[k];
    for (size_t g = 0; g < b->n_gpus; g++) {
        gpus[g].entity = b->entity[g];
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            gpus[g].v[k] = b->gpu[g][k];
    }
    return s;
}

static void move_column(float *from, float *to, size_t n, size_t all)
{
    memcpy(to, from, n * sizeof *to);
    memmove(from, from + n, (all - n) * sizeof *from);
}

void sweep_buf_move(struct sweep_buf *b, size_t n, struct sweep_buf *out)
{
    for (size_t g = out->n_gpus; g < b->n_gpus; g++)
        gpu_index(out, b->entity[g]);
    insight_rows_fit(out, n);
    out->period_ns = b->period_ns;
    out->n = n;
    if (n == 0)
        return;
    memcpy(out->at, b->at, n * sizeof *b->at);
    memmove(b->at, b->at + n, (b->n - n) * sizeof *b->at);
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        move_column(b->v[k], out->v[k], n, b->n);
    for (size_t g = 0; g < b->n_gpus; g++)
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            move_column(b->gpu[g][k], out->gpu[g][k], n, b->n);
    b->n -= n;
}

void sweep_buf_period(struct sweep_buf *b, int64_t ns)
{
    b->period_ns = ns;
    b->grid = (struct sweepgrid){0};
    b->n = 0;
}

void sweep_buf_free(struct sweep_buf *b)
{
    for (size_t i = 0; i < b->n_groups; i++)
        free(b->groups[i].v);
    free(b->groups);
    free(b->at);
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        free(b->v[k]);
    for (size_t g = 0; g < b->n_gpus; g++)
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            free(b->gpu[g][k]);
    *b = (struct sweep_buf){0};
}
