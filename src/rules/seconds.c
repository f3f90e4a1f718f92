/* SPDX-License-Identifier: Apache-2.0 */
/* seconds.c - see seconds.h. */
#include "rules/seconds.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int64_t second_of(int64_t ns)
{
    return ns / NS_PER_S - (ns % NS_PER_S < 0);
}

/* The first chunk that is not before `index`. Most sets have no holes between their chunks. */
static uint32_t seconds_place_of(const struct seconds *s, int64_t index)
{
    uint32_t lo = 0, hi = s->n;
    const int64_t guess = s->n ? index - s->v[0].index : 0;
    if (guess >= 0 && guess < s->n && s->v[guess].index == index)
        return (uint32_t)guess;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (s->v[mid].index < index)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static const struct seconds_chunk *seconds_find(const struct seconds *s, int64_t index)
{
    const uint32_t i = seconds_place_of(s, index);
    return i < s->n && s->v[i].index == index ? &s->v[i] : NULL;
}

/* NULL: it is too far from the others. */
static struct seconds_chunk *seconds_make(struct seconds *s, int64_t index)
{
    const uint32_t i = seconds_place_of(s, index);
    if (i < s->n && s->v[i].index == index)
        return &s->v[i];
    if (s->n == SECONDS_CHUNKS_MOST)
        return NULL;
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 2;
        s->v = xrealloc(s->v, s->cap, sizeof *s->v);
    }
    memmove(&s->v[i + 1], &s->v[i], (s->n - i) * sizeof *s->v);
    s->v[i] = (struct seconds_chunk){.index = index};
    s->n++;
    return &s->v[i];
}

static void set(struct seconds *s, int64_t second)
{
    struct seconds_chunk *c = seconds_make(s, second / SECONDS_CHUNK);
    if (c)
        c->bits[second % SECONDS_CHUNK / 64] |= UINT64_C(1) << (second % 64);
}

bool seconds_has(const struct seconds *s, int64_t second)
{
    const struct seconds_chunk *c = seconds_find(s, second / SECONDS_CHUNK);
    return c && (c->bits[second % SECONDS_CHUNK / 64] >> (second % 64) & 1);
}

/* The last second that is touched; a moment touches one. */
static int64_t last_of(wall_ns from, int64_t dur_ns)
{
    return second_of(from.ns + MAX_OF(dur_ns - 1, 0));
}

void seconds_mark(struct seconds *s, wall_ns from, int64_t dur_ns)
{
    const int64_t last = last_of(from, dur_ns);
    const int64_t most = (int64_t)SECONDS_CHUNK * SECONDS_CHUNKS_MOST;
    if (from.ns < 0 || last - second_of(from.ns) > most)
        return;
    for (int64_t t = second_of(from.ns); t <= last; t++)
        set(s, t);
}

/* In a chunk, from `at` on; SECONDS_CHUNK: there is none. */
static int64_t next_in(const struct seconds_chunk *c, int64_t at)
{
    uint64_t word = at < SECONDS_CHUNK ? c->bits[at / 64] & (~UINT64_C(0) << (at % 64)) : 0;
    for (int64_t w = at / 64; w < SECONDS_CHUNK / 64;) {
        if (word)
            return w * 64 + __builtin_ctzll(word);
        if (++w < SECONDS_CHUNK / 64)
            word = c->bits[w];
    }
    return SECONDS_CHUNK;
}

int64_t seconds_next(const struct seconds *s, int64_t second)
{
    const int64_t index = second / SECONDS_CHUNK;
    for (uint32_t i = seconds_place_of(s, index); i < s->n; i++) {
        const int64_t at = s->v[i].index == index ? second % SECONDS_CHUNK : 0;
        const int64_t k = next_in(&s->v[i], at);
        if (k < SECONDS_CHUNK)
            return s->v[i].index * SECONDS_CHUNK + k;
    }
    return INT64_MAX;
}

int64_t seconds_pause(const struct seconds *s, int64_t second)
{
    for (const struct seconds_chunk *c; (c = seconds_find(s, second / SECONDS_CHUNK));) {
        const int64_t at = second % SECONDS_CHUNK;
        const uint64_t others = ~c->bits[at / 64] >> (at % 64);
        if (others)
            return second + __builtin_ctzll(others);
        second += 64 - at % 64;
    }
    return second;
}

uint64_t seconds_touched(const struct seconds *s, wall_ns from, int64_t dur_ns, uint64_t *of)
{
    const int64_t first = second_of(from.ns), last = last_of(from, dur_ns);
    uint64_t n = 0;
    for (int64_t t = seconds_next(s, first), end; t <= last; t = seconds_next(s, end)) {
        end = MIN_OF(seconds_pause(s, t), last + 1);
        n += (uint64_t)(end - t);
    }
    *of = (uint64_t)(last - first + 1);
    return n;
}

void seconds_add_all(struct seconds *s, const struct seconds *other)
{
    for (uint32_t i = 0; i < other->n; i++) {
        struct seconds_chunk *c = seconds_make(s, other->v[i].index);
        for (size_t k = 0; c && k < COUNT_OF(c->bits); k++)
            c->bits[k] |= other->v[i].bits[k];
    }
}

void seconds_memory(struct seconds *s, enum state_op op)
{
    STATE_VEC(op, s);
}

/* ==== how many at once ==== */

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

static void at_once_add_slot(struct at_once *x, int64_t slot, int64_t ns)
{
    struct at_once_chunk *c = chunk_of(x, slot / AT_ONCE_CHUNK);
    if (c)
        c->busy[slot % AT_ONCE_CHUNK] += (uint32_t)(ns / UNIT_NS);
}

void at_once_add(struct at_once *x, wall_ns from, int64_t dur_ns)
{
    const int64_t end = from.ns + MAX_OF(dur_ns, 0);
    if (from.ns < 0 || dur_ns / PIECE_NS > AT_ONCE_CHUNK)
        return;
    for (int64_t at = from.ns; at < end;) {
        const int64_t stop = MIN_OF(end, (at / PIECE_NS + 1) * PIECE_NS);
        at_once_add_slot(x, at / PIECE_NS, stop - at);
        at = stop;
    }
}

void at_once_memory(struct at_once *x, enum state_op op)
{
    STATE_VEC(op, x);
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
