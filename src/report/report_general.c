/* SPDX-License-Identifier: Apache-2.0 */
/* report_general.c - general metrics: where time went besides the passes of steps and operators. */
#include "base/human.h"
#include "base/json_write.h"
#include "report/report_internal.h"

static const struct page_column columns[] = {
    {"What", .wide = true},
    {"Share", .right = true},
    {"Time", .right = true},
    {"Spans", .right = true},
    {"Longest", .right = true},
    {"Threads", .right = true},
    {0},
};

static void put_bars(const struct report *r, struct doc *d)
{
    struct svg_part parts[REPORT_GENERAL];
    const struct figure f = {
        .kind = FIGURE_BARS,
        .words = {.title = "Time in general metrics", .unit = "s"},
        .caption = "Seconds summed over all threads; can exceed the job duration if threads run in "
                   "parallel.",
        .parts = parts,
        .n = r->general.n,
        .in_table = true,
    };
    for (size_t i = 0; i < f.n; i++)
        parts[i] = (struct svg_part){r->general.rows[i].what, r->general.rows[i].total_s, -1};
    doc_figure(d, &f);
}

static void report_general_put_row(struct doc *d, const struct general_row *x)
{
    char text[HUMAN_LEN];
    doc_cell(d, x->what);
    doc_bar(d, x->share, x->share, human_value(x->share * 100, "%", text, sizeof text));
    doc_number(d, x->total_s, human_value(x->total_s, "s", text, sizeof text));
    doc_number(d, (double)x->count, human_count(x->count, text, sizeof text));
    doc_number(d, x->longest_s, human_value(x->longest_s, "s", text, sizeof text));
    doc_number(d, (double)x->threads, human_count(x->threads, text, sizeof text));
}

static void put_rows(const struct report *r, struct doc *d)
{
    const struct general *g = &r->general;
    doc_table(d, "General metrics by total time", columns);
    for (size_t i = 0; i < g->n; i++)
        report_general_put_row(d, &g->rows[i]);
    doc_table_end(d);
    if (g->left_out)
        doc_text(d, "%zu more span names took less time each.", g->left_out);
}

void report_put_general(const struct report *r, struct doc *d)
{
    doc_part(d, "general", "General metrics");
    if (r->general.n == 0) {
        doc_note(
            d, TONE_INFO,
            "None recorded (data wait, checkpoint, copy, compilation, collective, user span).");
        return;
    }
    doc_text(d, "Time that threads spent outside step phases and operators. Shares are relative to "
                "the summed recording time of the processes. Spans can be nested and threads run "
                "in parallel, so shares do not add up to the whole.");
    put_bars(r, d);
    put_rows(r, d);
}

void report_general_json(struct jw *j, const struct report *r)
{
    const struct general *g = &r->general;
    jw_object(j, "general");
    jw_array(j, "kinds");
    for (size_t i = 0; i < g->n; i++) {
        const struct general_row *x = &g->rows[i];
        jw_object(j, NULL);
        jw_str(j, "what", x->what);
        jw_num(j, "share", x->share);
        jw_num(j, "total_s", x->total_s);
        jw_num(j, "of_s", x->lived_s);
        jw_int(j, "count", (int64_t)x->count);
        jw_num(j, "longest_s", x->longest_s);
        jw_int(j, "threads", (int64_t)x->threads);
        jw_end(j);
    }
    jw_end(j);
    jw_int(j, "left_out", (int64_t)g->left_out);
    jw_end(j);
}
