/* SPDX-License-Identifier: Apache-2.0 */
/* correlate.c - see correlate.h. Here: steps and their parts. */
#include "rules/correlate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/correlate_internal.h"
#include "rules/sync_words.h"

/* Of each finding, and of each rank in it. */
enum { RANGES_MOST = 64, STEPS_MOST = 2000, RANKS_MOST = 16 };

/* ---- lists of shares ---- */

void share_add(struct share_list *l, struct share s)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 16;
        struct share *more = arena_array(l->arena, struct share, l->cap);
        if (l->n)
            memcpy(more, l->v, l->n * sizeof *l->v);
        l->v = more;
    }
    l->v[l->n++] = s;
}

static int by_share(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return strcmp(x->name, y->name);
}

void share_settle(struct share_list *l, size_t first)
{
    if (l->n > first)
        qsort(l->v + first, l->n - first, sizeof *l->v, by_share);
    l->n = MIN_OF(l->n, first + SHARES_KEPT);
    while (l->n > first && l->v[l->n - 1].share < SHARE_LEAST)
        l->n--;
}

bool is_about(const struct finding *f, const char *node, int64_t rank)
{
    long long own;
    if (*f->node && strcmp(f->node, node) != 0)
        return false;
    return sscanf(f->entity, "rank %lld", &own) != 1 || own == rank;
}

/* ---- time of steps in the ranges ---- */

/* Outside of steps it is one of the last three. */
enum { IN_BEFORE = MODE_N, IN_BEHIND, IN_BETWEEN, IN_N };

static const char *const in_names[IN_N] = {
    [MODE_TRAIN] = "train",         [MODE_EVAL] = "eval",         [MODE_PREDICT] = "predict",
    [IN_BEFORE] = "initialization", [IN_BEHIND] = "finalization", [IN_BETWEEN] = "between steps",
};

struct spent {
    double all_s, in_s[IN_N], part_s[STEP_PARTS_MOST];
};

static double overlap_s(int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t from = MAX_OF(a, c), to = MIN_OF(b, d);
    return to > from ? (double)(to - from) / 1e9 : 0;
}

static int64_t correlate_end_of(const struct step *s)
{
    return s->start.ns + s->dur_ns;
}

/* The first step that ends behind t; steps of a rank do not overlap. */
static size_t first_behind(const struct rank_steps *r, int64_t t)
{
    size_t lo = 0, hi = r->n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        const struct step s = rank_step(r, mid);
        if (correlate_end_of(&s) <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Steps from..to of the rank; every `stride`-th stands for as many. What they cover is scaled to
 * the time from the first to the last of them. */
static void correlate_add_steps(struct spent *x, const struct rank_steps *r,
                                const struct time_range *g, size_t stride)
{
    const size_t from = first_behind(r, g->start.ns), parts = step_parts();
    size_t to = from;
    while (to < r->n && rank_step(r, to).start.ns < g->end.ns)
        to += stride;
    for (size_t i = from; i < r->n && i < to; i += stride) {
        const struct step s = rank_step(r, i);
        const size_t stands = MIN_OF(stride, to - i);
        const double in =
            overlap_s(s.start.ns, correlate_end_of(&s), g->start.ns, g->end.ns) * (double)stands;
        const double share = s.dur_ns > 0 ? in * 1e9 / (double)s.dur_ns : 0;
        x->in_s[s.mode < MODE_N ? s.mode : MODE_TRAIN] += in;
        for (size_t k = 0; k < parts; k++)
            x->part_s[k] += (double)s.part_ns[k] / 1e9 * share;
    }
}

static size_t correlate_count_steps(const struct rank_steps *r, const struct time_range *v,
                                    size_t n)
{
    size_t steps = 0;
    for (size_t i = 0; i < n; i++)
        steps += first_behind(r, v[i].end.ns) - first_behind(r, v[i].start.ns) + 1;
    return steps;
}

/* What is left of the range when steps are taken off: before the loop, behind it, or between. While
 * the run lives nothing is behind it. */
static void add_rest(struct spent *x, const struct time_range *g, const struct run_facts *f,
                     double in_steps)
{
    const double all = (double)(g->end.ns - g->start.ns) / 1e9;
    const double before =
        f->has_steps ? overlap_s(g->start.ns, g->end.ns, INT64_MIN / 2, f->loop_start.ns) : all;
    const double behind = f->has_steps && f->ended
                              ? overlap_s(g->start.ns, g->end.ns, f->loop_end.ns, INT64_MAX / 2)
                              : 0;
    x->in_s[IN_BEFORE] += before;
    x->in_s[IN_BEHIND] += behind;
    x->in_s[IN_BETWEEN] += MAX_OF(all - before - behind - in_steps, 0);
    x->all_s += all;
}

static double steps_s(const struct spent *x)
{
    double s = 0;
    for (size_t m = 0; m < MODE_N; m++)
        s += x->in_s[m];
    return s;
}

static void add_range(struct spent *x, const struct correlate_ask *ask, const struct rank_steps *r,
                      const struct time_range *g, size_t stride)
{
    const double before = steps_s(x);
    correlate_add_steps(x, r, g, stride);
    add_rest(x, g, ask->facts, steps_s(x) - before);
}

/* ---- findings ---- */

/* At most RANGES_MOST of them, evenly spread. */
static size_t choose_ranges(const struct finding *f, struct time_range *out)
{
    const size_t n = MIN_OF(f->n_ranges, (size_t)RANGES_MOST);
    for (size_t i = 0; i < n; i++)
        out[i] = f->ranges[i * f->n_ranges / n];
    return n;
}

/* `all_s`: of all ranges of the finding. */
static void correlate_add_rank(const struct correlate_ask *ask, const struct rank_steps *r,
                               const struct time_range *v, size_t n, double all_s,
                               struct share_list *out)
{
    struct spent x = {0};
    const size_t stride = 1 + correlate_count_steps(r, v, n) / STEPS_MOST;
    for (size_t i = 0; i < n; i++)
        add_range(&x, ask, r, &v[i], stride);
    if (x.all_s <= 0)
        return;
    size_t first = out->n;
    for (size_t k = 0; k < IN_N; k++)
        share_add(out, (struct share){.what = "phase",
                                      .name = in_names[k],
                                      .rank = r->rank,
                                      .seconds = x.in_s[k] / x.all_s * all_s,
                                      .share = MIN_OF(x.in_s[k] / x.all_s, 1)});
    share_settle(out, first);
    first = out->n;
    for (size_t k = 0; k < step_parts(); k++)
        share_add(out, (struct share){.what = "event",
                                      .name = step_part_name(k),
                                      .rank = r->rank,
                                      .seconds = x.part_s[k] / x.all_s * all_s,
                                      .share = MIN_OF(x.part_s[k] / x.all_s, 1)});
    share_settle(out, first);
}

static int correlate(const struct correlate_ask *ask, struct op_windows *ops, struct finding *f,
                     struct arena *a, struct err *e)
{
    struct time_range ranges[RANGES_MOST];
    struct share_list list = {.arena = a};
    const size_t n = choose_ranges(f, ranges);
    size_t ranks = 0;
    double all_s = 0;
    for (size_t i = 0; i < f->n_ranges; i++)
        all_s += (double)(f->ranges[i].end.ns - f->ranges[i].start.ns) / 1e9;
    for (size_t i = 0; n && i < ask->n_ranks && ranks < RANKS_MOST; i++)
        if (is_about(f, ask->ranks[i].node, ask->ranks[i].rank)) {
            correlate_add_rank(ask, &ask->ranks[i], ranges, n, all_s, &list);
            ranks++;
        }
    const int rc = n ? correlate_ops(ops, f, &list, e) : 0;
    f->shares = list.v;
    f->n_shares = list.n;
    return rc;
}

/* The phases of the rank that the finding's shares begin with. */
static void plot_phases(struct verdict *v, const struct finding *f)
{
    struct plot *p = NULL;
    for (size_t i = 0; i < f->n_shares; i++) {
        const struct share *s = &f->shares[i];
        if (s->rank != f->shares[0].rank || strcmp(s->what, "phase") != 0)
            continue;
        if (!p)
            p = verdict_plot(v, PLOT_PIE,
                             arena_printf(v->arena, "Phases on %s at that time", f->node), "%");
        plot_row(v, p, s->name, &(double){s->share * 100}, 1);
    }
}

int rules_correlate(const struct correlate_ask *ask, struct verdicts *v, struct arena *a,
                    struct err *e)
{
    struct arena scratch = {0};
    struct op_windows ops;
    int rc = op_windows_open(&ops, ask, &scratch, e);
    for (size_t k = 0; k < RULE_N && rc == 0; k++)
        for (size_t i = 0; i < v->v[k].n_findings && rc == 0; i++)
            rc = correlate(ask, &ops, &v->v[k].findings[i], a, e);
    for (size_t k = 0; k < RULE_N && rc == 0; k++)
        for (size_t i = 0; i < v->v[k].n_findings && v->v[k].rule->by_phase; i++)
            plot_phases(&v->v[k], &v->v[k].findings[i]);
    if (rc == 0)
        rc = sync_name_places(ask, &v->v[RULE_sync_bound], a, e);
    if (rc == 0)
        rc = summarize_ops(&ops, &v->v[RULE_overall_framework_metrics], e);
    arena_free(&scratch);
    return rc;
}
