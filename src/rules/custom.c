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

/* What was found in the windows of a series so far. */
struct custom_found {
    struct time_range *ranges;
    size_t n_ranges, cap_ranges;
    struct time_range now; /* the windows that pass the limit, so far; end 0: none */
    double worst;          /* of those in ranges */
    double worst_now;
    uint64_t windows, passed;
};

/* One series in windows. */
struct custom_judging {
    const struct custom_rule *rule;
    const struct series *s;
    double *scratch; /* for a window's samples */
    struct custom_found f;
};

/* ---- what is cached of a series that grows ----
 *
 * The recorder appends to a series in the order of time, so a window that lies some minutes back
 * gets no more readings, and the clock's ties around it are there: its times stay. What was found
 * in such windows is copied, and the next evaluation begins after them. Before that it compares
 * number, least, highest and middle of the readings in them, which summaries of blocks answer.
 * After damage they differ, and all is read again. */

#define CUSTOM_FINAL_NS (3 * 60 * NS_PER_S) /* the clock is tied once a minute */

struct custom_series {
    char *node, *entity;
    wall_ns first, from;       /* its first reading; where the windows that may change begin */
    struct series_stats stats; /* of what is before them, without texts */
    struct custom_found f;
};

static void custom_series_free(struct custom_series *x)
{
    free(x->node);
    free(x->entity);
    free(x->f.ranges);
}

void custom_memory_free(struct custom_memory *m)
{
    for (size_t i = 0; i < m->n; i++)
        custom_series_free(&m->v[i]);
    free(m->v);
    *m = (struct custom_memory){0};
}

static struct custom_found custom_found_copy(const struct custom_found *f)
{
    struct custom_found copy = *f;
    copy.cap_ranges = f->n_ranges;
    copy.ranges = xcalloc(f->n_ranges + 1, sizeof *copy.ranges);
    for (size_t i = 0; i < f->n_ranges; i++)
        copy.ranges[i] = f->ranges[i];
    return copy;
}

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
    struct custom_found *f = &j->f;
    if (f->now.end.ns && f->now.end.ns - f->now.start.ns >= j->rule->for_ns) {
        *VEC_ADD(f->ranges, f->n_ranges, f->cap_ranges) = f->now;
        f->worst = worse(j->rule, f->worst, f->worst_now);
    }
    f->now = (struct time_range){{0}, {0}};
    f->worst_now = NAN;
}

static void take_window(struct custom_judging *j, int64_t start, size_t from, size_t n)
{
    const double v = custom_together(j, from, n);
    struct custom_found *f = &j->f;
    f->windows++;
    if (!passes(j->rule, v)) {
        end_interval(j);
        return;
    }
    if (f->now.end.ns != start) /* nothing was measured in between */
        end_interval(j);
    if (!f->now.end.ns)
        f->now.start.ns = start;
    f->now.end.ns = start + j->rule->window_ns;
    f->worst_now = worse(j->rule, f->worst_now, v);
    f->passed++;
}

/* `first`: of the series, of which the samples may be the end. `period`: the time that the last one
 * covers. The window that the run ended in is left out when it is not whole. With `to`, the windows
 * that are final are copied there, and from->from is where the others begin. */
static void judge_series(struct custom_judging *j, wall_ns first, int64_t period,
                         struct custom_series *to)
{
    const struct series *s = j->s;
    const int64_t window = j->rule->window_ns, end = s->n ? s->t[s->n - 1].ns + period : 0;
    for (size_t i = 0, next; i < s->n; i = next) {
        const int64_t start = first.ns + (s->t[i].ns - first.ns) / window * window;
        if (to && start + window > end - CUSTOM_FINAL_NS) {
            to->from.ns = start;
            to->f = custom_found_copy(&j->f);
            to = NULL;
        }
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
    const struct custom_found *found = &j->f;
    for (size_t i = 0; i < found->n_ranges; i++)
        held_s += (double)(found->ranges[i].end.ns - found->ranges[i].start.ns) / 1e9;
    const double at = isnan(c->below) ? c->above : c->below;
    struct finding *f = verdict_find(v, k->node, k->entity);
    finding_when(v, f, found->ranges, found->n_ranges);
    finding_say(v, f, "%s%s%s of %s: the %s over %s was %s %s for %s in total, at worst %s",
                c->message ? c->message : "", c->message ? ": " : "", k->metric, k->entity,
                words[c->aggregate],
                duration_text((double)c->window_ns / 1e9, window, sizeof window),
                isnan(c->below) ? "above" : "below", human_value(at, k->unit, limit, sizeof limit),
                duration_text(held_s, held, sizeof held),
                human_value(found->worst, k->unit, worst, sizeof worst));
    const char *unit = arena_strdup(v->arena, k->unit); /* the series goes */
    finding_number(v, f, "worst", found->worst, unit);
    finding_number(v, f, "limit", at, unit);
    finding_number(v, f, "held", held_s, "s");
    finding_count(v, f, found->n_ranges, 0);
}

/* ---- over a run ---- */

static int64_t custom_period_of(const struct run *r, const struct series *s)
{
    const struct run_info *info = run_get_info(r);
    const size_t at = FIND_FIRST(i, info->n_nodes, strcmp(info->nodes[i].id, s->key.node) == 0);
    return at < info->n_nodes ? info->nodes[at].interval_ns : 0;
}

/* Statistics of the readings before a moment, and the first of them. */
static int custom_read_past(struct run *r, const struct series_key *k, wall_ns to,
                            struct series_stats *stats, wall_ns *first, struct err *e)
{
    struct arena scratch = {0};
    struct series_stats *found;
    struct series *s;
    size_t n = 0, n_series = 0;
    struct series_ask ask = {.node = k->node, .metric = k->metric, .entity = k->entity, .to = to};
    int rc = series_stats_read(r, &ask, &scratch, &found, &n, e);
    ask.points = 1;
    if (rc == 0)
        rc = series_read(r, &ask, &scratch, &s, &n_series, e);
    const bool one = rc == 0 && n == 1 && n_series == 1 && s->n == 1;
    *stats = one ? *found : (struct series_stats){0};
    *first = one ? s->t[0] : (wall_ns){0};
    arena_free(&scratch);
    return rc;
}

/* The cached state of the series, if it still fits; NULL: there is none. */
static int custom_recall(struct custom_memory *m, struct run *r, const struct series_key *k,
                         struct custom_series **out, struct err *e)
{
    struct series_stats stats;
    wall_ns first;
    const size_t at = FIND_FIRST(
        i, m->n, strcmp(m->v[i].node, k->node) == 0 && strcmp(m->v[i].entity, k->entity) == 0);
    *out = NULL;
    if (at == m->n)
        return 0;
    struct custom_series *x = &m->v[at];
    TRY(custom_read_past(r, k, x->from, &stats, &first, e));
    if (stats.count == x->stats.count && stats.min == x->stats.min && stats.max == x->stats.max &&
        stats.p50 == x->stats.p50 && first.ns == x->first.ns) {
        *out = x;
        return 0;
    }
    custom_series_free(x);
    *x = m->v[--m->n];
    return 0;
}

/* Caches what judge_series left in `x`, if it found a window that is final. */
static int custom_remember(struct custom_memory *m, struct custom_series *x, struct run *r,
                           const struct series_key *k, struct custom_series *old, struct err *e)
{
    wall_ns first;
    if (!x->f.windows || (old && old->from.ns == x->from.ns)) {
        free(x->f.ranges);
        return 0;
    }
    const int rc = custom_read_past(r, k, x->from, &x->stats, &first, e);
    if (rc || !x->stats.count || first.ns != x->first.ns) {
        free(x->f.ranges);
        return rc;
    }
    x->node = xstrdup(k->node);
    x->entity = xstrdup(k->entity);
    if (old)
        custom_series_free(old);
    else
        old = VEC_ADD(m->v, m->n, m->cap);
    *old = *x;
    return 0;
}

/* A rule over a run. */
struct custom_task {
    const struct custom_rule *rule;
    struct custom_memory *memory; /* NULL: once */
    struct run *run;
    struct verdict *out;
    uint64_t windows;
};

/* The samples of a series, or those from `old` on. */
static int judge_one(struct custom_task *t, struct custom_series *old, const struct series *s,
                     bool remembers, struct err *e)
{
    struct custom_judging j = {.rule = t->rule, .s = s, .f = {.worst = NAN, .worst_now = NAN}};
    struct custom_series x = {.first = old ? old->first : s->n ? s->t[0] : (wall_ns){0}};
    if (old)
        j.f = custom_found_copy(&old->f);
    j.scratch = xcalloc(s->n + 1, sizeof(double));
    judge_series(&j, x.first, custom_period_of(t->run, s), remembers ? &x : NULL);
    t->out->datapoints += s->n + (old ? old->stats.count : 0);
    t->out->violations += j.f.passed;
    t->windows += j.f.windows;
    if (j.f.n_ranges)
        custom_find(&j, t->out);
    free(j.scratch);
    free(j.f.ranges);
    return remembers ? custom_remember(t->memory, &x, t->run, &s->key, old, e) : 0;
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
static int judge_key(struct custom_task *t, const struct series_key *k, struct err *e)
{
    struct arena scratch = {0};
    struct custom_series *old = NULL;
    const struct series nothing = {.key = *k};
    struct series *v;
    size_t n = 0;
    if (t->memory)
        TRY(custom_recall(t->memory, t->run, k, &old, e));
    const struct series_ask ask = {.node = k->node,
                                   .metric = k->metric,
                                   .entity = k->entity,
                                   .from = old ? old->from : (wall_ns){0}};
    int rc = series_read(t->run, &ask, &scratch, &v, &n, e);
    if (rc == 0 && n == 0 && old)
        rc = judge_one(t, old, &nothing, false, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = judge_one(t, old, &v[i], t->memory && n == 1, e);
    arena_free(&scratch);
    return rc;
}

int custom_rule_check(const struct custom_rule *c, struct custom_memory *m, struct run *r,
                      struct arena *a, struct verdict *out, struct err *e)
{
    struct arena scratch = {0};
    struct series_key *series;
    struct custom_task t = {.rule = c, .memory = m, .run = r, .out = out};
    size_t n = 0, seen = 0;
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
            rc = judge_key(&t, &series[i], e);
            seen++;
        }
    if (rc == 0 && t.windows == 0)
        say_nothing_seen(c, seen, out);
    arena_free(&scratch);
    return rc;
}
