/* SPDX-License-Identifier: Apache-2.0 */
/* levels.c - see levels.h. */
#include "query/levels.h"

#include "base/mem.h"

bool level_decode(struct scan *scan, const struct rows_block *b, const struct column *c,
                  enum level level)
{
    const bool two = level == LEVEL_TWO;
    const uint32_t n = bucket_count(c->count, level_unit(b, level));
    for (int k = 0; k < 3; k++)
        if ((!two && !blob_whole(&c->level1[k])) ||
            !codec_decode(scan->codec, two ? c->level2[k] : c->level1[k].p,
                          two ? c->level2_len[k] : c->level1[k].len, n, scan->level[k]))
            return false;
    return true;
}

static struct extent of_bytes(const uint8_t *v, uint32_t n, int64_t base)
{
    uint8_t lo = 255, hi = 0;
    uint32_t sum = 0; /* at most 65536 x 255 */
    for (uint32_t i = 0; i < n; i++) {
        lo = MIN_OF(lo, v[i]);
        hi = MAX_OF(hi, v[i]);
        sum += v[i];
    }
    const uint64_t b = (uint64_t)base;
    return (struct extent){(int64_t)(b + lo), (int64_t)(b + hi), (double)base * n + sum};
}

/* Sums are made as doubles: those of foreign numbers may not fit an integer. */
struct extent extent_of_values(const struct codec_view *v, uint32_t from, uint32_t to)
{
    if (v->narrow)
        return of_bytes(v->v8 + from, to - from, v->base);
    struct extent x = {v->v64[from], v->v64[from], 0};
    for (uint32_t i = from; i < to; i++) {
        x.lo = MIN_OF(x.lo, v->v64[i]);
        x.hi = MAX_OF(x.hi, v->v64[i]);
        x.sum += (double)v->v64[i];
    }
    return x;
}

struct extent extent_of_level(const struct scan *scan, uint32_t from, uint32_t to)
{
    const int64_t *min = scan->level[LEVEL_MIN], *max = scan->level[LEVEL_MAX],
                  *sums = scan->level[LEVEL_SUM];
    struct extent x = {min[from], max[from], 0};
    for (uint32_t i = from; i < to; i++) {
        x.lo = MIN_OF(x.lo, min[i]);
        x.hi = MAX_OF(x.hi, max[i]);
        x.sum += (double)sums[i];
    }
    return x;
}
