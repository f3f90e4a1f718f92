/* SPDX-License-Identifier: Apache-2.0 */
/* import_python_profile.c - a function profile of some steps, as the hooks leave it.
 *
 *     {"version":1, "profiler", "timer", "pid", "rank", "start_step", "end_step",
 *      "start_ns", "end_ns" (monotonic),
 *      "functions":[{"file","line","name","calls","primitive_calls","self_s","total_s"}],
 *      "phases":{"forward":[...the same...]}}
 *
 * A profile is no timeline. It becomes a track of its own, one for the whole and one for each
 * phase, that holds one span for each function: all begin where the window begins, the duration is
 * the function's own time, the value its calls; the rest is in the arguments. Around them lies one
 * span "python profile" for the window itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/import_out.h"

/* Ids of such tracks: far from any thread's. */
#define PROFILE_TRACK ((uint64_t)1 << 62)

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
    X(FILE, "file")                                                                                \
    X(LINE, "line")                                                                                \
    X(NAME, "name")                                                                                \
    X(CALLS, "calls")                                                                              \
    X(PRIMITIVE, "primitive_calls")                                                                \
    X(SELF, "self_s")                                                                              \
    X(TOTAL, "total_s")

#define X(id, text) P_##id,
enum key { P_NONE, KEYS(X) P_N };
#undef X

#define X(id, text) text,
static const char *const key_names[] = {KEYS(X)};
#undef X

enum { WORD_LEN = 32, PHASES_MOST = 64 };

struct profile {
    const struct import_ask *ask;
    struct import_result *result;
    struct import_out out;
    struct json_scan scan;
    struct json_keys keys;
    char profiler[WORD_LEN], timer[WORD_LEN];
    int64_t pid, start_step, end_step, start_ns, end_ns;
    uint32_t n_tracks;
    uint32_t track;
};

struct function {
    struct json_text file, name;
    int64_t line, calls, primitive;
    double self_s, total_s;
};

static int64_t whole(const struct json_item *it, int64_t otherwise)
{
    int64_t v;
    return json_int(it, &v) ? v : otherwise;
}

static double real(const struct json_item *it)
{
    double v;
    return json_double(it, &v) ? v : NAN;
}

/* ---- telling ---- */

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

static const char *function_name(struct profile *p, const struct function *f, const char *file)
{
    char text[EVENT_NAME_MOST], name[1024];
    json_decode(&f->name, name, sizeof name, &p->scan.faults);
    const int n = *file && strcmp(file, "~") != 0
                      ? snprintf(text, sizeof text, "%s (%s:%lld)", name, short_file(file),
                                 (long long)f->line)
                      : snprintf(text, sizeof text, "%s", name);
    return texts_keep(&p->out.texts, text, MIN_OF((size_t)n, sizeof text - 1))->p;
}

static const char *function_args(struct profile *p, const struct function *f, const char *file)
{
    char text[EVENT_NAME_MOST];
    const int n = snprintf(
        text, sizeof text, "file=%.2000s\nline=%lld\ntotal_s=%.9g\ncalls=%lld%s%.0lld", file,
        (long long)f->line, isnan(f->total_s) ? 0.0 : f->total_s, (long long)f->calls,
        f->primitive >= 0 ? "\nprimitive_calls=" : "", (long long)MAX_OF(f->primitive, 0));
    return texts_keep(&p->out.texts, text, MIN_OF((size_t)n, sizeof text - 1))->p;
}

static void tell_function(struct profile *p, const struct function *f)
{
    char file[2048];
    json_decode(&f->file, file, sizeof file, &p->scan.faults);
    if (isnan(f->self_s) || f->name.len == 0) {
        p->result->count[f->name.len == 0 ? IMPORTED_NO_NAME : IMPORTED_NO_TIME]++;
        return;
    }
    const struct event v = {
        .at = {p->start_ns},
        .dur_ns = to_ns(f->self_s),
        .value = f->calls,
        .kind = EVENT_SPAN,
        .category = CAT_PYTHON,
        .name = function_name(p, f, file),
        .args = function_args(p, f, file),
    };
    out_event(&p->out, p->track, &v);
}

static void tell_window(struct profile *p)
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
        .name = texts_keep(&p->out.texts, name, sizeof name - 1)->p,
        .args = texts_keep(&p->out.texts, args, (size_t)n)->p,
    };
    out_event(&p->out, p->track, &v);
}

/* phase: "" for the whole. */
static void begin_track(struct profile *p, const char *phase)
{
    char name[TRACK_NAME_LEN];
    const uint32_t pid = (uint32_t)(p->pid > 0 ? p->pid : p->ask->pid);
    snprintf(name, sizeof name, "python profile%s%.40s", *phase ? ": " : "", phase);
    p->track = out_track(&p->out, TRACK_THREAD, pid, PROFILE_TRACK | p->n_tracks++);
    out_name(&p->out, p->track, "", name);
    tell_window(p);
}

/* ---- reading ---- */

static void take_field(struct function *f, const struct json_item *it)
{
    switch (it->id) {
    case P_FILE:
        f->file = it->text;
        break;
    case P_NAME:
        f->name = it->text;
        break;
    case P_LINE:
        f->line = whole(it, 0);
        break;
    case P_CALLS:
        f->calls = whole(it, 0);
        break;
    case P_PRIMITIVE:
        f->primitive = whole(it, -1);
        break;
    case P_SELF:
        f->self_s = real(it);
        break;
    case P_TOTAL:
        f->total_s = real(it);
        break;
    default:
        break;
    }
}

static enum json_kind read_function(struct profile *p)
{
    struct function f = {.primitive = -1, .self_s = NAN, .total_s = NAN};
    struct json_item it;
    for (;;) {
        enum json_kind kind = json_next(&p->scan, &it);
        if (kind == JS_OBJECT || kind == JS_ARRAY)
            kind = json_skip(&p->scan, NULL);
        else if (kind == JS_END)
            tell_function(p, &f);
        else if (kind < JS_LOST)
            take_field(&f, &it);
        if (kind == JS_END && it.kind == JS_END)
            return kind;
        if (kind >= JS_LOST)
            return kind;
    }
}

static enum json_kind read_functions(struct profile *p)
{
    struct json_item it;
    for (;;) {
        json_hold(&p->scan);
        enum json_kind kind = json_next(&p->scan, &it);
        if (kind == JS_OBJECT)
            kind = read_function(p);
        else if (kind == JS_ARRAY)
            kind = json_skip(&p->scan, NULL);
        if (it.kind == JS_END || json_is_over(kind) || kind == JS_LOST) {
            json_release(&p->scan);
            return kind;
        }
    }
}

static enum json_kind read_phases(struct profile *p)
{
    struct json_item it;
    for (;;) {
        enum json_kind kind = json_next(&p->scan, &it);
        if (kind == JS_ARRAY) {
            char phase[TRACK_NAME_LEN];
            json_decode(&it.key, phase, sizeof phase, NULL);
            if (p->n_tracks < PHASES_MOST)
                begin_track(p, phase);
            kind = read_functions(p);
        } else if (kind == JS_OBJECT) {
            kind = json_skip(&p->scan, NULL);
        } else if (kind == JS_END) {
            return kind;
        }
        if (kind >= JS_LOST)
            return kind;
    }
}

static void take_top(struct profile *p, const struct json_item *it)
{
    switch (it->id) {
    case P_PROFILER:
        json_decode(&it->text, p->profiler, sizeof p->profiler, NULL);
        break;
    case P_TIMER:
        json_decode(&it->text, p->timer, sizeof p->timer, NULL);
        break;
    case P_PID:
        p->pid = whole(it, 0);
        break;
    case P_START_STEP:
        p->start_step = whole(it, -1);
        break;
    case P_END_STEP:
        p->end_step = whole(it, -1);
        break;
    case P_START:
        p->start_ns = whole(it, 0);
        break;
    case P_END:
        p->end_ns = whole(it, 0);
        break;
    default:
        break;
    }
}

static enum json_kind read_top(struct profile *p, bool *functions)
{
    struct json_item it;
    enum json_kind kind = json_next(&p->scan, &it);
    if (kind != JS_OBJECT)
        return kind;
    for (;;) {
        kind = json_next(&p->scan, &it);
        if (kind == JS_ARRAY && it.id == P_FUNCTIONS) {
            *functions = true;
            begin_track(p, "");
            kind = read_functions(p);
        } else if (kind == JS_OBJECT && it.id == P_PHASES) {
            kind = read_phases(p);
        } else if (kind == JS_OBJECT || kind == JS_ARRAY) {
            kind = json_skip(&p->scan, NULL);
        } else if (kind == JS_END) {
            return kind;
        } else if (kind < JS_LOST) {
            take_top(p, &it);
        }
        if (json_is_over(kind))
            return kind;
    }
}

static int run(const struct import_ask *ask, struct import_result *out, struct err *e)
{
    struct profile *p = xcalloc(1, sizeof *p);
    bool functions = false;
    *out = (struct import_result){.rank = -1, .world_size = -1};
    p->ask = ask;
    p->result = out;
    p->start_step = p->end_step = -1;
    out_open(&p->out, ask->sink, out);
    json_keys_init(&p->keys, key_names, COUNT_OF(key_names));
    json_open(&p->scan, ask->in, &(struct json_options){.keys = &p->keys});
    const enum json_kind kind = read_top(p, &functions);
    out_close(&p->out);
    out->faults = p->scan.faults;
    out->bytes = json_position(&p->scan);
    int rc = 0;
    if (kind == JS_FAILED)
        rc = err_set(e, p->scan.err.code, "%s", p->scan.err.msg);
    else if (!functions)
        rc = err_set(e, ERR_FORMAT, "it is no function profile: there are no functions in it");
    json_close(&p->scan);
    free(p);
    return rc;
}

static int sniff(const char *head, size_t n)
{
    const bool mine = n && *head == '{' && memmem(head, n, "\"profiler\"", 10) &&
                      memmem(head, n, "\"functions\"", 11);
    return mine ? 95 : 0;
}

const struct importer importer_python_profile = {
    .name = "python_profile",
    .help = "a function profile of a training process",
    .sniff = sniff,
    .run = run,
};
