/* SPDX-License-Identifier: Apache-2.0 */
/* import_profile.c - function profiles: of a training process as the hooks write it, and of
 * pyinstrument.
 *
 * A profile is not a timeline. It becomes separate tracks, one for the whole and one for each
 * phase, with one span per function: all begin where the window begins, the duration is the
 * function's own time, the value its calls; the rest is in the arguments. Around them is one span
 * "python profile" for the window itself. Sampled stacks have a track with spans inside of each
 * other, as long as the time of all samples in them: a flame graph. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "import/import_out.h"
#include "import/importer.h"
#include "json/json.h"

enum { PROFILE_WORD_LEN = 32 };

/* What both formats are read with, and where the profile goes. */
struct profile_io {
    struct import_json json;
    /* The window. */
    char profiler[PROFILE_WORD_LEN], timer[PROFILE_WORD_LEN]; /* "": not given */
    int64_t start_step, end_step;                             /* -1: not given */
    int64_t start_ns, end_ns;                                 /* monotonic */
    uint32_t pid;
    uint32_t track, n_tracks;
};

struct profile_function {
    const char *file, *name;
    int64_t line;
    int64_t depth;            /* in a stack */
    int64_t calls, primitive; /* primitive -1: not given */
    double self_s, total_s;   /* NAN: not given */
};

/* Ids of such tracks: far from any thread's. */
#define PROFILE_TRACK ((uint64_t)1 << 62)

static const char *profile_keep(struct profile_io *p, const char *text, int n, size_t room)
{
    return texts_intern(&p->json.out.texts, text, MIN_OF((size_t)n, room - 1))->p;
}

static int64_t to_ns(double seconds)
{
    const bool fits = seconds > 0 && seconds < 1e9;
    return fits ? (int64_t)llround(seconds * 1e9) : 0;
}

/* `file` is shown by its last two parts; the whole path is among the arguments. */
static const char *short_file(const char *file)
{
    const char *at = strrchr(file, '/');
    while (at && at > file && *--at != '/')
        ;
    return at && *at == '/' ? at + 1 : file;
}

static const char *function_name(struct profile_io *p, const struct profile_function *f)
{
    char text[EVENT_NAME_MOST];
    const int n = *f->file && strcmp(f->file, "~") != 0
                      ? snprintf(text, sizeof text, "%s (%s:%lld)", f->name, short_file(f->file),
                                 (long long)f->line)
                      : snprintf(text, sizeof text, "%s", f->name);
    return profile_keep(p, text, n, sizeof text);
}

static const char *function_args(struct profile_io *p, const struct profile_function *f)
{
    char text[EVENT_NAME_MOST];
    const int n = snprintf(
        text, sizeof text, "file=%.2000s\nline=%lld\ntotal_s=%.9g\ncalls=%lld%s%.0lld", f->file,
        (long long)f->line, isnan(f->total_s) ? 0.0 : f->total_s, (long long)f->calls,
        f->primitive >= 0 ? "\nprimitive_calls=" : "", (long long)MAX_OF(f->primitive, 0));
    return profile_keep(p, text, n, sizeof text);
}

static void profile_put(struct profile_io *p, const struct profile_function *f)
{
    if (isnan(f->self_s) || !*f->name) {
        p->json.result->count[!*f->name ? IMPORTED_NO_NAME : IMPORTED_NO_TIME]++;
        return;
    }
    const struct event v = {
        .at = {p->start_ns},
        .dur_ns = to_ns(f->self_s),
        .value = f->calls,
        .kind = EVENT_SPAN,
        .category = CAT_PYTHON,
        .name = function_name(p, f),
        .args = function_args(p, f),
    };
    out_event(&p->json.out, p->track, &v);
}

static void profile_put_window(struct profile_io *p)
{
    static const char name[] = "python profile";
    char args[256];
    const int n =
        snprintf(args, sizeof args, "profiler=%s\ntimer=%s\nstart_step=%lld\nend_step=%lld",
                 p->profiler, p->timer, (long long)p->start_step, (long long)p->end_step);
    const struct event v = {
        .at = {p->start_ns},
        .dur_ns = MAX_OF(p->end_ns - p->start_ns, 0),
        .kind = EVENT_SPAN,
        .category = CAT_OTHER,
        .name = texts_intern(&p->json.out.texts, name, sizeof name - 1)->p,
        .args = profile_keep(p, args, n, sizeof args),
    };
    out_event(&p->json.out, p->track, &v);
}

/* Begins a track; what follows belongs to it. */
static void profile_begin_named(struct profile_io *p, const char *name)
{
    p->track = out_track(&p->json.out, TRACK_THREAD, p->pid, PROFILE_TRACK | p->n_tracks++);
    out_name(&p->json.out, p->track, "", name);
    profile_put_window(p);
}

/* `phase`: "" for the whole. */
static void profile_begin(struct profile_io *p, const char *phase)
{
    char name[TRACK_NAME_LEN];
    snprintf(name, sizeof name, "python profile%s%.40s", *phase ? ": " : "", phase);
    profile_begin_named(p, name);
}

/* ------------------------------------------------------------------------------------------------
 * Profile of some steps, as the hooks write it:
 *
 *     {"version":1, "profiler", "timer", "pid", "rank", "start_step", "end_step",
 *      "start_ns", "end_ns" (monotonic),
 *      "functions":[{"file","line","name","calls","primitive_calls","self_s","total_s"}],
 *      "phases":{"forward":[...the same...]},
 *      "stacks":[{"depth","file","line","name","self_s","total_s"}]} caller before callees */

#define KEYS(X)                                                                                    \
    X(VERSION, "version")                                                                          \
    X(PROFILER, "profiler")                                                                        \
    X(TIMER, "timer")                                                                              \
    X(PID, "pid")                                                                                  \
    X(START_STEP, "start_step")                                                                    \
    X(END_STEP, "end_step")                                                                        \
    X(START, "start_ns")                                                                           \
    X(END, "end_ns")                                                                               \
    X(FUNCTIONS, "functions")                                                                      \
    X(PHASES, "phases")                                                                            \
    X(STACKS, "stacks")                                                                            \
    X(DEPTH, "depth")                                                                              \
    X(FILE, "file")                                                                                \
    X(LINE, "line")                                                                                \
    X(NAME, "name")                                                                                \
    X(CALLS, "calls")                                                                              \
    X(PRIMITIVE, "primitive_calls")                                                                \
    X(SELF, "self_s")                                                                              \
    X(TOTAL, "total_s")

#define X(id, text) P_##id,
enum python_profile_key { P_NONE, KEYS(X) P_N };
#undef X

#define X(id, text) text,
static const char *const python_profile_keys[] = {KEYS(X)};
#undef X
#undef KEYS

enum { PHASES_MOST = 64, FRAMES_DEEP = 64 };

/* The last frame of one depth, and where the next one of that depth begins. */
struct profile_frame {
    int64_t end, next;
};

struct python_profile {
    struct profile_io io;
    int64_t pid;
    bool has_functions;
    /* The one that is being read. Its texts are not decoded until all members are read: of a key
     * that comes twice the last counts. */
    struct profile_function function;
    struct json_text file, name;
    char file_room[2048], name_room[1024]; /* decoded */
    struct profile_frame frames[FRAMES_DEEP + 1];
    int64_t deepest; /* that the next frame can be */
};

/* Whole numbers, by the struct that they are in, and their values when they are not given. */
struct profile_number {
    enum python_profile_key key;
    size_t at;
    int64_t otherwise;
};

static const struct profile_number function_numbers[] = {
    {P_LINE, offsetof(struct python_profile, function.line), 0},
    {P_DEPTH, offsetof(struct python_profile, function.depth), -1},
    {P_CALLS, offsetof(struct python_profile, function.calls), 0},
    {P_PRIMITIVE, offsetof(struct python_profile, function.primitive), -1},
};
static const struct profile_number window_numbers[] = {
    {P_PID, offsetof(struct python_profile, pid), 0},
    {P_START_STEP, offsetof(struct python_profile, io.start_step), -1},
    {P_END_STEP, offsetof(struct python_profile, io.end_step), -1},
    {P_START, offsetof(struct python_profile, io.start_ns), 0},
    {P_END, offsetof(struct python_profile, io.end_ns), 0},
};

static void take_number(struct python_profile *p, const struct profile_number *n, size_t count,
                        const struct json_item *it)
{
    for (size_t i = 0; i < count; i++)
        if (it->id == n[i].key) {
            int64_t *to = (int64_t *)(void *)((char *)p + n[i].at);
            if (!json_int(it, to))
                *to = n[i].otherwise;
        }
}

/* ---- functions ---- */

static enum json_kind profile_take_field(void *ctx, const struct json_item *it)
{
    struct python_profile *p = ctx;
    double *real = it->id == P_SELF    ? &p->function.self_s
                   : it->id == P_TOTAL ? &p->function.total_s
                                       : NULL;
    take_number(p, function_numbers, COUNT_OF(function_numbers), it);
    if (real && !json_double(it, real))
        *real = NAN;
    if (it->id == P_FILE)
        p->file = it->text;
    if (it->id == P_NAME)
        p->name = it->text;
    return JS_NULL;
}

static enum json_kind read_function(void *ctx)
{
    struct python_profile *p = ctx;
    p->function = (struct profile_function){.primitive = -1, .self_s = NAN, .total_s = NAN};
    p->file = p->name = (struct json_text){0};
    return json_each(&p->io.json.scan, profile_take_field, p);
}

static void profile_decode(struct python_profile *p)
{
    json_decode(&p->file, p->file_room, sizeof p->file_room, &p->io.json.scan.faults);
    json_decode(&p->name, p->name_room, sizeof p->name_room, &p->io.json.scan.faults);
    p->function.file = p->file_room;
    p->function.name = p->name_room;
}

static void profile_put_function(void *ctx)
{
    struct python_profile *p = ctx;
    profile_decode(p);
    profile_put(&p->io, &p->function);
}

/* A frame begins where its caller does, after its callees so far, and ends with the caller at the
 * latest: times in the file are rounded. One that is deeper than it can be is left out. */
static void profile_put_frame(void *ctx)
{
    struct python_profile *p = ctx;
    const int64_t depth = p->function.depth;
    profile_decode(p);
    const bool named = *p->name_room;
    struct profile_frame *f = &p->frames[MAX_OF(MIN_OF(depth, FRAMES_DEEP), 0)];
    const int64_t most = depth > 0 ? f[-1].end - f->next : INT64_MAX;
    const int64_t dur_ns =
        isnan(p->function.total_s) ? 0 : MIN_OF(to_ns(p->function.total_s), most);
    int64_t end;
    if (depth < 0 || depth >= FRAMES_DEEP || depth > p->deepest || dur_ns <= 0 || !named ||
        __builtin_add_overflow(f->next, dur_ns, &end)) {
        p->io.json.result->count[!named ? IMPORTED_NO_NAME : IMPORTED_NO_TIME]++;
        return;
    }
    const struct event v = {
        .at = {f->next},
        .dur_ns = dur_ns,
        .value = depth,
        .kind = EVENT_SPAN,
        .category = CAT_PYTHON,
        .name = function_name(&p->io, &p->function),
    };
    out_event(&p->io.json.out, p->io.track, &v);
    f[1].next = f->next;
    f->next = f->end = end;
    p->deepest = depth + 1;
}

static enum json_kind read_stacks(struct python_profile *p)
{
    struct json_elements all = {
        .scan = &p->io.json.scan, .read = read_function, .emit = profile_put_frame, .ctx = p};
    p->io.pid = (uint32_t)(p->pid > 0 ? p->pid : p->io.json.ask->pid);
    profile_begin_named(&p->io, "python profile stacks");
    p->deepest = 0;
    p->frames[0].next = p->io.start_ns;
    return json_elements(&all);
}

/* Of the whole, or of a phase; beyond PHASES_MOST they join the phase before. */
static enum json_kind read_functions(struct python_profile *p, const char *phase)
{
    struct json_elements all = {
        .scan = &p->io.json.scan, .read = read_function, .emit = profile_put_function, .ctx = p};
    if (!*phase || p->io.n_tracks < PHASES_MOST) {
        p->io.pid = (uint32_t)(p->pid > 0 ? p->pid : p->io.json.ask->pid);
        profile_begin(&p->io, phase);
    }
    return json_elements(&all);
}

/* ---- the file ---- */

static enum json_kind take_phase(void *ctx, const struct json_item *it)
{
    char phase[TRACK_NAME_LEN];
    if (it->kind != JS_ARRAY)
        return JS_NULL;
    json_decode(&it->key, phase, sizeof phase, NULL);
    return read_functions(ctx, phase);
}

static enum json_kind python_profile_take_top(void *ctx, const struct json_item *it)
{
    struct python_profile *p = ctx;
    if (it->kind == JS_ARRAY && it->id == P_FUNCTIONS) {
        p->has_functions = true;
        return read_functions(p, "");
    }
    if (it->kind == JS_ARRAY && it->id == P_STACKS)
        return read_stacks(p);
    if (it->kind == JS_OBJECT && it->id == P_PHASES)
        return json_each(&p->io.json.scan, take_phase, p);
    if (it->id == P_PROFILER)
        json_decode(&it->text, p->io.profiler, sizeof p->io.profiler, NULL);
    if (it->id == P_TIMER)
        json_decode(&it->text, p->io.timer, sizeof p->io.timer, NULL);
    take_number(p, window_numbers, COUNT_OF(window_numbers), it);
    return JS_NULL;
}

static int python_profile_run(const struct import_ask *ask, struct import_result *out,
                              struct err *e)
{
    struct python_profile *p = xcalloc(1, sizeof *p);
    import_json_open(&p->io.json, ask, out, python_profile_keys, COUNT_OF(python_profile_keys));
    p->io.start_step = p->io.end_step = -1;
    const enum json_kind kind = import_json_object(&p->io.json, python_profile_take_top, p);
    int rc = import_json_close(&p->io.json, kind, e);
    if (rc == 0 && !p->has_functions)
        rc = err_set(e, ERR_FORMAT, "not a function profile: it contains no functions");
    free(p);
    return rc;
}

/* ---- names of files ---- */

/* .../<worker>/<from>_<to>/python_stats.json, where <from> ends in microseconds:
 * train-0-stepstart-1700000009000000.5, or in older ones 1700000009000000.0 */
static void python_profile_hint(const char *path, struct import_hint *h)
{
    char folder[PATH_LEN];
    import_folder_above(path, 2, folder);
    import_hint_text(h->worker, path_base(folder), strlen(path_base(folder)));
    import_hint_host(h->worker, '-', h->node);
    import_folder_above(path, 1, folder);
    char *from = folder + (path_base(folder) - folder);
    from[strcspn(from, "_")] = '\0';
    const char *dash = strrchr(from, '-');
    const char *at = dash ? dash + 1 : from;
    h->has_base = import_base_us(at, import_digits_at(at), &h->base);
}

static enum import_place python_profile_place(const char *path, struct import_hint *h)
{
    const char *name = path_base(path);
    if (strcmp(name, "python_stats") != 0 && strcmp(name, "python_stats.json") != 0)
        return PLACE_ANY;
    python_profile_hint(path, h);
    if (text_ends(name, ".json"))
        return PLACE_TRACE;
    h->skipped = "a Python profile in marshal format, which is not supported";
    return PLACE_LOST;
}

static int python_profile_sniff(const char *head, size_t n)
{
    const bool mine = n && *head == '{' && memmem(head, n, "\"profiler\"", 10) &&
                      memmem(head, n, "\"functions\"", 11);
    return mine ? 95 : 0;
}

const struct importer importer_python_profile = {
    .name = "python_profile",
    .help = "function profile of a training process",
    .sniff = python_profile_sniff,
    .place = python_profile_place,
    .run = python_profile_run,
};

/* ------------------------------------------------------------------------------------------------
 * pyinstrument writes a tree of frames:
 *
 *     {"start_time", "duration" (s), "root_frame":{"function", "file_path", "line_no", "time" (s),
 *      "children":[...the same...]}}
 *
 * Frames of a function are added up: its own time is what its children did not take, its total that
 * of its outermost frames. It is a sampling profiler, so calls are not known. */

#define KEYS(X)                                                                                    \
    X(START, "start_time")                                                                         \
    X(DURATION, "duration")                                                                        \
    X(ROOT, "root_frame")                                                                          \
    X(FUNCTION, "function")                                                                        \
    X(FILE, "file_path")                                                                           \
    X(SHORT_FILE, "file_path_short")                                                               \
    X(LINE, "line_no")                                                                             \
    X(TIME, "time")                                                                                \
    X(CHILDREN, "children")

#define X(id, text) I_##id,
enum pyinstrument_key { I_NONE, KEYS(X) I_N };
#undef X

#define X(id, text) text,
static const char *const pyinstrument_keys[] = {KEYS(X)};
#undef X
#undef KEYS

enum { FUNCTIONS_MOST = 1 << 16, NAME_MOST = 512, NONE = -1 };

struct pyinstrument_frame {
    char file[NAME_MOST], name[NAME_MOST];
    int64_t line;
    double time_s, children_s;
    int64_t function; /* index, once it is known; NONE */
    bool in_children; /* its children are being read */
};

struct pyinstrument {
    struct profile_io io;
    double start_s, duration_s;
    bool has_root;
    struct texts names;                 /* a text's number is 1 + the index of the function */
    struct profile_function *functions; /* their texts are in `names` */
    uint32_t n_functions, cap_functions;
    struct pyinstrument_frame *stack;
    uint32_t depth, cap_stack;
};

static double pyinstrument_seconds(const struct json_item *it)
{
    double v;
    return json_double(it, &v) && v >= 0 && v < 9e9 ? v : 0;
}

/* ---- functions ---- */

static int64_t find_function(struct pyinstrument *p, const struct pyinstrument_frame *f)
{
    char key[2 * NAME_MOST + 32];
    const int n = snprintf(key, sizeof key, "%s\n%lld\n%s", f->file, (long long)f->line, f->name);
    struct interned_text *t = texts_intern(&p->names, key, (size_t)n);
    if (t->number)
        return t->number - 1;
    if (p->n_functions == FUNCTIONS_MOST) {
        p->io.json.result->count[IMPORTED_TRACKS]++;
        return NONE;
    }
    *VEC_ADD(p->functions, p->n_functions, p->cap_functions) = (struct profile_function){
        .file = texts_intern(&p->names, f->file, strlen(f->file))->p,
        .name = texts_intern(&p->names, f->name, strlen(f->name))->p,
        .line = f->line,
        .primitive = -1,
    };
    t->number = p->n_functions;
    return t->number - 1;
}

static bool is_further_out(const struct pyinstrument *p, int64_t function)
{
    for (uint32_t i = 0; i + 1 < p->depth; i++)
        if (p->stack[i].function == function)
            return true;
    return false;
}

/* ---- frames ---- */

static void push_frame(struct pyinstrument *p)
{
    struct pyinstrument_frame *f = VEC_ADD(p->stack, p->depth, p->cap_stack);
    f->file[0] = f->name[0] = '\0';
    f->line = 0;
    f->time_s = f->children_s = 0;
    f->function = NONE;
    f->in_children = false;
}

/* A frame called "[self]" represents the own time of the one around it. */
static void pop_frame(struct pyinstrument *p)
{
    struct pyinstrument_frame *f = &p->stack[p->depth - 1];
    const bool self = strcmp(f->name, "[self]") == 0;
    if (f->function == NONE && !self)
        f->function = find_function(p, f);
    if (f->function != NONE) {
        struct profile_function *x = &p->functions[f->function];
        x->self_s += MAX_OF(f->time_s - f->children_s, 0);
        x->total_s += is_further_out(p, f->function) ? 0 : f->time_s;
    }
    p->depth--;
    if (p->depth && !self)
        p->stack[p->depth - 1].children_s += f->time_s;
}

static void pyinstrument_take_field(struct pyinstrument *p, const struct json_item *it)
{
    struct pyinstrument_frame *f = &p->stack[p->depth - 1];
    switch (it->id) {
    case I_FUNCTION:
        json_decode(&it->text, f->name, sizeof f->name, &p->io.json.scan.faults);
        break;
    case I_FILE:
        json_decode(&it->text, f->file, sizeof f->file, &p->io.json.scan.faults);
        break;
    case I_SHORT_FILE:
        if (!*f->file)
            json_decode(&it->text, f->file, sizeof f->file, &p->io.json.scan.faults);
        break;
    case I_LINE:
        if (!json_int(it, &f->line))
            f->line = 0;
        break;
    case I_TIME:
        f->time_s = pyinstrument_seconds(it);
        break;
    default:
        break;
    }
}

/* One item inside of the tree. JS_END: continue until the stack is empty. */
static enum json_kind read_item(struct pyinstrument *p)
{
    struct json_item it;
    struct pyinstrument_frame *f = &p->stack[p->depth - 1];
    const enum json_kind kind = json_next(&p->io.json.scan, &it);
    if (kind >= JS_LOST)
        return kind;
    if (kind == JS_END && f->in_children) {
        f->in_children = false;
    } else if (kind == JS_END) {
        pop_frame(p);
    } else if (kind == JS_ARRAY && it.id == I_CHILDREN && !f->in_children) {
        f->in_children = true;
        f->function = find_function(p, f);
    } else if (kind == JS_OBJECT && f->in_children) {
        push_frame(p);
    } else if (kind == JS_OBJECT || kind == JS_ARRAY) {
        return json_skip(&p->io.json.scan, NULL);
    } else {
        pyinstrument_take_field(p, &it);
    }
    return JS_END;
}

static enum json_kind pyinstrument_read_root(struct pyinstrument *p)
{
    enum json_kind kind = JS_END;
    p->has_root = true;
    push_frame(p);
    while (p->depth && kind == JS_END)
        kind = read_item(p);
    while (p->depth) /* it is cut: what is known so far counts */
        pop_frame(p);
    return kind;
}

static enum json_kind pyinstrument_take_top(void *ctx, const struct json_item *it)
{
    struct pyinstrument *p = ctx;
    if (it->kind == JS_OBJECT && it->id == I_ROOT && !p->has_root)
        return pyinstrument_read_root(p);
    if (it->id == I_START)
        p->start_s = pyinstrument_seconds(it);
    if (it->id == I_DURATION)
        p->duration_s = pyinstrument_seconds(it);
    return JS_NULL;
}

/* ---- the file ---- */

static void pyinstrument_put_all(struct pyinstrument *p)
{
    const struct import_hint *h = &p->io.json.ask->hint;
    const int64_t wall = h->has_base ? h->base.ns : (int64_t)(p->start_s * 1e9);
    if (__builtin_sub_overflow(wall, p->io.json.ask->wall_minus_mono_ns, &p->io.start_ns)) {
        p->io.json.result->count[IMPORTED_BAD_TIME]++;
        return;
    }
    p->io.json.result->count[IMPORTED_NO_BASE] += wall == 0;
    p->io.end_ns = p->io.start_ns + MIN_OF((int64_t)(p->duration_s * 1e9), INT64_MAX / 8);
    profile_begin(&p->io, "");
    for (uint32_t i = 0; i < p->n_functions; i++)
        profile_put(&p->io, &p->functions[i]);
}

static int pyinstrument_run(const struct import_ask *ask, struct import_result *out, struct err *e)
{
    struct pyinstrument *p = xcalloc(1, sizeof *p);
    import_json_open(&p->io.json, ask, out, pyinstrument_keys, COUNT_OF(pyinstrument_keys));
    p->io.start_step = p->io.end_step = -1;
    p->io.pid = import_pid(ask);
    snprintf(p->io.profiler, sizeof p->io.profiler, "pyinstrument");
    const enum json_kind kind = import_json_object(&p->io.json, pyinstrument_take_top, p);
    if (kind != JS_FAILED && p->n_functions)
        pyinstrument_put_all(p);
    int rc = import_json_close(&p->io.json, kind, e);
    if (rc == 0 && p->n_functions == 0)
        rc = err_set(e, ERR_FORMAT, "the profile contains no frames");
    if (rc == 0 && out->count[IMPORTED_KEPT] == 0)
        rc = err_set(e, ERR_FORMAT, "the profile has an invalid time");
    texts_clear(&p->names);
    free(p->functions);
    free(p->stack);
    free(p);
    return rc;
}

static int pyinstrument_sniff(const char *head, size_t n)
{
    static const char mark[] = "\"root_frame\"";
    return n && *head == '{' && memmem(head, n, mark, sizeof mark - 1) ? 95 : 0;
}

const struct importer importer_pyinstrument = {
    .name = "pyinstrument",
    .help = "pyinstrument profile (JSON)",
    .sniff = pyinstrument_sniff,
    .run = pyinstrument_run,
};
