/* SPDX-License-Identifier: Apache-2.0 */
/* custom_check.c - a custom rule over a run. See custom.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/progress.h"
#include "query/series.h"
#include "rules/custom.h"

/* One series in windows. */
struct custom_check_judging {
    const struct custom_rule *rule;
    const struct series *s;
    double *scratch; /* for a window's samples */
    struct time_range *ranges;
    size_t n_ranges;
    struct time_range now; /* the windows that pass the limit, so far; end 0: none */
    double worst;          /* of those in ranges */
    double worst_now;
    uint64_t windows, passed;
};

static int custom_check_by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear between neighbours. */
static double p95_of(const struct custom_check_judging *j, size_t from, size_t n)
{
    memcpy(j->scratch, j->s->v + from, n * sizeof(double));
    qsort(j->scratch, n, sizeof(double), custom_check_by_value);
    const double at = 0.95 * (double)(n - 1);
    const size_t i = (size_t)at;
    const double next = j->scratch[MIN_OF(i + 1, n - 1)];
    return j->scratch[i] + (at - (double)i) * (next - j->scratch[i]);
}

static double custom_check_together(const struct custom_check_judging *j, size_t from, size_t n)
{
    double sum = 0, least = INFINITY, most = -INFINITY;
    if (j->rule->aggregate == AGGREGATE_P95)
        return p95_of(j, from, n);
    for (size_t i = from; i < from + n; i++) {
        sum += j->s->v[i];
        least = fmin(least, j->s->v[i]);
        most = fmax(most, j->s->v[i]);
    }
    switch (j->rule->aggregate) {
    case AGGREGATE_MAX:
        return most;
    case AGGREGATE_MIN:
        return least;
    default:
        return sum / (double)n;
    }
}

static bool passes(const struct custom_rule *c, double v)
{
    return isnan(c->below) ? v > c->above : v < c->below;
}

static double worse(const struct custom_rule *c, double a, double b)
{
    return isnan(c->below) ? fmax(a, b) : fmin(a, b); /* NAN is left out */
}

static void end_stretch(struct custom_check_judging *j)
{
    if (j->now.end.ns && j->now.end.ns - j->now.start.ns >= j->rule->for_ns) {
        j->ranges[j->n_ranges++] = j->now;
        j->worst = worse(j->rule, j->worst, j->worst_now);
    }
    j->now = (struct time_range){{0}, {0}};
    j->worst_now = NAN;
}

static void take_window(struct custom_check_judging *j, int64_t start, size_t from, size_t n)
{
    const double v = custom_check_together(j, from, n);
    j->windows++;
    if (!passes(j->rule, v)) {
        end_stretch(j);
        return;
    }
    if (j->now.end.ns != start) /* nothing was measured in between */
        end_stretch(j);
    if (!j->now.end.ns)
        j->now.start.ns = start;
    j->now.end.ns = start + j->rule->window_ns;
    j->worst_now = worse(j->rule, j->worst_now, v);
    j->passed++;
}

/* `period`: what the last sample stands for. The window that the run ended in is left out when it
 * is not whole. */
static void judge_series(struct custom_check_judging *j, int64_t period)
{
    const struct series *s = j->s;
    const int64_t window = j->rule->window_ns, first = s->n ? s->t[0].ns : 0,
                  end = s->n ? s->t[s->n - 1].ns + period : 0;
    for (size_t i = 0, next; i < s->n; i = next) {
        const int64_t start = first + (s->t[i].ns - first) / window * window;
        for (next = i; next < s->n && s->t[next].ns < start + window;)
            next++;
        if (start + window <= end)
            take_window(j, start, i, next - i);
    }
    end_stretch(j);
}

/* ---- words ---- */

static const struct number_label labels[] = {
    {"worst", "Worst value"},
    {"limit", "Limit"},
    {"held", "Time beyond the limit"},
    {0},
};

static void custom_check_find(const struct custom_check_judging *j, struct verdict *v)
{
    static const char *const words[] = {"mean", "highest value", "lowest value", "95th percentile"};
    const struct custom_rule *c = j->rule;
    const struct series_key *k = &j->s->key;
    char window[HUMAN_LEN], held[HUMAN_LEN], worst[HUMAN_LEN], limit[HUMAN_LEN];
    double held_s = 0;
    for (size_t i = 0; i < j->n_ranges; i++)
        held_s += (double)(j->ranges[i].end.ns - j->ranges[i].start.ns) / 1e9;
    const double at = isnan(c->below) ? c->above : c->below;
    struct finding *f = verdict_find(v, k->node, k->entity);
    finding_when(v, f, j->ranges, j->n_ranges);
    finding_say(v, f, "%s%s%s of %s: the %s over %s was %s %s for %s in total, at worst %s",
                c->message ? c->message : "", c->message ? ": " : "", k->metric, k->entity,
                words[c->aggregate],
                duration_text((double)c->window_ns / 1e9, window, sizeof window),
                isnan(c->below) ? "above" : "below", human_value(at, k->unit, limit, sizeof limit),
                duration_text(held_s, held, sizeof held),
                human_value(j->worst, k->unit, worst, sizeof worst));
    const char *unit = arena_strdup(v->arena, k->unit); /* the series goes */
    finding_number(v, f, "worst", j->worst, unit);
    finding_number(v, f, "limit", at, unit);
    finding_number(v, f, "held", held_s, "s");
    v->last_triggered.ns = MAX_OF(v->last_triggered.ns, f->end.ns);
    v->triggered += j->n_ranges;
}

/* ---- over a run ---- */

static int64_t custom_check_period_of(const struct run *r, const struct series *s)
{
    const struct run_info *info = run_get_info(r);
    for (size_t i = 0; i < info->n_nodes; i++)
        if (strcmp(info->nodes[i].id, s->key.node) == 0)
            return info->nodes[i].interval_ns;
    return 0;
}

static uint64_t judge_one(const struct custom_rule *c, const struct run *r, const struct series *s,
                          struct verdict *out)
{
    struct custom_check_judging j = {.rule = c, .s = s, .worst = NAN, .worst_now = NAN};
    j.scratch = xcalloc(s->n + 1, sizeof(double));
    j.ranges = xcalloc(s->n + 1, sizeof *j.ranges);
    judge_series(&j, custom_check_period_of(r, s));
    out->datapoints += s->n;
    out->violations += j.passed;
    if (j.n_ranges)
        custom_check_find(&j, out);
    free(j.scratch);
    free(j.ranges);
    return j.windows;
}

static void say_nothing_seen(const struct custom_rule *c, size_t n, struct verdict *out)
{
    char window[HUMAN_LEN];
    if (n)
        verdict_not_evaluated(out, "needs %s of %s%s%s without a gap, has less",
                              duration_text((double)c->window_ns / 1e9, window, sizeof window),
                              c->metric, c->entity ? " of " : "", c->entity ? c->entity : "");
    else
        verdict_not_evaluated(out, "%s%s%s was not recorded", c->metric, c->entity ? " of " : "",
                              c->entity ? c->entity : "");
}

/* One series at a time: those of all cores of a long run would fill the memory. */
static int judge_key(const struct custom_rule *c, struct run *r, const struct series_key *k,
                     uint64_t *windows, struct verdict *out, struct err *e)
{
    struct arena scratch = {0};
    struct series *v;
    size_t n = 0;
    const struct series_ask ask = {.node = k->node, .metric = k->metric, .entity = k->entity};
    const int rc = series_read(r, &ask, &scratch, &v, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        *windows += judge_one(c, r, &v[i], out);
    arena_free(&scratch);
    return rc;
}

int custom_rule_check(const struct custom_rule *c, struct run *r, struct arena *a,
                      struct verdict *out, struct err *e)
{
    struct arena scratch = {0};
    struct series_key *keys;
    size_t n = 0, seen = 0;
    uint64_t windows = 0;
    const struct series_ask ask = {.metric = c->metric, .entity = c->entity};
    *out = custom_verdict(c->name, c->message ? c->message : "User-defined limit.",
                          c->recommendation ? c->recommendation : "", a);
    struct rule *labelled = arena_new(a, struct rule);
    *labelled = *out->rule;
    labelled->labels = labels;
    out->rule = labelled;
    out->severity = c->severity;
    int rc = series_list(r, &scratch, &keys, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (series_matches(&ask, &keys[i])) {
            rc = judge_key(c, r, &keys[i], &windows, out, e);
            seen++;
        }
    if (rc == 0 && windows == 0)
        say_nothing_seen(c, seen, out);
    arena_free(&scratch);
    return rc;
}
