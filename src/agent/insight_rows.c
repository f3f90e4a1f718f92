/* SPDX-License-Identifier: Apache-2.0 */
/* insight_rows.c - rows as the probes commit them become sweeps. See insight_own.h.
 *
 * Probes that are read in one tick commit within milliseconds of each other, each with its own
 * time; the grid of the sampling interval brings them together. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/insight_own.h"
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

static const struct known_group *know(struct sweep_buf *b, const struct group *g)
{
    size_t i = 0;
    while (i < b->n_groups && b->groups[i].group != g)
        i++;
    if (i == b->n_groups) {
        b->groups = xrealloc(b->groups, ++b->n_groups, sizeof *b->groups);
        b->groups[i] = (struct known_group){.group = g, .generation = g->generation - 1};
    }
    struct known_group *k = &b->groups[i];
    if (k->generation != g->generation) {
        k->generation = g->generation;
        k->n = 0;
        for (uint32_t s = 0; s < g->n; s++)
            if (g->slots[s].used)
                want_slot(b, k, s, &g->slots[s]);
    }
    return k;
}

/* ---- sweeps ---- */

static void fit(struct sweep_buf *b, size_t n)
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

/* The place of the sweep with this number; SIZE_MAX: it is gone already. */
static size_t place(struct sweep_buf *b, int64_t number, struct clock_tie tie)
{
    if (b->n == 0)
        b->first = MAX_OF(number, b->first);
    if (number < b->first)
        return SIZE_MAX;
    if (number - b->first >= SWEEPS_MOST) { /* after a long pause, or with nobody taking any */
        b->n = 0;
        b->first = number;
    }
    const size_t i = (size_t)(number - b->first);
    fit(b, i + 1);
    for (; b->n <= i; b->n++) {
        const int64_t mono = b->origin.ns + (b->first + (int64_t)b->n) * b->period_ns;
        b->at[b->n].ns = mono - tie.mono.ns + tie.wall.ns;
        clear_sweep(b, b->n);
    }
    return i;
}

void sweep_buf_row(struct sweep_buf *b, const struct group *g, mono_ns t, struct clock_tie tie)
{
    const struct known_group *k = know(b, g);
    if (k->n == 0)
        return;
    if (b->origin.ns == 0)
        b->origin = t;
    const int64_t half = b->period_ns / 2, since = mono_diff(t, b->origin) + half;
    const size_t i = since < 0 ? SIZE_MAX : place(b, since / b->period_ns, tie);
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
    fit(out, n);
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
    b->first += (int64_t)n;
}

void sweep_buf_period(struct sweep_buf *b, int64_t ns)
{
    b->period_ns = ns;
    b->origin = (mono_ns){0};
    b->first = 0;
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
