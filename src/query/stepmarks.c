/* SPDX-License-Identifier: Apache-2.0 */
/* stepmarks.c - see stepmarks.h. Every call walks the marks of its window: for the 864 000 steps of
 * a day of 100 ms steps a histogram takes 5 ms. */
#include "query/stepmarks.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

struct rank_marks rank_marks_of(const struct rank_steps *s, struct arena *a)
{
    enum step_choice choice[MODE_N];
    struct rank_marks out = {.node = arena_strdup(a, s->node),
                             .rank = s->rank,
                             .pid = s->process->pid,
                             .v = arena_array(a, struct step_mark, s->n),
                             .n = s->n};
    for (int m = 0; m < MODE_N; m++)
        choice[m] = step_choice_of(s, (enum event_mode)m);
    for (size_t i = 0; i < s->n; i++) {
        const struct step *x = &s->steps[i];
        out.v[i] = (struct step_mark){
            .start = x->start.ns,
            .dur_ns = x->dur_ns,
            .iteration_ns = MAX_OF(step_iteration_ns(x), x->dur_ns),
            .number = x->number,
            .mode = x->mode,
            .cut = x->cut,
            .left_out = !step_is_chosen(x, x->mode, choice[x->mode]),
        };
    }
    return out;
}

struct steps_sum steps_together(const struct rank_marks *r, size_t i, int64_t begin_by,
                                int64_t within_ns)
{
    const enum event_mode mode = r->v[i].mode;
    const int64_t begin = r->v[i].start;
    struct steps_sum out = {.n = 1, .dur_ns = r->v[i].dur_ns};
    for (const struct step_mark *m = &r->v[i + 1]; m < r->v + r->n; m++) {
        if (m->mode != mode || m->start >= begin_by || m->start + m->dur_ns - begin >= within_ns)
            break;
        out.dur_ns += m->dur_ns;
        out.n++;
    }
    return out;
}

/* ---- histograms ---- */

/* Iterations of the steps of a mode that are not left out, in ns. Sums are of what lies above the
 * first step of the rank, so that long steps do not cost the digits that short differences need. */
struct step_spread_ns {
    size_t n;
    int64_t min, max;
    double sum, squares;
};

static void spread_add(struct step_spread_ns *s, int64_t ns, int64_t base)
{
    const double above = (double)(ns - base);
    s->min = s->n ? MIN_OF(s->min, ns) : ns;
    s->max = s->n ? MAX_OF(s->max, ns) : ns;
    s->sum += above;
    s->squares += above * above;
    s->n++;
}

/* The mean and three standard deviations. */
static double outliers_from(const struct step_spread_ns *s, int64_t base)
{
    const double above = s->sum / (double)s->n;
    const double variance = s->squares / (double)s->n - above * above;
    return ((double)base + above + 3 * sqrt(fmax(variance, 0))) / (double)NS_PER_S;
}

/* The first that begins at or after t. */
static size_t step_first_at(const struct rank_marks *r, int64_t t)
{
    return SEARCH_FIRST(i, 0, r->n, r->v[i].start < t);
}

static void make_edges(struct step_hist *h, const struct step_spread_ns *s)
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

/* The longest stay: a new one replaces the shortest in the list. */
static void keep_outlier(struct step_hist *h, const struct step_mark *m)
{
    h->outliers_all++;
    if (h->n_outliers < STEP_HIST_OUTLIERS) {
        h->outliers[h->n_outliers++] = m;
        return;
    }
    size_t shortest = 0;
    for (size_t i = 1; i < h->n_outliers; i++)
        if (h->outliers[i]->iteration_ns < h->outliers[shortest]->iteration_ns)
            shortest = i;
    if (h->outliers[shortest]->iteration_ns < m->iteration_ns)
        h->outliers[shortest] = m;
}

static int stephist_by_time(const void *a, const void *b)
{
    const struct step_mark *x = *(const struct step_mark *const *)a,
                           *y = *(const struct step_mark *const *)b;
    return COMPARE(x->start, y->start);
}

static void count_step(struct step_hist *h, const struct step_mark *m)
{
    const double took = ns_to_s(m->iteration_ns);
    const size_t bin = stephist_bin_of(h, took);
    assert(bin < h->n);
    h->counts[bin]++;
    if (took > h->outlier_from_s)
        keep_outlier(h, m);
}

void step_hists_of(const struct rank_marks *r, wall_ns from, wall_ns to,
                   struct step_hist out[MODE_N])
{
    const size_t first = step_first_at(r, from.ns), end = to.ns ? step_first_at(r, to.ns) : r->n;
    struct step_spread_ns spread[MODE_N] = {0};
    for (size_t i = first; i < end; i++)
        if (!r->v[i].left_out)
            spread_add(&spread[r->v[i].mode], r->v[i].iteration_ns, r->v[0].iteration_ns);
    for (size_t m = 0; m < MODE_N; m++) {
        out[m] = (struct step_hist){.count = spread[m].n};
        if (spread[m].n == 0)
            continue;
        out[m].outlier_from_s = outliers_from(&spread[m], r->v[0].iteration_ns);
        make_edges(&out[m], &spread[m]);
    }
    for (size_t i = first; i < end; i++)
        if (!r->v[i].left_out)
            count_step(&out[r->v[i].mode], &r->v[i]);
    for (size_t m = 0; m < MODE_N; m++)
        SORT(out[m].outliers, out[m].n_outliers, stephist_by_time);
}
