/* SPDX-License-Identifier: Apache-2.0 */
/* custom.c - see custom.h. */
#include "rules/custom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/human.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/stat.h"
#include "base/text.h"
#include "base/vec.h"
#include "query/series.h"

enum { NAME_MOST = 64, TEXT_MOST = 500 };

#define WINDOW_MIN_NS (10 * NS_PER_MS)
#define TIME_MAX_NS   (7 * 24 * 3600 * NS_PER_S)

static const char *const aggregates[AGGREGATE_N + 1] = {
    [AGGREGATE_MEAN] = "mean",
    [AGGREGATE_MAX] = "max",
    [AGGREGATE_MIN] = "min",
    [AGGREGATE_P95] = "p95",
};

struct custom_rule custom_rule_new(void)
{
    return (struct custom_rule){
        .window_ns = 60 * NS_PER_S, .above = NAN, .below = NAN, .severity = SEVERITY_WARNING};
}

/* ---- values ---- */

static int custom_text_of(const char *value, size_t most, const char **out, struct err *e)
{
    if (!*value || strlen(value) > most)
        return err_set(e, ERR_USAGE, "expected a text of 1 to %zu bytes", most);
    *out = value;
    return 0;
}

static int custom_word_of(const char *value, const char *const *words, size_t n, int *out,
                          struct err *e)
{
    struct buf b = {0};
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], value) == 0) {
            *out = (int)i;
            return 0;
        }
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", words[i]);
    err_set(e, ERR_USAGE, "'%.60s' is not one of %.*s", value, (int)b.len, (const char *)b.p);
    buf_free(&b);
    return e->code;
}

/* ---- keys: each sets one field ---- */

/* Names go into commands and files: "MyRule", "my-rule_2". */
static int set_name(void *field, const char *v, struct err *e)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    if (!*v || strlen(v) > NAME_MOST || v[strspn(v, letters)])
        return err_set(e, ERR_USAGE,
                       "'%.60s' is not a valid name; use letters, digits, '-' and '_', at most %d",
                       v, NAME_MOST);
    if (rule_find(v))
        return err_set(e, ERR_USAGE, "rule '%s' already exists", v);
    *(const char **)field = v;
    return 0;
}

static int set_metric(void *field, const char *v, struct err *e)
{
    return custom_text_of(v, NAME_MOST, field, e);
}

static int set_entity(void *field, const char *v, struct err *e)
{
    return strcmp(v, "each") == 0 ? 0 : custom_text_of(v, NAME_MOST, field, e);
}

static int set_aggregate(void *field, const char *v, struct err *e)
{
    int word = 0;
    TRY(custom_word_of(v, aggregates, AGGREGATE_N, &word, e));
    *(enum aggregate *)field = (enum aggregate)word;
    return 0;
}

static int set_window(void *field, const char *v, struct err *e)
{
    return duration_parse_within("time", v, WINDOW_MIN_NS, TIME_MAX_NS, field, e);
}

static int set_for(void *field, const char *v, struct err *e)
{
    return duration_parse_within("time", v, 0, TIME_MAX_NS, field, e);
}

static int set_limit(void *field, const char *value, struct err *e)
{
    char *end;
    const double v = strtod(value, &end);
    if (end == value || *end || !isfinite(v))
        return err_set(e, ERR_USAGE, "'%.60s' is not a number", value);
    *(double *)field = v;
    return 0;
}

static int set_severity(void *field, const char *v, struct err *e)
{
    int word = 0;
    TRY(custom_word_of(v, severity_names, SEVERITY_N, &word, e));
    *(enum severity *)field = (enum severity)word;
    return 0;
}

static int set_text(void *field, const char *v, struct err *e)
{
    return custom_text_of(v, TEXT_MOST, field, e);
}

static const struct {
    const char *key;
    int (*set)(void *field, const char *value, struct err *e);
    size_t at;
} keys[] = {
#define KEY(key, set, field)                                                                       \
    {                                                                                              \
        key, set, offsetof(struct custom_rule, field)                                              \
    }
    KEY("name", set_name, name),
    KEY("metric", set_metric, metric),
    KEY("entity", set_entity, entity),
    KEY("aggregate", set_aggregate, aggregate),
    KEY("window", set_window, window_ns),
    KEY("above", set_limit, above),
    KEY("below", set_limit, below),
    KEY("for", set_for, for_ns),
    KEY("severity", set_severity, severity),
    KEY("message", set_text, message),
    KEY("recommendation", set_text, recommendation),
#undef KEY
};

static int custom_unknown_key(const char *key, struct err *e)
{
    struct buf b = {0};
    struct nearest n = nearest_to(key);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        nearest_offer(&n, keys[i].key);
        buf_printf(&b, "%s%s", i ? ", " : "", keys[i].key);
    }
    if (n.best)
        err_set(e, ERR_USAGE, "unknown key '%.60s' in a custom rule (did you mean '%s'?)", key,
                n.best);
    else
        err_set(e, ERR_USAGE, "unknown key '%.60s' in a custom rule; valid keys: %.*s", key,
                (int)b.len, (const char *)b.p);
    buf_free(&b);
    return e->code;
}

int custom_rule_set(struct custom_rule *c, const char *key, const char *value, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strcmp(keys[i].key, key) == 0)
            return keys[i].set((char *)c + keys[i].at, value, e) ? err_in(e, "%s", key) : 0;
    return custom_unknown_key(key, e);
}

int custom_rule_done(const struct custom_rule *c, struct err *e)
{
    if (!c->name)
        return err_set(e, ERR_USAGE, "a custom rule needs a name");
    if (!c->metric)
        return err_set(e, ERR_USAGE,
                       "%s: 'metric' is required; 'footplate metrics' lists all metrics", c->name);
    if (isnan(c->above) == isnan(c->below))
        return err_set(e, ERR_USAGE, "%s: a limit is required, either 'above' or 'below'", c->name);
    return 0;
}

struct verdict custom_verdict(const char *name, const char *description, const char *recommendation,
                              struct arena *a)
{
    struct rule *r = arena_new(a, struct rule);
    *r = (struct rule){.name = arena_strdup(a, name),
                       .title = "Custom rule",
                       .description = arena_strdup(a, description),
                       .recommendation = arena_strdup(a, recommendation),
                       .custom = true};
    return verdict_new(r, a);
}

/* ==== evaluation ==== */

/* A custom rule over a run. */

/* One series in windows. */
struct custom_judging {
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

/* Linear between neighbours. */
static double p95_of(const struct custom_judging *j, size_t from, size_t n)
{
    memcpy(j->scratch, j->s->v + from, n * sizeof(double));
    stat_sort(j->scratch, n);
    return stat_quantile(j->scratch, n, 0.95);
}

static double custom_together(const struct custom_judging *j, size_t from, size_t n)
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

static void end_interval(struct custom_judging *j)
{
    if (j->now.end.ns && j->now.end.ns - j->now.start.ns >= j->rule->for_ns) {
        j->ranges[j->n_ranges++] = j->now;
        j->worst = worse(j->rule, j->worst, j->worst_now);
    }
    j->now = (struct time_range){{0}, {0}};
    j->worst_now = NAN;
}

static void take_window(struct custom_judging *j, int64_t start, size_t from, size_t n)
{
    const double v = custom_together(j, from, n);
    j->windows++;
    if (!passes(j->rule, v)) {
        end_interval(j);
        return;
    }
    if (j->now.end.ns != start) /* nothing was measured in between */
        end_interval(j);
    if (!j->now.end.ns)
        j->now.start.ns = start;
    j->now.end.ns = start + j->rule->window_ns;
    j->worst_now = worse(j->rule, j->worst_now, v);
    j->passed++;
}

/* `period`: the time that the last sample covers. The window that the run ended in is left out when
 * it is not whole. */
static void judge_series(struct custom_judging *j, int64_t period)
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
    end_interval(j);
}

/* ---- words ---- */

static const struct number_label labels[] = {
    {"worst", "", "Worst value"},
    {"limit", "", "Limit"},
    {"held", "s", "Time beyond the limit"},
};

static void custom_find(const struct custom_judging *j, struct verdict *v)
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
    finding_count(v, f, j->n_ranges, 0);
}

/* ---- over a run ---- */

static int64_t custom_period_of(const struct run *r, const struct series *s)
{
    const struct run_info *info = run_get_info(r);
    const size_t at = FIND_FIRST(i, info->n_nodes, strcmp(info->nodes[i].id, s->key.node) == 0);
    return at < info->n_nodes ? info->nodes[at].interval_ns : 0;
}

static uint64_t judge_one(const struct custom_rule *c, const struct run *r, const struct series *s,
                          struct verdict *out)
{
    struct custom_judging j = {.rule = c, .s = s, .worst = NAN, .worst_now = NAN};
    j.scratch = xcalloc(s->n + 1, sizeof(double));
    j.ranges = xcalloc(s->n + 1, sizeof *j.ranges);
    judge_series(&j, custom_period_of(r, s));
    out->datapoints += s->n;
    out->violations += j.passed;
    if (j.n_ranges)
        custom_find(&j, out);
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
    struct series_key *series;
    size_t n = 0, seen = 0;
    uint64_t windows = 0;
    const struct series_ask ask = {.metric = c->metric, .entity = c->entity};
    *out = custom_verdict(c->name, c->message ? c->message : "User-defined limit.",
                          c->recommendation ? c->recommendation : "", a);
    struct rule *labelled = arena_new(a, struct rule);
    *labelled = *out->rule;
    memcpy(labelled->labels, labels, sizeof labels);
    out->rule = labelled;
    out->severity = c->severity;
    int rc = series_list(r, &scratch, &series, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (series_matches(&ask, &series[i])) {
            rc = judge_key(c, r, &series[i], &windows, out, e);
            seen++;
        }
    if (rc == 0 && windows == 0)
        say_nothing_seen(c, seen, out);
    arena_free(&scratch);
    return rc;
}
