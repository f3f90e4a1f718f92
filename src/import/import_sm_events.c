/* SPDX-License-Identifier: Apache-2.0 */
/* import_sm_events.c - timelines as SageMaker's profiler cuts them: pythontimeline, model_timeline,
 * horovod_timeline, smdataparallel_timeline.
 *
 * The name of a lane defines what its events are (kinds). Lanes are numbered from 0 or from 1,
 * where 0 is then the header, and may be named again before every event. A file that was never
 * closed ends with a comma. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "import/import_timeline.h"
#include "json/json.h"
#include "record/event.h"

/* Ids of tracks that represent lanes, and for threads of lanes: far from any thread's. */
#define LANE_TRACK   ((uint64_t)1 << 62)
#define THREAD_TRACK ((uint64_t)1 << 61)

enum sm_where {
    WHERE_STEP,   /* it is a step */
    WHERE_MAIN,   /* the thread that trains */
    WHERE_OWN,    /* a track of the lane, or of the thread that the event names */
    WHERE_DEVICE, /* a GPU, its number after the beginning */
};
enum { KEEP = EV_N };

/* What events of SageMaker's timelines are, by the lane that they are in: the first row whose
 * beginning fits. */
static const struct lane_kind {
    const char *beginning;
    enum sm_where where;
    enum event_mode mode;
    enum event_category category;
    unsigned ours; /* enum event_id: its name here; KEEP: its original name */
} kinds[] = {
    {"Step:ModeKeys.EVAL", WHERE_STEP, MODE_EVAL, CAT_OTHER, KEEP},
    {"Step:ModeKeys.PREDICT", WHERE_STEP, MODE_PREDICT, CAT_OTHER, KEEP},
    {"Step:", WHERE_STEP, MODE_TRAIN, CAT_OTHER, KEEP},
    {"Forward-SubModuleInternal", WHERE_MAIN, MODE_TRAIN, CAT_PYTHON, KEEP},
    {"Forward", WHERE_MAIN, MODE_TRAIN, CAT_PHASE, EV_FORWARD},
    {"Backward-SubModuleInternal", WHERE_MAIN, MODE_TRAIN, CAT_PYTHON, KEEP},
    {"Backward", WHERE_MAIN, MODE_TRAIN, CAT_PHASE, EV_BACKWARD},
    {"DataLoaderIterInitialize", WHERE_MAIN, MODE_TRAIN, CAT_LOADER, EV_LOADER_START},
    {"DataLoaderIter", WHERE_MAIN, MODE_TRAIN, CAT_LOADER, EV_DATA},
    {"DataLoaderWorker", WHERE_OWN, MODE_TRAIN, CAT_LOADER, KEEP},
    {"DataIterator", WHERE_OWN, MODE_TRAIN, CAT_LOADER, KEEP},
    {"Dataset", WHERE_OWN, MODE_TRAIN, CAT_LOADER, KEEP},
    {"NcclManager", WHERE_OWN, MODE_TRAIN, CAT_COMM, KEEP},
    {"cpu_functions", WHERE_OWN, MODE_TRAIN, CAT_OP, KEEP},
    {"gpu_functions-dev:", WHERE_DEVICE, MODE_TRAIN, CAT_KERNEL, KEEP},
    {"gpu_functions", WHERE_DEVICE, MODE_TRAIN, CAT_KERNEL, KEEP},
};

static const struct lane_kind unknown = {"", WHERE_OWN, MODE_TRAIN, CAT_OTHER, KEEP};
static const struct lane_kind collective = {"", WHERE_OWN, MODE_TRAIN, CAT_COMM, KEEP};
/* Where no lane of steps is, what has the number of a step is one. */
static const struct lane_kind numbered = {"", WHERE_STEP, MODE_TRAIN, CAT_OTHER, KEEP};

struct sm_lane {
    const struct lane_kind *kind;
    int64_t device;
};

struct sm_timeline {
    struct import_timeline t;
    struct sm_lane *lanes; /* by the number of their track */
    uint32_t n_lanes;
    const struct lane_kind *otherwise; /* lanes that are not known */
    bool has_steps;
    uint32_t trainer; /* the process that trains; 0: not known yet */
    mono_ns trainer_first;
};

/* ---- lanes ---- */

static uint32_t timeline_lane_track(struct sm_timeline *t, int64_t lane)
{
    const uint32_t track = out_track(&t->t.json.out, TRACK_THREAD, t->t.pid,
                                     LANE_TRACK | (uint32_t)(lane & UINT32_MAX));
    if (track == OUT_NO_TRACK || track < t->n_lanes)
        return track;
    const uint32_t n = MAX_OF(track + 1, t->n_lanes * 2);
    t->lanes = xrealloc(t->lanes, n, sizeof *t->lanes);
    for (; t->n_lanes < n; t->n_lanes++)
        t->lanes[t->n_lanes] = (struct sm_lane){t->otherwise, 0};
    return track;
}

static const struct lane_kind *sm_lane_kind_of(const char *name)
{
    return FIND_ITEM(x, kinds, COUNT_OF(kinds), text_starts(name, x->beginning));
}

static void sm_name_lane(struct sm_timeline *t, uint32_t track, const char *name)
{
    if (track == OUT_NO_TRACK)
        return;
    const struct lane_kind *kind = sm_lane_kind_of(name);
    struct sm_lane *l = &t->lanes[track];
    l->kind = kind ? kind : t->otherwise;
    if (l->kind->where == WHERE_DEVICE)
        l->device = strtoll(name + strcspn(name, "0123456789"), NULL, 10) & INT32_MAX;
    t->has_steps = t->has_steps || l->kind->where == WHERE_STEP;
    out_name(&t->t.json.out, track, "", name);
}

static uint32_t sm_thread_of_lane(struct sm_timeline *t)
{
    const struct import_timeline_event *v = &t->t.event;
    const uint64_t lane = (uint64_t)v->lane & 0xffffff;
    return out_track(&t->t.json.out, TRACK_THREAD, t->t.pid,
                     THREAD_TRACK | lane << 32 | (uint32_t)(v->tid & UINT32_MAX));
}

static void timeline_put_metadata(struct sm_timeline *t)
{
    const struct import_timeline_event *v = &t->t.event;
    char name[TRACK_NAME_LEN];
    if (v->base_us != INT64_MIN) {
        timeline_set_base(&t->t);
        return;
    }
    if (!v->arg_name.len || v->lane == INT64_MIN)
        return;
    json_decode(&v->arg_name, name, sizeof name, NULL);
    if (json_is(&v->name, "process_name"))
        sm_name_lane(t, timeline_lane_track(t, v->lane), name);
    else if (json_is(&v->name, "thread_name") && v->tid != INT64_MIN)
        out_name(&t->t.json.out, sm_thread_of_lane(t), "", name);
}

/* ---- where an event belongs ---- */

static uint32_t pid_of(const struct sm_timeline *t)
{
    const int64_t pid = t->t.event.pid;
    return pid > 0 && pid <= UINT32_MAX ? (uint32_t)pid : t->t.pid;
}

static uint32_t sm_device_track(struct sm_timeline *t, int64_t device)
{
    char name[TRACK_NAME_LEN];
    const uint32_t track =
        out_track(&t->t.json.out, TRACK_DEVICE, pid_of(t), (uint64_t)device << 32);
    snprintf(name, sizeof name, "gpu%lld", (long long)device);
    out_name(&t->t.json.out, track, "", name);
    return track;
}

static uint32_t timeline_own_track(struct sm_timeline *t, uint32_t lane)
{
    const struct import_timeline_event *v = &t->t.event;
    if (v->thread > 0)
        return out_track(&t->t.json.out, TRACK_THREAD, pid_of(t), (uint64_t)v->thread);
    if (v->tid == INT64_MIN)
        return lane;
    const uint32_t track = sm_thread_of_lane(t);
    if (track != OUT_NO_TRACK && !*t->t.json.out.tracks[track].track.name && lane != OUT_NO_TRACK) {
        const char *name = t->t.json.out.tracks[lane].track.name;
        out_name(&t->t.json.out, track, "", name);
    }
    return track;
}

static uint32_t timeline_track_of(struct sm_timeline *t, const struct lane_kind *kind,
                                  uint32_t lane)
{
    switch (kind->where) {
    case WHERE_DEVICE:
        return sm_device_track(t, t->lanes[lane].device);
    case WHERE_OWN:
        return timeline_own_track(t, lane);
    default:
        return out_track(&t->t.json.out, TRACK_THREAD, pid_of(t), pid_of(t));
    }
}

/* ---- what it becomes ---- */

static const char *timeline_keep(struct sm_timeline *t, const char *p, size_t n)
{
    return texts_intern(&t->t.json.out.texts, p, n)->p;
}

static const char *sm_event_name(struct sm_timeline *t)
{
    t->t.json.result->count[IMPORTED_NO_NAME] += t->t.event.name.len == 0;
    return timeline_name(&t->t);
}

static enum event_category timeline_refine(enum event_category c, const char *name)
{
    if (c == CAT_KERNEL)
        return import_device_category(name);
    return c == CAT_OP && name_sense(name) & NAME_COMM_OP ? CAT_COMM : c;
}

/* Its own name goes among the arguments where it gets one of ours. */
static void sm_name_event(struct sm_timeline *t, const struct lane_kind *kind, struct event *v)
{
    struct import_timeline_event *x = &t->t.event;
    v->name = sm_event_name(t);
    if (kind->ours != KEEP) {
        const size_t room = sizeof x->args - x->args_len;
        const int n = snprintf(x->args + x->args_len, room, "%sname=%.200s",
                               x->args_len ? "\n" : "", v->name);
        x->args_len += n > 0 && (size_t)n < room ? (uint32_t)n : 0;
        v->name = event_words[kind->ours].name;
    }
    v->args = x->args_len ? timeline_keep(t, x->args, x->args_len) : NULL;
    v->category = timeline_refine(kind->category, v->name);
}

static const struct lane_kind *kind_at(const struct sm_timeline *t, uint32_t lane)
{
    const struct lane_kind *kind = lane == OUT_NO_TRACK ? t->otherwise : t->lanes[lane].kind;
    const struct import_timeline_event *v = &t->t.event;
    const bool step = kind == &unknown && !t->has_steps && v->ph == 'X' && v->step >= 0;
    return step ? &numbered : kind;
}

static void fix_duration(struct sm_timeline *t, struct event *v)
{
    if (v->dur_ns < 0) {
        t->t.json.result->count[IMPORTED_NEGATIVE]++;
        v->dur_ns = 0;
    }
    if (t->t.event.ph == 'X' && *v->name && !v->name[strspn(v->name, "0123456789")]) {
        t->t.json.result->count[IMPORTED_CAPPED] += v->dur_ns > 0;
        v->dur_ns = 0;
        v->category = CAT_COMM;
    }
}

static void sm_note_trainer(struct sm_timeline *t, const struct event *v)
{
    if (t->trainer)
        return;
    t->trainer = pid_of(t);
    t->trainer_first = v->at;
}

/* A number beside an event, on the same track. */
static void sm_emit_count(struct sm_timeline *t, uint32_t track, mono_ns at, enum event_id id,
                          int64_t value)
{
    const struct event v = import_fact(id, value, at);
    if (value != INT64_MIN)
        out_event(&t->t.json.out, track, &v);
}

static void sm_put_loader(struct sm_timeline *t, const struct lane_kind *kind, uint32_t track,
                          mono_ns at)
{
    const struct import_timeline_event *v = &t->t.event;
    if (kind->ours == EV_LOADER_START) {
        sm_emit_count(t, track, at, EV_LOADER_WORKERS, v->workers);
        sm_emit_count(t, track, at, EV_LOADER_PIN, v->pinned);
    }
    /* A worker in a separate process does not train. */
    if (kind->where == WHERE_OWN && v->worker >= 0 && t->trainer && pid_of(t) != t->trainer)
        sm_emit_count(t, track, at, EV_WORKER_ID, v->worker);
}

static void timeline_put_span(struct sm_timeline *t)
{
    const struct import_timeline_event *x = &t->t.event;
    const bool begins = x->ph == 'B';
    struct event v = {.kind = EVENT_SPAN, .dur_ns = x->dur_ns};
    if (!timeline_time(&t->t, &v.at))
        return;
    const uint32_t lane = timeline_lane_track(t, x->lane);
    const struct lane_kind *kind = kind_at(t, lane);
    sm_name_event(t, kind, &v);
    fix_duration(t, &v);
    v.mode = kind->mode;
    if (kind->where == WHERE_STEP && x->step != INT64_MIN) {
        v.kind = EVENT_STEP;
        v.value = x->step;
    } else if (x->bytes > 0) {
        v.value = x->bytes;
    }
    if (kind->where == WHERE_STEP || kind->where == WHERE_MAIN)
        sm_note_trainer(t, &v);
    /* The end of a span names only the lane. */
    const uint32_t track = begins ? lane : timeline_track_of(t, kind, lane);
    if (begins)
        out_begin(&t->t.json.out, track, &v);
    else
        out_event(&t->t.json.out, track, &v);
    if (kind->category == CAT_LOADER)
        sm_put_loader(t, kind, track, v.at);
}

static void timeline_put_end(struct sm_timeline *t)
{
    mono_ns at;
    if (timeline_time(&t->t, &at))
        out_end(&t->t.json.out, timeline_lane_track(t, t->t.event.lane), at);
}

static void sm_put_moment(struct sm_timeline *t)
{
    struct event v = {.kind = EVENT_MARK};
    if (!timeline_time(&t->t, &v.at))
        return;
    const uint32_t lane = timeline_lane_track(t, t->t.event.lane);
    const struct lane_kind *kind = kind_at(t, lane);
    v.name = sm_event_name(t);
    v.category = kind->category;
    v.args = t->t.event.args_len ? timeline_keep(t, t->t.event.args, t->t.event.args_len) : NULL;
    out_event(&t->t.json.out, timeline_track_of(t, kind, lane), &v);
}

static void timeline_put(void *timeline)
{
    struct sm_timeline *t = timeline;
    t->t.json.result->count[IMPORTED_LONG_TEXTS] += t->t.event.long_texts;
    switch (t->t.event.ph) {
    case 'M':
        timeline_put_metadata(t);
        break;
    case 'X':
    case 'B':
        timeline_put_span(t);
        break;
    case 'E':
        timeline_put_end(t);
        break;
    case 'i':
    case 'I':
        sm_put_moment(t);
        break;
    default:
        t->t.json.result->count[IMPORTED_PHASES]++;
    }
}

/* ---- the file ---- */

/* Worker "27-host" is rank 27 when its process has another number; 0 is no process at all. */
static void timeline_put_rank(void *timeline)
{
    struct sm_timeline *t = timeline;
    const char *worker = t->t.json.ask->hint.worker;
    const size_t digits = strspn(worker, "0123456789");
    if (!t->trainer || digits == 0 || digits > 9 || (worker[digits] && worker[digits] != '-'))
        return;
    const int64_t number = strtoll(worker, NULL, 10);
    if (number == t->trainer)
        return;
    const struct event v = import_fact(EV_RANK, number, t->trainer_first);
    t->t.json.result->rank = number;
    out_event(&t->t.json.out, out_track(&t->t.json.out, TRACK_THREAD, t->trainer, t->trainer), &v);
}

static bool sm_is_of_collectives(const char *path)
{
    return path && (strstr(path, "horovod_timeline") || strstr(path, "smdataparallel_timeline"));
}

static int sm_events_run(const struct import_ask *ask, struct import_result *out, struct err *e)
{
    static const struct import_timeline_format format = {
        .name = "SageMaker timeline", .put = timeline_put, .end = timeline_put_rank};
    struct sm_timeline *t = xcalloc(1, sizeof *t);
    t->otherwise = sm_is_of_collectives(ask->hint.path) ? &collective : &unknown;
    const int rc = timeline_run(&t->t, &format, ask, out, e);
    free(t->lanes);
    free(t);
    return rc;
}

/* ---- names of files ---- */

/* 1700000000000000_27-algo-1_pythontimeline.json; some have one more part after the worker. */
static enum import_place timeline_place(const char *path, struct import_hint *h)
{
    const char *name = path_base(path);
    static const char *const ends[] = {"_pythontimeline.json", "_model_timeline.json",
                                       "_horovod_timeline.json", "_smdataparallel_timeline.json"};
    const size_t n = import_digits_at(name);
    bool timeline = false;
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        timeline = timeline || text_ends(name, ends[i]);
    if (!timeline || n == 0 || name[n] != '_')
        return PLACE_ANY;
    const char *worker = name + n + 1;
    import_hint_text(h->worker, worker, strcspn(worker, "_"));
    import_hint_host(h->worker, '-', h->node);
    return PLACE_TRACE;
}

static int timeline_sniff(const char *head, size_t n)
{
    static const char mark[] = "\"start_time_since_epoch_in_micros\"";
    return n && *head == '[' && memmem(head, n, mark, sizeof mark - 1) ? 95 : 0;
}

const struct importer importer_sagemaker_events = {
    .name = "sagemaker_events",
    .help = "SageMaker profiler timeline",
    .sniff = timeline_sniff,
    .place = timeline_place,
    .run = sm_events_run,
};
