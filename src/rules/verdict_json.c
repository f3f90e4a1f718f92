/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_json.c - see verdict_json.h. */
#include "rules/verdict_json.h"

#include <math.h>
#include <stdio.h>

#include "base/human.h"
#include "base/mem.h"
#include "rules/rightsize.h"

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

static void put_time(struct jw *j, const char *key, wall_ns t)
{
    if (t.ns)
        jw_int(j, key, t.ns);
    else
        jw_null(j, key);
}

static void put_texts(struct jw *j, const char *key, const char *const *v, size_t n)
{
    jw_array(j, key);
    for (size_t i = 0; i < n; i++)
        jw_str(j, NULL, v[i]);
    jw_end(j);
}

static void put_numbers(struct jw *j, const char *key, const double *v, size_t n)
{
    jw_array(j, key);
    for (size_t i = 0; i < n; i++)
        jw_num(j, NULL, v[i]);
    jw_end(j);
}

/* ---- parameters ---- */

static void put_value(struct jw *j, const char *key, const struct param *p, double v)
{
    if (p->unit == PARAM_WORD)
        jw_str(j, key, p->words[(size_t)v]);
    else
        jw_num(j, key, v);
}

/* Points that were given as time are shown as time. */
static void put_param(struct jw *j, const struct param *p, const struct param_value *v)
{
    char text[32];
    if (!v->is_duration) {
        put_value(j, p->name, p, v->v);
        return;
    }
    snprintf(text, sizeof text, "%gs", v->v / 1e9);
    jw_str(j, p->name, text);
}

/* The same for people: {"horizon": "24 h"}. */
static void put_params_text(struct jw *j, const struct rule *r, const struct param_value *p)
{
    char text[PARAM_TEXT_LEN];
    jw_object(j, "params_text");
    for (size_t i = 0; r->params && r->params[i].name; i++)
        jw_str(j, r->params[i].name, param_text(&r->params[i], &p[i], text, sizeof text));
    jw_end(j);
}

static void put_params(struct jw *j, const struct rule *r, const struct param_value *p)
{
    jw_object(j, "params");
    for (size_t i = 0; r->params && r->params[i].name; i++)
        put_param(j, &r->params[i], &p[i]);
    jw_end(j);
}

/* ---- findings ---- */

static void put_finding_numbers(struct jw *j, const struct rule *r, const struct finding *f)
{
    jw_object(j, "numbers");
    for (size_t i = 0; i < f->n_numbers; i++)
        jw_num(j, f->numbers[i].name, f->numbers[i].v);
    jw_end(j);
    jw_object(j, "units");
    for (size_t i = 0; i < f->n_numbers; i++)
        jw_str(j, f->numbers[i].name, f->numbers[i].unit);
    jw_end(j);
    if (!r->labels) /* a custom rule's numbers are called by their names */
        return;
    jw_object(j, "labels"); /* of those that people are shown */
    for (size_t i = 0; i < f->n_numbers; i++)
        if (*f->numbers[i].label)
            jw_str(j, f->numbers[i].name, f->numbers[i].label);
    jw_end(j);
}

static void put_ranges(struct jw *j, const struct finding *f)
{
    jw_array(j, "ranges");
    for (size_t i = 0; i < f->n_ranges; i++) {
        jw_object(j, NULL);
        jw_int(j, "start_ns", f->ranges[i].start.ns);
        jw_int(j, "end_ns", f->ranges[i].end.ns);
        jw_end(j);
    }
    jw_end(j);
}

static void put_shares(struct jw *j, const struct finding *f)
{
    jw_array(j, "shares");
    for (size_t i = 0; i < f->n_shares; i++) {
        jw_object(j, NULL);
        jw_str(j, "what", f->shares[i].what);
        jw_str(j, "name", f->shares[i].name);
        jw_int(j, "rank", f->shares[i].rank);
        jw_num(j, "seconds", f->shares[i].seconds);
        jw_num(j, "share", f->shares[i].share);
        jw_end(j);
    }
    jw_end(j);
}

static void put_finding(struct jw *j, const struct rule *r, const struct finding *f)
{
    jw_object(j, NULL);
    jw_str(j, "node", f->node);
    jw_str(j, "entity", f->entity);
    put_time(j, "start_ns", f->start);
    put_time(j, "end_ns", f->end);
    jw_str(j, "message", f->message);
    jw_str(j, "advice", f->advice ? f->advice : r->recommendation);
    jw_str(j, "refute", f->refute);
    put_finding_numbers(j, r, f);
    jw_num(j, "lost_s", f->lost_s);
    jw_num(j, "lost_gpu_s", f->lost_gpu_s);
    put_texts(j, "explained_by", f->explained_by, f->n_explained_by);
    put_ranges(j, f);
    put_shares(j, f);
    jw_end(j);
}

/* ---- plots ---- */

static void put_plot(struct jw *j, const struct plot *p)
{
    jw_object(j, NULL);
    jw_str(j, "kind", plot_names[p->kind]);
    jw_str(j, "title", p->title);
    jw_str(j, "unit", p->unit);
    if (p->edges)
        put_numbers(j, "edges", p->edges, p->n_edges);
    if (p->columns)
        put_texts(j, "columns", p->columns, p->n_columns);
    jw_array(j, "rows");
    for (size_t i = 0; i < p->n_rows; i++) {
        jw_object(j, NULL);
        jw_str(j, "label", p->rows[i].label);
        put_numbers(j, "v", p->rows[i].v, p->rows[i].n);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

void verdict_json(struct jw *j, const char *key, const struct verdict *v,
                  const struct param_value *p)
{
    jw_object(j, key);
    jw_str(j, "rule", v->rule->name);
    jw_str(j, "title", v->rule->title);
    if (v->rule->custom)
        jw_bool(j, "custom", true);
    if (v->rule->summary)
        jw_bool(j, "summary", true);
    jw_str(j, "description", v->rule->description);
    jw_str(j, "recommendation", v->rule->recommendation);
    jw_str(j, "state", rule_state_names[v->state]);
    jw_str(j, "state_text", rule_state_words[v->state]);
    jw_str(j, "why", v->why);
    jw_str(j, "severity", severity_names[v->severity]);
    jw_int(j, "triggered", (int64_t)v->triggered);
    jw_int(j, "violations", (int64_t)v->violations);
    jw_int(j, "datapoints", (int64_t)v->datapoints);
    put_time(j, "last_triggered_ns", v->last_triggered);
    put_params(j, v->rule, p);
    put_params_text(j, v->rule, p);
    jw_num(j, "lost_s", v->lost_s);
    jw_num(j, "lost_share", v->lost_share);
    jw_num(j, "lost_gpu_s", v->lost_gpu_s);
    jw_num(j, "lost_cost", v->lost_cost);
    jw_str(j, "currency", isnan(v->lost_cost) ? NULL : currency_name(v->currency));
    jw_array(j, "findings");
    for (size_t i = 0; i < v->n_findings; i++)
        put_finding(j, v->rule, &v->findings[i]);
    jw_end(j);
    put_texts(j, "remarks", v->remarks, v->n_remarks);
    if (v->right_size || v->uses)
        right_size_json(j, "right_size", v->right_size);
    jw_array(j, "plots");
    for (size_t i = 0; i < v->n_plots; i++)
        put_plot(j, &v->plots[i]);
    jw_end(j);
    jw_end(j);
}

/* ---- the catalogue ---- */

static void put_words(struct jw *j, const struct param *p)
{
    jw_array(j, "words");
    for (size_t i = 0; p->words[i]; i++)
        jw_str(j, NULL, p->words[i]);
    jw_end(j);
}

static void put_catalogue_param(struct jw *j, const struct param *p)
{
    char text[PARAM_TEXT_LEN];
    jw_object(j, NULL);
    jw_str(j, "name", p->name);
    put_value(j, "default", p, p->otherwise);
    jw_str(j, "default_text",
           param_text(p, &(struct param_value){.v = p->otherwise}, text, sizeof text));
    jw_num(j, "min", p->unit == PARAM_WORD ? NAN : p->lo);
    jw_num(j, "max", p->unit == PARAM_WORD ? NAN : p->hi);
    jw_str(j, "unit", param_unit_name(p->unit));
    if (p->unit == PARAM_WORD)
        put_words(j, p);
    jw_str(j, "help", p->help);
    jw_end(j);
}

void rule_json(struct jw *j, const char *key, const struct rule *r)
{
    jw_object(j, key);
    jw_str(j, "rule", r->name);
    jw_str(j, "title", r->title);
    jw_str(j, "description", r->description);
    jw_str(j, "recommendation", r->recommendation);
    jw_array(j, "params");
    for (const struct param *p = r->params; p && p->name; p++)
        put_catalogue_param(j, p);
    jw_end(j);
    jw_array(j, "needs");
    for (size_t i = 0; i < COUNT_OF(needs); i++)
        if (r->needs & needs[i].bit)
            jw_str(j, NULL, needs[i].name);
    jw_end(j);
    jw_array(j, "explained_by");
    for (size_t i = 0; r->explained_by && r->explained_by[i]; i++)
        jw_str(j, NULL, r->explained_by[i]);
    jw_end(j);
    jw_bool(j, "summary", r->summary);
    jw_end(j);
}
