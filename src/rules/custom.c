/* SPDX-License-Identifier: Apache-2.0 */
/* custom.c - what a custom rule says. See custom.h. */
#include "rules/custom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/duration.h"
#include "base/mem.h"
#include "base/text.h"

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

static int custom_number_of(const char *value, double *out, struct err *e)
{
    char *end;
    const double v = strtod(value, &end);
    if (end == value || *end || !isfinite(v))
        return err_set(e, ERR_USAGE, "'%.60s' is not a number", value);
    *out = v;
    return 0;
}

/* Names go into commands and files: "MyRule", "my-rule_2". */
static int set_name(struct custom_rule *c, const char *v, struct err *e)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    if (!*v || strlen(v) > NAME_MOST || v[strspn(v, letters)])
        return err_set(e, ERR_USAGE,
                       "'%.60s' is not a valid name; use letters, digits, '-' and '_', at most %d",
                       v, NAME_MOST);
    if (rule_find(v))
        return err_set(e, ERR_USAGE, "rule '%s' already exists", v);
    c->name = v;
    return 0;
}

static int set_metric(struct custom_rule *c, const char *v, struct err *e)
{
    return custom_text_of(v, NAME_MOST, &c->metric, e);
}

static int set_entity(struct custom_rule *c, const char *v, struct err *e)
{
    return strcmp(v, "each") == 0 ? 0 : custom_text_of(v, NAME_MOST, &c->entity, e);
}

static int set_aggregate(struct custom_rule *c, const char *v, struct err *e)
{
    int word = 0;
    const int rc = custom_word_of(v, aggregates, AGGREGATE_N, &word, e);
    c->aggregate = (enum aggregate)word;
    return rc;
}

static int set_window(struct custom_rule *c, const char *v, struct err *e)
{
    return duration_parse_within("time", v, WINDOW_MIN_NS, TIME_MAX_NS, &c->window_ns, e);
}

static int set_for(struct custom_rule *c, const char *v, struct err *e)
{
    return duration_parse_within("time", v, 0, TIME_MAX_NS, &c->for_ns, e);
}

static int set_above(struct custom_rule *c, const char *v, struct err *e)
{
    return custom_number_of(v, &c->above, e);
}

static int set_below(struct custom_rule *c, const char *v, struct err *e)
{
    return custom_number_of(v, &c->below, e);
}

static int set_severity(struct custom_rule *c, const char *v, struct err *e)
{
    int word = 0;
    const int rc = custom_word_of(v, severity_names, SEVERITY_N, &word, e);
    c->severity = (enum severity)word;
    return rc;
}

static int set_message(struct custom_rule *c, const char *v, struct err *e)
{
    return custom_text_of(v, TEXT_MOST, &c->message, e);
}

static int set_recommendation(struct custom_rule *c, const char *v, struct err *e)
{
    return custom_text_of(v, TEXT_MOST, &c->recommendation, e);
}

/* ---- keys ---- */

static const struct {
    const char *key;
    int (*set)(struct custom_rule *c, const char *value, struct err *e);
} keys[] = {
    {"name", set_name},
    {"metric", set_metric},
    {"entity", set_entity},
    {"aggregate", set_aggregate},
    {"window", set_window},
    {"above", set_above},
    {"below", set_below},
    {"for", set_for},
    {"severity", set_severity},
    {"message", set_message},
    {"recommendation", set_recommendation},
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
            return keys[i].set(c, value, e) ? err_in(e, "%s", key) : 0;
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
                       .patience = -1,
                       .custom = true};
    return (struct verdict){.rule = r,
                            .why = "",
                            .lost_s = NAN,
                            .lost_share = NAN,
                            .lost_gpu_s = NAN,
                            .lost_cost = NAN,
                            .arena = a};
}
