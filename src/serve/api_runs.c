/* SPDX-License-Identifier: Apache-2.0 */
/* api_runs.c - the list of runs, one run, its findings. */
#include <string.h>

#include "query/eventsum.h"
#include "query/series.h"
#include "rules/verdict.h"
#include "serve/api.h"
#include "serve/api_own.h"
#include "serve/runs.h"
#include "tables/show.h"
#include "tables/stepdigest.h"

/* ---- the list ---- */

const struct route_param api_runs_params[] = {{0}};

static void issues_json(struct jw *j, const unsigned *issues)
{
    if (!issues) {
        jw_null(j, "findings");
        return;
    }
    jw_object(j, "findings");
    for (size_t i = SEVERITY_N; i-- > 0;)
        jw_int(j, severity_names[i], issues[i]);
    jw_int(j, "evaluated", issues[ISSUE_EVALUATED]);
    jw_end(j);
}

static void entry_json(struct jw *j, const struct runs_entry *x, struct arena *a)
{
    jw_object(j, NULL);
    if (x->info) {
        runview_json(j, x->info, a);
        jw_int(j, "gpus", (int64_t)runview_gpus(x->info));
        issues_json(j, x->issues);
    } else {
        jw_str(j, "name", x->name);
        jw_null(j, "status");
        jw_str(j, "error", x->broken);
    }
    jw_str(j, "run", x->name);
    jw_str(j, "folder", x->folder);
    jw_bool(j, "live", x->live);
    jw_end(j);
}

int api_runs(const struct route_ask *q, struct route_answer *out, struct err *e)
{
    struct runs_list list;
    struct jw j = {.out = &out->body};
    (void)e;
    runs_list_read(q->runs, &list);
    jw_array(&j, NULL);
    for (size_t i = 0; i < list.n; i++)
        entry_json(&j, &list.v[i], q->arena);
    jw_end(&j);
    runs_list_free(&list);
    runs_list_asked(q->runs);
    return 0;
}

/* ---- one run ---- */

const struct route_param api_run_params[] = {{0}};

static void control_json(struct jw *j, const struct route_ask *q)
{
    const struct run_info *info = run_get_info(q->run);
    const char *why = NULL;
    if (info->status != RUN_RUNNING)
        why = arena_printf(q->arena, "the run is not being recorded (status: %s)",
                           run_status_name(info->status));
    else if (!q->may_control)
        why = "this token allows reading only";
    jw_object(j, "control");
    jw_bool(j, "allowed", !why);
    jw_str(j, "why", why);
    jw_end(j);
}

/* Series are sorted by node, metric and entity. */
static int metrics_json(struct jw *j, const struct route_ask *q, struct err *e)
{
    struct series_key *v;
    size_t n;
    const int rc = series_list(q->run, q->arena, &v, &n, e);
    jw_array(j, "metrics");
    for (size_t i = 0, end; rc == 0 && i < n; i = end) {
        jw_object(j, NULL);
        jw_str(j, "node", v[i].node);
        jw_str(j, "metric", v[i].metric);
        jw_str(j, "unit", v[i].unit);
        jw_array(j, "entities");
        for (end = i; end < n && strcmp(v[end].metric, v[i].metric) == 0 &&
                      strcmp(v[end].node, v[i].node) == 0;
             end++)
            jw_str(j, NULL, v[end].entity);
        jw_end(j);
        jw_end(j);
    }
    jw_end(j);
    return rc;
}

static int detail_json(struct jw *j, const struct route_ask *q, struct err *e)
{
    bool some;
    const int rc = events_have_operators(q->run, &some, e);
    if (rc == 0)
        jw_bool(j, "has_detail", some);
    return rc;
}

static int put_run(struct jw *j, const struct route_ask *q, const struct step_digest *d,
                   struct err *e)
{
    struct show show;
    const struct show_known known = {&d->phases, d->view.why, d->window, d->allocator};
    int rc = show_read_with(&show, q->run, &known, q->arena, e);
    if (rc)
        return rc;
    jw_object(j, NULL);
    show_json(j, &show);
    jw_str(j, "run", q->name);
    jw_bool(j, "live", show.info->status == RUN_RUNNING);
    jw_int(j, "data_version", (int64_t)q->version);
    control_json(j, q);
    rc = metrics_json(j, q, e);
    if (rc == 0)
        rc = detail_json(j, q, e);
    jw_end(j);
    return rc;
}

int api_run(const struct route_ask *q, struct route_answer *out, struct err *e)
{
    const struct step_digest *d;
    struct jw j = {.out = &out->body};
    int rc = api_steps_known(q, out, &d, e);
    if (rc)
        return rc;
    if (d)
        rc = put_run(&j, q, d, e);
    api_steps_done(q, d);
    return rc;
}

/* ---- findings ---- */

const struct route_param api_findings_params[] = {{0}};

int api_findings(const struct route_ask *q, struct route_answer *out, struct err *e)
{
    const char *text;
    const int rc = runs_findings(q->runs, q->name, q->arena, &text, e);
    if (rc == 0 && text)
        buf_put(&out->body, text, strlen(text));
    else if (rc == 0)
        answer_pending(out);
    return rc;
}
