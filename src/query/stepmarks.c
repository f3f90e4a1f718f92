/* SPDX-License-Identifier: Apache-2.0 */
/* stepmarks.c - see stepmarks.h. */
#include "query/stepmarks.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

struct rank_marks rank_marks_of(const struct rank_steps *s, struct arena *a)
{
    struct rank_marks out = {arena_strdup(a, s->node), s->rank, s->process->pid,
                             arena_array(a, struct step_mark, s->n), s->n};
    for (size_t i = 0; i < s->n; i++) {
        const struct step *x = &s->steps[i];
        out.v[i] = (struct step_mark){x->start.ns, x->dur_ns, x->number, x->mode, x->cut};
    }
    return out;
}

/* ---- histogram ---- */

struct choice {
    const struct rank_marks *rank;
    enum event_mode mode;
    wall_ns from, to;
};

static bool counts(const struct choice *c, const struct step_mark *m)
{
    return m->mode == c->mode && !m->cut && m->start >= c->from.ns &&
           (!c->to.ns || m->start < c->to.ns);
}

struct spread {
    double min, max, mean, stddev;
};

static size_t spread_of(const struct choice *c, struct spread *out)
{
    double sum = 0, squares = 0;
    size_t n = 0;
    *out = (struct spread){.min = INFINITY, .max = -INFINITY};
    for (size_t i = 0; i < c->rank->n; i++) {
        if (!counts(c, &c->rank->v[i]))
            continue;
        const double s = ns_to_s(c->rank->v[i].dur_ns);
        out->min = fmin(out->min, s);
        out->max = fmax(out->max, s);
        sum += s;
        n++;
    }
    out->mean = n ? sum / (double)n : 0;
    for (size_t i = 0; i < c->rank->n; i++)
        if (counts(c, &c->rank->v[i]))
            squares += (ns_to_s(c->rank->v[i].dur_ns) - out->mean) *
                       (ns_to_s(c->rank->v[i].dur_ns) - out->mean);
    out->stddev = n ? sqrt(squares / (double)n) : 0;
    return n;
}

static void make_edges(struct step_hist *h, const struct spread *s)
{
    const double top = fmin(s->max, h->outlier_from_s);
    for (size_t i = 0; i <= STEP_HIST_BINS; i++)
        h->edges_s[i] = s->min + (top - s->min) * (double)i / STEP_HIST_BINS;
    h->edges_s[STEP_HIST_BINS] = top; /* not a rounding below it */
    h->n = STEP_HIST_BINS;
    if (s->max > top)
        h->edges_s[++h->n] = s->max;
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

void step_hist_of(const struct rank_marks *r, enum event_mode mode, wall_ns from, wall_ns to,
                  struct step_hist *out)
{
    const struct choice c = {r, mode, from, to};
    struct spread s;
    *out = (struct step_hist){.count = spread_of(&c, &s)};
    if (out->count == 0)
        return;
    out->outlier_from_s = s.mean + 3 * s.stddev;
    make_edges(out, &s);
    for (size_t i = 0; i < r->n; i++) {
        if (!counts(&c, &r->v[i]))
            continue;
        const double took = ns_to_s(r->v[i].dur_ns);
        out->counts[bin_of(out, took)]++;
        if (took > out->outlier_from_s)
            keep_outlier(out, &r->v[i]);
    }
    qsort(out->outliers, out->n_outliers, sizeof *out->outliers, by_time);
}
