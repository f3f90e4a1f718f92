/* SPDX-License-Identifier: Apache-2.0 */
/* column.c - see column.h.
 *
 *     entry in the head: metric, unit, entity, step, first row, count, gaps?
 *                        min, max, sum, histogram                   when there are values
 *                        runs of values and gaps: count, blob       when there are gaps
 *                        values: blob
 *                        level 1: three blobs (min, max, sum)       from LEVEL1 values on
 *                        level 2: three times length and bytes      from LEVEL2 values on
 *     data: the bytes of the blobs, in the same order
 *
 * A blob in the head is a length and a checksum. Level 2 lies in the head, so that a day is read
 * without touching the data. Summaries are made of the values that are stored, in whole buckets, so
 * they are exact. */
#include "store/column.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

/* ---- writing ---- */

void blob_put(struct buf *head, struct buf *data, const struct buf *bytes)
{
    buf_varint(head, bytes->len);
    buf_u32(head, format_sum32(bytes->p, bytes->len, 0));
    buf_put(data, bytes->p, bytes->len);
}

struct summary {
    int64_t min, max, sum;
};

static struct summary summary_of(const int64_t *v, size_t n)
{
    struct summary s = {v[0], v[0], 0};
    uint64_t sum = 0; /* may wrap with made-up values, and then so does the reader's */
    assert(n > 0);
    for (size_t i = 0; i < n; i++) {
        s.min = MIN_OF(s.min, v[i]);
        s.max = MAX_OF(s.max, v[i]);
        sum += (uint64_t)v[i];
    }
    s.sum = (int64_t)sum;
    return s;
}

/* Counts of each value over min; 0 bins when there are more than HIST_MOST different ones. */
static unsigned count_values(const int64_t *v, size_t n, const struct summary *all,
                             uint32_t *counts, size_t span)
{
    memset(counts, 0, span * sizeof *counts);
    for (size_t i = 0; i < n; i++)
        counts[v[i] - all->min]++;
    unsigned different = 0;
    for (size_t i = 0; i < span; i++)
        different += counts[i] != 0;
    return different <= HIST_MOST ? different : 0;
}

enum { HIST_SPAN = 2048 }; /* values further apart than this get no histogram */

static void put_hist(struct buf *head, const int64_t *v, size_t n, const struct summary *all)
{
    uint32_t counts[HIST_SPAN];
    const uint64_t span = (uint64_t)all->max - (uint64_t)all->min;
    const unsigned bins = span < HIST_SPAN ? count_values(v, n, all, counts, (size_t)span + 1) : 0;
    buf_varint(head, bins);
    uint64_t last = 0;
    for (uint64_t i = 0; bins && i <= span; i++) {
        if (!counts[i])
            continue;
        buf_varint(head, i - last);
        buf_varint(head, counts[i]);
        last = i;
    }
}

struct levels {
    int64_t *part[3];
    uint32_t n;
};

/* Of all buckets of `level` values; none when there are fewer values. part[0] is to be freed. */
static struct levels levels_of(const struct column_in *in, uint32_t level)
{
    const uint32_t n = in->count < level ? 0 : bucket_count(in->count, level);
    int64_t *room = xmalloc(3 * sizeof *room * n);
    const struct levels l = {.part = {room, room + n, room + 2 * (size_t)n}, .n = n};
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t from = i * level;
        assert(from < in->count);
        const struct summary s = summary_of(in->values + from, MIN_OF(level, in->count - from));
        l.part[LEVEL_MIN][i] = s.min;
        l.part[LEVEL_MAX][i] = s.max;
        l.part[LEVEL_SUM][i] = s.sum;
    }
    return l;
}

static void column_put_values(struct codec *c, const int64_t *v, size_t n, bool dense,
                              struct buf *head, struct buf *data)
{
    struct buf bytes = {0};
    codec_encode(c, v, n, dense, &bytes);
    blob_put(head, data, &bytes);
    buf_free(&bytes);
}

static void put_levels(struct codec *c, const struct column_in *in, struct buf *head,
                       struct buf *data)
{
    const struct levels one = levels_of(in, LEVEL1), two = levels_of(in, LEVEL2);
    struct buf bytes = {0};
    for (int k = 0; k < 3 && one.n; k++)
        column_put_values(c, one.part[k], one.n, false, head, data);
    for (int k = 0; k < 3 && two.n; k++) {
        bytes.len = 0;
        codec_encode(c, two.part[k], two.n, false, &bytes);
        buf_varint(head, bytes.len);
        buf_put(head, bytes.p, bytes.len);
    }
    buf_free(&bytes);
    free(one.part[0]);
    free(two.part[0]);
}

static void column_put_summary(const struct column_in *in, struct buf *head)
{
    assert(in->count > 0);
    const struct summary all = summary_of(in->values, in->count);
    buf_varint(head, zigzag(all.min));
    buf_varint(head, zigzag(all.max));
    buf_varint(head, zigzag(all.sum));
    put_hist(head, in->values, in->count, &all);
}

void column_put(struct codec *c, const struct column_in *in, struct buf *head, struct buf *data)
{
    assert(in->count <= ROWS_MOST && in->first_row <= ROWS_MOST - in->count);
    buf_str(head, in->metric);
    buf_str(head, in->unit);
    buf_str(head, in->entity);
    buf_f64(head, in->step);
    buf_varint(head, in->first_row);
    buf_varint(head, in->count);
    buf_u8(head, in->n_runs != 0);
    if (in->count)
        column_put_summary(in, head);
    if (in->n_runs) {
        buf_varint(head, in->n_runs);
        column_put_values(c, in->runs, in->n_runs, true, head, data);
    }
    column_put_values(c, in->values, in->count, true, head, data);
    put_levels(c, in, head, data);
}

/* ---- reading ---- */

struct scale scale_of(double step)
{
    const double parts = nearbyint(1 / step);
    const bool fraction = step < 1 && fabs(parts * step - 1) < 1e-9;
    return fraction ? (struct scale){1, parts} : (struct scale){step, 1};
}

struct blob blob_get(struct cur *head, struct cur *data)
{
    struct blob b = {.len = (uint32_t)cur_varint_most(head, BLOCK_PAYLOAD_MOST)};
    b.sum = cur_u32(head);
    b.p = cur_take(data, b.len);
    if (!b.p)
        head->bad = true;
    return b;
}

bool blob_whole(const struct blob *b)
{
    return b->p && format_sum32(b->p, b->len, 0) == b->sum;
}

static void skip_hist(struct cur *head, struct column *out)
{
    out->n_hist = (uint32_t)cur_varint_most(head, HIST_MOST);
    out->hist = head->p;
    for (uint32_t i = 0; i < out->n_hist; i++) {
        cur_varint(head);
        cur_varint(head);
    }
    out->hist_len = (uint32_t)(head->p - out->hist);
}

static void get_level2(struct cur *head, struct column *out)
{
    for (int k = 0; k < 3; k++) {
        out->level2_len[k] = (uint32_t)cur_varint_most(head, BLOCK_PAYLOAD_MOST);
        out->level2[k] = cur_take(head, out->level2_len[k]);
    }
}

static struct text column_get_text(struct cur *head)
{
    struct text t = {.n = (uint32_t)cur_varint_most(head, NAME_LEN - 1)};
    t.p = (const char *)cur_take(head, t.n);
    if (t.p && memchr(t.p, 0, t.n))
        head->bad = true;
    return t;
}

void column_get(struct cur *head, struct cur *data, uint32_t l1, uint32_t l2, struct column *out)
{
    *out = (struct column){0};
    out->metric = column_get_text(head);
    out->unit = column_get_text(head);
    out->entity = column_get_text(head);
    out->step = cur_f64(head);
    out->first_row = (uint32_t)cur_varint_most(head, ROWS_MOST);
    out->count = (uint32_t)cur_varint_most(head, ROWS_MOST);
    out->has_gaps = cur_u8(head) & 1;
    if (out->count) {
        out->min = unzigzag(cur_varint(head));
        out->max = unzigzag(cur_varint(head));
        out->sum = unzigzag(cur_varint(head));
        skip_hist(head, out);
    }
    if (out->has_gaps) {
        out->n_runs = (uint32_t)cur_varint_most(head, ROWS_MOST + 1);
        out->gaps = blob_get(head, data);
    }
    out->values = blob_get(head, data);
    for (int k = 0; k < 3 && out->count >= l1; k++)
        out->level1[k] = blob_get(head, data);
    if (out->count >= l1 && out->count >= l2)
        get_level2(head, out);
}

uint32_t column_hist(const struct column *c, struct hist_bin *out)
{
    struct cur in = cur_of(c->hist, c->hist_len);
    uint64_t value = (uint64_t)c->min;
    for (uint32_t i = 0; i < c->n_hist; i++) {
        value += cur_varint(&in);
        out[i] = (struct hist_bin){(int64_t)value, cur_varint(&in)};
    }
    return c->n_hist;
}
