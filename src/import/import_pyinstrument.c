/* SPDX-License-Identifier: Apache-2.0 */
/* import_pyinstrument.c - a profile as pyinstrument writes it in JSON: a tree of frames.
 *
 *     {"start_time", "duration" (s), "root_frame":{"function", "file_path", "line_no", "time" (s),
 *      "children":[...the same...]}}
 *
 * Frames of a function are added up: its own time is what its children did not take, its total that
 * of its outermost frames. It was looked at now and then, so calls are not known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/import_who.h"
#include "import/profile_out.h"
#include "json/json.h"

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
enum import_pyinstrument_key { I_NONE, KEYS(X) I_N };
#undef X

#define X(id, text) text,
static const char *const key_names[] = {KEYS(X)};
#undef X

enum { FUNCTIONS_MOST = 1 << 16, NAME_MOST = 512, NONE = -1 };

struct import_pyinstrument_function {
    const char *file, *name; /* in `names` */
    int64_t line;
    double self_s, total_s;
};

struct import_pyinstrument_frame {
    char file[NAME_MOST], name[NAME_MOST];
    int64_t line;
    double time_s, children_s;
    int64_t function; /* index, once it is known; NONE */
    bool in_children; /* its children are being read */
};

struct pyinstrument {
    const struct import_ask *ask;
    struct profile_out to;
    struct json_scan scan;
    struct json_keys keys;
    double start_s, duration_s;
    bool has_root;
    struct texts names; /* a text's number is 1 + the index of the function */
    struct import_pyinstrument_function *functions;
    uint32_t n_functions, cap_functions;
    struct import_pyinstrument_frame *stack;
    uint32_t depth, cap_stack;
};

static double import_pyinstrument_seconds(const struct json_item *it)
{
    double v;
    return json_double(it, &v) && v >= 0 && v < 9e9 ? v : 0;
}

/* ---- functions ---- */

static int64_t find_function(struct pyinstrument *p, const struct import_pyinstrument_frame *f)
{
    char key[2 * NAME_MOST + 32];
    const int n = snprintf(key, sizeof key, "%s\n%lld\n%s", f->file, (long long)f->line, f->name);
    struct kept_text *t = texts_keep(&p->names, key, (size_t)n);
    if (t->number)
        return t->number - 1;
    if (p->n_functions == FUNCTIONS_MOST) {
        p->to.result->count[IMPORTED_TRACKS]++;
        return NONE;
    }
    if (p->n_functions == p->cap_functions) {
        p->cap_functions = p->cap_functions ? p->cap_functions * 2 : 64;
        p->functions = xrealloc(p->functions, p->cap_functions, sizeof *p->functions);
    }
    p->functions[p->n_functions++] = (struct import_pyinstrument_function){
        .file = texts_keep(&p->names, f->file, strlen(f->file))->p,
        .name = texts_keep(&p->names, f->name, strlen(f->name))->p,
        .line = f->line,
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
    if (p->depth == p->cap_stack) {
        p->cap_stack = p->cap_stack ? p->cap_stack * 2 : 16;
        p->stack = xrealloc(p->stack, p->cap_stack, sizeof *p->stack);
    }
    struct import_pyinstrument_frame *f = &p->stack[p->depth++];
    f->file[0] = f->name[0] = '\0';
    f->line = 0;
    f->time_s = f->children_s = 0;
    f->function = NONE;
    f->in_children = false;
}

/* A frame called "[self]" stands for the own time of the one around it. */
static void pop_frame(struct pyinstrument *p)
{
    struct import_pyinstrument_frame *f = &p->stack[p->depth - 1];
    const bool self = strcmp(f->name, "[self]") == 0;
    if (f->function == NONE && !self)
        f->function = find_function(p, f);
    if (f->function != NONE) {
        struct import_pyinstrument_function *x = &p->functions[f->function];
        x->self_s += MAX_OF(f->time_s - f->children_s, 0);
        x->total_s += is_further_out(p, f->function) ? 0 : f->time_s;
    }
    p->depth--;
    if (p->depth && !self)
        p->stack[p->depth - 1].children_s += f->time_s;
}

static void import_pyinstrument_take_field(struct pyinstrument *p, const struct json_item *it)
{
    struct import_pyinstrument_frame *f = &p->stack[p->depth - 1];
    switch (it->id) {
    case I_FUNCTION:
        json_decode(&it->text, f->name, sizeof f->name, &p->scan.faults);
        break;
    case I_FILE:
        json_decode(&it->text, f->file, sizeof f->file, &p->scan.faults);
        break;
    case I_SHORT_FILE:
        if (!*f->file)
            json_decode(&it->text, f->file, sizeof f->file, &p->scan.faults);
        break;
    case I_LINE:
        if (!json_int(it, &f->line))
            f->line = 0;
        break;
    case I_TIME:
        f->time_s = import_pyinstrument_seconds(it);
        break;
    default:
        break;
    }
}

/* One item inside of the tree. JS_END: go on, until the stack is empty. */
static enum json_kind read_item(struct pyinstrument *p)
{
    struct json_item it;
    struct import_pyinstrument_frame *f = &p->stack[p->depth - 1];
    const enum json_kind kind = json_next(&p->scan, &it);
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
        return json_skip(&p->scan, NULL);
    } else {
        import_pyinstrument_take_field(p, &it);
    }
    return JS_END;
}

static enum json_kind import_pyinstrument_read_root(struct pyinstrument *p)
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

static enum json_kind import_pyinstrument_read_top(struct pyinstrument *p)
{
    struct json_item it;
    enum json_kind kind = json_next(&p->scan, &it);
    if (kind != JS_OBJECT)
        return kind;
    for (;;) {
        kind = json_next(&p->scan, &it);
        if (kind == JS_END || json_is_over(kind))
            return kind;
        if (kind == JS_OBJECT && it.id == I_ROOT && !p->has_root)
            kind = import_pyinstrument_read_root(p);
        else if (kind == JS_OBJECT || kind == JS_ARRAY)
            kind = json_skip(&p->scan, NULL);
        else if (it.id == I_START)
            p->start_s = import_pyinstrument_seconds(&it);
        else if (it.id == I_DURATION)
            p->duration_s = import_pyinstrument_seconds(&it);
        if (json_is_over(kind))
            return kind;
    }
}

/* ---- the file ---- */

static void import_pyinstrument_tell_all(struct pyinstrument *p)
{
    const struct import_hint *h = &p->ask->hint;
    const int64_t wall = h->has_base ? h->base.ns : (int64_t)(p->start_s * 1e9);
    if (__builtin_sub_overflow(wall, p->ask->wall_minus_mono_ns, &p->to.start_ns)) {
        p->to.result->count[IMPORTED_BAD_TIME]++;
        return;
    }
    p->to.result->count[IMPORTED_NO_BASE] += wall == 0;
    p->to.end_ns = p->to.start_ns + MIN_OF((int64_t)(p->duration_s * 1e9), INT64_MAX / 8);
    profile_begin(&p->to, "");
    for (uint32_t i = 0; i < p->n_functions; i++) {
        const struct import_pyinstrument_function *x = &p->functions[i];
        const struct profile_function f = {
            .file = x->file,
            .name = x->name,
            .line = x->line,
            .primitive = -1,
            .self_s = x->self_s,
            .total_s = x->total_s,
        };
        profile_tell(&p->to, &f);
    }
}

static int import_pyinstrument_judge(const struct pyinstrument *p, enum json_kind kind,
                                     struct err *e)
{
    if (kind == JS_FAILED)
        return err_set(e, p->scan.err.code, "%s", p->scan.err.msg);
    if (!p->has_root || p->n_functions == 0)
        return err_set(e, ERR_FORMAT, "the profile contains no frames");
    return 0;
}

static int import_pyinstrument_run(const struct import_ask *ask, struct import_result *out,
                                   struct err *e)
{
    struct pyinstrument *p = xcalloc(1, sizeof *p);
    *out = (struct import_result){.rank = -1, .world_size = -1};
    p->ask = ask;
    p->to.result = out;
    p->to.start_step = p->to.end_step = -1;
    p->to.pid = import_pid(ask);
    snprintf(p->to.profiler, sizeof p->to.profiler, "pyinstrument");
    out_open(&p->to.out, ask->sink, out);
    json_keys_init(&p->keys, key_names, COUNT_OF(key_names));
    json_open(&p->scan, ask->in, &(struct json_options){.keys = &p->keys});
    const enum json_kind kind = import_pyinstrument_read_top(p);
    int rc = import_pyinstrument_judge(p, kind, e);
    if (rc == 0)
        import_pyinstrument_tell_all(p);
    if (rc == 0 && out->count[IMPORTED_KEPT] == 0)
        rc = err_set(e, ERR_FORMAT, "the profile has an invalid time");
    out_close(&p->to.out);
    out->faults = p->scan.faults;
    out->bytes = json_position(&p->scan);
    json_close(&p->scan);
    texts_clear(&p->names);
    free(p->functions);
    free(p->stack);
    free(p);
    return rc;
}

static int import_pyinstrument_sniff(const char *head, size_t n)
{
    static const char mark[] = "\"root_frame\"";
    return n && *head == '{' && memmem(head, n, mark, sizeof mark - 1) ? 95 : 0;
}

const struct importer importer_pyinstrument = {
    .name = "pyinstrument",
    .help = "pyinstrument profile (JSON)",
    .sniff = import_pyinstrument_sniff,
    .run = import_pyinstrument_run,
};
