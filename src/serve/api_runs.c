/* SPDX-License-Identifier: Apache-2.0 */
/* api_runs.c - the list of runs, one run, its findings, control of its recording; the server
 * itself. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "control/control_client.h"
#include "query/eventsum.h"
#include "query/series.h"
#include "run/run_info.h"
#include "run/run_notes.h"
#include "serve/api_internal.h"
#include "serve/route.h"
#include "serve/runs.h"
#include "tables/show.h"

/* ---- the list ---- */

const struct route_param api_runs_params[] = {{0}};

int api_runs(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct runs_list list;
    struct jw j = {.out = &out->body};
    (void)e;
    runs_list_read(q->runs, &list);
    jw_array(&j, NULL);
    for (size_t i = 0; i < list.n; i++)
        row_json(&j, NULL, list.v[i].info ? &row_RunEntry : &row_BrokenRun, &list.v[i], q->arena);
    jw_end(&j);
    runs_list_free(&list);
    runs_list_requested(q->runs);
    return 0;
}

/* ---- one run ---- */

const struct route_param api_run_params[] = {{0}};

/* The name of a run whose recorder is on another machine; NULL: it is not. */
static const char *runs_name_on_hub(const struct route_request *q, const struct run_info *info)
{
    return q->hub ? hub_run_name(q->hub, info->path) : NULL;
}

static const char *runs_why_no_control(const struct route_request *q, unsigned *within_s)
{
    const struct run_info *info = run_get_info(q->run);
    const char *on_hub = runs_name_on_hub(q, info);
    *within_s = on_hub ? hub_control_within(hub_control(q->hub), on_hub) : 0;
    if (info->status != RUN_RUNNING)
        return arena_printf(q->arena, "the run is not being recorded (status: %s)",
                            run_status_name(info->status));
    if (on_hub && !*within_s)
        return "the recorder takes no requests from this hub (--to-control off)";
    return q->may_control ? NULL : "this token allows reading only";
}

/* Series are sorted by node, metric and entity. */
static int runs_read_metrics(struct api_run *out, const struct route_request *q, struct err *e)
{
    struct series_key *v;
    size_t n;
    TRY(series_list(q->run, q->arena, &v, &n, e));
    out->metrics = arena_array(q->arena, struct api_metric, n + 1);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && strcmp(v[end].metric, v[i].metric) == 0 &&
                      strcmp(v[end].node, v[i].node) == 0;)
            end++;
        out->metrics[out->n_metrics++] = (struct api_metric){&v[i], end - i};
    }
    return 0;
}

static int runs_put_run(const struct route_request *q, const struct step_digest *d,
                        struct route_answer *out, struct err *e)
{
    struct jw j = {.out = &out->body};
    struct show show;
    const struct show_known known = {&d->phases, d->view.why, d->window, d->allocator};
    struct api_run run = {
        .show = &show, .name = q->name, .version = q->version, .may_edit = q->may_control};
    run.no_control = runs_why_no_control(q, &run.within_s);
    TRY(show_read_with(&show, q->run, &known, q->arena, e));
    TRY(runs_read_metrics(&run, q, e));
    TRY(events_have_operators(q->run, &run.has_detail, e));
    row_json(&j, NULL, &row_Run, &run, q->arena);
    return 0;
}

int api_run(const struct route_request *q, struct route_answer *out, struct err *e)
{
    return answer_with_steps(q, runs_put_run, out, e);
}

/* ---- findings ---- */

const struct route_param api_findings_params[] = {{0}};

int api_findings(const struct route_request *q, struct route_answer *out, struct err *e)
{
    const char *text;
    const int rc = runs_findings(q->runs, q->name, q->arena, &text, e);
    if (rc == 0 && text)
        buf_put(&out->body, text, strlen(text));
    else if (rc == 0)
        answer_pending(out);
    return rc;
}

/* ---- control: {"set": "interval=100ms"} changes a running recording ---- */

const struct route_param api_control_params[] = {
    {"node", PARAM_TEXT,
     .help = "Only this node (default: all nodes recorded on the server's machine)."},
    {0},
};

int control_body(const char *body, size_t n, struct arena *a, const char **set, struct err *e)
{
    json_error_t why;
    struct control_request ignored;
    json_t *tree = json_loadb(body, n, JSON_REJECT_DUPLICATES, &why);
    const json_t *text = json_object_get(tree, "set");
    const char *request =
        json_is_string(text) && json_object_size(tree) == 1 ? json_string_value(text) : NULL;
    *set = request ? arena_strdup(a, request) : NULL;
    json_decref(tree);
    if (!*set)
        return err_set(e, ERR_USAGE, "the body must be {\"set\": \"...\"}");
    return control_parse(*set, strlen(*set), &ignored, e);
}

/* What users do to runs of a hub is recorded. */
static void runs_audit(const struct route_request *q, const char *action, const char *detail)
{
    if (q->hub)
        hub_audit(q->hub, &(struct audit_line){.by = q->by,
                                               .action = action,
                                               .run = q->name,
                                               .node = route_text(q, "node"),
                                               .detail = detail});
}

struct control_result {
    struct control_answer *answers;
    size_t n;
    struct hub_control_request *requests; /* of a run whose recorder is elsewhere */
    size_t n_requests;
};

/* The recorder fetches it with its next upload. */
static int control_leave_on_hub(const struct route_request *q, const char *run, const char *set,
                                struct control_result *out, struct err *e)
{
    struct hub_control *c = hub_control(q->hub);
    struct control_request parsed;
    TRY(control_parse(set, strlen(set), &parsed, e));
    if (parsed.kind == CONTROL_STATUS)
        return err_set(e, ERR_USAGE, "'status' is for recorders on this machine");
    TRY(hub_control_ask(c, run, route_text(q, "node"), set, q->by, q->arena, &out->requests,
                        &out->n_requests, e));
    out->n = out->n_requests;
    out->answers = arena_array(q->arena, struct control_answer, out->n + 1);
    for (size_t i = 0; i < out->n; i++)
        out->answers[i] = (struct control_answer){
            out->requests[i].node, arena_printf(q->arena, "requested; takes effect within %u s",
                                                hub_control_within(c, run))};
    return 0;
}

static int control_ask(const struct route_request *q, const char *set, struct control_result *out,
                       struct err *e)
{
    const struct control_run_request ask = {q->info, route_text(q, "node"), &set, 1};
    const char *on_hub = runs_name_on_hub(q, q->info);
    return on_hub ? control_leave_on_hub(q, on_hub, set, out, e)
                  : control_run(&ask, q->arena, &out->answers, &out->n, e);
}

int api_control(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct control_result got = {0};
    struct jw j = {.out = &out->body};
    const char *set;
    TRY(control_body(q->body, q->body_len, q->arena, &set, e));
    runs_audit(q, "control", set);
    const int rc = control_ask(q, set, &got, e);
    if (rc == 0) {
        jw_object(&j, NULL);
        rows_json(&j, "answer", &row_ControlSaid, got.answers, got.n, NULL);
        rows_json(&j, "requests", &row_ControlRequest, got.requests, got.n_requests, NULL);
        jw_end(&j);
    } else if (rc == ERR_NOT_FOUND || rc == ERR_LIMIT) {
        out->status = 409;
    }
    return rc;
}

const struct route_param api_requests_params[] = {{0}};

int api_requests(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct jw j = {.out = &out->body};
    struct api_requests r = {0};
    const char *on_hub = runs_name_on_hub(q, q->info);
    (void)e;
    if (on_hub) {
        r.within_s = hub_control_within(hub_control(q->hub), on_hub);
        hub_control_list(hub_control(q->hub), on_hub, q->arena, &r.v, &r.n);
    }
    row_json(&j, NULL, &row_ControlState, &r, q->arena);
    return 0;
}

/* ---- notes and removal ---- */

const struct route_param api_notes_params[] = {{0}};

int api_notes(const struct route_request *q, struct route_answer *out, struct err *e)
{
    json_error_t why;
    struct run_notes notes;
    struct jw j = {.out = &out->body};
    json_t *tree = json_loadb(q->body, q->body_len, JSON_REJECT_DUPLICATES, &why);
    int rc = run_notes_parse(&notes, tree, q->arena, e);
    json_decref(tree);
    if (rc == 0)
        rc = run_notes_put(q->info->path, &notes, e);
    if (rc)
        return rc;
    runs_audit(q, "notes", NULL);
    runs_changed(q->runs, q->name);
    row_json(&j, NULL, &row_Notes, &notes, q->arena);
    return 0;
}

const struct route_param api_remove_params[] = {{0}};

int remove_body(const char *body, size_t n, const char *name, struct err *e)
{
    json_error_t why;
    json_t *tree = json_loadb(body, n, JSON_REJECT_DUPLICATES, &why);
    const char *run = json_string_value(json_object_get(tree, "run"));
    const bool good = json_object_size(tree) == 1 && run && strcmp(run, name) == 0;
    json_decref(tree);
    return good ? 0 : err_set(e, ERR_USAGE, "the body must be {\"run\": \"%.200s\"}", name);
}

int api_remove(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct jw j = {.out = &out->body};
    TRY(remove_body(q->body, q->body_len, q->name, e));
    if (q->info->status != RUN_RUNNING) /* before: nothing is removed without a line */
        runs_audit(q, "delete", NULL);
    const int rc = run_remove(q->info, e);
    if (rc == ERR_BUSY)
        out->status = 409;
    if (rc)
        return rc;
    runs_changed(q->runs, q->name);
    jw_object(&j, NULL);
    jw_str(&j, "removed", q->name);
    jw_end(&j);
    return 0;
}

/* ---- the server itself ---- */

const struct route_param api_status_params[] = {{0}};

/* Resident bytes; negative: not known. */
static int64_t status_memory_bytes(void)
{
    long long pages = -1;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return -1;
    const int n = fscanf(f, "%*d %lld", &pages);
    fclose(f);
    return n == 1 ? (int64_t)pages * sysconf(_SC_PAGESIZE) : -1;
}

static double status_cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static const struct api_hub *status_hub(const struct route_request *q)
{
    struct statvfs disk;
    struct api_hub *h = q->hub ? arena_new(q->arena, struct api_hub) : NULL;
    if (!h)
        return NULL;
    h->n = hub_uses(q->hub, q->arena, &h->uses);
    for (size_t i = 0; i < h->n; i++)
        h->used_bytes += h->uses[i].used_bytes;
    h->free_bytes = statvfs(hub_folder(q->hub), &disk) < 0
                        ? -1
                        : (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    return h;
}

int api_status(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct jw j = {.out = &out->body};
    struct api_status status = {.memory_bytes = status_memory_bytes(),
                                .cpu_s = status_cpu_s(),
                                .may_control = q->may_control,
                                .hub = status_hub(q)};
    (void)e;
    status.n_folders = runs_folders(q->runs, &status.folders);
    runs_get_facts(q->runs, &status.facts);
    row_json(&j, NULL, &row_Status, &status, NULL);
    return 0;
}
