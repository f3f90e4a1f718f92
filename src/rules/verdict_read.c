/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_read.c - see verdict_read.h. */
#include "rules/verdict_read.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"
#include "rules/custom.h"

static int verdict_read_word_of(const char *const *words, int n, const char *text, int otherwise)
{
    for (int i = 0; i < n; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    return otherwise;
}

/* Python writes [start, end], verdict_json an object. */
static const json_t *edge_of(const json_t *range, size_t i, const char *key)
{
    return json_is_array(range) ? json_array_get(range, i) : json_object_get(range, key);
}

static void read_ranges(const json_t *o, struct verdict *v, struct finding *f)
{
    const json_t *list = json_object_get(o, "ranges");
    const size_t n = json_array_size(list);
    struct time_range *r = arena_array(v->arena, struct time_range, n + 1);
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(list, i);
        r[i].start.ns = clock_clamp(json_integer_value(edge_of(one, 0, "start_ns")));
        r[i].end.ns = clock_clamp(json_integer_value(edge_of(one, 1, "end_ns")));
    }
    if (n)
        finding_when(v, f, r, n);
}

static void read_numbers(const json_t *o, struct verdict *v, struct finding *f)
{
    json_t *numbers = json_object_get(o, "numbers"), *value;
    const json_t *units = json_object_get(o, "units");
    const char *key;
    json_object_foreach(numbers, key, value)
    {
        finding_number(v, f, arena_strdup(v->arena, key),
                       json_is_number(value) ? json_number_value(value) : NAN,
                       json_get_str(units, key, v->arena, ""));
    }
}

static void read_finding(const json_t *o, struct verdict *v)
{
    struct arena *a = v->arena;
    struct finding *f =
        verdict_find(v, json_get_str(o, "node", a, ""), json_get_str(o, "entity", a, ""));
    f->message = json_get_str(o, "message", a, "");
    f->advice = json_get_str(o, "advice", a, NULL);
    f->lost_s = json_get_num(o, "lost_s", NAN);
    f->lost_gpu_s = json_get_num(o, "lost_gpu_s", NAN);
    read_ranges(o, v, f);
    read_numbers(o, v, f);
    v->triggered++;
    v->violations += MAX_OF(f->n_ranges, (size_t)1);
    v->last_triggered.ns = MAX_OF(v->last_triggered.ns, f->end.ns);
    v->lost_s = fmax(v->lost_s, f->lost_s); /* findings may share their time */
    if (!isnan(f->lost_gpu_s))
        v->lost_gpu_s = isnan(v->lost_gpu_s) ? f->lost_gpu_s : v->lost_gpu_s + f->lost_gpu_s;
}

static void read_params(const json_t *o, struct arena *a, struct hosted *out)
{
    json_t *params = json_object_get(o, "params"), *value;
    const size_t n = json_object_size(params);
    struct param *names = arena_array(a, struct param, n + 1);
    struct param_value *values = arena_array(a, struct param_value, n + 1);
    struct rule *rule = arena_new(a, struct rule);
    const char *key;
    size_t i = 0;
    json_object_foreach(params, key, value)
    {
        names[i] = (struct param){.name = arena_strdup(a, key), .unit = PARAM_RATIO};
        values[i++].v = json_is_number(value) ? json_number_value(value) : NAN;
    }
    *rule = *out->v.rule;
    rule->params = names;
    out->v.rule = rule;
    out->p = values;
}

static void read_verdict(const json_t *o, struct arena *a, struct hosted *out)
{
    const json_t *findings = json_object_get(o, "findings");
    out->v = custom_verdict(json_get_str(o, "rule", a, "?"), json_get_str(o, "description", a, ""),
                            json_get_str(o, "recommendation", a, ""), a);
    read_params(o, a, out);
    out->v.state = (enum rule_state)verdict_read_word_of(
        rule_state_names, RULE_STATE_N, json_get_str(o, "state", a, ""), RULE_NOT_EVALUATED);
    out->v.severity = (enum severity)verdict_read_word_of(
        severity_names, SEVERITY_N, json_get_str(o, "severity", a, ""), SEVERITY_WARNING);
    out->v.why = json_get_str(o, "why", a, "");
    for (size_t i = 0; i < json_array_size(findings); i++)
        read_finding(json_array_get(findings, i), &out->v);
    if (out->v.state == RULE_ISSUE && out->v.n_findings == 0)
        out->v.state = RULE_CLEAR;
}

static int verdict_read_answer(const json_t *o, struct arena *a, struct hosted **out, size_t *n,
                               struct err *e)
{
    const char *wrong = json_get_str(o, "error", a, NULL);
    const json_t *list = json_object_get(o, "verdicts");
    if (wrong)
        return err_set(e, ERR_USAGE, "%s", wrong);
    if (!json_is_array(list))
        return err_set(e, ERR_FORMAT, "no verdicts found");
    *n = json_array_size(list);
    *out = arena_array(a, struct hosted, *n + 1);
    for (size_t i = 0; i < *n; i++)
        read_verdict(json_array_get(list, i), a, &(*out)[i]);
    return 0;
}

int verdicts_read(const char *text, size_t len, struct arena *a, struct hosted **out, size_t *n,
                  struct err *e)
{
    json_error_t why;
    json_t *o = json_loadb(text ? text : "", len, 0, &why);
    if (!o)
        return err_set(e, ERR_FORMAT, "invalid JSON: %s", why.text);
    const int rc = verdict_read_answer(o, a, out, n, e);
    json_decref(o);
    return rc;
}
