/* SPDX-License-Identifier: Apache-2.0 */
/* api_documents.c - what takes long and is asked for seldom: the report of a run, and two runs
 * compared. The runs are opened here, so that nobody who looks at them has to wait. */
#include <string.h>

#include "compare/compare.h"
#include "report/report.h"
#include "serve/api.h"
#include "serve/api_own.h"
#include "serve/cutfile.h"
#include "serve/heavy.h"
#include "serve/runs.h"
#include "serve/runs_stamp.h"

static int cut_meanwhile(struct err *e)
{
    return err_set(e, ERR_FORMAT, "files of the run were cut while they were read");
}

/* ---- reports ---- */

#define PARAM_ROW_DOWNLOAD                                                                         \
    {                                                                                              \
        "download", PARAM_FLAG, .help = "1: to be saved as a file."                                \
    }

const struct route_param api_report_html_params[] = {PARAM_ROW_DOWNLOAD, {0}};
const struct route_param api_report_json_params[] = {PARAM_ROW_DOWNLOAD, {0}};

typedef void report_writer(const struct report *r, struct buf *out);

static int write_report(struct run *run, report_writer *put, struct arena *a, struct buf *out,
                        struct err *e)
{
    struct machines *table = arena_new(a, struct machines);
    struct rule_params *params = arena_new(a, struct rule_params);
    struct checked *checked = arena_new(a, struct checked);
    const struct pricing pricing = {.table = table};
    struct report *report;
    rule_params_init(params, a);
    int rc = machines_load(table, NULL, a, e);
    if (rc == 0)
        rc = rules_check_priced(run, params, &pricing, a, checked, e);
    if (rc)
        return rc;
    const struct report_ask ask = {
        .checked = checked, .params = params, .right_size = rightsize_advise(checked, table, a)};
    rc = report_read(&report, run, &ask, a, e);
    if (rc == 0)
        put(report, out);
    return rc;
}

static int answer_report(const struct route_ask *q, report_writer *put, const char *end,
                         struct route_answer *out, struct err *e)
{
    struct run *run = NULL;
    struct arena scratch = {0};
    const uint64_t bytes = heavy_begin(runs_heavy(q->runs), stamp_bytes(q->info->path));
    const uint64_t cuts = cutfile_count();
    int rc = run_open(&run, q->info->path, e);
    if (rc == 0)
        rc = write_report(run, put, &scratch, &out->body, e);
    run_close(run);
    arena_free(&scratch);
    heavy_end(runs_heavy(q->runs), bytes);
    if (route_number(q, "download", 0))
        out->file_name = arena_printf(q->arena, "%s-report.%s", q->name, end);
    return rc == 0 && cutfile_count() != cuts ? cut_meanwhile(e) : rc;
}

int api_report_html(const struct route_ask *q, struct route_answer *out, struct err *e)
{
    out->type = "text/html; charset=utf-8";
    return answer_report(q, report_html, "html", out, e);
}

int api_report_json(const struct route_ask *q, struct route_answer *out, struct err *e)
{
    return answer_report(q, report_json, "json", out, e);
}

/* ---- two runs ---- */

const struct route_param api_compare_params[] = {
    {"a", PARAM_TEXT, .help = "The name of a run, as /runs has it."},
    {"b", PARAM_TEXT, .help = "The run that is compared with it."},
    {0},
};

/* The folder of the run that a parameter names. */
static int path_named(const struct route_ask *q, const char *param, const char **out, struct err *e)
{
    const char *name = route_text(q, param);
    struct runs_list list;
    *out = NULL;
    if (!name)
        return err_set(e, ERR_USAGE, "compare: the run '%s' is missing", param);
    runs_list_read(q->runs, &list);
    for (size_t i = 0; i < list.n; i++)
        if (strcmp(list.v[i].name, name) == 0)
            *out = arena_strdup(q->arena, list.v[i].path);
    runs_list_free(&list);
    return *out ? 0 : err_set(e, ERR_NOT_FOUND, "there is no run '%.200s'", name);
}

static int put_compared(struct run *const *runs, struct arena *a, struct buf *out, struct err *e)
{
    struct compared *c = arena_new(a, struct compared);
    struct machines *table = arena_new(a, struct machines);
    const struct compare_ask ask = {
        .side = {[COMPARE_A] = {&runs[0], 1, 0}, [COMPARE_B] = {&runs[1], 1, 0}}, .table = table};
    struct jw j = {.out = out};
    int rc = machines_load(table, NULL, a, e);
    if (rc == 0)
        rc = compare_runs(&ask, a, c, e);
    if (rc)
        return rc;
    jw_object(&j, NULL);
    compare_json(&j, c);
    jw_end(&j);
    return 0;
}

static int compare_paths(const char *const *paths, struct buf *out, struct err *e)
{
    struct run *runs[COMPARE_SIDES] = {NULL, NULL};
    struct arena scratch = {0};
    const uint64_t cuts = cutfile_count();
    int rc = run_open(&runs[COMPARE_A], paths[COMPARE_A], e);
    if (rc == 0)
        rc = run_open(&runs[COMPARE_B], paths[COMPARE_B], e);
    if (rc == 0)
        rc = put_compared(runs, &scratch, out, e);
    run_close(runs[COMPARE_A]);
    run_close(runs[COMPARE_B]);
    arena_free(&scratch);
    return rc == 0 && cutfile_count() != cuts ? cut_meanwhile(e) : rc;
}

int api_compare(const struct route_ask *q, struct route_answer *out, struct err *e)
{
    const char *paths[COMPARE_SIDES];
    int rc = path_named(q, "a", &paths[COMPARE_A], e);
    if (rc == 0)
        rc = path_named(q, "b", &paths[COMPARE_B], e);
    if (rc)
        return rc;
    const uint64_t bytes = heavy_begin(runs_heavy(q->runs), stamp_bytes(paths[COMPARE_A]) +
                                                                stamp_bytes(paths[COMPARE_B]));
    rc = compare_paths(paths, &out->body, e);
    heavy_end(runs_heavy(q->runs), bytes);
    return rc;
}
