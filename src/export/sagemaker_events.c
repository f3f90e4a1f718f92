/* SPDX-License-Identifier: Apache-2.0 */
/* sagemaker_events.c - steps and spans as the hooks of SageMaker's profiler write them: per process
 * arrays of Chrome events with one lane for each kind, times in whole microseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "export/sagemaker.h"
#include "query/steps.h"
#include "record/event.h"

enum { FILE_BYTES = 10 << 20, LANES_MOST = 64, LANE_LEN = 48 };

/* Lanes of spans that are known by name, then by category. */
static const struct {
    enum event_id id;
    const char *lane;
} lanes_by_name[] = {
    {EV_FORWARD, "Forward"},
    {EV_FORWARD_EVAL, "Forward"},
    {EV_BACKWARD, "Backward(post-forward)"},
    {EV_OPTIMIZER, "Optimizer"},
    {EV_DATA, "DataLoaderIter"},
    {EV_FETCH, "DataLoaderWorker"},
    {EV_LOADER_START, "DataLoaderIterInitialize"},
};

static const char *const lanes_by_category[CAT_N] = {
    [CAT_LOADER] = "DataLoaderIter",
    [CAT_COMM] = "Communication",
    [CAT_OP] = "cpu_functions",
    [CAT_PYTHON] = "python_functions",
    [CAT_RUNTIME] = "cpu_functions",
    [CAT_SYNC] = "cpu_functions",
    [CAT_USER] = "User",
};

static const char *const mode_lanes[MODE_N] = {
    [MODE_TRAIN] = "Step:ModeKeys.TRAIN",
    [MODE_EVAL] = "Step:ModeKeys.EVAL",
    [MODE_PREDICT] = "Step:ModeKeys.PREDICT",
};

/* The file being filled. */
struct pevents {
    const struct export_job *job;
    const struct run_process *process;
    const struct rank_steps *steps; /* of the process; NULL: none */
    size_t near;                    /* the step that was found last */
    char worker[128];
    struct buf b;
    int64_t base_us, end_us; /* latest end; base: of all files of the process */
    char lanes[LANES_MOST][LANE_LEN];
    unsigned n_lanes, n_declared;
};

/* ---- one file ---- */

static void put_header(struct pevents *p)
{
    buf_printf(&p->b,
               "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,\"args\":{"
               "\"start_time_since_epoch_in_micros\":%lld}},\n"
               "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":0,\"args\":{"
               "\"sort_index\":0}},\n",
               (long long)p->base_us);
}

static int close_file(struct pevents *p, struct err *e)
{
    char path[256], hour[16];
    if (p->b.len == 0)
        return 0;
    p->b.len -= 2; /* the last comma */
    buf_printf(&p->b, "\n]\n");
    sagemaker_hour(hour, p->end_us * NS_PER_US);
    snprintf(path, sizeof path, "framework/pevents/%s/%lld_%s_pythontimeline.json", hour,
             (long long)p->end_us, p->worker);
    const int rc = sagemaker_file(p->job, path, &p->b, e);
    p->b.len = 0;
    p->n_declared = 0;
    p->end_us++; /* the next file has another name whatever is in it */
    return rc;
}

static unsigned lane_index(struct pevents *p, const char *lane)
{
    unsigned i = 0;
    while (i < p->n_lanes && strcmp(p->lanes[i], lane) != 0)
        i++;
    if (i == p->n_lanes && i + 1 < LANES_MOST)
        snprintf(p->lanes[p->n_lanes++], LANE_LEN, "%s", lane);
    return MIN_OF(i, LANES_MOST - 2u);
}

/* All lanes known so far, in each file before the first event of a new one. */
static void declare_lanes(struct pevents *p)
{
    for (; p->n_declared < p->n_lanes; p->n_declared++) {
        const unsigned pid = p->n_declared + 1;
        buf_printf(&p->b,
                   "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%u,\"args\":{\"name\":", pid);
        json_put_text(&p->b, p->lanes[p->n_declared]);
        buf_printf(&p->b,
                   "}},\n{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":%u,\"args\":{"
                   "\"sort_index\":%u}},\n",
                   pid, pid);
    }
}

struct span {
    const char *lane, *name;
    wall_ns at;
    int64_t dur_ns, step;  /* step -1: in none */
    uint64_t thread;       /* 0: not of one */
    const struct step *of; /* the step that it is; NULL: it is none */
};

/* What SageMaker's steps do not have; its readers pass over arguments that they do not know. */
static void put_step_args(struct jw *j, const struct step *s)
{
    if (s->between_ns >= 0) {
        jw_int(j, "between_us", s->between_ns / NS_PER_US);
        jw_int(j, "iteration_us", step_iteration_ns(s) / NS_PER_US);
    }
    if (s->warmup)
        jw_bool(j, "warmup", true);
    if (s->disturbed)
        jw_bool(j, "disturbed", true);
}

static int sagemaker_events_put_span(struct pevents *p, const struct span *s, struct err *e)
{
    const unsigned lane = lane_index(p, s->lane);
    const int64_t begin = s->at.ns / NS_PER_US, end = (s->at.ns + s->dur_ns) / NS_PER_US;
    if (p->b.len == 0)
        put_header(p);
    declare_lanes(p);
    struct jw j = {.out = &p->b};
    jw_object(&j, NULL);
    jw_str(&j, "name", s->name);
    jw_int(&j, "pid", lane + 1);
    jw_str(&j, "ph", "X");
    jw_int(&j, "ts", begin - p->base_us);
    jw_int(&j, "dur", end - begin);
    jw_object(&j, "args");
    jw_int(&j, "pid", p->process->pid);
    if (s->thread)
        jw_int(&j, "thread_id", (int64_t)s->thread);
    if (s->step >= 0) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)s->step);
        jw_str(&j, "step_num", number);
    }
    if (s->of)
        put_step_args(&j, s->of);
    jw_end(&j);
    jw_end(&j);
    buf_put(&p->b, ",\n", 2);
    p->end_us = MAX_OF(p->end_us, end);
    return p->b.len < FILE_BYTES ? 0 : close_file(p, e);
}

/* ---- what becomes of an event ---- */

static const char *sagemaker_events_lane_of(const struct run_track *t, const struct event *v,
                                            char room[LANE_LEN])
{
    if (t->track.kind == TRACK_DEVICE) {
        snprintf(room, LANE_LEN, "gpu_functions-dev:%llu", (unsigned long long)(t->track.id >> 32));
        return room;
    }
    const enum event_id id = event_find(v->name);
    for (size_t i = 0; i < COUNT_OF(lanes_by_name); i++)
        if (lanes_by_name[i].id == id)
            return lanes_by_name[i].lane;
    return lanes_by_category[v->category] ? lanes_by_category[v->category] : "Other";
}

/* Number of the step that the moment lies in; -1: none. Moments mostly come in order. */
static int64_t sagemaker_events_step_at(struct pevents *p, wall_ns t)
{
    if (!p->steps)
        return -1;
    const struct step *v = p->steps->steps;
    const size_t n = p->steps->n;
    if (p->near >= n || v[p->near].start.ns > t.ns)
        p->near = 0;
    while (p->near < n && v[p->near].start.ns + v[p->near].dur_ns <= t.ns)
        p->near++;
    return p->near < n && v[p->near].start.ns <= t.ns ? v[p->near].number : -1;
}

static int sagemaker_events_put(void *to, const struct run_track *t, const struct run_event *v,
                                size_t n, struct err *e)
{
    struct pevents *p = to;
    char room[LANE_LEN];
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct event *x = &v[i].event;
        if (x->kind != EVENT_SPAN)
            continue;
        const struct span s = {.lane = sagemaker_events_lane_of(t, x, room),
                               .name = x->name,
                               .at = v[i].at,
                               .dur_ns = x->dur_ns,
                               .step = sagemaker_events_step_at(p, v[i].at),
                               .thread = t->track.kind == TRACK_THREAD ? t->track.id : 0};
        rc = sagemaker_events_put_span(p, &s, e);
    }
    return rc;
}

static bool sagemaker_events_in_window(const struct series_ask *ask, const struct step *s)
{
    return (!ask->from.ns || s->start.ns + s->dur_ns > ask->from.ns) &&
           (!ask->to.ns || s->start.ns < ask->to.ns);
}

static int sagemaker_events_put_steps(struct pevents *p, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && p->steps && i < p->steps->n; i++) {
        const struct step *s = &p->steps->steps[i];
        const char *lane = mode_lanes[s->mode];
        if (sagemaker_events_in_window(&p->job->ask, s))
            rc = sagemaker_events_put_span(
                p, &(struct span){lane, lane, s->start, s->dur_ns, s->number, 0, s}, e);
    }
    return rc;
}

/* ---- processes ---- */

static void name_worker(struct pevents *p, const struct run_info *info)
{
    const struct run_process *who = p->process;
    const long long number = who->rank >= 0 && who->worker < 0 ? who->rank : (long long)who->pid;
    snprintf(p->worker, sizeof p->worker, "%lld-algo-%u", number, sagemaker_algo(info, who->node));
}

static const struct rank_steps *sagemaker_events_steps_of(const struct rank_steps *v, size_t n,
                                                          const struct run_process *p)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].process->pid == p->pid && v[i].process->session == p->session &&
            strcmp(v[i].node, p->node) == 0)
            return &v[i];
    return NULL;
}

static int put_process(struct pevents *p, const struct tracks *t, size_t first, struct err *e)
{
    p->process = t->v[first].process;
    p->near = 0;
    p->n_lanes = p->n_declared = 0;
    p->base_us = p->process->first.ns / NS_PER_US;
    p->end_us = 0;
    name_worker(p, run_get_info(p->job->run));
    int rc = sagemaker_events_put_steps(p, e);
    for (size_t i = first; rc == 0 && i < t->n && t->v[i].process == p->process; i++)
        rc = export_events(p->job, &t->v[i], sagemaker_events_put, p, e);
    return rc == 0 ? close_file(p, e) : rc;
}

int sagemaker_events(const struct export_job *job, struct err *e)
{
    struct arena a = {0};
    struct tracks t;
    struct rank_steps *ranks;
    size_t n;
    struct pevents *p = xcalloc(1, sizeof *p);
    p->job = job;
    int rc = export_tracks(job, &a, &t, e);
    if (rc == 0)
        rc = steps_read(job->run, &a, &ranks, &n, e);
    for (size_t i = 0; rc == 0 && i < t.n; i++) {
        if (i > 0 && t.v[i - 1].process == t.v[i].process)
            continue;
        p->steps = sagemaker_events_steps_of(ranks, n, t.v[i].process);
        rc = put_process(p, &t, i, e);
    }
    buf_free(&p->b);
    free(p);
    arena_free(&a);
    return rc;
}
