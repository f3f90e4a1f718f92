/* SPDX-License-Identifier: Apache-2.0 */
/* balance.c - see balance.h. */
#include "rules/balance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/shared.h"
#include "rules/tenths.h"

const double shape_edges[SHAPE_BINS + 1] = {0,    2.5,  7.5,  12.5, 17.5, 22.5, 27.5, 32.5,
                                            37.5, 42.5, 47.5, 52.5, 57.5, 62.5, 67.5, 72.5,
                                            77.5, 82.5, 87.5, 92.5, 97.5, 100};

static double balance_bits(double share)
{
    return share > 0 ? -share * log2(share) : 0;
}

struct shape shape_of(const struct hist *h)
{
    struct shape s = {.mean = hist_mean(h)};
    uint64_t count[SHAPE_BINS] = {0};
    for (size_t i = 0; i < HIST_BINS; i++)
        count[(i + 25) / 50] += h->bin[i];
    for (size_t i = 0; h->n && i < SHAPE_BINS; i++) {
        s.share[i] = (double)count[i] / (double)h->n;
        s.entropy += balance_bits(s.share[i]);
    }
    return s;
}

double shape_distance(const struct shape *a, const struct shape *b)
{
    double both = 0;
    for (size_t i = 0; i < SHAPE_BINS; i++)
        both += balance_bits((a->share[i] + b->share[i]) / 2);
    return sqrt(fmin(fmax(both - (a->entropy + b->entropy) / 2, 0), 1));
}

double hist_apart(const struct hist *a, const struct hist *b)
{
    double area = 0, f = 0, g = 0; /* shares that lie at or below the bin */
    for (size_t i = 0; i + 1 < HIST_BINS; i++) {
        f += (double)a->bin[i] / (double)a->n;
        g += (double)b->bin[i] / (double)b->n;
        area += fabs(f - g);
    }
    return area / 10;
}

double hist_chance_gap(const struct hist *a, const struct hist *b)
{
    double area = 0, f = 0, g = 0;
    for (size_t i = 0; i + 1 < HIST_BINS; i++) {
        f += (double)a->bin[i] / (double)a->n;
        g += (double)b->bin[i] / (double)b->n;
        area += f * (1 - g) + g * (1 - f);
    }
    return area / 10;
}

/* ---- at once ---- */

enum { PIECE = 256 };

static void balance_fit(struct gaps *g, size_t n)
{
    if (n <= g->n)
        return;
    g->v = xrealloc(g->v, n, sizeof *g->v);
    memset(g->v + g->n, 0, (n - g->n) * sizeof *g->v);
    g->n = n;
}

/* Those of a column of the batch, from `from` on; `room` is for those that nobody has. */
static const uint16_t *tenths_of(const struct sweeps *s, const float *v, size_t from, size_t n,
                                 uint16_t *room)
{
    const uint16_t *all = v ? shared_tenths(s, v) : NULL;
    if (all)
        return all + from;
    if (v)
        hist_tenths(v + from, n, room);
    for (size_t i = 0; !v && i < n; i++)
        room[i] = TENTHS_NAN;
    return room;
}

static bool has_missing(const uint16_t *v, size_t n)
{
    uint16_t missing = 0;
    for (size_t i = 0; i < n; i++)
        missing |= v[i] == TENTHS_NAN;
    return missing;
}

/* Of two that have all. Sums have 16 bits, so that a vector has room for many: enough for so many
 * differences. */
enum { FEW = UINT16_MAX / TENTHS_MOST / 8 * 8 };

static uint32_t sum_apart(const uint16_t *a, const uint16_t *b, size_t n)
{
    uint32_t all = 0;
    for (size_t i = 0; i < n; i += FEW) {
        const size_t end = MIN_OF(n, i + FEW);
        uint16_t sum = 0;
        for (size_t k = i; k < end; k++)
            sum = (uint16_t)(sum + (a[k] > b[k] ? a[k] - b[k] : b[k] - a[k]));
        all += sum;
    }
    return all;
}

static void add_whole(struct gap *g, const uint16_t *a, const uint16_t *b, size_t n)
{
    g->sum += sum_apart(a, b, n);
    g->n += n;
}

static void add_pair(struct gap *g, const uint16_t *a, const uint16_t *b, size_t n)
{
    uint32_t sum = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t d = a[i] - b[i];
        const bool both = (a[i] != TENTHS_NAN) & (b[i] != TENTHS_NAN);
        sum += both ? (uint32_t)(d < 0 ? -d : d) : 0;
        count += both;
    }
    g->sum += sum;
    g->n += count;
}

void gaps_add(struct gaps *g, const struct sweeps *s)
{
    uint16_t room[SIGHT_GPUS_MOST][PIECE];
    const uint16_t *v[SIGHT_GPUS_MOST];
    bool missing[SIGHT_GPUS_MOST];
    const size_t gpus = MIN_OF(s->n_gpus, (size_t)SIGHT_GPUS_MOST);
    if (gpus < 2)
        return;
    balance_fit(g, gpus * (gpus - 1) / 2);
    for (size_t i = 0; i < s->n; i += PIECE) {
        const size_t n = MIN_OF(s->n - i, (size_t)PIECE);
        for (size_t k = 0; k < gpus; k++) {
            v[k] = tenths_of(s, s->gpus[k].v[GPU_SIG_UTIL], i, n, room[k]);
            missing[k] = has_missing(v[k], n);
        }
        for (size_t b = 1, at = 0; b < gpus; b++)
            for (size_t a = 0; a < b; a++)
                (missing[a] || missing[b] ? add_pair : add_whole)(&g->v[at++], v[a], v[b], n);
    }
}

void gaps_free(struct gaps *g)
{
    free(g->v);
    *g = (struct gaps){0};
}

double gaps_mean(const struct gaps *g, size_t a, size_t b)
{
    const size_t lo = MIN_OF(a, b), hi = MAX_OF(a, b), at = hi * (hi - 1) / 2 + lo;
    if (lo == hi || at >= g->n || g->v[at].n == 0)
        return NAN;
    return (double)g->v[at].sum / (double)g->v[at].n / 10;
}
