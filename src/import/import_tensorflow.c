/* SPDX-License-Identifier: Apache-2.0 */
/* import_tensorflow.c - traces of TensorFlow's profiler, and of JAX's, which have the same format.
 *
 * They are Chrome traces, and the reader of those reads them (import_kineto.c). A sink between that
 * reader and the caller's sink translates what differs. Processes are planes ("/host:CPU",
 * "/device:GPU:0"), threads of a device's plane are streams or views of the same time. Events have
 * no category: their names and arguments define it. Steps are arguments, or a separate line.
 * Times count from the start of the profiler, which the trace does not contain: the name of a file
 * beside it does (the hint). */
#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "import/importer.h"
#include "record/event.h"

/* ---- lines ---- */

enum tf_line {
    TF_HOST,   /* a thread */
    TF_STREAM, /* what ran on a device */
    TF_STEPS,  /* steps as the profiler worked them out, one line for each device */
    TF_SHADOW, /* the same time as on streams, shown in another way: it must not count twice */
};

/* ---- events ---- */

/* ---- phases ---- */

enum tf_phase { TF_FORWARD, TF_BACKWARD, TF_NO_PHASE };

struct tf_interval {
    int64_t at, end;
    enum tf_phase phase;
};

/* Marked operators of all threads; zeroed: none. Bounded: beyond TF_MARKED_MOST they are
 * counted and not followed. */
enum { TF_MARKED_MOST = 1 << 18 };

struct tf_phases {
    struct tf_interval *v;
    size_t n, cap;
    uint64_t dropped;
};

/* ------------------------------------------------------------------------------------------------
 * Lines: threads, streams, steps */

/* Where a device is one whose streams are traced, streams are what ran; the other lines show the
 * same time again. Other devices have no streams: there the operators are what ran. */
static const struct {
    const char *name;
    enum tf_line gpu, other;
} lines[] = {
    {"Steps", TF_STEPS, TF_STEPS},
    {"XLA Ops", TF_SHADOW, TF_STREAM},
    {"Async XLA Ops", TF_SHADOW, TF_SHADOW},
    {"XLA Modules", TF_SHADOW, TF_SHADOW},
    {"XLA TraceMe", TF_SHADOW, TF_SHADOW},
    {"TensorFlow Name Scope", TF_SHADOW, TF_SHADOW},
    {"TensorFlow Ops", TF_SHADOW, TF_SHADOW},
    {"Framework Name Scope", TF_SHADOW, TF_SHADOW},
    {"Framework Ops", TF_SHADOW, TF_SHADOW},
    {"Source code", TF_SHADOW, TF_SHADOW},
    {"Launch Stats", TF_SHADOW, TF_SHADOW},
    {"Sparse Core Steps", TF_SHADOW, TF_SHADOW},
    {"Sparse Core Modules", TF_SHADOW, TF_SHADOW},
    {"Sparse Core Ops", TF_SHADOW, TF_STREAM},
};

/* "GPU:0" of "/device:GPU:0", also after the name of a host; NULL: no device with a number. */
static const char *tf_device_in(const char *process)
{
    const char *at = strstr(process, "/device:");
    const char *number = at ? strrchr(at, ':') : NULL;
    return number && isdigit((unsigned char)number[1]) ? at + strlen("/device:") : NULL;
}

/* From the names that the trace gives its process and its thread. */
static enum tf_line tf_line_of(const struct track *t)
{
    const char *device = tf_device_in(t->process);
    if (!device)
        return TF_HOST;
    const bool gpu = strncmp(device, "GPU:", 4) == 0;
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (strcmp(t->name, lines[i].name) == 0)
            return gpu ? lines[i].gpu : lines[i].other;
    return TF_STREAM;
}

/* "Stream #13(Compute)", "Stream 13"; else the id that the line has. */
static uint32_t stream_of(const struct track *t)
{
    const char *digits = t->name + strcspn(t->name, "0123456789");
    const bool named = strncasecmp(t->name, "stream", 6) == 0 && *digits;
    return named ? (uint32_t)strtoul(digits, NULL, 10) : (uint32_t)t->id;
}

static void place_device(struct track *t, enum tf_line line)
{
    enum { VIEW = 1 << 30 }; /* streams have low numbers */
    const char *device = tf_device_in(t->process);
    const unsigned number = (unsigned)strtoul(strrchr(device, ':') + 1, NULL, 10);
    const bool gpu = strncmp(device, "GPU:", 4) == 0;
    const uint32_t low =
        line == TF_STREAM && gpu ? stream_of(t) : VIEW | ((uint32_t)t->id & (VIEW - 1));
    char name[TRACK_NAME_LEN];
    if (line == TF_STREAM && gpu)
        snprintf(name, sizeof name, "gpu%u stream %u", number, low);
    else
        snprintf(name, sizeof name, "%.3s%u %.40s", gpu ? "gpu" : device, number, t->name);
    for (char *p = name; *p && *p != ' '; p++)
        *p = (char)tolower((unsigned char)*p);
    memcpy(t->name, name, sizeof name);
    t->kind = TRACK_DEVICE;
    t->id = (uint64_t)number << 32 | low;
}

/* Makes it a track of process `pid`: ids of threads do not change, lines of devices become
 * TRACK_DEVICE. */
static void tf_place(struct track *t, enum tf_line line, uint32_t pid)
{
    static const char host[] = "/host:CPU";
    if (line != TF_HOST)
        place_device(t, line);
    else if (strcmp(t->process, host) != 0) /* planes number their threads each for itself */
        t->id ^= (uint64_t)t->pid << 40;
    t->pid = pid;
    memset(t->process, 0, sizeof t->process);
    memcpy(t->process, host, sizeof host);
}

/* ------------------------------------------------------------------------------------------------
 * Events: steps, categories, links */

/* ---- arguments: lines of "key=value" ---- */

/* The value, up to its line's end; NULL: there is none. */
static const char *arg_of(const char *args, const char *key)
{
    const size_t n = strlen(key);
    for (const char *line = args; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) == 0 && line[n] == '=')
            return line + n + 1;
    }
    return NULL;
}

static bool tf_number_at(const char *text, int64_t *out)
{
    return text && import_digits(text, strcspn(text, "\n"), out);
}

/* ---- steps ---- */

static const struct {
    const char *word;
    enum event_mode mode;
} modes[] = {
    {"train", MODE_TRAIN}, {"test", MODE_EVAL},       {"eval", MODE_EVAL},
    {"valid", MODE_EVAL},  {"predict", MODE_PREDICT},
};

/* MODE_N: the word is none of those. */
static enum event_mode mode_of(const char *word)
{
    for (size_t i = 0; word && i < COUNT_OF(modes); i++)
        if (text_starts(word, modes[i].word))
            return modes[i].mode;
    return MODE_N;
}

/* "train 12" */
static bool step_in_name(const char *name, int64_t *number)
{
    const char *space = strchr(name, ' ');
    return space && mode_of(name) != MODE_N && tf_number_at(space + 1, number);
}

/* A step's number and what it is for, from a span of a thread. False: it is not a step. */
static bool tf_step_of(const struct event *v, int64_t *number, enum event_mode *mode)
{
    const char *name = arg_of(v->args, "step_name");
    if (v->kind != EVENT_SPAN)
        return false;
    if (!tf_number_at(arg_of(v->args, "step_num"), number) && !tf_number_at(name, number) &&
        !(name && tf_number_at(arg_of(v->args, "group_id"), number)) &&
        !step_in_name(v->name, number))
        return false;
    *mode = mode_of(arg_of(v->args, "graph_type"));
    if (*mode == MODE_N)
        *mode = mode_of(v->name);
    if (*mode == MODE_N)
        *mode = MODE_TRAIN;
    return true;
}

/* ---- threads ---- */

/* By how the name begins, or how the operator's type does: names are "scope/name:Type". */
static const struct {
    const char *start;
    bool type;
    enum event_category category;
} hosts[] = {
    {"IteratorGetNext", false, CAT_LOADER}, /* the graph waits for its next batch */
    {"IteratorGetNext", true, CAT_LOADER},
    {"HorovodAll", true, CAT_COMM},
    {"HorovodBroadcast", true, CAT_COMM},
    {"HorovodReduce", true, CAT_COMM},
    {"NcclAll", true, CAT_COMM},
    {"NcclReduce", true, CAT_COMM},
    {"NcclBroadcast", true, CAT_COMM},
    {"CollectiveReduce", true, CAT_COMM},
    {"CollectiveGather", true, CAT_COMM},
    {"CollectiveBcast", true, CAT_COMM},
    {"CollectiveAllToAll", true, CAT_COMM},
    {"$", false, CAT_PYTHON},
};

/* cuLaunchKernel, cudaMemcpyAsync, hipModuleLaunchKernel */
static bool tf_is_runtime_call(const char *name)
{
    static const char *const apis[] = {"cuda", "cu", "hip"};
    for (size_t i = 0; i < COUNT_OF(apis); i++) {
        const size_t n = strlen(apis[i]);
        if (strncmp(name, apis[i], n) == 0 && isupper((unsigned char)name[n]) &&
            islower((unsigned char)name[n + 1]))
            return true;
    }
    return false;
}

static enum event_category tf_host_category(const char *name)
{
    const char *colon = strrchr(name, ':');
    const char *type = colon ? colon + 1 : name;
    for (size_t i = 0; i < COUNT_OF(hosts); i++)
        if (text_starts(hosts[i].type ? type : name, hosts[i].start))
            return hosts[i].category;
    return tf_is_runtime_call(name) ? CAT_RUNTIME : CAT_OP;
}

/* ---- devices ---- */

/* Ties a call to what it launched. */
static uint64_t tf_link_of(const struct event *v)
{
    int64_t id;
    if (v->link)
        return v->link;
    return tf_number_at(arg_of(v->args, "correlation_id"), &id) ? (uint64_t)id : 0;
}

/* "kind_src:pinned kind_dst:device size:4096 dest:0 async:1" */
static int64_t bytes_in(const char *details)
{
    const size_t len = strcspn(details, "\n");
    const char *at = memmem(details, len, "size:", 5);
    return at ? (int64_t)strtoull(at + 5, NULL, 10) : 0;
}

/* Category, link and bytes of what ran on a stream. */
static void tf_device_event(struct event *v)
{
    const char *copy = arg_of(v->args, "memcpy_details");
    const char *fill = arg_of(v->args, "memset_details");
    if (v->kind != EVENT_SPAN)
        return;
    v->link = tf_link_of(v);
    v->category = import_device_category(v->name);
    if (v->category != CAT_COMM && (copy || fill))
        v->category = copy ? CAT_MEMCPY : CAT_MEMSET;
    if (copy || fill)
        v->value = bytes_in(copy ? copy : fill);
}

/* ------------------------------------------------------------------------------------------------
 * Forward and backward passes, from operators that a training container marked. Operators of a
 * phase run on many threads at once, so the marks of all threads are gathered, sorted and joined
 * until the phase changes. */

#define MARKER "aws_marker-"

static const struct {
    const char *word;
    enum tf_phase phase;
} words[] = {
    {"ForwardPass/", TF_FORWARD},
    {"ComputeGradient/", TF_BACKWARD},
    {"ApplyGradient/", TF_BACKWARD},
};

/* What an operator's name is marked with. */
static enum tf_phase tf_phase_of(const char *name)
{
    const size_t n = sizeof MARKER - 1;
    if (strncmp(name, MARKER, n) != 0)
        return TF_NO_PHASE;
    const size_t at = FIND_FIRST(i, COUNT_OF(words), text_starts(name + n, words[i].word));
    return at < COUNT_OF(words) ? words[at].phase : TF_NO_PHASE;
}

static void tf_phases_add(struct tf_phases *p, enum tf_phase phase, const struct event *v)
{
    struct tf_interval *last = p->n ? &p->v[p->n - 1] : NULL;
    const int64_t end = v->at.ns + v->dur_ns;
    if (last && last->phase == phase && v->at.ns >= last->at && v->at.ns <= last->end) {
        last->end = MAX_OF(last->end, end);
        return;
    }
    if (p->n == TF_MARKED_MOST) {
        p->dropped++;
        return;
    }
    *VEC_ADD(p->v, p->n, p->cap) = (struct tf_interval){v->at.ns, end, phase};
}

COMPARE_BY(tf_phases_by_begin, struct tf_interval, at)

/* Joins what lies between two changes of the phase: afterwards `v` is in order and does not
 * overlap. */
static void tf_phases_join(struct tf_phases *p)
{
    size_t kept = 0;
    SORT(p->v, p->n, tf_phases_by_begin);
    for (size_t i = 0; i < p->n; i++) {
        struct tf_interval *last = kept ? &p->v[kept - 1] : NULL;
        if (last && last->phase == p->v[i].phase) {
            last->end = MAX_OF(last->end, p->v[i].end);
            continue;
        }
        if (last) /* where they overlap, the later one has begun */
            last->end = MIN_OF(last->end, p->v[i].at);
        p->v[kept++] = p->v[i];
    }
    p->n = kept;
}

/* ------------------------------------------------------------------------------------------------
 * The importer */

enum { BATCH = 256, STEPS_MOST = 1 << 16 };

/* Ids of tracks of our own, far from any thread's. */
#define OWN_TRACK ((uint64_t)3 << 61)

struct line_step {
    mono_ns at;
    int64_t dur_ns, number;
};

struct tf {
    struct sink sink; /* first: the sink is the struct */
    const struct import_ask *ask;
    struct import_result *result;
    uint32_t pid;
    bool host_steps; /* a thread has steps */
    bool ranked;     /* the rank was put */
    /* The last step of a thread: one within it is not a separate step. */
    uint64_t step_track;
    int64_t step_end;
    /* Of the first device that has such a line, for traces whose threads have none. */
    bool steps_known;
    uint64_t steps_of;
    struct line_step *steps;
    size_t n_steps, cap_steps;
    struct tf_phases phases;
    struct event batch[BATCH];
};

static void tf_put(struct tf *f, const struct track *t, const struct event *v, size_t n)
{
    f->ask->sink->ops->events(f->ask->sink, t, v, n);
}

/* An event that the reader below did not count. */
static void tf_put_own(struct tf *f, const struct track *t, const struct event *v)
{
    f->result->count[IMPORTED_KEPT]++;
    tf_put(f, t, v, 1);
}

/* ---- events ---- */

static void tf_note_line_step(struct tf *f, const struct track *t, const struct event *v)
{
    char *end;
    const int64_t number = strtoll(v->name, &end, 10);
    if (!f->steps_known) {
        f->steps_known = true;
        f->steps_of = t->id;
    }
    if (f->steps_of != t->id || f->n_steps == STEPS_MOST || v->kind != EVENT_SPAN)
        return;
    VEC_ROOM(f->steps, f->cap_steps, f->n_steps + 1);
    const bool numbered = end > v->name && *end == '\0' && number >= 0;
    f->steps[f->n_steps] =
        (struct line_step){v->at, v->dur_ns, numbered ? number : (int64_t)f->n_steps};
    f->n_steps++;
}

static void tf_on_thread(struct tf *f, const struct track *t, struct event *v)
{
    const enum tf_phase phase = tf_phase_of(v->name);
    int64_t number;
    enum event_mode mode;
    if (v->category == CAT_OTHER)
        v->category = tf_host_category(v->name);
    v->link = v->category == CAT_RUNTIME ? tf_link_of(v) : v->link;
    if (phase != TF_NO_PHASE)
        tf_phases_add(&f->phases, phase, v);
    if (!tf_step_of(v, &number, &mode) || (f->step_track == t->id && v->at.ns < f->step_end))
        return;
    f->host_steps = true;
    f->step_track = t->id;
    f->step_end = v->at.ns + v->dur_ns;
    v->kind = EVENT_STEP;
    v->value = number;
    v->mode = mode;
}

static void translate(struct tf *f, enum tf_line line, const struct track *t, struct event *v)
{
    switch (line) {
    case TF_HOST:
        tf_on_thread(f, t, v);
        break;
    case TF_STREAM:
        tf_device_event(v);
        break;
    case TF_STEPS:
        tf_note_line_step(f, t, v);
        v->category = CAT_USER;
        break;
    case TF_SHADOW:
        v->category = CAT_OTHER;
        break;
    }
}

static void tf_put_rank(struct tf *f, const struct track *t, mono_ns at)
{
    if (f->ranked || !f->ask->hint.has_rank)
        return;
    const struct event v = import_fact(EV_RANK, f->ask->hint.rank, at);
    f->ranked = true;
    f->result->rank = f->ask->hint.rank;
    tf_put_own(f, t, &v);
}

static void tf_on_events(struct sink *s, const struct track *put, const struct event *v, size_t n)
{
    struct tf *f = (struct tf *)s;
    struct track t = *put;
    const enum tf_line line = tf_line_of(&t);
    tf_place(&t, line, f->pid);
    if (n && line == TF_HOST)
        tf_put_rank(f, &t, v->at);
    for (size_t done = 0, m; done < n; done += m) {
        m = MIN_OF(n - done, (size_t)BATCH);
        memcpy(f->batch, v + done, m * sizeof *v);
        for (size_t i = 0; i < m; i++)
            translate(f, line, &t, &f->batch[i]);
        tf_put(f, &t, f->batch, m);
    }
    if (n == 0 && line == TF_HOST) /* a name that came late */
        tf_put(f, &t, NULL, 0);
}

/* ---- at the end ---- */

static struct track tf_own_track(const struct tf *f, unsigned number, const char *name)
{
    struct track t = {.kind = TRACK_THREAD, .pid = f->pid, .id = OWN_TRACK | number};
    snprintf(t.process, sizeof t.process, "/host:CPU");
    snprintf(t.name, sizeof t.name, "%s", name);
    return t;
}

static void tf_put_line_steps(struct tf *f)
{
    const struct track t = tf_own_track(f, 1, "Steps");
    for (size_t i = 0; i < f->n_steps && !f->host_steps; i++) {
        const struct line_step *s = &f->steps[i];
        const struct event v = {.at = s->at,
                                .dur_ns = s->dur_ns,
                                .kind = EVENT_STEP,
                                .value = s->number,
                                .category = CAT_USER,
                                .name = "step"};
        tf_put_own(f, &t, &v);
    }
}

static void tf_put_phases(struct tf *f)
{
    static const enum event_id ids[] = {[TF_FORWARD] = EV_FORWARD, [TF_BACKWARD] = EV_BACKWARD};
    const struct track t = tf_own_track(f, 2, "phases");
    tf_phases_join(&f->phases);
    for (size_t i = 0; i < f->phases.n; i++) {
        const struct tf_interval *s = &f->phases.v[i];
        const struct event v = {.at = {s->at},
                                .dur_ns = s->end - s->at,
                                .kind = EVENT_SPAN,
                                .category = event_words[ids[s->phase]].category,
                                .name = event_words[ids[s->phase]].name};
        tf_put_own(f, &t, &v);
    }
    f->result->count[IMPORTED_OPEN] += f->phases.dropped;
}

/* ---- the importer ---- */

/* The reader below requests it when it sees that times are relative. */
static bool base_of_hint(void *ctx, const char *key, int64_t *out)
{
    struct tf *f = ctx;
    (void)key;
    *out = f->ask->hint.base.ns;
    f->result->count[IMPORTED_NO_BASE] += !f->ask->hint.has_base;
    return f->ask->hint.has_base;
}

static int tf_run(const struct import_ask *ask, struct import_result *out, struct err *e)
{
    static const struct sink_ops ops = {.events = tf_on_events};
    struct tf *f = xcalloc(1, sizeof *f);
    f->sink.ops = &ops;
    f->ask = ask;
    f->result = out;
    f->pid = import_pid(ask);
    f->step_track = UINT64_MAX;
    struct import_ask inner = *ask;
    inner.sink = &f->sink;
    inner.sink_of_node = NULL;
    inner.late_number = base_of_hint;
    inner.late_is_slow = false;
    inner.late_ctx = f;
    const int rc = importer_kineto.run(&inner, out, e);
    if (rc == 0) {
        tf_put_line_steps(f);
        tf_put_phases(f);
    }
    free(f->phases.v);
    free(f->steps);
    free(f);
    return rc;
}

/* ---- names of files ---- */

/* <worker>_<start>_<end>.metadata: an empty file, all is in its name. */
static bool tf_metadata(const char *name, struct import_hint *h)
{
    const char *worker_end = strchr(name, '_');
    if (!text_ends(name, ".metadata") || !worker_end)
        return false;
    const size_t n = import_digits_at(worker_end + 1);
    wall_ns start;
    if (worker_end[1 + n] != '_' || !import_base_us(worker_end + 1, n, &start))
        return false;
    h->has_base = true;
    h->base = start;
    import_hint_text(h->worker, name, (size_t)(worker_end - name));
    import_hint_host(h->worker, '-', h->node);
    return true;
}

/* .../<step>/plugins/profile/<when>/<host>.trace.json.gz, the metadata in <step>. Without it the
 * machine is known from the name. */
static enum import_place tf_file_place(const char *path, struct import_hint *h)
{
    char folder[PATH_LEN];
    const char *name = path_base(path);
    const char *end = strstr(name, ".trace.json");
    if (!end || end == name || !strstr(path, "plugins/profile/"))
        return PLACE_ANY;
    import_folder_above(path, 4, folder);
    DIR *d = opendir(*folder ? folder : *path == '/' ? "/" : ".");
    for (const struct dirent *f = d ? readdir(d) : NULL; f && !h->has_base; f = readdir(d))
        tf_metadata(f->d_name, h);
    if (d)
        closedir(d);
    if (!*h->node)
        import_hint_text(h->node, name, (size_t)(end - name));
    import_hint_rank(name, h);
    return PLACE_TRACE;
}

static int tf_sniff(const char *head, size_t n)
{
    static const char *const signs[] = {"\"/host:CPU\"",
                                        "\"/device:GPU:", "\"/device:TPU:", "\"highres-ticks\""};
    if (!memmem(head, n, "\"traceEvents\"", 13) || memmem(head, n, "\"schemaVersion\"", 15))
        return 0;
    return FIND_ANY(i, COUNT_OF(signs), memmem(head, n, signs[i], strlen(signs[i]))) ? 95 : 0;
}

const struct importer importer_tensorflow = {
    .name = "tensorflow",
    .help = "TensorFlow or JAX profiler (trace.json.gz)",
    .sniff = tf_sniff,
    .place = tf_file_place,
    .run = tf_run,
};
