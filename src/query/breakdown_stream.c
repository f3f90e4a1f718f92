/* SPDX-License-Identifier: Apache-2.0 */
/* breakdown_stream.c - why a stream stood still, and how it was fed. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/breakdown_internal.h"

/* The device's own pace from one kernel to the next. */
enum { KERNEL_WAIT_NS = 30 };

void stream_begin(struct stream *s, const struct breakdown_of *of, const struct track *t)
{
    s->row = (struct stream_row){
        .of = *of, .device = track_device(t), .stream = track_stream(t), .delay_max_ns = INT64_MIN};
    s->last_end = INT64_MIN;
    s->delay_sum = s->waiting_sum = 0;
}

void stream_free(struct stream *s)
{
    free(s->delays);
    free(s->launched);
    free(s->begun);
}

static void add_gap(struct stream *s, const struct launch *l, int64_t begin)
{
    const int64_t gap = begin - s->last_end;
    if (l && l->begin > s->last_end)
        s->row.host_wait_ns += gap;
    else if (gap < KERNEL_WAIT_NS)
        s->row.kernel_wait_ns += gap;
    else
        s->row.other_wait_ns += gap;
}

static void add_launch(struct stream *s, const struct launch *l, int64_t begin, int64_t end)
{
    const size_t i = s->row.launches++;
    if (i == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 1024;
        s->delays = xrealloc(s->delays, s->cap, sizeof *s->delays);
        s->launched = xrealloc(s->launched, s->cap, sizeof *s->launched);
        s->begun = xrealloc(s->begun, s->cap, sizeof *s->begun);
    }
    s->delays[i] = begin - l->end;
    s->launched[i] = l->begin;
    s->begun[i] = begin;
    s->delay_sum += s->delays[i];
    s->waiting_sum += MAX_OF(0, begin - l->begin);
    s->row.delay_max_ns = MAX_OF(s->row.delay_max_ns, s->delays[i]);
    s->row.short_ops += end - begin < l->end - l->begin;
}

void stream_add(struct stream *s, const struct launch *l, int64_t begin, int64_t end)
{
    if (s->row.ops++ && begin > s->last_end)
        add_gap(s, l, begin);
    s->last_end = MAX_OF(s->last_end, end);
    if (l)
        add_launch(s, l, begin, end);
}

/* ---- at the end ---- */

/* The k-th smallest; reorders v. Pivots are drawn, so no order of the input makes it slow. */
static int64_t select_kth(int64_t *v, size_t n, size_t k)
{
    size_t lo = 0, hi = n;
    uint64_t draw = 1;
    while (hi - lo > 1) {
        draw = draw * 6364136223846793005u + 1442695040888963407u;
        const int64_t pivot = v[lo + (size_t)(draw >> 33) % (hi - lo)];
        size_t below = lo, at = lo, above = hi;
        while (at < above) {
            const int64_t x = v[at];
            if (x < pivot) {
                v[at++] = v[below];
                v[below++] = x;
            } else if (x > pivot) {
                v[at] = v[--above];
                v[above] = x;
            } else {
                at++;
            }
        }
        if (k >= below && k < above)
            return pivot;
        lo = k < below ? lo : above;
        hi = k < below ? below : hi;
    }
    return v[lo];
}

static int breakdown_stream_by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void breakdown_stream_sort(int64_t *v, size_t n)
{
    size_t i = 1;
    while (i < n && v[i - 1] <= v[i])
        i++;
    if (i < n)
        qsort(v, n, sizeof *v, breakdown_stream_by_value);
}

/* Most that were launched and had not begun, right after a launch. */
static uint64_t queue_most(const struct stream *s, size_t n)
{
    size_t begun = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        while (begun < n && s->begun[begun] < s->launched[i])
            begun++;
        most = MAX_OF(most, i + 1 > begun ? i + 1 - begun : 0);
    }
    return most;
}

void stream_end(struct stream *s)
{
    const size_t n = s->row.launches;
    if (n == 0) {
        s->row.delay_max_ns = 0;
        return;
    }
    breakdown_stream_sort(s->launched, n);
    breakdown_stream_sort(s->begun, n);
    s->row.delay_p50_ns = select_kth(s->delays, n, (n - 1) / 2);
    s->row.delay_mean_ns = s->delay_sum / (int64_t)n;
    s->row.queue_max = queue_most(s, n);
    const int64_t span = s->begun[n - 1] - s->launched[0];
    s->row.queue_mean = span > 0 ? (double)s->waiting_sum / (double)span : 0;
}
