/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - see values.h. */
#include "rules/values.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

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
    size_t lo = 0, hi = n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (at[mid].ns < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
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
    if (x->n == x->cap) {
        VEC_ROOM(x->v, x->cap, x->n + 1);
        memset(x->v + x->n, 0, (x->cap - x->n) * sizeof *x->v);
    }
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
    for (size_t i = 0; i < x->n; i++)
        if (x->v[i].v == v && x->v[i].n == s->n)
            return &x->v[i];
    return shared_add(x, v, s->n);
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
