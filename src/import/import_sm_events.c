/* SPDX-License-Identifier: Apache-2.0 */
/* import_sm_events.c - timelines as SageMaker's profiler cuts them: pythontimeline, model_timeline,
 * horovod_timeline, smdataparallel_timeline.
 *
 * An array of events like those of Chrome traces, but for three things: times count from a base
 * that is in the first event of each file; "pid" is no process but the number of a lane, whose name
 * says what its events are (sm_lanes.def); process and thread are among the arguments. Lanes are
 * numbered from 0 or from 1, where 0 is then the header, and may be named again before every event.
 * A file that was never closed ends with a comma. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "import/import_out.h"
#include "import/importer.h"
#include "json/json.h"
#include "record/event.h"

enum { SM_ARGS_MOST = 1024 };

/* Texts are of the window. INT64_MIN: the number is not there. */
struct sm_event {
    char ph;
    bool has_ts;
    int64_t ts_ns, dur_ns;
    int64_t lane, tid; /* "pid" at the top is the number of the lane */
    struct json_text name;

    /* Among the arguments. */
    int64_t pid, thread, step, worker, workers, pinned, bytes, base_us;
    struct json_text arg_name; /* what metadata calls a lane or thread */
    uint32_t args_len, long_texts;
    char args[SM_ARGS_MOST]; /* all but ids, as lines for people */
};

/* ------------------------------------------------------------------------------------------------
 * One event as it is in the file */

/* KEY(id, key, whether it is kept among the arguments) */
#define KEYS(X)                                                                                    \
    X(NAME, "name", false)                                                                         \
    X(PH, "ph", false)                                                                             \
    X(PID, "pid", false)                                                                           \
    X(TID, "tid", false)                                                                           \
    X(TS, "ts", false)                                                                             \
    X(DUR, "dur", false)                                                                           \
    X(SCOPE, "s", false)                                                                           \
    X(ARGS, "args", false)                                                                         \
    X(STEP, "step_num", true)                                                                      \
    X(THREAD, "thread_id", false)                                                                  \
    X(WORKER, "worker_id", true)                                                                   \
    X(WORKERS, "num_workers", true)                                                                \
    X(PINNED, "pin_memory", true)                                                                  \
    X(BYTES, "bytes_fetched", true)                                                                \
    X(BASE, "start_time_since_epoch_in_micros", false)                                             \
    X(SORT, "sort_index", false)

#define X(id, key, kept) S_##id,
enum timeline_key { S_NONE, KEYS(X) S_N };
#undef X

#define X(id, key, kept) key,
static const char *const key_names[] = {KEYS(X)};
#undef X

#define X(id, key, kept) [S_##id] = (kept),
static const bool is_kept[S_N] = {[S_NONE] = true, KEYS(X)};
#undef X

/* A number, also when it is written as a text; true and false are 1 and 0. */
static int64_t timeline_whole(const struct json_item *it)
{
    char text[24], *end;
    int64_t v;
    if (it->kind == JS_TRUE || it->kind == JS_FALSE)
        return it->kind == JS_TRUE;
    if (it->kind == JS_NUMBER)
        return json_int(it, &v) ? v : INT64_MIN;
    if (it->kind != JS_STRING || it->text.len == 0 || it->text.len >= sizeof text)
        return INT64_MIN;
    memcpy(text, it->text.p, it->text.len);
    text[it->text.len] = '\0';
    v = strtoll(text, &end, 10);
    return *end == '\0' ? v : INT64_MIN;
}

/* ---- arguments as lines ---- */

static void timeline_keep_arg(struct sm_event *v, const struct json_item *it)
{
    static const struct json_text words[] = {
        [JS_TRUE] = {"true", 4, false, false},
        [JS_FALSE] = {"false", 5, false, false},
    };
    const struct json_text *t =
        it->kind == JS_TRUE || it->kind == JS_FALSE ? &words[it->kind] : &it->text;
    char *const from = v->args + v->args_len;
    char *p = from;
    if (t->len == 0 || it->kind == JS_NULL)
        return;
    /* Decoded it is no longer than it is there, but for what is no UTF-8. */
    if (v->args_len + 3ul * (it->key.len + t->len) + 4 > sizeof v->args) {
        v->long_texts++;
        return;
    }
    if (v->args_len)
        *p++ = '\n';
    char *const line = p;
    p += json_decode(&it->key, p, 3ul * it->key.len + 1, NULL);
    *p++ = '=';
    p += json_decode(t, p, 3ul * t->len + 1, NULL);
    for (char *c = line; c < p; c++)
        if ((uint8_t)*c < ' ') /* an argument is a line */
            *c = ' ';
    v->args_len += (uint32_t)(p - from);
}

static void timeline_take_arg(struct sm_event *v, const struct json_item *it)
{
    switch (it->id) {
    case S_NAME:
        v->arg_name = it->text;
        break;
    case S_PID:
        v->pid = timeline_whole(it);
        break;
    case S_TID:
    case S_THREAD:
        v->thread = timeline_whole(it);
        break;
    case S_STEP:
        v->step = timeline_whole(it);
        break;
    case S_WORKER:
        v->worker = timeline_whole(it);
        break;
    case S_WORKERS:
        v->workers = timeline_whole(it);
        break;
    case S_PINNED:
        v->pinned = timeline_whole(it);
        break;
    case S_BYTES:
        v->bytes = timeline_whole(it);
        break;
    case S_BASE:
        v->base_us = timeline_whole(it);
        break;
    default:
        break;
    }
    if (is_kept[it->id])
        timeline_keep_arg(v, it);
}

static enum json_kind timeline_args(struct json_scan *s, struct sm_event *v)
{
    struct json_item it;
    for (;;) {
        enum json_kind kind = json_next(s, &it);
        if (kind == JS_END || kind >= JS_LOST)
            return kind;
        if (kind == JS_OBJECT || kind == JS_ARRAY)
            kind = json_skip(s, NULL);
        else
            timeline_take_arg(v, &it);
        if (kind >= JS_LOST)
            return kind;
    }
}

/* ---- the event ---- */

static void timeline_take_top(struct sm_event *v, const struct json_item *it)
{
    switch (it->id) {
    case S_NAME:
        v->name = it->text;
        break;
    case S_PH:
        v->ph = it->kind == JS_STRING && it->text.len == 1 ? *it->text.p : '\0';
        break;
    case S_PID:
        v->lane = timeline_whole(it);
        break;
    case S_TID:
        v->tid = timeline_whole(it);
        break;
    case S_TS:
        v->has_ts = json_us_to_ns(it, &v->ts_ns);
        break;
    case S_DUR:
        if (!json_us_to_ns(it, &v->dur_ns))
            v->dur_ns = 0;
        break;
    default:
        break;
    }
}

/* Reads the members of the event that the scanner has just entered: JS_END, or a kind from JS_LOST
 * on. */
static enum json_kind sm_event_read(struct json_scan *s, struct sm_event *v)
{
    const int64_t none = INT64_MIN;
    struct json_item it;
    memset(v, 0, offsetof(struct sm_event, args));
    v->lane = v->tid = v->pid = v->thread = v->step = none;
    v->worker = v->workers = v->pinned = v->bytes = v->base_us = none;
    for (;;) {
        enum json_kind kind = json_next(s, &it);
        if (kind == JS_END || kind >= JS_LOST)
            return kind;
        if (kind == JS_OBJECT && it.id == S_ARGS)
            kind = timeline_args(s, v);
        else if (kind == JS_OBJECT || kind == JS_ARRAY)
            kind = json_skip(s, NULL);
        else
            timeline_take_top(v, &it);
        if (kind >= JS_LOST)
            return kind;
    }
}

/* ------------------------------------------------------------------------------------------------
 * What it becomes */

/* Ids of tracks that represent lanes, and for threads of lanes: far from any thread's. */
#define LANE_TRACK   ((uint64_t)1 << 62)
#define THREAD_TRACK ((uint64_t)1 << 61)

enum sm_where { WHERE_STEP, WHERE_MAIN, WHERE_OWN, WHERE_DEVICE };
enum { KEEP = EV_N };

#define EV_KEEP KEEP
#define LANE(beginning, where, mode, category, ours)                                               \
    {beginning, WHERE_##where, MODE_##mode, CAT_##category, EV_##ours},
static const struct lane_kind {
    const char *beginning;
    enum sm_where where;
    enum event_mode mode;
    enum event_category category;
    unsigned ours; /* enum event_id, or KEEP */
} kinds[] = {
#include "import/sm_lanes.def"
};
#undef LANE

static const struct lane_kind unknown = {"", WHERE_OWN, MODE_TRAIN, CAT_OTHER, KEEP};
static const struct lane_kind collective = {"", WHERE_OWN, MODE_TRAIN, CAT_COMM, KEEP};
/* Where no lane of steps is, what has the number of a step is one. */
static const struct lane_kind numbered = {"", WHERE_STEP, MODE_TRAIN, CAT_OTHER, KEEP};

struct sm_lane {
    const struct lane_kind *kind;
    int64_t device;
};

struct sm_timeline {
    struct import_json json;
    struct sm_lane *lanes; /* by the number of their track */
    uint32_t n_lanes;
    const struct lane_kind *otherwise; /* lanes that are not known */
    bool has_base, has_steps;
    int64_t base_ns;
    uint32_t pid;     /* of the worker, as its name says */
    uint32_t trainer; /* the process that trains; 0: not heard of yet */
    mono_ns trainer_first;
    struct sm_event event;
    char text[EVENT_NAME_MOST];
};

/* ---- lanes ---- */

static uint32_t timeline_lane_track(struct sm_timeline *t, int64_t lane)
{
    const uint32_t track =
        out_track(&t->json.out, TRACK_THREAD, t->pid, LANE_TRACK | (uint32_t)(lane & UINT32_MAX));
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
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (text_starts(name, kinds[i].beginning))
            return &kinds[i];
    return NULL;
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
    out_name(&t->json.out, track, "", name);
}

static uint32_t sm_thread_of_lane(struct sm_timeline *t)
{
    const struct sm_event *v = &t->event;
    const uint64_t lane = (uint64_t)v->lane & 0xffffff;
    return out_track(&t->json.out, TRACK_THREAD, t->pid,
                     THREAD_TRACK | lane << 32 | (uint32_t)(v->tid & UINT32_MAX));
}

static void timeline_put_metadata(struct sm_timeline *t)
{
    const struct sm_event *v = &t->event;
    char name[TRACK_NAME_LEN];
    if (v->base_us != INT64_MIN) {
        t->has_base = !__builtin_mul_overflow(v->base_us, NS_PER_US, &t->base_ns);
        return;
    }
    if (!v->arg_name.len || v->lane == INT64_MIN)
        return;
    json_decode(&v->arg_name, name, sizeof name, NULL);
    if (json_is(&v->name, "process_name"))
        sm_name_lane(t, timeline_lane_track(t, v->lane), name);
    else if (json_is(&v->name, "thread_name") && v->tid != INT64_MIN)
        out_name(&t->json.out, sm_thread_of_lane(t), "", name);
}

/* ---- where an event belongs ---- */

static uint32_t pid_of(const struct sm_timeline *t)
{
    const int64_t pid = t->event.pid;
    return pid > 0 && pid <= UINT32_MAX ? (uint32_t)pid : t->pid;
}

static uint32_t sm_device_track(struct sm_timeline *t, int64_t device)
{
    char name[TRACK_NAME_LEN];
    const uint32_t track = out_track(&t->json.out, TRACK_DEVICE, pid_of(t), (uint64_t)device << 32);
    snprintf(name, sizeof name, "gpu%lld", (long long)device);
    out_name(&t->json.out, track, "", name);
    return track;
}

static uint32_t timeline_own_track(struct sm_timeline *t, uint32_t lane)
{
    const struct sm_event *v = &t->event;
    if (v->thread > 0)
        return out_track(&t->json.out, TRACK_THREAD, pid_of(t), (uint64_t)v->thread);
    if (v->tid == INT64_MIN)
        return lane;
    const uint32_t track = sm_thread_of_lane(t);
    if (track != OUT_NO_TRACK && !*t->json.out.tracks[track].track.name && lane != OUT_NO_TRACK) {
        const char *name = t->json.out.tracks[lane].track.name;
        out_name(&t->json.out, track, "", name);
    }
    return track;
}

static uint32_t sm_main_track(struct sm_timeline *t)
{
    return out_track(&t->json.out, TRACK_THREAD, pid_of(t), pid_of(t));
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
        return sm_main_track(t);
    }
}

/* ---- what it becomes ---- */

static bool timeline_time_of(struct sm_timeline *t, mono_ns *out)
{
    int64_t at;
    uint64_t *count = t->json.result->count;
    if (!t->event.has_ts) {
        count[IMPORTED_NO_TIME]++;
        return false;
    }
    if (!t->has_base) {
        t->has_base = true;
        t->base_ns = t->json.ask->hint.has_base ? t->json.ask->hint.base.ns : 0;
        count[IMPORTED_NO_BASE] += !t->json.ask->hint.has_base;
    }
    if (__builtin_add_overflow(t->event.ts_ns, t->base_ns, &at) ||
        __builtin_sub_overflow(at, t->json.ask->wall_minus_mono_ns, &out->ns)) {
        count[IMPORTED_BAD_TIME]++;
        return false;
    }
    return true;
}

static const char *timeline_keep(struct sm_timeline *t, const char *p, size_t n)
{
    return texts_keep(&t->json.out.texts, p, n)->p;
}

static const char *timeline_name_of(struct sm_timeline *t)
{
    const struct json_text *name = &t->event.name;
    t->json.result->count[IMPORTED_NO_NAME] += name->len == 0;
    t->json.result->count[IMPORTED_LONG_TEXTS] += name->len >= sizeof t->text;
    json_decode(name, t->text, sizeof t->text, &t->json.scan.faults);
    return timeline_keep(t, t->text, strlen(t->text));
}

/* "4": the rank of that number is ready. */
static bool sm_is_tick(const char *name)
{
    return *name && !name[strspn(name, "0123456789")];
}

static enum event_category timeline_refine(enum event_category c, const char *name)
{
    const unsigned sense = c == CAT_KERNEL || c == CAT_OP ? name_sense(name) : 0;
    if (c == CAT_KERNEL)
        return sense & NAME_COMM_KERNEL ? CAT_COMM
               : sense & NAME_MEMCPY    ? CAT_MEMCPY
               : sense & NAME_MEMSET    ? CAT_MEMSET
                                        : c;
    return sense & NAME_COMM_OP ? CAT_COMM : c;
}

/* Its own name goes among the arguments where it gets one of ours. */
static void sm_name_event(struct sm_timeline *t, const struct lane_kind *kind, struct event *v)
{
    struct sm_event *x = &t->event;
    v->name = timeline_name_of(t);
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
    const struct sm_event *v = &t->event;
    const bool step = kind == &unknown && !t->has_steps && v->ph == 'X' && v->step >= 0;
    return step ? &numbered : kind;
}

static void fix_duration(struct sm_timeline *t, struct event *v)
{
    if (v->dur_ns < 0) {
        t->json.result->count[IMPORTED_NEGATIVE]++;
        v->dur_ns = 0;
    }
    if (t->event.ph == 'X' && sm_is_tick(v->name)) {
        t->json.result->count[IMPORTED_CAPPED] += v->dur_ns > 0;
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
    const struct event v = {
        .at = at,
        .kind = EVENT_COUNT,
        .value = value,
        .category = event_words[id].category,
        .name = event_words[id].name,
    };
    if (value != INT64_MIN)
        out_event(&t->json.out, track, &v);
}

static void sm_put_loader(struct sm_timeline *t, const struct lane_kind *kind, uint32_t track,
                          mono_ns at)
{
    const struct sm_event *v = &t->event;
    if (kind->ours == EV_LOADER_START) {
        sm_emit_count(t, track, at, EV_LOADER_WORKERS, v->workers);
        sm_emit_count(t, track, at, EV_LOADER_PIN, v->pinned);
    }
    /* A worker that has a process of its own does not train. */
    if (kind->where == WHERE_OWN && v->worker >= 0 && t->trainer && pid_of(t) != t->trainer)
        sm_emit_count(t, track, at, EV_WORKER_ID, v->worker);
}

static void timeline_put_span(struct sm_timeline *t)
{
    const struct sm_event *x = &t->event;
    const bool begins = x->ph == 'B';
    struct event v = {.kind = EVENT_SPAN, .dur_ns = x->dur_ns};
    if (!timeline_time_of(t, &v.at))
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
    /* What ends a span says only the lane. */
    const uint32_t track = begins ? lane : timeline_track_of(t, kind, lane);
    if (begins)
        out_begin(&t->json.out, track, &v);
    else
        out_event(&t->json.out, track, &v);
    if (kind->category == CAT_LOADER)
        sm_put_loader(t, kind, track, v.at);
}

static void timeline_put_end(struct sm_timeline *t)
{
    mono_ns at;
    if (timeline_time_of(t, &at))
        out_end(&t->json.out, timeline_lane_track(t, t->event.lane), at);
}

static void sm_put_moment(struct sm_timeline *t)
{
    struct event v = {.kind = EVENT_MARK};
    if (!timeline_time_of(t, &v.at))
        return;
    const uint32_t lane = timeline_lane_track(t, t->event.lane);
    const struct lane_kind *kind = kind_at(t, lane);
    v.name = timeline_name_of(t);
    v.category = kind->category;
    v.args = t->event.args_len ? timeline_keep(t, t->event.args, t->event.args_len) : NULL;
    out_event(&t->json.out, timeline_track_of(t, kind, lane), &v);
}

static void timeline_put(void *timeline)
{
    struct sm_timeline *t = timeline;
    t->json.result->count[IMPORTED_LONG_TEXTS] += t->event.long_texts;
    switch (t->event.ph) {
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
        t->json.result->count[IMPORTED_PHASES]++;
    }
}

/* ---- the file ---- */

static enum json_kind timeline_read(void *timeline)
{
    struct sm_timeline *t = timeline;
    return sm_event_read(&t->json.scan, &t->event);
}

/* Worker "27-host" is rank 27 when its process has another number; 0 is no process at all. */
static void timeline_put_rank(struct sm_timeline *t)
{
    const char *worker = t->json.ask->hint.worker;
    const size_t digits = strspn(worker, "0123456789");
    if (!t->trainer || digits == 0 || digits > 9 || (worker[digits] && worker[digits] != '-'))
        return;
    const int64_t number = strtoll(worker, NULL, 10);
    if (number == t->trainer)
        return;
    const struct event v = import_rank_event(number, t->trainer_first);
    t->json.result->rank = number;
    out_event(&t->json.out, out_track(&t->json.out, TRACK_THREAD, t->trainer, t->trainer), &v);
}

static enum json_kind timeline_read_all(struct sm_timeline *t, bool *array)
{
    struct json_elements all = {
        .scan = &t->json.scan, .read = timeline_read, .tell = timeline_put, .ctx = t};
    struct json_item it;
    const enum json_kind kind = json_next(&t->json.scan, &it);
    *array = kind == JS_ARRAY;
    if (!*array)
        return kind;
    const enum json_kind end = json_elements(&all);
    t->json.result->count[IMPORTED_PHASES] += all.others;
    return end;
}

static bool sm_is_of_collectives(const char *path)
{
    return path && (strstr(path, "horovod_timeline") || strstr(path, "smdataparallel_timeline"));
}

static int timeline_run(const struct import_ask *ask, struct import_result *out, struct err *e)
{
    struct sm_timeline *t = xcalloc(1, sizeof *t);
    bool array;
    t->pid = import_pid(ask);
    t->otherwise = sm_is_of_collectives(ask->hint.path) ? &collective : &unknown;
    import_json_open(&t->json, ask, out, key_names, COUNT_OF(key_names));
    const enum json_kind kind = timeline_read_all(t, &array);
    timeline_put_rank(t);
    int rc = import_json_close(&t->json, kind, e);
    if (rc == 0 && !array)
        rc = err_set(e, ERR_FORMAT, "not a SageMaker timeline: the top level is not an array");
    if (rc == 0 && out->count[IMPORTED_KEPT] == 0)
        rc = err_set(e, ERR_FORMAT, "the timeline contains no events");
    free(t->lanes);
    free(t);
    return rc;
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
    .run = timeline_run,
};
