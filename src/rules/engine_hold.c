/* SPDX-License-Identifier: Apache-2.0 */
/* engine_hold.c - what a run that lives has shown of late: sweeps that wait until it is known
 * whether they belong to the training loop, and what was told before that is known. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/engine_internal.h"
#include "rules/values.h"

/* Bytes of sweeps: half an hour at two a second without a GPU, as with eight. */
enum { HOLD_NODE = 1 << 18, HOLD_GPU = 7 << 15 };
enum { HOLD_LEAST = 64, TOLD_MOST = 4096, STEPS_MOST = 1024 };

static size_t bytes_each(const struct hold *h)
{
    return sizeof(wall_ns) + sizeof(int64_t) +
           sizeof(float) * (NODE_SIGNAL_N + h->n_gpus * GPU_SIGNAL_N);
}

bool hold_is_full(const struct hold *h)
{
    return h->n >= HOLD_LEAST && h->n * bytes_each(h) >= HOLD_NODE + h->n_gpus * HOLD_GPU;
}

static void fit_column(float **c, size_t cap)
{
    *c = xrealloc(*c, cap, sizeof **c);
}

static void engine_hold_fit(struct hold *h, size_t n)
{
    if (n <= h->cap)
        return;
    h->cap = MAX_OF(n, MAX_OF(h->cap + h->cap / 4, (size_t)HOLD_LEAST));
    h->at = xrealloc(h->at, h->cap, sizeof *h->at);
    h->period_ns = xrealloc(h->period_ns, h->cap, sizeof *h->period_ns);
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        fit_column(&h->v[k], h->cap);
    for (size_t g = 0; g < h->n_gpus; g++)
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            fit_column(&h->gpu[g][k], h->cap);
}

/* A GPU that was not there before has nothing to show for the time until now. */
static void fit_gpus(struct hold *h, const struct sweeps *s)
{
    for (; h->n_gpus < MIN_OF(s->n_gpus, (size_t)SIGHT_GPUS_MOST); h->n_gpus++)
        for (size_t k = 0; k < GPU_SIGNAL_N; k++) {
            fit_column(&h->gpu[h->n_gpus][k], MAX_OF(h->cap, 1));
            for (size_t i = 0; i < h->n; i++)
                h->gpu[h->n_gpus][k][i] = NAN;
        }
    for (size_t g = 0; g < h->n_gpus && g < s->n_gpus; g++)
        snprintf(h->entity[g], sizeof h->entity[g], "%s", s->gpus[g].entity);
}

static void engine_hold_put_column(float *to, const float *from, size_t n)
{
    if (from)
        memcpy(to, from, n * sizeof *to);
    for (size_t i = 0; !from && i < n; i++)
        to[i] = NAN;
}

void hold_add(struct hold *h, const struct sweeps *s)
{
    fit_gpus(h, s);
    engine_hold_fit(h, h->n + s->n);
    memcpy(h->at + h->n, s->at, s->n * sizeof *s->at);
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        engine_hold_put_column(h->v[k] + h->n, s->v[k], s->n);
    for (size_t g = 0; g < h->n_gpus; g++)
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            engine_hold_put_column(h->gpu[g][k] + h->n, g < s->n_gpus ? s->gpus[g].v[k] : NULL,
                                   s->n);
    for (size_t i = 0; i < s->n; i++)
        h->period_ns[h->n + i] = s->period_ns;
    h->n += s->n;
}

struct sweeps hold_view(const struct hold *h, size_t from, size_t to, struct gpu_sweeps *gpus)
{
    struct sweeps s = {.n = to - from,
                       .at = h->at + from,
                       .period_ns = h->period_ns[from],
                       .gpus = gpus,
                       .n_gpus = h->n_gpus};
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        s.v[k] = h->v[k] + from;
    for (size_t g = 0; g < h->n_gpus; g++) {
        gpus[g].entity = h->entity[g];
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            gpus[g].v[k] = h->gpu[g][k] + from;
    }
    return s;
}

size_t hold_same_period(const struct hold *h, size_t from, size_t to)
{
    size_t end = from;
    while (end < to && h->period_ns[end] == h->period_ns[from])
        end++;
    return end;
}

size_t hold_from(const struct hold *h, int64_t t)
{
    return sweeps_from(h->at, h->n, t);
}

static void drop_column(float *c, size_t n, size_t all)
{
    memmove(c, c + n, (all - n) * sizeof *c);
}

void hold_drop(struct hold *h, size_t n)
{
    if (n == 0)
        return;
    memmove(h->at, h->at + n, (h->n - n) * sizeof *h->at);
    memmove(h->period_ns, h->period_ns + n, (h->n - n) * sizeof *h->period_ns);
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        drop_column(h->v[k], n, h->n);
    for (size_t g = 0; g < h->n_gpus; g++)
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            drop_column(h->gpu[g][k], n, h->n);
    h->n -= n;
    h->fed -= MIN_OF(h->fed, n);
}

void hold_free(struct hold *h)
{
    free(h->at);
    free(h->period_ns);
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        free(h->v[k]);
    for (size_t g = 0; g < h->n_gpus; g++)
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            free(h->gpu[g][k]);
    *h = (struct hold){0};
}

/* ---- told early ---- */

bool early_add_told(struct early *e, const struct told *v, size_t n)
{
    const size_t more = MIN_OF(n, TOLD_MOST - e->n_told);
    if (e->n_told + more > e->cap_told) {
        e->cap_told = MIN_OF(MAX_OF(2 * e->cap_told, e->n_told + more), (size_t)TOLD_MOST);
        e->told = xrealloc(e->told, e->cap_told, sizeof *e->told);
    }
    if (more)
        memcpy(e->told + e->n_told, v, more * sizeof *v);
    e->n_told += more;
    return more == n;
}

bool early_add_steps(struct early *e, const struct rank_sight *r, const struct step *v, size_t n)
{
    const size_t more = MIN_OF(n, STEPS_MOST - e->n_steps);
    if (e->n_steps + more > e->cap_steps) {
        e->cap_steps = MIN_OF(MAX_OF(2 * e->cap_steps, e->n_steps + more), (size_t)STEPS_MOST);
        e->steps = xrealloc(e->steps, e->cap_steps, sizeof *e->steps);
    }
    for (size_t i = 0; i < more; i++)
        e->steps[e->n_steps++] = (struct early_step){*r, v[i]};
    return more == n;
}

void early_free(struct early *e)
{
    free(e->told);
    free(e->steps);
    *e = (struct early){0};
}
