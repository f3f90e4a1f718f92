/* SPDX-License-Identifier: Apache-2.0 */
/* at_once.c - see at_once.h. */
#include "rules/at_once.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const int64_t PIECE_NS = AT_ONCE_PIECE_S * NS_PER_S, UNIT_NS = 10 * NS_PER_US;

/* NULL: it is too far from the others. */
static struct at_once_chunk *chunk_of(struct at_once *x, int64_t index)
{
    uint32_t lo = 0, hi = x->n;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (x->v[mid].index < index)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < x->n && x->v[lo].index == index)
        return &x->v[lo];
    if (x->n == AT_ONCE_CHUNKS_MOST)
        return NULL;
    if (x->n == x->cap) {
        x->cap = x->cap ? 2 * x->cap : 2;
        x->v = xrealloc(x->v, x->cap, sizeof *x->v);
    }
    memmove(&x->v[lo + 1], &x->v[lo], (x->n - lo) * sizeof *x->v);
    x->v[lo] = (struct at_once_chunk){.index = index};
    x->n++;
    return &x->v[lo];
}

static void at_once_add_piece(struct at_once *x, int64_t piece, int64_t ns)
{
    struct at_once_chunk *c = chunk_of(x, piece / AT_ONCE_CHUNK);
    if (c)
        c->busy[piece % AT_ONCE_CHUNK] += (uint32_t)(ns / UNIT_NS);
}

void at_once_add(struct at_once *x, wall_ns from, int64_t dur_ns)
{
    const int64_t end = from.ns + MAX_OF(dur_ns, 0);
    if (from.ns < 0 || dur_ns / PIECE_NS > AT_ONCE_CHUNK)
        return;
    for (int64_t at = from.ns; at < end;) {
        const int64_t stop = MIN_OF(end, (at / PIECE_NS + 1) * PIECE_NS);
        at_once_add_piece(x, at / PIECE_NS, stop - at);
        at = stop;
    }
}

void at_once_free(struct at_once *x)
{
    free(x->v);
    *x = (struct at_once){0};
}

static int at_once_by_value(const void *a, const void *b)
{
    const uint32_t s = *(const uint32_t *)a, t = *(const uint32_t *)b;
    return (s > t) - (s < t);
}

/* Pieces between chunks, in which there was no work, are not kept and not looked at: then the job
 * did something else. */
double at_once_median(const struct at_once *x)
{
    size_t n = 0, first = SIZE_MAX, last = 0;
    uint32_t *v = xcalloc(MAX_OF((size_t)x->n, (size_t)1) * AT_ONCE_CHUNK, sizeof *v);
    for (uint32_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < AT_ONCE_CHUNK; k++, n++) {
            v[n] = x->v[i].busy[k];
            first = v[n] && first == SIZE_MAX ? n : first;
            last = v[n] ? n : last;
        }
    double median = 0;
    if (first != SIZE_MAX) {
        qsort(v + first, last - first + 1, sizeof *v, at_once_by_value);
        median = (double)v[first + (last - first) / 2] * (double)UNIT_NS / (double)PIECE_NS;
    }
    free(v);
    return median;
}
