/* SPDX-License-Identifier: Apache-2.0 */
/* report_system.c - the sections about the machines: how they were used, and how the run was
 * measured (interval, losses, the cost of Footplate itself). */
#include <math.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/vec.h"
#include "record/record.h"
#include "report/report_internal.h"
#include "tables/runview.h"

static void report_system_put_line(const struct report *r, struct doc *d, const struct stat_line *l)
{
    const struct series_stats *s = l->s;
    DOC_CELLS(d, l->node, l->title, l->unit);
    if (l->why) {
        doc_rest(d, arena_printf(r->arena, "not measured: %s", l->why));
        return;
    }
    DOC_VALUES(d, l->unit, s->min, s->max, s->p99, s->p95, s->p90, s->p50);
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
    for (size_t i = 0; i < c->n; i++)
        labels = arena_printf(r->arena, "%s%s%s", labels, i ? ", " : "", c->lines[i].label);
    doc_text(d, "%s%s%s over time (%s): constant at %s.", c->title, several ? " of " : "",
             several ? c->node : "", labels, value_text(r->arena, 0, c->unit));
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
    doc_table(d, caption, "Node|Resource|Unit|>Min|>Max|>p99|>p95|>p90|>p50");
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

/* ---- how it was measured ---- */

/* ---- machines ---- */

static const char *measured_known(const char *text)
{
    return text && *text ? text : "-";
}

static const char *measured_gpus_of(const struct report *r, const struct node_info *n)
{
    if (!n->gpus_known)
        return "-";
    if (n->n_gpus == 0)
        return n->gpu_absent && *n->gpu_absent ? n->gpu_absent : "none found";
    if (!*n->gpus[0].name)
        return arena_printf(r->arena, "%zu", n->n_gpus);
    return arena_printf(r->arena, "%zu x %s, %s each, driver %s", n->n_gpus, n->gpus[0].name,
                        bytes_text(r->arena, (double)n->gpus[0].memory_bytes),
                        measured_known(n->gpus[0].driver));
}

static void measured_put_nodes(const struct report *r, struct doc *d)
{
    struct node_view *v;
    const size_t n = runview_nodes(r->info, r->arena, &v);
    doc_table(d, "Nodes", "Node|Host|>Cores|>Memory|~GPUs|Kernel");
    for (size_t i = 0; i < n; i++) {
        const struct node_info *x = v[i].last;
        DOC_CELLS(d, x->id, measured_known(x->host));
        doc_number(d, x->cores ? (double)x->cores : NAN,
                   x->cores ? arena_printf(r->arena, "%u", x->cores) : "-");
        doc_number(d, x->memory_bytes > 0 ? (double)x->memory_bytes : NAN,
                   x->memory_bytes > 0 ? bytes_text(r->arena, (double)x->memory_bytes) : "-");
        DOC_CELLS(d, measured_gpus_of(r, x), measured_known(x->kernel));
    }
    doc_table_end(d);
}

/* ---- recording ---- */

static void measured_put_interval(const struct report *r, struct doc *d)
{
    const double s = (double)runview_interval_ns(r->info) / (double)NS_PER_S;
    const size_t changed = SUM_OF(i, r->show.n_marks, r->show.marks[i].mark.id == MARK_INTERVAL);
    if (s <= 0)
        doc_fact(d, "Sampling interval", NAN,
                 "not known: the metrics were not recorded by Footplate");
    else
        doc_fact(d, "Sampling interval", s * 1000,
                 arena_printf(r->arena, "%s%s", value_text(r->arena, s, "s"),
                              changed ? " at first; changed during the run" : ""));
}

static void put_own_cost(const struct report *r, struct doc *d)
{
    const double bytes = runview_bytes_written(r->info);
    doc_fact(d, "Footplate overhead", runview_self_cpu_s(r->info),
             runview_cost_text(r->info, r->arena));
    doc_fact(d, "Disk writes", bytes, isnan(bytes) ? "not known" : bytes_text(r->arena, bytes));
}

static void put_recording(const struct report *r, struct doc *d)
{
    const int64_t dropped = runview_events_dropped(r->info, &r->show.losses);
    doc_facts(d);
    measured_put_interval(r, d);
    doc_fact(d, "Readings", (double)r->show.size.samples,
             count_text(r->arena, r->show.size.samples));
    doc_fact(d, "Files", (double)r->show.size.file_bytes,
             bytes_text(r->arena, (double)r->show.size.file_bytes));
    doc_fact(d, "Events lost", (double)dropped, count_text(r->arena, (uint64_t)dropped));
    put_own_cost(r, d);
    doc_fact(d, "Recorded by", NAN,
             r->info->version && *r->info->version
                 ? arena_printf(r->arena, "Footplate %s", r->info->version)
                 : "not known");
    doc_fact(d, "Report generated by", NAN, "Footplate " FP_VERSION);
    doc_facts_end(d);
}

/* ---- losses ---- */

static void measured_put_losses(const struct report *r, struct doc *d)
{
    const struct loss_list *l = &r->show.losses;
    const size_t n = SUM_OF(i, l->n, !loss_is_no_news(&l->v[i].loss));
    if (n == 0) {
        doc_text(d, "All requested data was measured; nothing was lost.");
        return;
    }
    doc_table(d, "Not measured or lost", "Node|What|~Why|>Times");
    for (size_t i = 0; i < l->n; i++) {
        const struct loss *x = &l->v[i].loss;
        if (loss_is_no_news(x))
            continue;
        DOC_CELLS(d, l->v[i].node, loss_what_words(x, r->arena), loss_why(x));
        doc_count(d, x->count);
    }
    doc_table_end(d);
}

void report_put_measured(const struct report *r, struct doc *d)
{
    doc_section(d, "measured", "Measurement");
    put_recording(r, d);
    measured_put_nodes(r, d);
    measured_put_losses(r, d);
    doc_text(d, "Percentiles are exact to the stored resolution, with linear interpolation. Lines "
                "show the mean of each interval, bands the minimum and maximum.");
    doc_section_end(d);
}
