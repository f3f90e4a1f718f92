/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - see report.h: the sections in their order, and report.json, which has every number of
 * the page under the names that the other commands give them. Keys of it may be added, never
 * renamed. */
#include <math.h>

#include "base/human.h"
#include "base/json_write.h"
#include "cost/pricing.h"
#include "report/report_internal.h"
#include "rules/verdict_json.h"
#include "run/run_files.h"
#include "run/run_names.h"

/* ---- JSON ---- */

static void report_json_put_numbers(struct jw *j, const char *key, const double *v, size_t n)
{
    jw_array(j, key);
    for (size_t i = 0; i < n; i++)
        jw_num(j, NULL, v[i]);
    jw_end(j);
}

static void report_json_put_run(struct jw *j, const struct report *r)
{
    jw_object(j, "run");
    show_json(j, &r->show);
    jw_end(j);
    jw_object(j, "phase_percents"); /* as shown: they sum to 100 */
    for (enum phase_kind k = 0; k < PHASE_N; k++)
        jw_num(j, phase_name(k), r->phase_pct[k]);
    jw_num(j, "loop", show_loop_percent(r->phase_pct));
    jw_end(j);
    jw_num(j, "cost", r->cost);
    jw_num(j, "price_per_hour", r->price_per_hour);
    jw_str(j, "currency", pricing_currency(r->info));
}

static void report_json_put_line(struct jw *j, const struct report_line *l)
{
    jw_object(j, NULL);
    jw_str(j, "label", l->label);
    jw_str(j, "metric", l->metric);
    report_json_put_numbers(j, "t_s", l->t, l->n);
    report_json_put_numbers(j, "v", l->v, l->n);
    report_json_put_numbers(j, "min", l->min, l->n);
    report_json_put_numbers(j, "max", l->max, l->n);
    jw_end(j);
}

static void report_json_put_charts(struct jw *j, const struct report *r)
{
    jw_array(j, "charts");
    for (size_t i = 0; i < r->n_charts; i++) {
        const struct report_chart *c = &r->charts[i];
        jw_object(j, NULL);
        jw_str(j, "node", c->node);
        jw_str(j, "title", c->title);
        jw_str(j, "unit", c->unit);
        jw_array(j, "lines");
        for (size_t k = 0; k < c->n; k++)
            report_json_put_line(j, &c->lines[k]);
        jw_end(j);
        jw_end(j);
    }
    jw_end(j);
}

static void put_paces(struct jw *j, const struct report *r)
{
    jw_array(j, "step_durations");
    for (size_t i = 0; i < r->n_paces; i++) {
        const struct report_pace *p = &r->paces[i];
        jw_object(j, NULL);
        jw_str(j, "node", p->rank->node);
        jw_int(j, "rank", p->rank->rank);
        report_json_put_numbers(j, "step", p->step, p->n);
        report_json_put_numbers(j, "mean_s", p->v, p->n);
        report_json_put_numbers(j, "min_s", p->min, p->n);
        report_json_put_numbers(j, "max_s", p->max, p->n);
        jw_end(j);
    }
    jw_end(j);
}

static void report_json_put_operators(struct jw *j, const struct report *r)
{
    jw_key(j, "operators");
    opsview_json(j, &r->ops);
    jw_object(j, "operator_s");
    jw_num(j, "cpu", r->op_s[OP_CPU]);
    jw_num(j, "gpu", r->op_s[OP_GPU]);
    jw_end(j);
    jw_array(j, "detail_windows"); /* what each cost, in words */
    for (size_t i = 0; i < r->n_window_costs; i++)
        jw_str(j, NULL, r->window_costs[i]);
    jw_end(j);
}

void report_json(const struct report *r, struct buf *out)
{
    struct jw j = {.out = out, .indent = 1};
    jw_object(&j, NULL);
    jw_str(&j, "made_by", "footplate " FP_VERSION);
    jw_int(&j, "made_ns", r->now.ns);
    jw_bool(&j, "live", r->live);
    jw_int(&j, "data_to_ns", r->info->end.ns);
    report_json_put_run(&j, r);
    jw_key(&j, "utilization");
    statview_json(&j, &r->use);
    jw_key(&j, "utilization_loop");
    statview_json(&j, &r->loop_use);
    jw_key(&j, "steps");
    stepsview_json(&j, &r->steps);
    report_json_put_operators(&j, r);
    report_general_json(&j, r);
    jw_array(&j, "rules");
    for (size_t i = 0; i < r->n_rules; i++)
        verdict_json(&j, NULL, r->rules[i].v, r->rules[i].p);
    jw_end(&j);
    right_size_json(&j, "right_size", r->ask.right_size);
    report_json_put_charts(&j, r);
    put_paces(&j, r);
    jw_end(&j);
}

/* ---- documents ---- */

static const struct page_link contents[] = {
    {"loop", "Training loop"},          {"job", "Training job summary"}, {"system", "System usage"},
    {"framework", "Framework metrics"}, {"general", "General metrics"},  {"operators", "Operators"},
    {"rules", "Rules summary"},         {"measured", "Measurement"},     {0},
};

/* "finished: 13.7 s on 1 node with 1 GPU, started 2026-11-15 14:26:24.303 +0000" */
static const char *report_lead(const struct report *r)
{
    struct node_view *nodes;
    const size_t n = runview_nodes(r->info, r->arena, &nodes), gpus = runview_gpus(r->info);
    char start[64];
    return arena_printf(
        r->arena, "%s: %s on %zu node%s with %s, started %s", run_status_name(r->info->status),
        value_text(r->arena, runview_duration_s(r->info), "s"), n, n == 1 ? "" : "s",
        gpus ? arena_printf(r->arena, "%zu GPU%s", gpus, gpus == 1 ? "" : "s") : "no GPU",
        wall_text(r->info->start, start, sizeof start));
}

static void report_put_all(const struct report *r, enum doc_kind kind, struct buf *out)
{
    struct doc d;
    char made[64];
    const struct page_head head = {
        .title = r->info->name, .product = "Footplate report", .lead = report_lead(r)};
    doc_open(&d, kind, out, r->arena, &head);
    doc_contents(&d, contents);
    report_put_head(r, &d);
    report_put_loop(r, &d);
    report_put_job(r, &d);
    report_put_system(r, &d);
    report_put_framework(r, &d);
    report_put_rules(r, &d);
    report_put_findings(r, &d);
    report_put_measured(r, &d);
    doc_close(&d, arena_printf(r->arena, "Generated by Footplate %s on %s.", FP_VERSION,
                               wall_text(r->now, made, sizeof made)));
}

void report_html(const struct report *r, struct buf *out)
{
    report_put_all(r, DOC_HTML, out);
}

void report_text(const struct report *r, struct buf *out)
{
    report_put_all(r, DOC_TEXT, out);
}

void report_markdown(const struct report *r, struct buf *out)
{
    report_put_all(r, DOC_MARKDOWN, out);
}

static int report_write_one(const struct report *r, const char *run, const char *name,
                            void (*put)(const struct report *r, struct buf *out), struct err *e)
{
    struct buf b = {0};
    put(r, &b);
    const int rc = run_put(run, name, b.p, b.len, e);
    buf_free(&b);
    return rc;
}

int report_write(const struct report *r, const char *run, struct err *e)
{
    const int rc = report_write_one(r, run, RUN_REPORT, report_html, e);
    return rc ? rc : report_write_one(r, run, RUN_REPORT_JSON, report_json, e);
}
