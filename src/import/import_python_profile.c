/* SPDX-License-Identifier: Apache-2.0 */
/* import_python_profile.c - a function profile of some steps, as the hooks leave it.
 *
 *     {"version":1, "profiler", "timer", "pid", "rank", "start_step", "end_step",
 *      "start_ns", "end_ns" (monotonic),
 *      "functions":[{"file","line","name","calls","primitive_calls","self_s","total_s"}],
 *      "phases":{"forward":[...the same...]}}
 *
 * What becomes of it: profile_out.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/profile_out.h"
#include "json/json.h"

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
enum import_python_profile_key { P_NONE, KEYS(X) P_N };
#undef X

#define X(id, text) text,
static const char *const key_names[] = {KEYS(X)};
#undef X

enum { PHASES_MOST = 64 };

struct profile {
    const struct import_ask *ask;
    struct profile_out to;
    struct json_scan scan;
    struct json_keys keys;
    int64_t pid;
};

struct import_python_profile_function {
    struct json_text file, name;
    int64_t line, calls, primitive;
    double self_s, total_s;
};

static int64_t import_python_profile_whole(const struct json_item *it, int64_t otherwise)
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

static void tell_function(struct profile *p, const struct import_python_profile_function *f)
{
    char file[2048], name[1024];
    json_decode(&f->file, file, sizeof file, &p->scan.faults);
    json_decode(&f->name, name, sizeof name, &p->scan.faults);
    const struct profile_function told = {
        .file = file,
        .name = name,
        .line = f->line,
        .calls = f->calls,
        .primitive = f->primitive,
        .self_s = f->self_s,
        .total_s = f->total_s,
    };
    profile_tell(&p->to, &told);
}

static void begin_track(struct profile *p, const char *phase)
{
    p->to.pid = (uint32_t)(p->pid > 0 ? p->pid : p->ask->pid);
    profile_begin(&p->to, phase);
}

/* ---- reading ---- */

static void import_python_profile_take_field(struct import_python_profile_function *f,
                                             const struct json_item *it)
{
    switch (it->id) {
    case P_FILE:
        f->file = it->text;
        break;
    case P_NAME:
        f->name = it->text;
        break;
    case P_LINE:
        f->line = import_python_profile_whole(it, 0);
        break;
    case P_CALLS:
        f->calls = import_python_profile_whole(it, 0);
        break;
    case P_PRIMITIVE:
        f->primitive = import_python_profile_whole(it, -1);
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
    struct import_python_profile_function f = {.primitive = -1, .self_s = NAN, .total_s = NAN};
    struct json_item it;
    for (;;) {
        enum json_kind kind = json_next(&p->scan, &it);
        if (kind == JS_OBJECT || kind == JS_ARRAY)
            kind = json_skip(&p->scan, NULL);
        else if (kind == JS_END)
            tell_function(p, &f);
        else if (kind < JS_LOST)
            import_python_profile_take_field(&f, &it);
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
            if (p->to.n_tracks < PHASES_MOST)
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

static void import_python_profile_take_top(struct profile *p, const struct json_item *it)
{
    switch (it->id) {
    case P_PROFILER:
        json_decode(&it->text, p->to.profiler, sizeof p->to.profiler, NULL);
        break;
    case P_TIMER:
        json_decode(&it->text, p->to.timer, sizeof p->to.timer, NULL);
        break;
    case P_PID:
        p->pid = import_python_profile_whole(it, 0);
        break;
    case P_START_STEP:
        p->to.start_step = import_python_profile_whole(it, -1);
        break;
    case P_END_STEP:
        p->to.end_step = import_python_profile_whole(it, -1);
        break;
    case P_START:
        p->to.start_ns = import_python_profile_whole(it, 0);
        break;
    case P_END:
        p->to.end_ns = import_python_profile_whole(it, 0);
        break;
    default:
        break;
    }
}

static enum json_kind import_python_profile_read_top(struct profile *p, bool *functions)
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
            import_python_profile_take_top(p, &it);
        }
        if (json_is_over(kind))
            return kind;
    }
}

static int import_python_profile_run(const struct import_ask *ask, struct import_result *out,
                                     struct err *e)
{
    struct profile *p = xcalloc(1, sizeof *p);
    bool functions = false;
    *out = (struct import_result){.rank = -1, .world_size = -1};
    p->ask = ask;
    p->to.result = out;
    p->to.start_step = p->to.end_step = -1;
    out_open(&p->to.out, ask->sink, out);
    json_keys_init(&p->keys, key_names, COUNT_OF(key_names));
    json_open(&p->scan, ask->in, &(struct json_options){.keys = &p->keys});
    const enum json_kind kind = import_python_profile_read_top(p, &functions);
    out_close(&p->to.out);
    out->faults = p->scan.faults;
    out->bytes = json_position(&p->scan);
    int rc = 0;
    if (kind == JS_FAILED)
        rc = err_set(e, p->scan.err.code, "%s", p->scan.err.msg);
    else if (!functions)
        rc = err_set(e, ERR_FORMAT, "not a function profile: it contains no functions");
    json_close(&p->scan);
    free(p);
    return rc;
}

static int import_python_profile_sniff(const char *head, size_t n)
{
    const bool mine = n && *head == '{' && memmem(head, n, "\"profiler\"", 10) &&
                      memmem(head, n, "\"functions\"", 11);
    return mine ? 95 : 0;
}

const struct importer importer_python_profile = {
    .name = "python_profile",
    .help = "function profile of a training process",
    .sniff = import_python_profile_sniff,
    .run = import_python_profile_run,
};
