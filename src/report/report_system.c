/* SPDX-License-Identifier: Apache-2.0 */
/* report_system.c - how the machines were used: verdicts, the table, charts over time. */
#include <math.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "report/report_internal.h"

static const struct page_column columns[] = {
    {"Node"},
    {"Resource"},
    {"Unit"},
    {"Min", .right = true},
    {"Max", .right = true},
    {"p99", .right = true},
    {"p95", .right = true},
    {"p90", .right = true},
    {"p50", .right = true},
    {0},
};

static void report_system_put_line(const struct report *r, struct doc *d, const struct stat_line *l)
{
    const struct series_stats *s = l->s;
    const double v[] = {s->min, s->max, s->p99, s->p95, s->p90, s->p50};
    char text[HUMAN_LEN];
    doc_cell(d, l->node);
    doc_cell(d, l->title);
    doc_cell(d, l->unit);
    if (l->why) {
        doc_rest(d, arena_printf(r->arena, "not measured: %s", l->why));
        return;
    }
    for (size_t i = 0; i < COUNT_OF(v); i++)
        doc_number(d, v[i], human_value(v[i], l->unit, text, sizeof text));
}

static void report_system_put_remarks(const struct report *r, struct doc *d,
                                      const struct verdict *v)
{
    for (size_t i = 0; v && i < v->n_remarks; i++)
        doc_note(d, TONE_INFO, "%s", sentence(r->arena, v->remarks[i]));
    if (v && v->state == RULE_NOT_EVALUATED)
        doc_note(d, TONE_INFO, "Skipped: %s.", v->why);
}

/* Nothing but zeros needs no picture. */
static bool is_flat_zero(const struct report_chart *c)
{
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->lines[i].n; k++)
            if (c->lines[i].min[k] != 0 || c->lines[i].max[k] != 0)
                if (!isnan(c->lines[i].max[k]))
                    return false;
    return true;
}

static void put_flat(const struct report *r, struct doc *d, const struct report_chart *c,
                     bool several)
{
    const char *labels = "";
    char zero[HUMAN_LEN];
    for (size_t i = 0; i < c->n; i++)
        labels = arena_printf(r->arena, "%s%s%s", labels, i ? ", " : "", c->lines[i].label);
    doc_text(d, "%s%s%s over time (%s): constant at %s.", c->title, several ? " of " : "",
             several ? c->node : "", labels, human_value(0, c->unit, zero, sizeof zero));
}

static void report_system_put_chart(const struct report *r, struct doc *d,
                                    const struct report_chart *c, bool several,
                                    const struct svg_span *spans, size_t n_spans)
{
    struct svg_line lines[2];
    if (is_flat_zero(c)) {
        put_flat(r, d, c, several);
        return;
    }
    struct figure f = {
        .kind = FIGURE_LINES,
        .words = {.title = arena_printf(r->arena, "%s%s%s over time", c->title,
                                        several ? " of " : "", several ? c->node : ""),
                  .desc = "Mean of each interval; the band shows the minimum and maximum.",
                  .unit = c->unit},
    };
    for (size_t i = 0; i < c->n; i++)
        lines[i] = (struct svg_line){c->lines[i].label, c->lines[i].t,   c->lines[i].v,
                                     c->lines[i].min,   c->lines[i].max, c->lines[i].n};
    f.lines = (struct svg_lines){.v = lines,
                                 .n = c->n,
                                 .spans = spans,
                                 .n_spans = n_spans,
                                 .axis = SVG_TIME,
                                 .to = report_since(r, r->show.phases.job_end),
                                 .hi = strcmp(c->unit, "%") == 0 ? 100 : 0};
    doc_figure(d, &f);
}

static void report_system_put_charts(const struct report *r, struct doc *d)
{
    struct svg_span *spans;
    const size_t n_spans = report_spans(r, &spans);
    struct node_view *nodes;
    const bool several = runview_nodes(r->info, r->arena, &nodes) > 1;
    for (size_t i = 0; i < r->n_charts; i++)
        report_system_put_chart(r, d, &r->charts[i], several, spans, n_spans);
    if (r->nodes_left_out)
        doc_text(d, "%zu more nodes are listed in the table only.", r->nodes_left_out);
}

static void report_system_put_use(const struct report *r, struct doc *d, const char *caption,
                                  const struct statview *use)
{
    doc_table(d, caption, columns);
    for (size_t i = 0; i < use->n; i++)
        report_system_put_line(r, d, &use->v[i]);
    doc_table_end(d);
}

void report_put_system(const struct report *r, struct doc *d)
{
    doc_section(d, "system", "System usage statistics");
    report_system_put_remarks(r, d, report_verdict(r, "OverallSystemUsage"));
    if (r->loop_use.n)
        report_system_put_use(r, d, "Resource utilization by node, training loop", &r->loop_use);
    report_system_put_use(r, d, "Resource utilization by node, whole job", &r->use);
    if (r->n_charts)
        report_system_put_charts(r, d);
    doc_section_end(d);
}
