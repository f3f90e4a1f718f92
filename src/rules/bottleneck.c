/* SPDX-License-Identifier: Apache-2.0 */
/* bottleneck.c - see bottleneck.h. Here: counting. */
#include "rules/bottleneck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/bottleneck_internal.h"

static uint64_t used_of(const struct per_gpu *g)
{
    uint64_t used = 0;
    for (size_t i = 0; i < MIN_OF(g->n, (size_t)SIGHT_GPUS_MOST); i++)
        if (gpu_was_used(per_gpu_at(g, i)))
            used |= UINT64_C(1) << i;
    return used;
}

/* ---- rows ---- */

static struct bottleneck_row *bottleneck_row_of(struct bottleneck *b, uint64_t low,
                                                enum bottleneck_gpus gpus)
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

static int bottleneck_by_start(const void *a, const void *b)
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
    qsort(all, n, sizeof *all, bottleneck_by_start);
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
static void bottleneck_settle(struct bottleneck *b, uint64_t used)
{
    struct bottleneck old = *b;
    b->n_rows = 0;
    for (size_t i = 0; i < old.n_rows; i++) {
        struct bottleneck_row *r = &old.row[i];
        row_add(bottleneck_row_of(b, r->low, r->low & used ? GPUS_LOW : r->gpus), r);
    }
}

/* ---- sweeps ---- */

/* GPUs are bits, half of them in a word: as wide as what they are made of, so that the compiler
 * vectorizes. */
enum { PIECE = 256, HALF = 32, HALVES = SIGHT_GPUS_MOST / HALF };

/* Which way it was hot is the first that holds: n_hots for not, NOT_READ when nothing of it was
 * read. */
enum { NOT_READ = -1 };

/* Some sweeps, looked at column by column, which is how they lie in memory. */
struct bottleneck_piece {
    size_t from, n;
    int heat[PIECE];
    uint32_t read[HALVES][PIECE], low[HALVES][PIECE];
};

/* What a float is above when it is above the limit. */
static float float_limit(double limit)
{
    const float f = (float)limit;
    return (double)f > limit ? nextafterf(f, -INFINITY) : f;
}

static void add_heat(int *restrict heat, const float *restrict v, size_t n, float limit, int kind,
                     int none)
{
    for (size_t i = 0; i < n; i++) {
        const int cool = heat[i] < 0 ? none : heat[i];
        const int seen = v[i] > limit ? kind : cool;
        heat[i] = v[i] == v[i] ? seen : heat[i];
    }
}

static void see_heat(struct bottleneck_piece *p, const struct bottleneck_spec *spec,
                     const struct sweeps *s, float limit)
{
    for (size_t i = 0; i < p->n; i++)
        p->heat[i] = NOT_READ;
    for (size_t k = spec->n_hots; k-- > 0;)
        if (s->v[spec->hots[k].signal])
            add_heat(p->heat, s->v[spec->hots[k].signal] + p->from, p->n, limit, (int)k,
                     (int)spec->n_hots);
}

static void bottleneck_see_gpu(uint32_t *restrict read, uint32_t *restrict low,
                               const float *restrict v, size_t n, float limit, uint32_t bit)
{
    for (size_t i = 0; i < n; i++) {
        read[i] |= v[i] == v[i] ? bit : 0;
        low[i] |= v[i] < limit ? bit : 0;
    }
}

static void see_gpus(struct bottleneck_piece *p, const struct sweeps *s, float limit)
{
    memset(p->read, 0, sizeof p->read);
    memset(p->low, 0, sizeof p->low);
    for (size_t g = 0; g < MIN_OF(s->n_gpus, (size_t)SIGHT_GPUS_MOST); g++) {
        const float *v = s->gpus[g].v[GPU_SIG_UTIL];
        if (v)
            bottleneck_see_gpu(p->read[g / HALF], p->low[g / HALF], v + p->from, p->n, limit,
                               UINT32_C(1) << g % HALF);
    }
}

static void take_gpus(struct bottleneck *b, uint64_t low, int64_t held_ns)
{
    for (; low; low &= low - 1) {
        struct bottleneck_gpu *g = per_gpu_at(&b->gpus, (size_t)__builtin_ctzll(low));
        g->waited_ns += held_ns;
    }
}

/* A snapshot in which GPUs were low, whether they are in use or not. */
static void take_low(struct bottleneck *b, const struct bottleneck_spec *spec,
                     const struct sweeps *s, const struct bottleneck_piece *p, size_t i,
                     uint64_t used)
{
    const uint64_t read = (uint64_t)p->read[1][i] << HALF | p->read[0][i];
    const uint64_t low = (uint64_t)p->low[1][i] << HALF | p->low[0][i];
    struct bottleneck_row *r = bottleneck_row_of(b, low & ~used,
                                                 low & used    ? GPUS_LOW
                                                 : read & used ? GPUS_FINE
                                                               : GPUS_NOT_READ);
    if ((size_t)p->heat[i] == spec->n_hots) {
        r->cool++;
        return;
    }
    r->hot[p->heat[i]]++;
    episodes_add(&r->episodes, s->at[p->from + i], s->period_ns);
    take_gpus(b, low, s->period_ns);
}

/* Snapshots in which something was read of both but no GPU was low, by whether one in use was read.
 */
static void bottleneck_count_others(const struct bottleneck_piece *p, uint64_t used,
                                    uint32_t n[BOTTLENECK_GPUS_N])
{
    const uint32_t used_0 = (uint32_t)used, used_1 = (uint32_t)(used >> HALF);
    uint32_t all = 0, fine = 0;
    for (size_t i = 0; i < p->n; i++) {
        const uint32_t read = p->read[0][i] | p->read[1][i], low = p->low[0][i] | p->low[1][i];
        const uint32_t in_use = (p->read[0][i] & used_0) | (p->read[1][i] & used_1);
        const uint32_t counts = (p->heat[i] != NOT_READ) & (read != 0) & (low == 0);
        all += counts;
        fine += counts & (in_use != 0);
    }
    n[GPUS_FINE] = fine;
    n[GPUS_NOT_READ] = all - fine;
}

/* Where no GPU was low none can turn out to have been, so how hot it was is not asked. */
static void take_piece(struct bottleneck *b, const struct bottleneck_spec *spec,
                       const struct sweeps *s, const struct bottleneck_piece *p, uint64_t used)
{
    uint32_t n[BOTTLENECK_GPUS_N] = {0};
    bottleneck_count_others(p, used, n);
    for (unsigned k = 0; k < BOTTLENECK_GPUS_N; k++)
        if (n[k])
            bottleneck_row_of(b, 0, k)->cool += n[k];
    for (size_t i = 0; i < p->n; i++)
        if (p->low[0][i] | p->low[1][i] && p->heat[i] != NOT_READ)
            take_low(b, spec, s, p, i, used);
}

void bottleneck_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct bottleneck *b = state;
    const struct bottleneck_spec *spec = c->spec;
    const float hot = float_limit(c->p[spec->hot_threshold].v);
    struct bottleneck_piece p;
    per_gpu_see(&b->gpus, sizeof(struct bottleneck_gpu), s);
    const uint64_t used = used_of(&b->gpus);
    bottleneck_settle(b, used);
    for (p.from = 0; p.from < s->n; p.from += PIECE) {
        p.n = MIN_OF(s->n - p.from, (size_t)PIECE);
        see_gpus(&p, s, (float)c->p[spec->gpu_threshold].v);
        see_heat(&p, spec, s, hot);
        take_piece(b, spec, s, &p, used);
    }
}

void bottleneck_free(void *state)
{
    struct bottleneck *b = state;
    for (size_t i = 0; i < b->n_rows; i++)
        episodes_free(&b->row[i].episodes);
    per_gpu_free(&b->gpus, NULL);
    *b = (struct bottleneck){0};
}
