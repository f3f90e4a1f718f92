/* SPDX-License-Identifier: Apache-2.0 */
/* sm_events_read.c - one event of SageMaker's timelines, out of the scanner into a struct. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/sm_events.h"
#include "json/json.h"

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
enum sm_events_read_key { S_NONE, KEYS(X) S_N };
#undef X

#define X(id, key, kept) key,
static const char *const key_names[] = {KEYS(X)};
#undef X

#define X(id, key, kept) [S_##id] = (kept),
static const bool is_kept[S_N] = {[S_NONE] = true, KEYS(X)};
#undef X

void sm_event_keys(struct json_keys *keys)
{
    json_keys_init(keys, key_names, COUNT_OF(key_names));
}

/* A number, also when it is written as a text; true and false are 1 and 0. */
static int64_t sm_events_read_whole(const struct json_item *it)
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

static void sm_events_read_keep_arg(struct sm_event *v, const struct json_item *it)
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
    /* Decoded it is no longer than it stands there, but for what is no UTF-8. */
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

static void sm_events_read_take_arg(struct sm_event *v, const struct json_item *it)
{
    switch (it->id) {
    case S_NAME:
        v->arg_name = it->text;
        break;
    case S_PID:
        v->pid = sm_events_read_whole(it);
        break;
    case S_TID:
    case S_THREAD:
        v->thread = sm_events_read_whole(it);
        break;
    case S_STEP:
        v->step = sm_events_read_whole(it);
        break;
    case S_WORKER:
        v->worker = sm_events_read_whole(it);
        break;
    case S_WORKERS:
        v->workers = sm_events_read_whole(it);
        break;
    case S_PINNED:
        v->pinned = sm_events_read_whole(it);
        break;
    case S_BYTES:
        v->bytes = sm_events_read_whole(it);
        break;
    case S_BASE:
        v->base_us = sm_events_read_whole(it);
        break;
    default:
        break;
    }
    if (is_kept[it->id])
        sm_events_read_keep_arg(v, it);
}

static enum json_kind sm_events_read_args(struct json_scan *s, struct sm_event *v)
{
    struct json_item it;
    for (;;) {
        enum json_kind kind = json_next(s, &it);
        if (kind == JS_END || kind >= JS_LOST)
            return kind;
        if (kind == JS_OBJECT || kind == JS_ARRAY)
            kind = json_skip(s, NULL);
        else
            sm_events_read_take_arg(v, &it);
        if (kind >= JS_LOST)
            return kind;
    }
}

/* ---- the event ---- */

static void sm_events_read_take_top(struct sm_event *v, const struct json_item *it)
{
    switch (it->id) {
    case S_NAME:
        v->name = it->text;
        break;
    case S_PH:
        v->ph = it->kind == JS_STRING && it->text.len == 1 ? *it->text.p : '\0';
        break;
    case S_PID:
        v->lane = sm_events_read_whole(it);
        break;
    case S_TID:
        v->tid = sm_events_read_whole(it);
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

enum json_kind sm_event_read(struct json_scan *s, struct sm_event *v)
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
            kind = sm_events_read_args(s, v);
        else if (kind == JS_OBJECT || kind == JS_ARRAY)
            kind = json_skip(s, NULL);
        else
            sm_events_read_take_top(v, &it);
        if (kind >= JS_LOST)
            return kind;
    }
}
