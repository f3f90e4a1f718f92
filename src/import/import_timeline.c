/* SPDX-License-Identifier: Apache-2.0 */
/* import_timeline.c - see import_timeline.h. */
#include "import/import_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "json/json.h"

/* X(id, key, the number that it is among the arguments, whether it is stored among them); `ph` is
 * not a number, so it has none. */
#define KEYS(X)                                                                                    \
    X(NAME, "name", ph, false)                                                                     \
    X(PH, "ph", ph, false)                                                                         \
    X(PID, "pid", pid, false)                                                                      \
    X(TID, "tid", thread, false)                                                                   \
    X(TS, "ts", ph, false)                                                                         \
    X(DUR, "dur", ph, false)                                                                       \
    X(SCOPE, "s", ph, false)                                                                       \
    X(ARGS, "args", ph, false)                                                                     \
    X(STEP, "step_num", step, true)                                                                \
    X(THREAD, "thread_id", thread, false)                                                          \
    X(WORKER, "worker_id", worker, true)                                                           \
    X(WORKERS, "num_workers", workers, true)                                                       \
    X(PINNED, "pin_memory", pinned, true)                                                          \
    X(BYTES, "bytes_fetched", bytes, true)                                                         \
    X(BASE, "start_time_since_epoch_in_micros", base_us, false)                                    \
    X(SORT, "sort_index", ph, false)

#define X(id, key, number, kept) T_##id,
enum timeline_key { T_NONE, KEYS(X) T_N };
#undef X

#define X(id, key, number, kept) key,
static const char *const key_names[] = {KEYS(X)};
#undef X

#define X(id, key, number, kept) [T_##id] = {offsetof(struct import_timeline_event, number), kept},
static const struct {
    size_t number; /* offset; 0: it is none */
    bool kept;
} arguments[T_N] = {[T_NONE] = {0, true}, KEYS(X)};
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

static void timeline_keep_arg(struct import_timeline_event *v, const struct json_item *it)
{
    const struct json_text *t = json_word_text(it);
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

static enum json_kind timeline_take_arg(void *ctx, const struct json_item *it)
{
    struct import_timeline_event *v = &((struct import_timeline *)ctx)->event;
    if (it->kind <= JS_ARRAY)
        return JS_NULL;
    if (it->id == T_NAME)
        v->arg_name = it->text;
    if (arguments[it->id].number)
        *(int64_t *)(void *)((char *)v + arguments[it->id].number) = timeline_whole(it);
    if (arguments[it->id].kept)
        timeline_keep_arg(v, it);
    return JS_NULL;
}

/* ---- the event ---- */

static enum json_kind timeline_take(void *ctx, const struct json_item *it)
{
    struct import_timeline *t = ctx;
    struct import_timeline_event *v = &t->event;
    if (it->kind == JS_OBJECT && it->id == T_ARGS)
        return json_each(&t->json.scan, timeline_take_arg, t);
    switch (it->kind <= JS_ARRAY ? T_NONE : it->id) {
    case T_NAME:
        v->name = it->text;
        break;
    case T_PH:
        v->ph = it->kind == JS_STRING && it->text.len == 1 ? *it->text.p : '\0';
        break;
    case T_PID:
        v->lane = timeline_whole(it);
        break;
    case T_TID:
        v->tid = timeline_whole(it);
        break;
    case T_TS:
        v->has_ts = json_us_to_ns(it, &v->ts_ns);
        break;
    case T_DUR:
        if (!json_us_to_ns(it, &v->dur_ns))
            v->dur_ns = 0;
        break;
    default:
        break;
    }
    return JS_NULL;
}

static enum json_kind timeline_read(void *ctx)
{
    struct import_timeline *t = ctx;
    struct import_timeline_event *v = &t->event;
    memset(v, 0, offsetof(struct import_timeline_event, args));
    v->lane = v->tid = v->pid = v->thread = v->step = INT64_MIN;
    v->worker = v->workers = v->pinned = v->bytes = v->base_us = INT64_MIN;
    return json_each(&t->json.scan, timeline_take, t);
}

bool timeline_time(struct import_timeline *t, mono_ns *out)
{
    if (t->event.has_ts && !t->has_base && !t->warned) {
        t->warned = true;
        t->json.result->count[IMPORTED_NO_BASE]++;
    }
    return import_time(t->json.ask, t->json.result, t->event.has_ts ? &t->event.ts_ns : NULL,
                       t->base_ns, out);
}

void timeline_set_base(struct import_timeline *t)
{
    t->has_base = !__builtin_mul_overflow(t->event.base_us, NS_PER_US, &t->base_ns);
}

const char *timeline_name(struct import_timeline *t)
{
    return import_intern(&t->json.out.texts, &t->event.name, t->json.result, &t->json.scan.faults)
        ->p;
}

/* ---- the file ---- */

static enum json_kind timeline_read_all(struct import_timeline *t,
                                        const struct import_timeline_format *f, bool *array)
{
    struct json_elements all = {
        .scan = &t->json.scan, .read = timeline_read, .emit = f->put, .ctx = t};
    struct json_item it;
    enum json_kind kind = json_next(&t->json.scan, &it);
    *array = kind == JS_ARRAY;
    if (!*array)
        return kind;
    kind = json_elements(&all);
    t->json.result->count[IMPORTED_PHASES] += all.others;
    if (all.unclosed && f->is_often_open)
        t->json.scan.faults.cut = t->json.scan.faults.commas = 0;
    return kind;
}

int timeline_run(struct import_timeline *t, const struct import_timeline_format *f,
                 const struct import_ask *ask, struct import_result *out, struct err *e)
{
    bool array;
    t->pid = import_pid(ask);
    t->has_base = ask->hint.has_base;
    t->base_ns = t->has_base ? ask->hint.base.ns : f->mono_otherwise ? ask->wall_minus_mono_ns : 0;
    import_json_open(&t->json, ask, out, key_names, COUNT_OF(key_names));
    const enum json_kind kind = timeline_read_all(t, f, &array);
    if (f->end)
        f->end(t);
    TRY(import_json_close(&t->json, kind, e));
    if (!array)
        return err_set(e, ERR_FORMAT, "not a %s: the top level is not an array", f->name);
    if (out->count[IMPORTED_KEPT] == 0)
        return err_set(e, ERR_FORMAT, "the timeline contains no events");
    return 0;
}
