/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - see report.h: the sections in their order. */
#include <math.h>

#include "base/file.h"
#include "base/human.h"
#include "report/report_own.h"

static const struct page_link contents[] = {
    {"loop", "Training loop"},
    {"job", "Training job summary"},
    {"system", "System usage"},
    {"framework", "Framework metrics"},
    {"general", "General metrics"},
    {"operators", "Operators"},
    {"rules", "Rules summary"},
    {"measured", "How it was measured"},
    {0},
};

/* "finished: 13.7 s on 1 node with 1 GPU, started 2026-11-15 14:26:24.303 +0000" */
static const char *lead_of(const struct report *r)
{
    struct node_view *nodes;
    const size_t n = runview_nodes(r->info, r->arena, &nodes), gpus = runview_gpus(r->info);
    char took[HUMAN_LEN], start[64];
    return arena_printf(r->arena, "%s: %s on %zu node%s with %zu GPU%s, started %s",
                        run_status_name(r->info->status),
                        human_value(runview_duration_s(r->info), "s", took, sizeof took), n,
                        n == 1 ? "" : "s", gpus, gpus == 1 ? "" : "s",
                        wall_text(r->info->start, start, sizeof start));
}

static void put_all(const struct report *r, enum doc_kind kind, struct buf *out)
{
    struct doc d;
    char made[64];
    const struct page_head head = {
        .title = r->info->name, .product = "Footplate report", .lead = lead_of(r)};
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
    doc_close(&d, arena_printf(r->arena, "Made by Footplate %s on %s.", FP_VERSION,
                               wall_text(r->now, made, sizeof made)));
}

void report_html(const struct report *r, struct buf *out)
{
    put_all(r, DOC_HTML, out);
}

void report_text(const struct report *r, struct buf *out)
{
    put_all(r, DOC_TEXT, out);
}

void report_markdown(const struct report *r, struct buf *out)
{
    put_all(r, DOC_MARKDOWN, out);
}

static int write_one(const struct report *r, const char *folder, const char *name,
                     void (*put)(const struct report *r, struct buf *out), struct err *e)
{
    char path[PATH_LEN];
    struct buf b = {0};
    int rc = path_join(path, e, "%s/%s", folder, name);
    if (rc != 0)
        return rc;
    put(r, &b);
    rc = file_replace(path, b.p, b.len, e);
    buf_free(&b);
    return rc;
}

int report_write(const struct report *r, const char *folder, struct err *e)
{
    const int rc = write_one(r, folder, "report.html", report_html, e);
    return rc ? rc : write_one(r, folder, "report.json", report_json, e);
}
