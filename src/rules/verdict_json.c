/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_json.c - see verdict_json.h. */
#include "rules/verdict_json.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/human.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "cost/rightsize.h"
#include "rules/custom.h"
#include "run/run_files.h"
#include "run/run_names.h"

/* ==== writing ==== */

static const char *const plot_names[] = {
    [PLOT_HISTOGRAM] = "histogram", [PLOT_BOX] = "box",       [PLOT_PIE] = "pie",
    [PLOT_BARS] = "bars",           [PLOT_SERIES] = "series", [PLOT_TABLE] = "table",
};

static const struct {
    enum rule_needs bit;
    const char *name;
} needs[] = {
    {NEEDS_SWEEPS, "system metrics"},
    {NEEDS_GPU, "a GPU"},
    {NEEDS_STEPS, "steps"},
};

static int64_t known_time(wall_ns t)
{
    return t.ns ? t.ns : -1;
}

/* Texts that end with NULL; NULL: none. */
static struct row_cell words_cell(const char *const *v)
{
    size_t n = 0;
    while (v && v[n])
        n++;
    return row_texts(v, n);
}

/* ---- parameters ---- */

static size_t params_count(const struct rule *r)
{
    size_t n = 0;
    while (r->params && r->params[n].name)
        n++;
    return n;
}

static struct row_cell param_cell(const struct param *p, double v)
{
    return p->unit == PARAM_WORD ? row_text(p->words[(size_t)v]) : row_number(v);
}

/* "24 h". */
static const char *param_words(const struct param *p, const struct param_value *v, struct arena *a)
{
    char text[PARAM_TEXT_LEN];
    return arena_strdup(a, param_text(p, v, text, sizeof text));
}

static struct row_cell need_at(const void *x, size_t i, const char **key)
{
    (void)key;
    return ((const struct rule *)x)->needs & needs[i].bit ? row_text(needs[i].name) : row_absent();
}

/* ---- verdicts ---- */

struct finding_row {
    const struct finding *f;
    const struct rule *r;
};

struct verdict_row {
    const struct verdict *v;
    const struct param_value *p; /* what it was evaluated with */
    size_t n_params;
    struct finding_row *findings;
    struct arena *arena;
};

/* Points that were given as time are shown as time. */
static struct row_cell param_value_at(const void *x, size_t i, const char **key)
{
    const struct verdict_row *row = x;
    const struct param *p = &row->v->rule->params[i];
    *key = p->name;
    if (!row->p[i].is_duration)
        return param_cell(p, row->p[i].v);
    return row_text(arena_printf(row->arena, "%gs", row->p[i].v / 1e9));
}

static struct row_cell param_text_at(const void *x, size_t i, const char **key)
{
    const struct verdict_row *row = x;
    const struct param *p = &row->v->rule->params[i];
    *key = p->name;
    return row_text(param_words(p, &row->p[i], row->arena));
}

static struct row_cell number_value_at(const void *x, size_t i, const char **key)
{
    const struct finding_number *n = &((const struct finding_row *)x)->f->numbers[i];
    *key = n->name;
    return row_number(n->v);
}

static struct row_cell number_unit_at(const void *x, size_t i, const char **key)
{
    const struct finding_number *n = &((const struct finding_row *)x)->f->numbers[i];
    *key = n->name;
    return row_text(n->unit);
}

static struct row_cell number_label_at(const void *x, size_t i, const char **key)
{
    const struct finding_number *n = &((const struct finding_row *)x)->f->numbers[i];
    *key = n->name;
    return *n->label ? row_text(n->label) : row_absent();
}

/* ---- fewer or smaller machines ---- */

struct sizing_row {
    const struct sizing *s;
    double hours;
};

/* NULL: there is none. */
static struct sizing_row *sizing_row_of(const struct sizing *s, double hours, struct arena *a)
{
    struct sizing_row *row = arena_new(a, struct sizing_row);
    *row = (struct sizing_row){s, hours};
    return s->machine ? row : NULL;
}

/* ---- rows ---- */

#define ROWS_FILE "rules/verdict_rows.def"
#include "base/row_expand.h"

void verdict_json(struct jw *j, const char *key, const struct verdict *v,
                  const struct param_value *p)
{
    struct arena a = {0};
    struct verdict_row row = {v, p, params_count(v->rule),
                              arena_array(&a, struct finding_row, v->n_findings + 1), &a};
    for (size_t i = 0; i < v->n_findings; i++)
        row.findings[i] = (struct finding_row){&v->findings[i], v->rule};
    row_json(j, key, &row_Verdict, &row, &a);
    arena_free(&a);
}

void rule_json(struct jw *j, const char *key, const struct rule *r)
{
    struct arena a = {0};
    row_json(j, key, &row_Rule, r, &a);
    arena_free(&a);
}

void right_size_json(struct jw *j, const char *key, const struct right_size *r)
{
    struct arena a = {0};
    if (r)
        row_json(j, key, &row_RightSize, r, &a);
    else
        jw_null(j, key);
    arena_free(&a);
}

/* ==== reading ==== */

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
    finding_count(v, f, 1, MAX_OF(f->n_ranges, (size_t)1));
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

/* ==== the file of a run ==== */

static void findings_file_put(struct buf *b, const struct verdicts *v, const struct rule_params *p,
                              const struct hosted *own, size_t n_own)
{
    struct jw j = {.out = b, .indent = 2};
    const struct verdict *order[RULE_N];
    verdicts_in_order(v->v, RULE_N, order);
    jw_object(&j, NULL);
    jw_str(&j, "version", FP_VERSION);
    jw_array(&j, "rules");
    for (size_t k = 0; k < RULE_N; k++)
        verdict_json(&j, NULL, order[k], p->v[order[k] - v->v]);
    for (size_t i = 0; i < n_own; i++)
        verdict_json(&j, NULL, &own[i].v, own[i].p);
    jw_end(&j);
    jw_end(&j);
    buf_u8(b, '\n');
}

int findings_write(const char *folder, const struct verdicts *v, const struct rule_params *p,
                   const struct hosted *own, size_t n_own, struct err *e)
{
    struct buf b = {0};
    findings_file_put(&b, v, p, own, n_own);
    const int rc = run_put(folder, RUN_FINDINGS, b.p, b.len, e);
    buf_free(&b);
    return rc;
}
