/* SPDX-License-Identifier: Apache-2.0 */
/* kineto_events.c - what an event of a trace becomes.
 *
 * Other formats mark a collective, a wait for data or a step by its name (enum name_sense). Each
 * name is classified once, and the result is stored with its text. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "import/kineto_internal.h"
#include "json/json.h"
#include "record/event.h"

/* ------------------------------------------------------------------------------------------------
 * Tracks: threads, streams of devices, and their names */

/* Ids of tracks that no number names: texts, and what belongs to a device as a whole. */
#define TEXT_TRACK ((uint64_t)1 << 63)
#define TEXT_PID   ((uint32_t)1 << 31)

/* below 2^31 */
static uint32_t kineto_text_hash(const struct json_text *t)
{
    uint32_t h = 2166136261u;
    for (uint32_t i = 0; i < t->len; i++)
        h = (h ^ (uint8_t)t->p[i]) * 16777619u;
    return h & ~TEXT_PID;
}

static uint32_t kineto_pid(const struct kineto_who *w)
{
    return w->is_text ? TEXT_PID | kineto_text_hash(&w->text) : (uint32_t)w->number;
}

static uint64_t kineto_tid(const struct kineto_who *w)
{
    return w->is_text ? TEXT_TRACK | kineto_text_hash(&w->text) : (uint64_t)w->number;
}

/* NULL: there is none, or no room for it. */
static struct kineto_process *kineto_process_of(struct kineto *k, uint32_t pid, bool make)
{
    for (uint32_t i = 0; i < k->n_processes; i++)
        if (k->processes[i].pid == pid)
            return &k->processes[i];
    if (!make || k->n_processes == KINETO_PROCESSES_MOST)
        return NULL;
    k->processes[k->n_processes] = (struct kineto_process){.pid = pid};
    return &k->processes[k->n_processes++];
}

/* "": none */
static const char *kineto_process_name(struct kineto *k, uint32_t pid)
{
    const struct kineto_process *p = kineto_process_of(k, pid, false);
    return p ? p->name : "";
}

static void kineto_name_thread(struct kineto *k, uint32_t track)
{
    const struct kineto_event *v = &k->event;
    char name[TRACK_NAME_LEN] = "";
    if (v->tid.is_text && v->tid.text.len)
        json_decode(&v->tid.text, name, sizeof name, NULL);
    if (v->pid.is_text && v->pid.text.len) {
        struct kineto_process *p = kineto_process_of(k, kineto_pid(&v->pid), true);
        if (p && !*p->name)
            json_decode(&v->pid.text, p->name, sizeof p->name, NULL);
    }
    const bool named = track != OUT_NO_TRACK && *k->out.tracks[track].track.name;
    out_name(&k->out, track, kineto_process_name(k, kineto_pid(&v->pid)), named ? "" : name);
}

/* The track of k->event; OUT_NO_TRACK: there are too many. */
static uint32_t kineto_thread_track(struct kineto *k)
{
    const struct kineto_event *v = &k->event;
    const bool plain = !v->pid.is_text && !v->tid.is_text;
    if (plain && k->near[NEAR_THREAD].good && k->near[NEAR_THREAD].pid == v->pid.number &&
        k->near[NEAR_THREAD].tid == v->tid.number)
        return k->near[NEAR_THREAD].track;
    const uint32_t track =
        out_track(&k->out, TRACK_THREAD, kineto_pid(&v->pid), kineto_tid(&v->tid));
    kineto_name_thread(k, track);
    if (plain) {
        k->near[NEAR_THREAD].pid = v->pid.number;
        k->near[NEAR_THREAD].tid = v->tid.number;
        k->near[NEAR_THREAD].track = track;
        k->near[NEAR_THREAD].good = true;
    }
    return track;
}

static uint32_t kineto_stream_track(struct kineto *k, int64_t device, uint32_t stream)
{
    char name[TRACK_NAME_LEN];
    const uint32_t pid = k->ask->pid ? k->ask->pid : k->host_pid ? k->host_pid : (uint32_t)device;
    const uint64_t id = (uint64_t)device << 32 | stream;
    const uint32_t track = out_track(&k->out, TRACK_DEVICE, pid, id);
    if (track == OUT_NO_TRACK || *k->out.tracks[track].track.name)
        return track;
    if (stream == KINETO_NO_STREAM)
        snprintf(name, sizeof name, "gpu%lld", (long long)device);
    else
        snprintf(name, sizeof name, "gpu%lld stream %u", (long long)device, stream);
    out_name(&k->out, track, kineto_process_name(k, pid), name);
    return track;
}

static uint32_t kineto_device_track(struct kineto *k)
{
    const struct kineto_event *v = &k->event;
    const int64_t device = v->device != INT64_MIN ? v->device : v->pid.number;
    const int64_t stream = v->stream != INT64_MIN ? v->stream : v->tid.number;
    if (k->near[NEAR_STREAM].good && k->near[NEAR_STREAM].pid == device &&
        k->near[NEAR_STREAM].tid == stream)
        return k->near[NEAR_STREAM].track;
    k->near[NEAR_STREAM].pid = device;
    k->near[NEAR_STREAM].tid = stream;
    k->near[NEAR_STREAM].track = kineto_stream_track(k, device, (uint32_t)stream);
    k->near[NEAR_STREAM].good = true;
    return k->near[NEAR_STREAM].track;
}

/* ------------------------------------------------------------------------------------------------
 * Spans that belong to no thread: a request, a transfer.
 *
 * Events of one category and id nest; those of different ids overlap freely. So each id that is
 * open has a lane of its category to itself, and the next one takes the lowest lane that is free:
 * there are as many tracks as were ever open at once. */

/* Set in the ids of their tracks; no thread has it. */
#define ASYNC_TRACK ((uint64_t)1 << 62)

static bool kineto_async_same_group(const struct kineto_async *a, const struct kineto_async *b)
{
    return a->pid == b->pid && a->cat == b->cat;
}

static struct kineto_async *kineto_async_find(struct kineto *k, const struct kineto_async *like)
{
    return FIND_ITEM(x, k->async, k->n_async,
                     x->id == like->id && kineto_async_same_group(x, like));
}

static uint32_t free_lane(const struct kineto *k, const struct kineto_async *like)
{
    bool taken[KINETO_ASYNC_MOST] = {false};
    uint32_t lane = 0;
    for (uint32_t i = 0; i < k->n_async; i++)
        if (kineto_async_same_group(&k->async[i], like))
            taken[k->async[i].lane] = true;
    while (taken[lane])
        lane++;
    return lane;
}

static uint32_t kineto_async_lane_track(struct kineto *k, const struct kineto_async *o)
{
    char cat[TRACK_NAME_LEN / 2], name[TRACK_NAME_LEN];
    const uint64_t id = ASYNC_TRACK | (uint64_t)o->cat << 16 | o->lane;
    const uint32_t track = out_track(&k->out, TRACK_THREAD, o->pid, id);
    json_decode(&k->event.cat, cat, sizeof cat, NULL);
    if (o->lane == 0)
        snprintf(name, sizeof name, "%s (async)", cat);
    else
        snprintf(name, sizeof name, "%s (async %u)", cat, o->lane + 1);
    out_name(&k->out, track, "", name);
    return track;
}

/* NULL: too many are open. */
static struct kineto_async *kineto_async_open_one(struct kineto *k, const struct kineto_async *like)
{
    if (k->n_async == KINETO_ASYNC_MOST)
        return NULL;
    struct kineto_async *o = &k->async[k->n_async];
    *o = *like;
    o->lane = free_lane(k, like);
    k->n_async++;
    o->track = kineto_async_lane_track(k, o);
    return o;
}

/* An event that belongs to no thread; `v` is what it becomes. */
static void kineto_async(struct kineto *k, const struct event *v)
{
    const struct kineto_async like = {.pid = kineto_pid(&k->event.pid),
                                      .cat = kineto_text_hash(&k->event.cat),
                                      .id = k->event.id};
    struct kineto_async *o = kineto_async_find(k, &like);
    if (k->how == KINETO_MARK) {
        out_event(&k->out, o ? o->track : kineto_async_lane_track(k, &like), v);
    } else if (k->how == KINETO_BEGIN) {
        o = o ? o : kineto_async_open_one(k, &like);
        if (o)
            o->depth++;
        out_begin(&k->out, o ? o->track : OUT_NO_TRACK, v);
    } else if (!o) {
        k->result->count[IMPORTED_UNBEGUN]++;
    } else {
        out_end(&k->out, o->track, v->at);
        if (--o->depth == 0)
            *o = k->async[--k->n_async];
    }
}

/* ------------------------------------------------------------------------------------------------
 * Events */

enum kineto_where { HOST, DEVICE, MARKER, LAUNCH };

#define KINETO(name, category, where) {CAT_##category, where},
static const struct {
    enum event_category category;
    enum kineto_where where;
} cats[] = {
    {CAT_OTHER, HOST}, /* any other */
#include "import/kineto_cats.def"
};
#undef KINETO

#define KINETO(name, category, where) name,
static const char *const cat_names[] = {
#include "import/kineto_cats.def"
};
#undef KINETO

static_assert(COUNT_OF(cats) == COUNT_OF(cat_names) + 1, "one for each");

void kineto_cats_init(struct json_keys *keys)
{
    json_keys_init(keys, cat_names, COUNT_OF(cat_names));
}

/* ---- names ---- */

#define NAME_SEEN ((uint32_t)1 << 31) /* beside enum name_sense, so that no tag is 0 */

static bool step_number(const char *name, int64_t *out)
{
    const char *digits = name_of_step(name);
    return digits != name && import_digits(digits, strlen(digits), out);
}

static void look_at_name(struct interned_text *t)
{
    t->tag = NAME_SEEN | name_sense(t->p);
    if (t->tag & NAME_STEP && !step_number(t->p, &t->number))
        t->tag &= ~(uint32_t)NAME_STEP;
}

static struct interned_text *kineto_put_name_of(struct kineto *k)
{
    k->result->count[IMPORTED_NO_NAME] += !(k->event.seen & 1u << (K_NAME - K_PH));
    struct interned_text *name =
        import_intern(&k->out.texts, &k->event.name, k->result, &k->scan.faults);
    if (!name->tag)
        look_at_name(name);
    return name;
}

/* A collective's annotation on a device lies around its kernel, which counts already. */
static enum event_category kineto_put_refine(enum event_category c, uint32_t tag, bool device)
{
    if (c == CAT_KERNEL)
        return tag & NAME_COMM_KERNEL ? CAT_COMM : c;
    if (device)
        return c;
    if (tag & NAME_MODULE) /* a range of our own detail windows; Kineto's are CAT_PYTHON already */
        return CAT_PYTHON;
    if (c == CAT_OP || c == CAT_USER)
        return tag & NAME_COMM_OP ? CAT_COMM : tag & NAME_LOADER ? CAT_LOADER : c;
    return c;
}

/* ---- time ---- */

/* Times below are relative: as wall time they would be from before 1973. */
#define RELATIVE_BELOW_NS ((int64_t)100000000 * NS_PER_S)

void kineto_set_base(struct kineto *k, int64_t base_ns)
{
    k->base_known = true;
    out_base(&k->out, base_ns);
}

static void ask_base(struct kineto *k)
{
    const struct import_ask *ask = k->ask;
    int64_t ns;
    const bool known =
        ask->late_number && ask->late_number(ask->late_ctx, "baseTimeNanoseconds", &ns);
    kineto_set_base(k, known ? ns : 0);
}

/* With the first event that has a time. PyTorch writes the base time after the events. */
static void kineto_find_base(struct kineto *k)
{
    if (k->event.ts_ns >= RELATIVE_BELOW_NS)
        kineto_set_base(k, 0);
    else if (k->ask->late_is_slow)
        k->out.holds = true;
    else
        ask_base(k);
}

/* Relative to the base time, which out_base adds. */
static bool kineto_put_time_of(struct kineto *k, mono_ns *out)
{
    if (k->event.has_ts && !k->base_known)
        kineto_find_base(k);
    return import_time(k->ask, k->result, k->event.has_ts ? &k->event.ts_ns : NULL, 0, out);
}

/* ---- kinds of events ---- */

static const char *kineto_put_args_of(struct kineto *k)
{
    const struct kineto_event *v = &k->event;
    return v->args_len ? texts_intern(&k->out.texts, v->args, v->args_len)->p : NULL;
}

/* The first thread that runs operators is the process that was traced. */
static void kineto_note_host(struct kineto *k, const struct event *v, uint32_t track)
{
    if (k->event.pid.is_text || k->event.pid.number <= 0 ||
        (v->category != CAT_OP && v->category != CAT_USER && v->category != CAT_RUNTIME &&
         v->category != CAT_COMM && v->category != CAT_LOADER))
        return;
    k->host_pid = (uint32_t)k->event.pid.number;
    k->host_track = track;
    k->first_host = v->at;
    k->near[NEAR_STREAM].good = false;
}

static void kineto_put_span(struct kineto *k)
{
    const bool device = cats[k->cat].where == DEVICE;
    struct event v = {.kind = EVENT_SPAN};
    if (!kineto_put_time_of(k, &v.at))
        return;
    const struct interned_text *name = kineto_put_name_of(k);
    v.name = name->p;
    v.category = kineto_put_refine(cats[k->cat].category, name->tag, device);
    v.dur_ns = k->event.dur_ns;
    v.link = k->event.link;
    v.parent = k->event.parent;
    v.args = kineto_put_args_of(k);
    if (k->event.bytes != INT64_MIN)
        v.value = k->event.bytes;
    if (v.dur_ns < 0) {
        k->result->count[IMPORTED_NEGATIVE]++;
        v.dur_ns = 0;
    }
    if (!device && name->tag & NAME_STEP) {
        v.kind = EVENT_STEP;
        v.value = name->number;
    }
    const uint32_t track = device ? kineto_device_track(k) : kineto_thread_track(k);
    if (!k->host_pid && !device)
        kineto_note_host(k, &v, track);
    if (k->how == KINETO_BEGIN)
        out_begin(&k->out, track, &v);
    else
        out_event(&k->out, track, &v);
}

static void kineto_put_end(struct kineto *k)
{
    mono_ns at;
    if (kineto_put_time_of(k, &at))
        out_end(&k->out, kineto_thread_track(k), at);
}

static void kineto_put_total(struct kineto *k, mono_ns at, int64_t total, const char *cpu_name,
                             enum event_id gpu_name)
{
    const bool gpu = k->event.mem_device_type > 0;
    if (total == INT64_MIN || (!gpu && !cpu_name))
        return;
    const char *name = gpu ? event_words[gpu_name].name : cpu_name;
    const struct event v = {
        .at = at,
        .kind = EVENT_COUNT,
        .value = total,
        .category = CAT_MEMORY,
        .name = texts_intern(&k->out.texts, name, strlen(name))->p,
    };
    out_event(&k->out,
              gpu ? kineto_stream_track(k, MAX_OF(k->event.mem_device, 0), KINETO_NO_STREAM)
                  : kineto_thread_track(k),
              &v);
}

/* An allocation, or with negative bytes a release; the address ties the two. */
static void kineto_put_memory(struct kineto *k)
{
    char args[64];
    struct event v = {.kind = EVENT_MARK, .category = CAT_MEMORY, .link = k->event.mem_address};
    if (!kineto_put_time_of(k, &v.at))
        return;
    const int n = k->event.mem_device_type > 0 ? snprintf(args, sizeof args, "device=gpu%lld",
                                                          (long long)k->event.mem_device)
                                               : snprintf(args, sizeof args, "device=cpu");
    v.value = k->event.mem_bytes;
    v.name = kineto_put_name_of(k)->p;
    v.args = texts_intern(&k->out.texts, args, (size_t)n)->p;
    out_event(&k->out, kineto_thread_track(k), &v);
    kineto_put_total(k, v.at, k->event.mem_allocated, "cpu.allocated", EV_CUDA_ALLOCATED);
    kineto_put_total(k, v.at, k->event.mem_reserved, NULL, EV_CUDA_RESERVED);
}

static bool kineto_is_profilers_own(const struct kineto_who *pid)
{
    return pid->is_text &&
           (pid->text.len == 0 || json_is(&pid->text, "Traces") || json_is(&pid->text, "Spans"));
}

static void kineto_put_instant(struct kineto *k)
{
    struct event v = {.kind = EVENT_MARK, .category = cats[k->cat].category};
    if (kineto_is_profilers_own(&k->event.pid)) {
        k->result->count[IMPORTED_MARKERS]++;
        return;
    }
    if (k->event.mem_bytes != INT64_MIN) {
        kineto_put_memory(k);
        return;
    }
    if (!kineto_put_time_of(k, &v.at))
        return;
    v.name = kineto_put_name_of(k)->p;
    v.args = kineto_put_args_of(k);
    v.link = k->event.link;
    v.parent = k->event.parent;
    out_event(&k->out, kineto_thread_track(k), &v);
}

/* "GPU 3 Counters" */
static bool counters_of_device(const struct kineto_who *pid, int64_t *device)
{
    const struct json_text *t = &pid->text;
    if (!pid->is_text || t->len < 5 || memcmp(t->p, "GPU ", 4) != 0)
        return false;
    *device = 0;
    for (uint32_t i = 4; i < t->len && t->p[i] >= '0' && t->p[i] <= '9' && i < 10; i++)
        *device = *device * 10 + (t->p[i] - '0');
    return true;
}

/* Each number is a separate series. */
static void kineto_put_counter(struct kineto *k)
{
    struct event v = {.kind = EVENT_REAL, .category = cats[k->cat].category};
    int64_t device;
    char series[EVENT_NAME_MOST];
    if (!kineto_put_time_of(k, &v.at))
        return;
    const uint32_t track = counters_of_device(&k->event.pid, &device)
                               ? kineto_stream_track(k, device, KINETO_NO_STREAM)
                               : kineto_thread_track(k);
    for (uint32_t i = 0; i < k->event.n_series; i++) {
        size_t n = json_decode(&k->event.name, series, sizeof series - 1, &k->scan.faults);
        if (n)
            series[n++] = '.';
        n += json_decode(&k->event.series[i].key, series + n, sizeof series - n, NULL);
        v.name = texts_intern(&k->out.texts, series, strnlen(series, n))->p;
        memcpy(&v.value, &k->event.series[i].value, sizeof v.value);
        out_event(&k->out, track, &v);
    }
}

/* Arrows other than from a launch: a moment at each end, tied by the link. */
static void kineto_put_flow(struct kineto *k)
{
    struct event v = {.kind = EVENT_MARK, .category = cats[k->cat].category, .link = k->event.id};
    if (cats[k->cat].where == LAUNCH) {
        k->result->count[IMPORTED_FLOWS]++;
        return;
    }
    if (!kineto_put_time_of(k, &v.at))
        return;
    v.name = kineto_put_name_of(k)->p;
    v.value = k->event.ph == 's' ? 1 : k->event.ph == 't' ? 2 : 3;
    out_event(&k->out, kineto_thread_track(k), &v);
}

static void kineto_put_async(struct kineto *k)
{
    struct event v = {.kind = k->how == KINETO_MARK ? EVENT_MARK : EVENT_SPAN,
                      .category = cats[k->cat].category};
    if (!kineto_put_time_of(k, &v.at))
        return;
    v.name = kineto_put_name_of(k)->p;
    v.args = kineto_put_args_of(k);
    kineto_async(k, &v);
}

static void kineto_put_metadata(struct kineto *k)
{
    const struct kineto_event *v = &k->event;
    const bool process = json_is(&v->name, "process_name");
    if (!v->arg_name.len || (!process && !json_is(&v->name, "thread_name")))
        return;
    if (process) {
        struct kineto_process *p = kineto_process_of(k, kineto_pid(&v->pid), true);
        if (p)
            json_decode(&v->arg_name, p->name, sizeof p->name, NULL);
        return;
    }
    char name[TRACK_NAME_LEN];
    json_decode(&v->arg_name, name, sizeof name, NULL);
    out_name(&k->out, out_track(&k->out, TRACK_THREAD, kineto_pid(&v->pid), kineto_tid(&v->tid)),
             "", name);
}

/* By what the format calls the phase of an event. */
static const struct {
    void (*put)(struct kineto *k);
    enum kineto_how how;
} emitters[128] = {
    ['X'] = {kineto_put_span, KINETO_WHOLE},
    ['B'] = {kineto_put_span, KINETO_BEGIN},
    ['E'] = {kineto_put_end, KINETO_END},
    ['i'] = {kineto_put_instant, KINETO_MARK},
    ['I'] = {kineto_put_instant, KINETO_MARK},
    ['R'] = {kineto_put_instant, KINETO_MARK},
    ['C'] = {kineto_put_counter, KINETO_MARK},
    ['s'] = {kineto_put_flow, KINETO_MARK},
    ['t'] = {kineto_put_flow, KINETO_MARK},
    ['f'] = {kineto_put_flow, KINETO_MARK},
    ['M'] = {kineto_put_metadata},
    ['b'] = {kineto_put_async, KINETO_BEGIN},
    ['S'] = {kineto_put_async, KINETO_BEGIN},
    ['e'] = {kineto_put_async, KINETO_END},
    ['F'] = {kineto_put_async, KINETO_END},
    ['n'] = {kineto_put_async, KINETO_MARK},
    ['T'] = {kineto_put_async, KINETO_MARK},
    ['p'] = {kineto_put_async, KINETO_MARK},
};

void kineto_put(void *kineto)
{
    struct kineto *k = kineto;
    const struct kineto_event *v = &k->event;
    if (__builtin_expect(out_held_enough(&k->out), 0))
        ask_base(k);
    k->cat = json_key_number(&k->cats, &v->cat);
    if (!v->seen) { /* "{}", with which TensorFlow ends its list, is nothing; others are not events
                     */
        k->result->count[IMPORTED_PHASES] += v->others;
        return;
    }
    k->result->count[IMPORTED_LONG_TEXTS] += v->long_texts;
    k->result->count[IMPORTED_DUPLICATES] += v->duplicates;
    k->scan.faults.escapes += v->bad_escapes;
    k->scan.faults.utf8 += v->bad_utf8;
    if (cats[k->cat].where == MARKER) {
        k->result->count[IMPORTED_MARKERS]++;
        return;
    }
    k->how = emitters[v->ph & 127].how;
    if (emitters[v->ph & 127].put)
        emitters[v->ph & 127].put(k);
    else
        k->result->count[IMPORTED_PHASES]++;
}

/* ---- at the end ---- */

static void kineto_put_fact(struct kineto *k, enum event_id id, int64_t value)
{
    const struct event v = import_fact(id, value, k->first_host);
    if (k->host_pid && value >= 0)
        out_event(&k->out, k->host_track, &v);
}

void kineto_put_rest(struct kineto *k)
{
    for (uint32_t i = 0; i < k->out.n_tracks; i++)
        out_name(&k->out, i, kineto_process_name(k, k->out.tracks[i].track.pid), "");
    kineto_put_fact(k, EV_RANK, k->result->rank);
    kineto_put_fact(k, EV_WORLD_SIZE, k->result->world_size);
}
