/* SPDX-License-Identifier: Apache-2.0 */
/* export_sagemaker.c - a run as the profiler-output folder of SageMaker's profiler, so that its
 * readers can read our runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/vec.h"
#include "export/export.h"
#include "query/samples.h"
#include "query/steps.h"
#include "record/event.h"
#include "record/group.h"

#define MINUTE_NS ((int64_t)60 * NS_PER_S)

/* "algo-2": nodes by their place in the run. */
static unsigned sagemaker_algo(const struct run_info *info, const char *node)
{
    unsigned n = 0;
    for (size_t i = 0; i < info->n_nodes; i++) {
        n += i == 0 || strcmp(info->nodes[i - 1].id, info->nodes[i].id) != 0;
        if (strcmp(info->nodes[i].id, node) == 0)
            break;
    }
    return n;
}

/* "2026111516": the hour as folders are named, UTC. */
static void sagemaker_hour(char out[16], int64_t ns)
{
    const time_t s = (time_t)(ns / NS_PER_S);
    struct tm tm;
    if (!gmtime_r(&s, &tm) || strftime(out, 16, "%Y%m%d%H", &tm) == 0)
        snprintf(out, 16, "0000000000");
}

/* Writes the file <folder>/<path>, its folders made. */
static int sagemaker_file(const struct export_job *job, const char *path, const struct buf *b,
                          struct err *e)
{
    char full[PATH_LEN];
    TRY(path_join(full, e, "%s/%s", job->folder, path));
    char *slash = strrchr(full, '/');
    *slash = '\0';
    const int rc = dir_make(full, e);
    *slash = '/';
    return rc != 0 ? rc : file_replace(full, b->p, b->len, e);
}

/* ------------------------------------------------------------------------------------------------
 * system/incremental: samples as SageMaker's agent writes them, JSON lines, one file per node and
 * minute, in order of time. sm_metrics.def lists the metrics it knows; others are not written. */

enum entity_is { NAME, DIMENSION, TOTAL };

struct minute_reading {
    const char *type, *name, *dimension;
    enum metric_id metric;
    enum entity_is entity;
};

#define SM(type, name, dimension, ours, step, entity, ...)                                         \
    {type, name, dimension, M_##ours, entity},
static const struct minute_reading readings[] = {
#include "record/sm_metrics.def"
};
#undef SM

/* Metrics of ours that are one of theirs only when summed up. */
static const struct {
    enum metric_id part, whole;
} sums[] = {{M_DISK_READ_OPS, M_DISK_OPS}, {M_DISK_WRITE_OPS, M_DISK_OPS}};

/* What one column becomes; type NULL: nothing. */
struct target {
    const char *type, *name, *dimension;
    size_t with; /* the first column that is summed up with it; itself when it is that one */
    double step;
};

struct minute_line {
    int64_t at;
    size_t begin, end; /* in the buffer */
};

struct minute {
    unsigned algo;
    struct arena arena;
    struct target *targets;
    double *sums;
    bool *has;
    size_t n_targets;
    struct buf text;
    struct minute_line *lines;
    size_t n, cap;
};

/* ---- columns ---- */

static enum metric_id minute_metric_of(const char *name)
{
    const enum metric_id m = metric_find(name);
    const size_t at = FIND_FIRST(i, COUNT_OF(sums), sums[i].part == m);
    return at < COUNT_OF(sums) ? sums[at].whole : m;
}

static bool is_total(const char *entity)
{
    return strcmp(entity, ENTITY_TOTAL) == 0;
}

/* The traffic of the container's network is the best value for the node's. */
static struct target target_of(const struct minute_reading *r, const char *entity)
{
    switch (r->entity) {
    case NAME:
        return is_total(entity) ? (struct target){0}
                                : (struct target){r->type, entity, r->dimension};
    case DIMENSION:
        if (strcmp(entity, "Algorithm") == 0 || strcmp(entity, "Platform") == 0)
            return (struct target){r->type, r->name, entity};
        return is_total(entity) ? (struct target){r->type, r->name, "Algorithm"}
                                : (struct target){0};
    default:
        return is_total(entity) ? (struct target){r->type, r->name, ""} : (struct target){0};
    }
}

static struct target find_target(struct arena *a, const struct row_column *c)
{
    const enum metric_id m = minute_metric_of(c->metric);
    for (size_t i = 0; m < METRIC_N && i < COUNT_OF(readings); i++)
        if (readings[i].metric == m)
            return target_of(&readings[i], arena_strdup(a, c->entity));
    return (struct target){0};
}

static bool same_target(const struct target *a, const struct target *b)
{
    return a->type && b->type && strcmp(a->name, b->name) == 0 &&
           strcmp(a->dimension, b->dimension) == 0;
}

static int minute_begin_group(void *to, const struct row_group *g, struct err *e)
{
    struct minute *m = to;
    (void)e;
    m->n_targets = g->n;
    m->targets = arena_array(&m->arena, struct target, g->n);
    m->sums = arena_array(&m->arena, double, g->n);
    m->has = arena_array(&m->arena, bool, g->n);
    for (size_t i = 0; i < g->n; i++) {
        struct target *t = &m->targets[i];
        *t = find_target(&m->arena, &g->columns[i]);
        t->step = g->columns[i].step;
        for (t->with = 0; t->with < i && !same_target(&m->targets[t->with], t);)
            t->with++;
    }
    return 0;
}

/* ---- lines ---- */

static void minute_put_line(struct minute *m, const struct target *t, wall_ns at, double value)
{
    const size_t begin = m->text.len;
    struct jw j = {.out = &m->text};
    jw_object(&j, NULL);
    jw_str(&j, "Type", t->type);
    jw_str(&j, "Name", t->name);
    jw_str(&j, "Dimension", t->dimension);
    jw_num(&j, "Value", value);
    buf_printf(&m->text, ",\"NodeId\":\"algo-%u\",\"Timestamp\":%lld.%06lld", m->algo,
               (long long)(at.ns / NS_PER_S), (long long)(at.ns % NS_PER_S / NS_PER_US));
    jw_end(&j);
    buf_u8(&m->text, '\n');
    *VEC_ADD(m->lines, m->n, m->cap) = (struct minute_line){at.ns, begin, m->text.len};
}

static int minute_put_row(void *to, wall_ns t, const int64_t *cells, struct err *e)
{
    struct minute *m = to;
    (void)e;
    for (size_t i = 0; i < m->n_targets; i++) {
        const struct target *x = &m->targets[i];
        m->sums[i] = 0;
        m->has[i] = false;
        if (!x->type || cells[i] == CELL_MISSING)
            continue;
        m->sums[x->with] += row_value(x->step, cells[i]);
        m->has[x->with] = true;
    }
    for (size_t i = 0; i < m->n_targets; i++)
        if (m->has[i])
            minute_put_line(m, &m->targets[i], t, m->sums[i]);
    return 0;
}

static int minute_by_time(const void *a, const void *b)
{
    const struct minute_line *x = a, *y = b;
    return COMPARE(x->at, y->at) ?: COMPARE(x->begin, y->begin);
}

static int write_minute(const struct export_job *job, struct minute *m, int64_t at, struct err *e)
{
    char path[128], hour[16];
    struct buf out = {0};
    if (m->n == 0)
        return 0;
    SORT(m->lines, m->n, minute_by_time);
    for (size_t i = 0; i < m->n; i++)
        buf_put(&out, m->text.p + m->lines[i].begin, m->lines[i].end - m->lines[i].begin);
    sagemaker_hour(hour, at);
    snprintf(path, sizeof path, "system/incremental/%s/%lld.algo-%u.json", hour,
             (long long)(at / NS_PER_S), m->algo);
    const int rc = sagemaker_file(job, path, &out, e);
    buf_free(&out);
    return rc;
}

static int put_minute(const struct export_job *job, const char *node, int64_t at, struct err *e)
{
    static const struct row_sink sink = {minute_begin_group, minute_put_row};
    struct minute m = {.algo = sagemaker_algo(run_get_info(job->run), node)};
    struct series_ask ask = job->ask;
    ask.node = node;
    ask.from.ns = MAX_OF(at, job->ask.from.ns);
    ask.to.ns = job->ask.to.ns ? MIN_OF(at + MINUTE_NS, job->ask.to.ns) : at + MINUTE_NS;
    int rc = rows_read(job->run, &ask, &sink, &m, e);
    if (rc == 0)
        rc = write_minute(job, &m, at, e);
    buf_free(&m.text);
    free(m.lines);
    arena_free(&m.arena);
    return rc;
}

static int sagemaker_system(const struct export_job *job, struct err *e)
{
    const struct run_info *info = run_get_info(job->run);
    const int64_t from = MAX_OF(info->start.ns, job->ask.from.ns);
    const int64_t to = job->ask.to.ns ? MIN_OF(info->end.ns, job->ask.to.ns) : info->end.ns;
    for (size_t i = 0; i < info->n_nodes; i++) {
        const char *node = info->nodes[i].id;
        if ((i > 0 && strcmp(info->nodes[i - 1].id, node) == 0) ||
            (job->ask.node && strcmp(job->ask.node, node) != 0))
            continue;
        for (int64_t at = from / MINUTE_NS * MINUTE_NS; at <= to; at += MINUTE_NS) {
            export_progress(job, (size_t)((at - from) / MINUTE_NS),
                            (size_t)((to - from) / MINUTE_NS));
            TRY(put_minute(job, node, at, e));
        }
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * framework/pevents: steps and spans as the hooks of SageMaker's profiler write them. Per process
 * arrays of Chrome events with one lane for each kind, times in whole microseconds, a minute at
 * most per file. */

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
    const struct step *of; /* the step that it is; NULL: it is not a step */
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

static int pevents_put_span(struct pevents *p, const struct span *s, struct err *e)
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

static const char *pevents_lane_of(const struct run_track *t, const struct event *v,
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
static int64_t pevents_step_at(struct pevents *p, wall_ns t)
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

static int pevents_put(void *to, const struct run_track *t, const struct run_event *v, size_t n,
                       struct err *e)
{
    struct pevents *p = to;
    char room[LANE_LEN];
    for (size_t i = 0; i < n; i++) {
        const struct event *x = &v[i].event;
        if (x->kind != EVENT_SPAN)
            continue;
        const struct span s = {.lane = pevents_lane_of(t, x, room),
                               .name = x->name,
                               .at = v[i].at,
                               .dur_ns = x->dur_ns,
                               .step = pevents_step_at(p, v[i].at),
                               .thread = t->track.kind == TRACK_THREAD ? t->track.id : 0};
        TRY(pevents_put_span(p, &s, e));
    }
    return 0;
}

static int pevents_put_steps(struct pevents *p, struct err *e)
{
    for (size_t i = 0; p->steps && i < p->steps->n; i++) {
        const struct step *s = &p->steps->steps[i];
        const char *lane = mode_lanes[s->mode];
        if (export_in_window(p->job, s->start, s->start.ns + s->dur_ns))
            TRY(pevents_put_span(
                p, &(struct span){lane, lane, s->start, s->dur_ns, s->number, 0, s}, e));
    }
    return 0;
}

/* ---- processes ---- */

static void name_worker(struct pevents *p, const struct run_info *info)
{
    const struct run_process *process = p->process;
    const long long number =
        process->rank >= 0 && process->worker < 0 ? process->rank : (long long)process->pid;
    snprintf(p->worker, sizeof p->worker, "%lld-algo-%u", number,
             sagemaker_algo(info, process->node));
}

static const struct rank_steps *pevents_steps_of(const struct rank_steps *v, size_t n,
                                                 const struct run_process *p)
{
    return FIND_ITEM(x, v, n,
                     x->process->pid == p->pid && x->process->session == p->session &&
                         strcmp(x->node, p->node) == 0);
}

static int put_process(struct pevents *p, const struct tracks *t, size_t first, struct err *e)
{
    p->process = t->v[first].process;
    p->near = 0;
    p->n_lanes = p->n_declared = 0;
    p->base_us = p->process->first.ns / NS_PER_US;
    p->end_us = 0;
    name_worker(p, run_get_info(p->job->run));
    TRY(pevents_put_steps(p, e));
    for (size_t i = first; i < t->n && t->v[i].process == p->process; i++)
        TRY(export_events(p->job, &t->v[i], pevents_put, p, e));
    return close_file(p, e);
}

static int sagemaker_events(const struct export_job *job, struct err *e)
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
        p->steps = pevents_steps_of(ranks, n, t.v[i].process);
        rc = put_process(p, &t, i, e);
    }
    buf_free(&p->b);
    free(p);
    arena_free(&a);
    return rc;
}

/* ------------------------------------------------------------------------------------------------
 * The folder */

/* Empty: readers look whether they are there. */
static int put_ends(const struct export_job *job, struct err *e)
{
    const struct buf none = {0};
    TRY(sagemaker_file(job, "system/training_job_end.ts", &none, e));
    return sagemaker_file(job, "framework/training_job_end.ts", &none, e);
}

static int write_sagemaker(const struct export_job *job, struct err *e)
{
    TRY(sagemaker_system(job, e));
    TRY(sagemaker_events(job, e));
    return put_ends(job, e);
}

const struct export_format export_sagemaker = {
    .name = "sagemaker",
    .folder = true,
    .can = 1u << EXPORT_ALL,
    .otherwise = EXPORT_ALL,
    .write = write_sagemaker,
};
