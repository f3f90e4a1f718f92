/* SPDX-License-Identifier: Apache-2.0 */
/* bottleneck.c - see bottleneck.h. Here: counting. */
#include "rules/bottleneck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/bottleneck_own.h"

static uint64_t used_of(const struct per_gpu *g)
{
    uint64_t used = 0;
    for (size_t i = 0; i < MIN_OF(g->n, (size_t)SIGHT_GPUS_MOST); i++)
        if (gpu_was_used(per_gpu_at(g, i)))
            used |= UINT64_C(1) << i;
    return used;
}

/* ---- rows ---- */

static struct bottleneck_row *row_of(struct bottleneck *b, uint64_t low, enum bottleneck_gpus gpus)
{
    if (gpus == GPUS_LOW)
        low = 0;
    for (size_t i = 0; i < b->n_rows; i++)
        if (b->row[i].low == low && b->row[i].gpus == gpus)
            return &b->row[i];
    if (b->n_rows == BOTTLENECK_ROWS)
        return &b->row[BOTTLENECK_ROWS - 1];
    b->row[b->n_rows] = (struct bottleneck_row){.low = low, .gpus = gpus};
    return &b->row[b->n_rows++];
}

static int by_start(const void *a, const void *b)
{
    const struct episode *x = a, *y = b;
    return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* Episodes of the same stretch of time: in order they close up as if they had been told so. */
static void episodes_mix(struct episodes *e, struct episodes *other)
{
    const uint32_t n = e->n + other->n;
    if (other->n == 0)
        return;
    struct episode *all = xmalloc(n * sizeof *all);
    for (uint32_t i = 0; i < n; i++)
        all[i] = i < e->n ? e->v[i] : other->v[i - e->n];
    qsort(all, n, sizeof *all, by_start);
    e->n = 0;
    for (uint32_t i = 0; i < n; i++)
        episodes_put(e, &all[i]);
    free(all);
    episodes_free(other);
}

/* The row's own episodes are gone afterwards. */
static void row_add(struct bottleneck_row *to, struct bottleneck_row *row)
{
    to->cool += row->cool;
    for (size_t k = 0; k < BOTTLENECK_HOTS; k++)
        to->hot[k] += row->hot[k];
    episodes_mix(&to->episodes, &row->episodes);
}

/* These GPUs are in use after all. */
static void settle(struct bottleneck *b, uint64_t used)
{
    struct bottleneck old = *b;
    b->n_rows = 0;
    for (size_t i = 0; i < old.n_rows; i++) {
        struct bottleneck_row *r = &old.row[i];
        row_add(row_of(b, r->low, r->low & used ? GPUS_LOW : r->gpus), r);
    }
}

/* ---- sweeps ---- */

struct gpus_seen {
    uint64_t read, low; /* GPUs as bits */
};

enum { PIECE = 256 };

/* Of the sweeps from `from` on, as all that follows; column by column, which is how they lie in
 * memory. Which way it was hot, the first that holds: n_hots for not, NOT_READ when nothing of it
 * was read. */
enum { NOT_READ = -1 };

static void see_heat(int *heat, const struct bottleneck_spec *spec, const struct sweeps *s,
                     size_t from, size_t n, double limit)
{
    for (size_t i = 0; i < n; i++)
        heat[i] = NOT_READ;
    for (size_t k = spec->n_hots; k-- > 0;) {
        const float *v = s->v[spec->hots[k].signal];
        for (size_t i = 0; v && i < n; i++) {
            const int cool = heat[i] < 0 ? (int)spec->n_hots : heat[i];
            const int seen = (double)v[from + i] > limit ? (int)k : cool;
            heat[i] = isnan(v[from + i]) ? heat[i] : seen;
        }
    }
}

static void see_gpus(struct gpus_seen *seen, const struct sweeps *s, size_t from, size_t n,
                     float limit)
{
    memset(seen, 0, n * sizeof *seen);
    for (size_t g = 0; g < MIN_OF(s->n_gpus, (size_t)SIGHT_GPUS_MOST); g++) {
        const float *v = s->gpus[g].v[GPU_SIG_UTIL];
        for (size_t i = 0; v && i < n; i++) {
            seen[i].read |= (uint64_t)!isnan(v[from + i]) << g;
            seen[i].low |= (uint64_t)(v[from + i] < limit) << g;
        }
    }
}

static void take_gpus(struct bottleneck *b, uint64_t low, int64_t held_ns)
{
    for (; low; low &= low - 1) {
        struct bottleneck_gpu *g = per_gpu_at(&b->gpus, (size_t)__builtin_ctzll(low));
        g->waited_ns += held_ns;
    }
}

static void take(struct bottleneck *b, const struct bottleneck_spec *spec, const struct sweeps *s,
                 size_t i, int heat, struct gpus_seen seen, uint64_t used)
{
    const enum bottleneck_gpus gpus = seen.low & used    ? GPUS_LOW
                                      : seen.read & used ? GPUS_FINE
                                                         : GPUS_NOT_READ;
    struct bottleneck_row *r = row_of(b, seen.low & ~used, gpus);
    if ((size_t)heat == spec->n_hots) {
        r->cool++;
        return;
    }
    r->hot[heat]++;
    episodes_add(&r->episodes, s->at[i], s->period_ns);
    take_gpus(b, seen.low, s->period_ns);
}

void bottleneck_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct bottleneck *b = state;
    const struct bottleneck_spec *spec = c->spec;
    struct gpus_seen seen[PIECE];
    int heat[PIECE];
    per_gpu_see(&b->gpus, sizeof(struct bottleneck_gpu), s);
    const uint64_t used = used_of(&b->gpus);
    settle(b, used);
    for (size_t from = 0; from < s->n; from += PIECE) {
        const size_t n = MIN_OF(s->n - from, (size_t)PIECE);
        see_gpus(seen, s, from, n, (float)c->p[spec->gpu_threshold].v);
        see_heat(heat, spec, s, from, n, c->p[spec->hot_threshold].v);
        for (size_t i = 0; i < n; i++)
            if (heat[i] >= 0 && seen[i].read)
                take(b, spec, s, from + i, heat[i], seen[i], used);
    }
}

static void join_gpu(void *own, const struct rule_view *c, void *its)
{
    (void)c;
    ((struct bottleneck_gpu *)own)->waited_ns += ((struct bottleneck_gpu *)its)->waited_ns;
}

void bottleneck_join(void *state, const struct rule_view *c, void *its)
{
    struct bottleneck *b = state, *later = its;
    per_gpu_join(&b->gpus, &later->gpus, c, join_gpu);
    const uint64_t used = used_of(&b->gpus);
    settle(b, used);
    settle(later, used);
    for (size_t i = 0; i < later->n_rows; i++) {
        struct bottleneck_row *r = &later->row[i];
        row_add(row_of(b, r->low, r->gpus), r);
    }
    later->n_rows = 0;
}

void bottleneck_free(void *state)
{
    struct bottleneck *b = state;
    for (size_t i = 0; i < b->n_rows; i++)
        episodes_free(&b->row[i].episodes);
    per_gpu_free(&b->gpus, NULL);
    *b = (struct bottleneck){0};
}
