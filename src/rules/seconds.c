/* SPDX-License-Identifier: Apache-2.0 */
/* seconds.c - see seconds.h. */
#include "rules/seconds.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "base/vec.h"

static int64_t second_of(int64_t ns)
{
    return ns / NS_PER_S - (ns % NS_PER_S < 0);
}

/* ---- chunks ---- */

static int64_t chunk_index(const struct chunks *c, size_t size, size_t i)
{
    return *(const int64_t *)(const void *)(c->v + i * size);
}

/* The first chunk that is not before `index`. Most lists have no holes between their chunks. */
static size_t chunks_place(const struct chunks *c, size_t size, int64_t index)
{
    const int64_t guess = c->n ? index - chunk_index(c, size, 0) : 0;
    if (guess >= 0 && guess < c->n && chunk_index(c, size, (size_t)guess) == index)
        return (size_t)guess;
    return SEARCH_FIRST(i, 0, c->n, chunk_index(c, size, i) < index);
}

/* NULL: it has none of that index. */
static void *chunks_find(const struct chunks *c, size_t size, int64_t index)
{
    const size_t i = chunks_place(c, size, index);
    return i < c->n && chunk_index(c, size, i) == index ? c->v + i * size : NULL;
}

/* Made where there is none; NULL: there are `most` already, so it is too far from the others. */
static void *chunks_make(struct chunks *c, size_t size, uint32_t most, int64_t index)
{
    char *found = chunks_find(c, size, index);
    if (found || c->n == most)
        return found;
    const size_t i = chunks_place(c, size, index);
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 2;
        c->v = xrealloc(c->v, c->cap, size);
    }
    memmove(c->v + (i + 1) * size, c->v + i * size, (c->n - i) * size);
    memset(c->v + i * size, 0, size);
    memcpy(c->v + i * size, &index, sizeof index);
    c->n++;
    return c->v + i * size;
}

static void chunks_memory(struct chunks *c, size_t size, enum state_op op)
{
    state_memory(op, &c->v, c->cap * size);
    if (op == STATE_FREE)
        *c = (struct chunks){0};
}

/* ==== seconds ==== */

static const struct seconds_chunk *seconds_find(const struct seconds *s, int64_t index)
{
    return chunks_find(&s->chunks, sizeof(struct seconds_chunk), index);
}

static struct seconds_chunk *seconds_make(struct seconds *s, int64_t index)
{
    return chunks_make(&s->chunks, sizeof(struct seconds_chunk), SECONDS_CHUNKS_MOST, index);
}

static void set(struct seconds *s, int64_t second)
{
    struct seconds_chunk *c = seconds_make(s, second / SECONDS_CHUNK);
    if (c)
        c->bits[second % SECONDS_CHUNK / 64] |= UINT64_C(1) << (second % 64);
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
    const struct seconds_chunk *v = (const void *)s->chunks.v;
    const int64_t index = second / SECONDS_CHUNK;
    for (size_t i = chunks_place(&s->chunks, sizeof *v, index); i < s->chunks.n; i++) {
        const int64_t at = v[i].index == index ? second % SECONDS_CHUNK : 0;
        const int64_t k = next_in(&v[i], at);
        if (k < SECONDS_CHUNK)
            return v[i].index * SECONDS_CHUNK + k;
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
    const struct seconds_chunk *v = (const void *)other->chunks.v;
    for (uint32_t i = 0; i < other->chunks.n; i++) {
        struct seconds_chunk *c = seconds_make(s, v[i].index);
        for (size_t k = 0; c && k < COUNT_OF(c->bits); k++)
            c->bits[k] |= v[i].bits[k];
    }
}

void seconds_memory(struct seconds *s, enum state_op op)
{
    chunks_memory(&s->chunks, sizeof(struct seconds_chunk), op);
}

/* ==== how many at once ==== */

static const int64_t PIECE_NS = AT_ONCE_PIECE_S * NS_PER_S, UNIT_NS = 10 * NS_PER_US;

void at_once_add(struct at_once *x, wall_ns from, int64_t dur_ns)
{
    const int64_t end = from.ns + MAX_OF(dur_ns, 0);
    if (from.ns < 0 || dur_ns / PIECE_NS > AT_ONCE_CHUNK)
        return;
    for (int64_t at = from.ns; at < end;) {
        const int64_t stop = MIN_OF(end, (at / PIECE_NS + 1) * PIECE_NS);
        const int64_t slot = at / PIECE_NS;
        struct at_once_chunk *c =
            chunks_make(&x->chunks, sizeof *c, AT_ONCE_CHUNKS_MOST, slot / AT_ONCE_CHUNK);
        if (c)
            c->busy[slot % AT_ONCE_CHUNK] += (uint32_t)((stop - at) / UNIT_NS);
        at = stop;
    }
}

void at_once_memory(struct at_once *x, enum state_op op)
{
    chunks_memory(&x->chunks, sizeof(struct at_once_chunk), op);
}

/* Gaps between chunks, in which there was no work, are neither stored nor read: then the job
 * did something else. */
double at_once_median(const struct at_once *x)
{
    const struct at_once_chunk *chunks = (const void *)x->chunks.v;
    size_t n = 0, first = SIZE_MAX, last = 0;
    double *v = xcalloc(MAX_OF((size_t)x->chunks.n, (size_t)1) * AT_ONCE_CHUNK, sizeof *v);
    for (uint32_t i = 0; i < x->chunks.n; i++)
        for (size_t k = 0; k < AT_ONCE_CHUNK; k++, n++) {
            v[n] = chunks[i].busy[k];
            first = v[n] > 0 && first == SIZE_MAX ? n : first;
            last = v[n] > 0 ? n : last;
        }
    double median = 0;
    if (first != SIZE_MAX) {
        stat_sort(v + first, last - first + 1);
        median = v[first + (last - first) / 2] * (double)UNIT_NS / (double)PIECE_NS;
    }
    free(v);
    return median;
}
