/* SPDX-License-Identifier: Apache-2.0 */
/* hist.c - see hist.h. */
#include "rules/hist.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

#define PER_PERCENT 10.0f

/* Values whose bins are found together, by a loop that the compiler vectorizes. */
enum { HIST_PIECE = 4096 };

void hist_tenths(const float *restrict v, size_t n, uint16_t *restrict out)
{
    for (size_t i = 0; i < n; i++) {
        const float at = v[i] * PER_PERCENT + 0.5f;
        const float low = at > 0 ? at : 0; /* of NAN too */
        const int bin = (int)(low < HIST_BINS - 1 ? low : HIST_BINS - 1);
        out[i] = (uint16_t)(v[i] == v[i] ? bin : TENTHS_NAN);
    }
}

static double hist_value_of(uint64_t bin)
{
    return (double)bin / (double)PER_PERCENT;
}

void hist_add_tenths(struct hist *h, const uint16_t *tenths, size_t n)
{
    size_t counted = 0;
    for (size_t i = 0; i < n; i++) {
        if (tenths[i] == TENTHS_NAN)
            continue;
        h->bin[tenths[i]]++;
        counted++;
    }
    h->n += counted;
}

void hist_add(struct hist *h, const float *v, size_t n)
{
    uint16_t tenths[HIST_PIECE];
    for (size_t i = 0; i < n; i += HIST_PIECE) {
        const size_t some = MIN_OF(n - i, (size_t)HIST_PIECE);
        hist_tenths(v + i, some, tenths);
        hist_add_tenths(h, tenths, some);
    }
}

void hist_join(struct hist *h, const struct hist *other)
{
    h->n += other->n;
    for (size_t i = 0; i < HIST_BINS; i++)
        h->bin[i] += other->bin[i];
}

/* The bin of the value that has `below` others before it in order; `seen`: how many lie in it and
 * before it. */
static uint32_t bin_after(const struct hist *h, uint64_t below, uint64_t *seen)
{
    uint32_t bin = 0;
    *seen = h->bin[0];
    while (bin < HIST_BINS - 1 && *seen <= below)
        *seen += h->bin[++bin];
    return bin;
}

double hist_quantile(const struct hist *h, double q)
{
    if (h->n == 0)
        return NAN;
    const double at = q * (double)(h->n - 1), below = floor(at);
    uint64_t seen;
    const uint32_t low = bin_after(h, (uint64_t)below, &seen);
    uint32_t high = low;
    if (seen <= (uint64_t)ceil(at)) /* the next larger value lies in the next bin that has any */
        while (high < HIST_BINS - 1 && h->bin[++high] == 0)
            continue;
    const double a = hist_value_of(low), b = hist_value_of(high);
    return a + (b - a) * (at - below);
}

double hist_mean(const struct hist *h)
{
    const uint64_t sum = SUM_OF(i, HIST_BINS, (uint64_t)i * h->bin[i]);
    return h->n ? hist_value_of(sum) / (double)h->n : NAN;
}

double hist_max(const struct hist *h)
{
    return hist_quantile(h, 1);
}

/* ==== values of any size ==== */

static uint32_t loghist_bin_of(float v)
{
    int power;
    if (!(v >= 1))
        return 0;
    const float part = frexpf(v, &power); /* 0.5 <= part < 1, v = part * 2^power, power >= 1 */
    const uint32_t at = (uint32_t)((part - 0.5f) * 2 * LOGHIST_PER_POWER);
    return power > LOGHIST_POWERS ? LOGHIST_BINS - 1
                                  : 1 + (uint32_t)(power - 1) * LOGHIST_PER_POWER + at;
}

/* The middle of a bin. */
static double loghist_value_of(uint32_t bin)
{
    if (bin == 0)
        return 0;
    const uint32_t power = (bin - 1) / LOGHIST_PER_POWER, at = (bin - 1) % LOGHIST_PER_POWER;
    return ldexp(1 + (at + 0.5) / LOGHIST_PER_POWER, (int)power);
}

void loghist_add(struct loghist *h, const float *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (isnan(v[i]))
            continue;
        h->lo = h->n ? MIN_OF(h->lo, v[i]) : v[i];
        h->hi = h->n ? MAX_OF(h->hi, v[i]) : v[i];
        h->bin[loghist_bin_of(v[i])]++;
        h->n++;
    }
}

void loghist_join(struct loghist *h, const struct loghist *other)
{
    if (other->n == 0)
        return;
    h->lo = h->n ? MIN_OF(h->lo, other->lo) : other->lo;
    h->hi = h->n ? MAX_OF(h->hi, other->hi) : other->hi;
    h->n += other->n;
    for (size_t i = 0; i < LOGHIST_BINS; i++)
        h->bin[i] += other->bin[i];
}

/* The k-th smallest value, k from 0. */
static double value_of_rank(const struct loghist *h, uint64_t k)
{
    uint64_t seen = 0;
    if (k == 0)
        return (double)h->lo;
    if (k >= h->n - 1)
        return (double)h->hi;
    for (uint32_t i = 0; i < LOGHIST_BINS; i++) {
        seen += h->bin[i];
        if (seen > k)
            return fmin(fmax(loghist_value_of(i), (double)h->lo), (double)h->hi);
    }
    return (double)h->hi;
}

double loghist_quantile(const struct loghist *h, double q)
{
    if (h->n == 0)
        return NAN;
    const double at = q * (double)(h->n - 1), low = floor(at);
    const double a = value_of_rank(h, (uint64_t)low), b = value_of_rank(h, (uint64_t)ceil(at));
    return a + (b - a) * (at - low);
}

void loghist_counts(const struct loghist *h, double lo, double hi, double *out, size_t n)
{
    const double wide = (hi - lo) / (double)n;
    for (uint32_t i = 0; i < LOGHIST_BINS; i++) {
        if (h->bin[i] == 0)
            continue;
        const double v = fmin(fmax(loghist_value_of(i), (double)h->lo), (double)h->hi);
        const double at = wide > 0 ? fmax(floor((v - lo) / wide), 0) : 0;
        out[(size_t)fmin(at, (double)(n - 1))] += h->bin[i];
    }
}

/* ==== plots ==== */

static const double quantiles[] = {0.05, 0.25, 0.5, 0.75, 0.95};

void plot_box(struct verdict *v, struct plot *p, const char *label, const struct hist *h)
{
    double box[COUNT_OF(quantiles)];
    for (size_t i = 0; i < COUNT_OF(quantiles); i++)
        box[i] = hist_quantile(h, quantiles[i]);
    plot_row(v, p, label, box, COUNT_OF(box));
}

/* ==== columns of a batch of sweeps ==== */

/* ==== at a glance ==== */

size_t values_read(const float *v, size_t n)
{
    uint32_t read = 0; /* of a batch */
    for (size_t i = 0; i < n; i++)
        read += v[i] == v[i];
    return read;
}

/* Several maxima side by side, so that the compiler can vectorize; NAN is never larger. */
enum { SIDE_BY_SIDE = 16 };

float values_highest(const float *v, size_t n, float most)
{
    float side[SIDE_BY_SIDE];
    size_t i = 0;
    if (!v)
        return most;
    for (size_t k = 0; k < SIDE_BY_SIDE; k++)
        side[k] = most;
    for (; i + SIDE_BY_SIDE <= n; i += SIDE_BY_SIDE)
        for (size_t k = 0; k < SIDE_BY_SIDE; k++)
            side[k] = v[i + k] > side[k] ? v[i + k] : side[k];
    for (; i < n; i++)
        side[0] = v[i] > side[0] ? v[i] : side[0];
    for (size_t k = 0; k < SIDE_BY_SIDE; k++)
        most = side[k] > most ? side[k] : most;
    return most;
}

size_t sweeps_from(const wall_ns *at, size_t n, int64_t t)
{
    return SEARCH_FIRST(i, 0, n, at[i].ns < t);
}

/* ==== made once for all rules ==== */

/* Adding fewer values is cheaper than joining histograms. */
enum { SHARED_FROM = 1024 };

struct shared_entry {
    const float *v; /* the column; rules that begin to count later see another one */
    size_t n, cap;
    uint16_t *tenths;
    bool has_hist;
    struct hist hist;
};

struct shared {
    struct shared_entry *v; /* those after n were of earlier batches: their room is used again */
    size_t n, cap;
};

struct shared *shared_open(void)
{
    return xcalloc(1, sizeof(struct shared));
}

void shared_close(struct shared *x)
{
    for (size_t i = 0; x && i < x->cap; i++)
        free(x->v[i].tenths);
    if (x)
        free(x->v);
    free(x);
}

struct shared *shared_begin(struct shared *x, size_t n)
{
    x->n = 0;
    return n >= SHARED_FROM ? x : NULL;
}

static struct shared_entry *shared_add(struct shared *x, const float *v, size_t n)
{
    VEC_ZEROED(x->v, x->cap, x->n + 1);
    struct shared_entry *e = &x->v[x->n++];
    VEC_ROOM(e->tenths, e->cap, n);
    e->v = v;
    e->n = n;
    e->has_hist = false;
    hist_tenths(v, n, e->tenths);
    return e;
}

static struct shared_entry *shared_entry_of(const struct sweeps *s, const float *v)
{
    struct shared *x = s->shared;
    const size_t at = FIND_FIRST(i, x->n, x->v[i].v == v && x->v[i].n == s->n);
    return at < x->n ? &x->v[at] : shared_add(x, v, s->n);
}

const uint16_t *shared_tenths(const struct sweeps *s, const float *v)
{
    return s->shared ? shared_entry_of(s, v)->tenths : NULL;
}

void shared_hist(const struct sweeps *s, const float *v, struct hist *to)
{
    if (!v)
        return;
    if (!s->shared) {
        hist_add(to, v, s->n);
        return;
    }
    struct shared_entry *e = shared_entry_of(s, v);
    if (!e->has_hist) {
        e->hist = (struct hist){0};
        hist_add_tenths(&e->hist, e->tenths, e->n);
        e->has_hist = true;
    }
    hist_join(to, &e->hist);
}
