/* SPDX-License-Identifier: Apache-2.0 */
/* stepmarks.c - see stepmarks.h. */
#include "query/stepmarks.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

enum { SUMMED = 1024 }; /* steps that are summed up together */

/* ---- sums of steps ---- */

/* The steps of a mode, in ns. Sums are of what lies above a step of the same rank, so that long
 * steps do not cost the digits that short differences need. */
struct spread {
    size_t n;
    int64_t min, max;
    double sum, squares;
};

struct step_sums {
    struct spread of[MODE_N];
};

/* Steps from `i` on as long as they are of one mode; returns the first that is not. */
static size_t see_some(const struct rank_marks *r, size_t i, size_t end, struct step_sums *out)
{
    const enum event_mode mode = r->v[i].mode;
    const int64_t base = r->v[0].dur_ns;
    struct spread s = out->of[mode];
    for (; i < end && r->v[i].mode == mode; i++) {
        const int64_t dur = r->v[i].dur_ns;
        if (r->v[i].cut)
            continue;
        if (s.n++ == 0)
            s.min = s.max = dur;
        s.min = MIN_OF(s.min, dur);
        s.max = MAX_OF(s.max, dur);
        const double above = (double)(dur - base);
        s.sum += above;
        s.squares += above * above;
    }
    out->of[mode] = s;
    return i;
}

static void see_all(const struct rank_marks *r, size_t i, size_t end, struct step_sums *out)
{
    while (i < end)
        i = see_some(r, i, end, out);
}

static void join(struct step_sums *to, const struct step_sums *from)
{
    for (size_t m = 0; m < MODE_N; m++) {
        struct spread *s = &to->of[m];
        const struct spread *x = &from->of[m];
        if (x->n == 0)
            continue;
        s->min = s->n ? MIN_OF(s->min, x->min) : x->min;
        s->max = s->n ? MAX_OF(s->max, x->max) : x->max;
        s->n += x->n;
        s->sum += x->sum;
        s->squares += x->squares;
    }
}

/* Where whole stretches of them lie in the window, what was summed up before is taken. */
static void sum_up(const struct rank_marks *r, size_t i, size_t end, struct step_sums *out)
{
    while (i < end) {
        const size_t stop = (i / SUMMED + 1) * SUMMED;
        if (r->sums && i % SUMMED == 0 && stop <= end)
            join(out, &r->sums[i / SUMMED]);
        else
            see_all(r, i, MIN_OF(stop, end), out);
        i = stop;
    }
}

struct rank_marks rank_marks_of(const struct rank_steps *s, struct arena *a)
{
    struct rank_marks out = {arena_strdup(a, s->node),
                             s->rank,
                             s->process->pid,
                             arena_array(a, struct step_mark, s->n),
                             s->n,
                             NULL};
    struct step_sums *sums = arena_array(a, struct step_sums, s->n / SUMMED + 1);
    for (size_t i = 0; i < s->n; i++) {
        const struct step *x = &s->steps[i];
        out.v[i] = (struct step_mark){x->start.ns, x->dur_ns, x->number, x->mode, x->cut};
    }
    for (size_t i = 0; i + SUMMED <= s->n; i += SUMMED)
        see_all(&out, i, i + SUMMED, &sums[i / SUMMED]);
    out.sums = sums;
    return out;
}

/* ---- histogram ---- */

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

static size_t bin_of(const struct step_hist *h, double s)
{
    const double low = h->edges_s[0], top = h->edges_s[STEP_HIST_BINS];
    if (s > top)
        return STEP_HIST_BINS;
    const double at = top > low ? (s - low) / (top - low) * STEP_HIST_BINS : 0;
    return MIN_OF((size_t)at, (size_t)STEP_HIST_BINS - 1);
}

/* Keeps the longest: a new one takes the place of the shortest that is kept. */
static void keep_outlier(struct step_hist *h, const struct step_mark *m)
{
    h->outliers_all++;
    if (h->n_outliers < STEP_HIST_OUTLIERS) {
        h->outliers[h->n_outliers++] = m;
        return;
    }
    size_t shortest = 0;
    for (size_t i = 1; i < h->n_outliers; i++)
        if (h->outliers[i]->dur_ns < h->outliers[shortest]->dur_ns)
            shortest = i;
    if (h->outliers[shortest]->dur_ns < m->dur_ns)
        h->outliers[shortest] = m;
}

static int by_time(const void *a, const void *b)
{
    const struct step_mark *x = *(const struct step_mark *const *)a,
                           *y = *(const struct step_mark *const *)b;
    return (x->start > y->start) - (x->start < y->start);
}

static void count_step(struct step_hist *h, const struct step_mark *m)
{
    const double took = ns_to_s(m->dur_ns);
    h->counts[bin_of(h, took)]++;
    if (took > h->outlier_from_s)
        keep_outlier(h, m);
}

void step_hists_of(const struct rank_marks *r, wall_ns from, wall_ns to,
                   struct step_hist out[MODE_N])
{
    const size_t first = first_at(r, from.ns), end = to.ns ? first_at(r, to.ns) : r->n;
    struct step_sums sums = {0};
    sum_up(r, first, end, &sums);
    for (size_t m = 0; m < MODE_N; m++) {
        const struct spread *s = &sums.of[m];
        out[m] = (struct step_hist){.count = s->n};
        if (s->n == 0)
            continue;
        out[m].outlier_from_s = outliers_from(s, r->v[0].dur_ns);
        make_edges(&out[m], s);
    }
    for (size_t i = first; i < end; i++)
        if (!r->v[i].cut)
            count_step(&out[r->v[i].mode], &r->v[i]);
    for (size_t m = 0; m < MODE_N; m++)
        qsort(out[m].outliers, out[m].n_outliers, sizeof *out[m].outliers, by_time);
}
