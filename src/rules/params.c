/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - see params.h. */
#include "rules/params.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "rules/rule.h"

#define REPORT_RULE "ProfilerReport"

/* Of points that are given as time: a window is no shorter than the fastest sampling. */
#define DURATION_LEAST_NS (10 * NS_PER_MS)
#define DURATION_MOST_NS  (30 * 24 * 3600 * NS_PER_S)

static const struct {
    const char *name;
    double ns; /* of one, where a duration may be written; 0: it may not */
    const char *plural;
    bool counted; /* whole numbers only */
} units[PARAM_UNIT_N] = {
    [PARAM_PERCENT] = {"%", 0},
    [PARAM_POINTS] = {"readings", 1, "readings", true},
    [PARAM_COUNT] = {"", 0, NULL, true},
    [PARAM_SECONDS] = {"s", 1e9, "seconds"},
    [PARAM_MINUTES] = {"min", 60e9, "minutes"},
    [PARAM_RATIO] = {"", 0},
    [PARAM_SIGMAS] = {"standard deviations", 0},
    [PARAM_WORD] = {"", 0},
};

static bool is_counted(enum param_unit u)
{
    return units[u].counted;
}

const char *param_unit_name(enum param_unit u)
{
    return units[u].name;
}

/* "24 h", "30 min", "90 s", "500 ms": in the largest unit that it is a whole number of. */
static const char *params_time_text(double ns, char *buf, size_t size)
{
    static const struct {
        double ns;
        const char *name;
    } steps[] = {{3600e9, "h"}, {60e9, "min"}, {1e9, "s"}, {1e6, "ms"}};
    size_t k = ns == 0 ? 2 : 0;
    while (ns != 0 && k + 1 < COUNT_OF(steps) && (ns < steps[k].ns || fmod(ns, steps[k].ns) != 0))
        k++;
    snprintf(buf, size, "%.10g %s", ns / steps[k].ns, steps[k].name);
    return buf;
}

const char *param_text(const struct param *p, const struct param_value *v, char *buf, size_t size)
{
    const char *unit = units[p->unit].name;
    if (isnan(v->v))
        snprintf(buf, size, "-");
    else if (p->unit == PARAM_WORD)
        snprintf(buf, size, "%s", p->words[(size_t)v->v]);
    else if (v->is_duration)
        return params_time_text(v->v, buf, size);
    else if (p->unit == PARAM_SECONDS || p->unit == PARAM_MINUTES)
        return params_time_text(v->v * units[p->unit].ns, buf, size);
    else
        snprintf(buf, size, "%.10g%s%s", v->v, *unit ? " " : "", unit);
    return buf;
}

int64_t param_ns(const struct param_value *p, int64_t period_ns)
{
    return MAX_OF((int64_t)(p->is_duration ? p->v : p->v * (double)period_ns), 1);
}

int64_t param_points(const struct param_value *p, int64_t period_ns)
{
    return MAX_OF((param_ns(p, period_ns) + period_ns / 2) / period_ns, 1);
}

void rule_params_init(struct rule_params *p, struct arena *a)
{
    p->v = arena_alloc(a, RULE_N, sizeof *p->v);
    for (size_t i = 0; i < RULE_N; i++)
        for (size_t k = 0; rules[i]->params && rules[i]->params[k].name; k++)
            p->v[i][k].v = rules[i]->params[k].otherwise;
}

/* ---- what exists, for sentences ---- */

int rule_unknown(const char *name, struct err *e)
{
    struct buf all = {0};
    struct nearest near = nearest_to(name);
    for (size_t i = 0; i < RULE_N; i++) {
        buf_printf(&all, "%s%s", i ? ", " : "", rules[i]->name);
        nearest_offer(&near, rules[i]->name);
    }
    buf_u8(&all, 0);
    const int rc =
        near.best
            ? err_set(e, ERR_USAGE, "unknown rule '%s'; did you mean %s? All rules: %s", name,
                      near.best, (const char *)all.p)
            : err_set(e, ERR_USAGE, "unknown rule '%s'; all rules: %s", name, (const char *)all.p);
    buf_free(&all);
    return rc;
}

static int no_such_param(const struct rule *r, const char *name, struct err *e)
{
    struct buf all = {0};
    for (const struct param *p = r->params; p && p->name; p++)
        buf_printf(&all, "%s%s", p == r->params ? "" : ", ", p->name);
    buf_u8(&all, 0);
    const int rc = all.len > 1
                       ? err_set(e, ERR_USAGE, "%s has no parameter '%s'; its parameters: %s",
                                 r->name, name, (const char *)all.p)
                       : err_set(e, ERR_USAGE, "%s has no parameters", r->name);
    buf_free(&all);
    return rc;
}

/* ---- values ---- */

static int parse_word(const struct param *p, const char *text, double *out, struct err *e)
{
    for (size_t i = 0; p->words[i]; i++)
        if (strcmp(p->words[i], text) == 0) {
            *out = (double)i;
            return 0;
        }
    struct buf all = {0};
    for (size_t i = 0; p->words[i]; i++)
        buf_printf(&all, "%s%s", i ? ", " : "", p->words[i]);
    buf_u8(&all, 0);
    const int rc = err_set(e, ERR_USAGE, "'%s' is not one of %s", text, (const char *)all.p);
    buf_free(&all);
    return rc;
}

/* "40", "40%" where percent are meant. */
static bool parse_plain(const struct param *p, const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || !isfinite(*out))
        return false;
    if (p->unit == PARAM_PERCENT && *end == '%')
        end++;
    return *end == '\0';
}

static int params_parse_value(const struct param *p, const char *text, struct param_value *out,
                              struct err *e)
{
    int64_t ns;
    out->is_duration = false;
    if (p->unit == PARAM_WORD)
        return parse_word(p, text, &out->v, e);
    if (parse_plain(p, text, &out->v))
        return 0;
    if (units[p->unit].ns == 0)
        return err_set(e, ERR_USAGE, "'%s' is not a number%s%s", text,
                       *units[p->unit].name ? " in " : "", units[p->unit].name);
    if (duration_parse(text, &ns, e))
        return err_set(e, ERR_USAGE, "'%s' is not a number of %s or a time such as 60s", text,
                       units[p->unit].plural);
    out->v = (double)ns / units[p->unit].ns;
    out->is_duration = p->unit == PARAM_POINTS;
    return 0;
}

static int check_bounds(const struct param *p, const struct param_value *v, struct err *e)
{
    if (p->unit == PARAM_WORD)
        return 0;
    if (v->is_duration) {
        const double least = p->lo > 0 ? (double)DURATION_LEAST_NS : 0;
        return v->v >= least && v->v <= (double)DURATION_MOST_NS
                   ? 0
                   : err_set(e, ERR_USAGE, "a time must be between %g s and 30 days", least / 1e9);
    }
    if (is_counted(p->unit) && v->v != floor(v->v))
        return err_set(e, ERR_USAGE, "%g is not a whole number", v->v);
    if (v->v < p->lo || v->v > p->hi)
        return err_set(e, ERR_USAGE, "%g is out of range (%g to %g%s%s)", v->v, p->lo, p->hi,
                       *units[p->unit].name ? " " : "", units[p->unit].name);
    return 0;
}

static int params_set_value(struct param_value *slot, const struct rule *r, const struct param *p,
                            const char *text, struct err *e)
{
    struct param_value v = {.set = true};
    int rc = params_parse_value(p, text, &v, e);
    if (rc == 0)
        rc = check_bounds(p, &v, e);
    if (rc != 0)
        return err_in(e, "%s.%s", r->name, p->name);
    *slot = v;
    return 0;
}

int rule_params_set_one(struct rule_params *p, const char *rule, const char *param,
                        const char *value, struct err *e)
{
    const char *name = rule_of_documented(rule, param);
    const size_t id = FIND_FIRST(i, RULE_N, strcmp(rules[i]->name, name) == 0);
    if (id == RULE_N && rule_unsupported(rule, strlen(rule)) < RULES_UNSUPPORTED)
        return 0;
    if (id == RULE_N)
        return rule_unknown(rule, e);
    for (size_t k = 0; rules[id]->params && rules[id]->params[k].name; k++)
        if (strcmp(rules[id]->params[k].name, param) == 0)
            return params_set_value(&p->v[id][k], rules[id], &rules[id]->params[k], value, e);
    return rule_param_is_unused(rules[id], param) ? 0 : no_such_param(rules[id], param, e);
}

int rule_params_set(struct rule_params *p, const char *text, struct err *e)
{
    char copy[256];
    if (strlen(text) >= sizeof copy)
        return err_set(e, ERR_USAGE, "'%.40s...' is too long", text);
    snprintf(copy, sizeof copy, "%s", text);
    char *value = strchr(copy, '='), *rule = copy;
    char *param = strchr(copy, '.');
    if (!value || !param || param > value)
        return err_set(e, ERR_USAGE, "'%s' is not of the form Rule.parameter=value", text);
    *value++ = *param++ = '\0';
    if (strcmp(rule, REPORT_RULE) == 0) {
        rule = param;
        param = strchr(rule, '_');
        if (!param)
            return err_set(e, ERR_USAGE,
                           "'%s' is not of the form " REPORT_RULE ".Rule_parameter=value", text);
        *param++ = '\0';
    }
    return rule_params_set_one(p, rule, param, value, e);
}
