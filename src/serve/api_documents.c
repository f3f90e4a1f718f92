/* SPDX-License-Identifier: Apache-2.0 */
/* api_documents.c - the report of a run, and the comparison of two runs. Both take long and are
 * requested seldom. They open the runs for themselves, so that other requests do not wait. */
#include <string.h>

#include "base/vec.h"
#include "compare/compare.h"
#include "cost/machines.h"
#include "export/export.h"
#include "report/report.h"
#include "run/run_files.h"
#include "serve/api_internal.h"
#include "serve/limits.h"
#include "serve/memo.h"
#include "serve/runs.h"

/* ---- reports ---- */

#define PARAM_ROW_DOWNLOAD "download", PARAM_FLAG, .help = "1: send as a download."

const struct route_param api_report_html_params[] = {{PARAM_ROW_DOWNLOAD}, {0}};
const struct route_param api_report_json_params[] = {{PARAM_ROW_DOWNLOAD}, {0}};

typedef void report_writer(const struct report *r, struct buf *out);

struct report_making {
    report_writer *put;
    struct arena arena;
    struct buf *out;
};

static int documents_write_report(void *ctx, struct run *run, struct err *e)
{
    struct report_making *g = ctx;
    struct arena *a = &g->arena;
    struct machines *table = arena_new(a, struct machines);
    struct rule_params *params = arena_new(a, struct rule_params);
    struct checked *checked = arena_new(a, struct checked);
    const struct pricing pricing = {.table = table};
    struct report *report;
    rule_params_init(params, a);
    TRY(machines_load(table, NULL, a, e));
    TRY(rules_check_priced(run, params, &pricing, a, checked, e));
    const struct report_ask ask = {
        .checked = checked, .params = params, .right_size = rightsize_advise(checked, table, a)};
    TRY(report_read(&report, run, &ask, a, e));
    g->put(report, g->out);
    return 0;
}

static int report_answer(const struct route_request *q, report_writer *put, const char *end,
                         struct route_answer *out, struct err *e)
{
    struct report_making making = {.put = put, .out = &out->body};
    const int rc = memo_with_run(runs_memory_limit(q->runs), q->info->path, documents_write_report,
                                 &making, e);
    arena_free(&making.arena);
    if (route_number(q, "download", 0))
        out->file_name = arena_printf(q->arena, "%s-report.%s", q->name, end);
    return rc;
}

int api_report_html(const struct route_request *q, struct route_answer *out, struct err *e)
{
    return report_answer(q, report_html, "html", out, e);
}

int api_report_json(const struct route_request *q, struct route_answer *out, struct err *e)
{
    return report_answer(q, report_json, "json", out, e);
}

/* ---- trace ---- */

const struct route_param api_trace_params[] = {{PARAM_ROW_DOWNLOAD}, {0}};

enum { TRACE_BYTES_MOST = 64 << 20 };

static int documents_write_trace(void *ctx, struct run *run, struct err *e)
{
    struct buf *out = ctx;
    struct outfile file;
    outfile_open_memory(&file, TRACE_BYTES_MOST);
    const struct export_job job = {.run = run, .what = export_chrome.otherwise, .out = &file};
    int rc = export_chrome.write(&job, e);
    if (rc == 0)
        rc = outfile_pass(&file, e);
    if (rc == 0)
        buf_put(out, file.buf.p, file.buf.len);
    buf_free(&file.buf);
    return rc;
}

int api_trace(const struct route_request *q, struct route_answer *out, struct err *e)
{
    if (route_number(q, "download", 0))
        out->file_name = arena_printf(q->arena, "%s-trace.json", q->name);
    return memo_with_run(runs_memory_limit(q->runs), q->info->path, documents_write_trace,
                         &out->body, e);
}

/* ---- two runs ---- */

const struct route_param api_compare_params[] = {
    {"a", PARAM_TEXT,
     .help =
         "The name of a run, as listed by /runs; several names separated by commas form a group."},
    {"b", PARAM_TEXT, .help = "The run or group to compare with it."},
    {0},
};

/* The runs of one side. */
struct api_documents_side {
    const char *paths[COMPARE_RUNS_MOST];
    struct run *runs[COMPARE_RUNS_MOST];
    size_t n;
};

static const char *compare_path_of(const struct runs_list *list, const char *name, struct arena *a)
{
    const size_t at = FIND_FIRST(i, list->n, strcmp(list->v[i].name, name) == 0);
    return at < list->n ? arena_strdup(a, list->v[at].path) : NULL;
}

static int compare_add_path(struct api_documents_side *out, const char *path, const char *name,
                            struct err *e)
{
    if (!path)
        return err_set(e, ERR_NOT_FOUND, "no run '%.200s'", name);
    if (out->n == COMPARE_RUNS_MOST)
        return err_set(e, ERR_USAGE, "a group can have at most %d runs", COMPARE_RUNS_MOST);
    out->paths[out->n++] = path;
    return 0;
}

/* The folders of the runs that a parameter names. A name may contain a comma. */
static int compare_find_side(const struct route_request *q, const char *param,
                             struct api_documents_side *out, struct err *e)
{
    const char *text = route_text(q, param);
    struct runs_list list;
    if (!text)
        return err_set(e, ERR_USAGE, "compare: parameter '%s' is missing", param);
    runs_list_read(q->runs, &list);
    const char *whole = compare_path_of(&list, text, q->arena);
    int rc = whole ? compare_add_path(out, whole, text, e) : 0;
    char *rest = whole ? NULL : arena_strdup(q->arena, text);
    for (char *name; rc == 0 && (name = strsep(&rest, ","));)
        rc = compare_add_path(out, compare_path_of(&list, name, q->arena), name, e);
    runs_list_free(&list);
    return rc;
}

static int compare_put(const struct api_documents_side *sides, struct arena *a, struct buf *out,
                       struct err *e)
{
    struct compared *c = arena_new(a, struct compared);
    struct machines *table = arena_new(a, struct machines);
    const struct api_documents_side *x = &sides[COMPARE_A], *y = &sides[COMPARE_B];
    const struct compare_ask ask = {
        .side = {[COMPARE_A] = {x->runs, x->n, 0}, [COMPARE_B] = {y->runs, y->n, 0}},
        .table = table};
    struct jw j = {.out = out};
    TRY(machines_load(table, NULL, a, e));
    TRY(compare_runs(&ask, a, c, e));
    jw_object(&j, NULL);
    compare_json(&j, c);
    jw_end(&j);
    return 0;
}

static int compare_open_side(struct api_documents_side *s, struct err *e)
{
    for (size_t i = 0; i < s->n; i++)
        TRY(run_open(&s->runs[i], s->paths[i], e));
    return 0;
}

static void compare_close_side(struct api_documents_side *s)
{
    for (size_t i = 0; i < s->n; i++)
        run_close(s->runs[i]);
}

static int compare_in_turn(struct api_documents_side *sides, struct buf *out, struct err *e)
{
    struct arena scratch = {0};
    const uint64_t truncations = sigbus_guard_count();
    int rc = compare_open_side(&sides[COMPARE_A], e);
    if (rc == 0)
        rc = compare_open_side(&sides[COMPARE_B], e);
    if (rc == 0)
        rc = compare_put(sides, &scratch, out, e);
    compare_close_side(&sides[COMPARE_A]);
    compare_close_side(&sides[COMPARE_B]);
    arena_free(&scratch);
    if (rc == 0 && sigbus_guard_count() != truncations)
        rc = err_set(e, ERR_FORMAT, "files of the run were truncated while being read");
    return rc;
}

int api_compare(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct api_documents_side *sides =
        arena_array(q->arena, struct api_documents_side, COMPARE_SIDES);
    int rc = compare_find_side(q, "a", &sides[COMPARE_A], e);
    if (rc == 0)
        rc = compare_find_side(q, "b", &sides[COMPARE_B], e);
    if (rc)
        return rc;
    uint64_t size = 0;
    for (int s = 0; s < COMPARE_SIDES; s++)
        for (size_t i = 0; i < sides[s].n; i++)
            size += run_stamp_data(sides[s].paths[i]).bytes;
    const uint64_t bytes = memory_limit_enter(runs_memory_limit(q->runs), size);
    rc = compare_in_turn(sides, &out->body, e);
    memory_limit_leave(runs_memory_limit(q->runs), bytes);
    return rc;
}
