/* SPDX-License-Identifier: Apache-2.0 */
/* stephist.c - how long steps took, see stepmarks.h. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "query/stepmarks_internal.h"

/* The mean and three standard deviations. */
static double outliers_from(const struct spread *s, int64_t base)
{
    const double above = s->sum / (double)s->n;
    const double variance = s->squares / (double)s->n - above * above;
    return ((double)base + above + 3 * sqrt(fmax(variance, 0))) / (double)NS_PER_S;
}

/* The first that begins at or after t. */
static size_t first_at(const struct rank_marks *r, int64_t t)
{
    size_t lo = 0, hi = r->n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (r->v[mid].start < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void make_edges(struct step_hist *h, const struct spread *s)
{
    const double low = ns_to_s(s->min), most = ns_to_s(s->max), top = fmin(most, h->outlier_from_s);
    for (size_t i = 0; i <= STEP_HIST_BINS; i++)
        h->edges_s[i] = low + (top - low) * (double)i / STEP_HIST_BINS;
    h->edges_s[STEP_HIST_BINS] = top; /* not a rounding below it */
    h->n = STEP_HIST_BINS;
    if (most > top)
        h->edges_s[++h->n] = most;
}

static size_t stephist_bin_of(const struct step_hist *h, double s)
{
    const double low = h->edges_s[0], top = h->edges_s[STEP_HIST_BINS];
    if (s > top)
        return STEP_HIST_BINS;
    const double at = top > low ? (s - low) / (top - low) * STEP_HIST_BINS : 0;
    return MIN_OF((size_t)at, (size_t)STEP_HIST_BINS - 1);
}

/* Keeps the longest: a new one takes the place of the shortest that is kept. False: it is none. */
static bool keep_outlier(struct step_hist *h, const struct step_mark *m)
{
    h->outliers_all++;
    if (h->n_outliers < STEP_HIST_OUTLIERS) {
        h->outliers[h->n_outliers++] = m;
        return true;
    }
    size_t shortest = 0;
    for (size_t i = 1; i < h->n_outliers; i++)
        if (h->outliers[i]->iteration_ns < h->outliers[shortest]->iteration_ns)
            shortest = i;
    if (h->outliers[shortest]->iteration_ns >= m->iteration_ns)
        return false;
    h->outliers[shortest] = m;
    return true;
}

static int stephist_by_time(const void *a, const void *b)
{
    const struct step_mark *x = *(const struct step_mark *const *)a,
                           *y = *(const struct step_mark *const *)b;
    return (x->start > y->start) - (x->start < y->start);
}

static void count_step(struct step_hist *h, const struct step_mark *m)
{
    const double took = ns_to_s(m->iteration_ns);
    h->counts[stephist_bin_of(h, took)]++;
    if (took > h->outlier_from_s)
        keep_outlier(h, m);
}

/* ---- many steps at once ---- */

/* The shortest duration of each bin and of those behind it: bins follow durations, so it can be
 * searched for. */
struct bounds {
    int64_t from_ns[STEP_HIST_BINS + 1];
};

static int64_t bound_of(const struct step_hist *h, const struct spread *s, size_t bin)
{
    int64_t lo = s->min, hi = s->max;
    if (stephist_bin_of(h, ns_to_s(hi)) < bin)
        return INT64_MAX;
    while (lo < hi) {
        const int64_t mid = lo + (int64_t)(((uint64_t)hi - (uint64_t)lo) / 2);
        if (stephist_bin_of(h, ns_to_s(mid)) < bin)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* How many of them are shorter. Few, often, so it is looked for near the begin first. */
static size_t shorter(const int64_t *v, size_t n, int64_t than)
{
    size_t lo = 0, hi = 1;
    while (hi <= n && v[hi - 1] < than) {
        lo = hi;
        hi *= 4;
    }
    hi = MIN_OF(hi, n);
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (v[mid] < than)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* From the longest on, until there is none that is longer than those that are kept. */
static void keep_outliers(struct step_hist *h, const struct step_mark *from, const uint16_t *at,
                          size_t n)
{
    const size_t all = h->outliers_all + n;
    while (n-- > 0 && keep_outlier(h, &from[at[n]]))
        continue;
    h->outliers_all = all;
}

static void count_order(struct step_hist *h, const struct bounds *b, const struct step_mark *from,
                        const int64_t *dur_ns, const uint16_t *at, size_t n)
{
    size_t before = 0;
    for (size_t i = 0; i < STEP_HIST_BINS; i++) {
        const size_t upto = before + shorter(dur_ns + before, n - before, b->from_ns[i + 1]);
        h->counts[i] += upto - before;
        before = upto;
    }
    h->counts[STEP_HIST_BINS] += n - before;
    if (h->n > STEP_HIST_BINS)
        keep_outliers(h, from, at + before, n - before);
}

static void count_stretch(struct step_hist *out, const struct bounds *bounds,
                          const struct step_mark *from, const struct step_order *o)
{
    size_t at = 0;
    for (size_t m = 0; m < MODE_N; m++) {
        if (o->n[m])
            count_order(&out[m], &bounds[m], from, o->dur_ns + at, o->at + at, o->n[m]);
        at += o->n[m];
    }
}

static void count_all(const struct rank_marks *r, size_t i, size_t end, const struct bounds *bounds,
                      struct step_hist *out)
{
    while (i < end) {
        const struct step_order *o = step_order_at(r, i, end);
        if (o)
            count_stretch(out, bounds, &r->v[i], o);
        else if (!r->v[i].left_out)
            count_step(&out[r->v[i].mode], &r->v[i]);
        i += o ? STEPS_ORDERED : 1;
    }
}

void step_hists_of(const struct rank_marks *r, wall_ns from, wall_ns to,
                   struct step_hist out[MODE_N])
{
    const size_t first = first_at(r, from.ns), end = to.ns ? first_at(r, to.ns) : r->n;
    struct step_sums sums = {0};
    struct bounds bounds[MODE_N];
    step_sums_add(r, first, end, &sums);
    for (size_t m = 0; m < MODE_N; m++) {
        const struct spread *s = &sums.of[m];
        out[m] = (struct step_hist){.count = s->n};
        if (s->n == 0)
            continue;
        out[m].outlier_from_s = outliers_from(s, r->v[0].iteration_ns);
        make_edges(&out[m], s);
        for (size_t b = 0; b <= STEP_HIST_BINS; b++)
            bounds[m].from_ns[b] = bound_of(&out[m], s, b);
    }
    count_all(r, first, end, bounds, out);
    for (size_t m = 0; m < MODE_N; m++)
        qsort(out[m].outliers, out[m].n_outliers, sizeof *out[m].outliers, stephist_by_time);
}
