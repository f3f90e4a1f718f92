/* SPDX-License-Identifier: Apache-2.0 */
/* report_measured.c - how it was measured: machines, interval, losses, Footplate's own cost. */
#include <math.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "report/report_own.h"

/* ---- machines ---- */

static const struct page_column node_columns[] = {
    {"Node"},
    {"Host"},
    {"Cores", .right = true},
    {"Memory", .right = true},
    {"GPUs", .wide = true},
    {"Kernel"},
    {0},
};

static const char *known(const char *text)
{
    return text && *text ? text : "-";
}

static const char *gpus_of(const struct report *r, const struct node_info *n)
{
    char bytes[HUMAN_LEN];
    if (!n->gpus_known)
        return "-";
    if (n->n_gpus == 0)
        return n->gpu_absent && *n->gpu_absent ? n->gpu_absent : "none found";
    if (!*n->gpus[0].name)
        return arena_printf(r->arena, "%zu", n->n_gpus);
    return arena_printf(r->arena, "%zu x %s, %s each, driver %s", n->n_gpus, n->gpus[0].name,
                        human_bytes((double)n->gpus[0].memory_bytes, bytes, sizeof bytes),
                        known(n->gpus[0].driver));
}

static void put_nodes(const struct report *r, struct doc *d)
{
    struct node_view *v;
    const size_t n = runview_nodes(r->info, r->arena, &v);
    char text[HUMAN_LEN];
    doc_table(d, "Machines", node_columns);
    for (size_t i = 0; i < n; i++) {
        const struct node_info *x = v[i].last;
        doc_cell(d, x->id);
        doc_cell(d, known(x->host));
        doc_number(d, x->cores ? (double)x->cores : NAN,
                   x->cores ? arena_printf(r->arena, "%u", x->cores) : "-");
        doc_number(d, x->memory_bytes > 0 ? (double)x->memory_bytes : NAN,
                   x->memory_bytes > 0 ? human_bytes((double)x->memory_bytes, text, sizeof text)
                                       : "-");
        doc_cell(d, gpus_of(r, x));
        doc_cell(d, known(x->kernel));
    }
    doc_table_end(d);
}

/* ---- recording ---- */

static void put_interval(const struct report *r, struct doc *d)
{
    char text[HUMAN_LEN];
    const double s = (double)runview_interval_ns(r->info) / (double)NS_PER_S;
    size_t changed = 0;
    for (size_t i = 0; i < r->show.n_marks; i++)
        changed += r->show.marks[i].mark.id == MARK_INTERVAL;
    if (s <= 0)
        doc_fact(d, "Sampling interval", NAN, "not known: nothing was sampled by Footplate");
    else
        doc_fact(d, "Sampling interval", s * 1000,
                 arena_printf(r->arena, "%s%s", human_value(s, "s", text, sizeof text),
                              changed ? " at first; it was changed while the run lived" : ""));
}

static void put_own_cost(const struct report *r, struct doc *d)
{
    char text[HUMAN_LEN];
    const double cpu_s = runview_self_cpu_s(r->info), took_s = runview_duration_s(r->info),
                 bytes = runview_bytes_written(r->info);
    if (isnan(cpu_s))
        doc_fact(d, "Footplate's own cost", NAN, runview_why_no_cost(r->info));
    else
        doc_fact(d, "Footplate's own cost", cpu_s,
                 took_s > 0 ? arena_printf(r->arena, "%.2f s of CPU (%.2f %% of one core)", cpu_s,
                                           100 * cpu_s / took_s)
                            : arena_printf(r->arena, "%.2f s of CPU", cpu_s));
    doc_fact(d, "Written", bytes,
             isnan(bytes) ? "not known" : human_bytes(bytes, text, sizeof text));
}

static void put_recording(const struct report *r, struct doc *d)
{
    const int64_t dropped = runview_events_dropped(r->info, &r->show.losses);
    char text[HUMAN_LEN];
    doc_facts(d);
    put_interval(r, d);
    doc_fact(d, "Samples", (double)r->show.size.samples,
             human_count(r->show.size.samples, text, sizeof text));
    doc_fact(d, "Files", (double)r->show.size.file_bytes,
             human_bytes((double)r->show.size.file_bytes, text, sizeof text));
    doc_fact(d, "Events lost", (double)dropped, human_count((uint64_t)dropped, text, sizeof text));
    put_own_cost(r, d);
    doc_fact(d, "Recorded by", NAN,
             r->info->version && *r->info->version
                 ? arena_printf(r->arena, "Footplate %s", r->info->version)
                 : "not known");
    doc_fact(d, "Report made by", NAN, "Footplate " FP_VERSION);
    doc_facts_end(d);
}

/* ---- losses ---- */

static const struct page_column loss_columns[] = {
    {"Node"}, {"What"}, {"Why", .wide = true}, {"Times", .right = true}, {0}};

static void put_losses(const struct report *r, struct doc *d)
{
    const struct loss_list *l = &r->show.losses;
    char text[HUMAN_LEN];
    if (l->n == 0) {
        doc_text(d, "Nothing was lost, and nothing that was asked for could not be measured.");
        return;
    }
    doc_table(d, "Not measured, or lost", loss_columns);
    for (size_t i = 0; i < l->n; i++) {
        const struct loss *x = &l->v[i].loss;
        doc_cell(d, l->v[i].node);
        doc_cell(d, x->what);
        doc_cell(d, *x->why ? x->why : losses[x->id].help);
        doc_number(d, (double)x->count, human_count(x->count, text, sizeof text));
    }
    doc_table_end(d);
}

void report_put_measured(const struct report *r, struct doc *d)
{
    doc_section(d, "measured", "How it was measured");
    put_recording(r, d);
    put_nodes(r, d);
    put_losses(r, d);
    doc_text(d, "Percentiles are exact to the stored resolution, with linear interpolation. Lines "
                "show the mean of each stretch of time, bands the lowest and the highest sample.");
    doc_section_end(d);
}
