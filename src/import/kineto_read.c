/* SPDX-License-Identifier: Apache-2.0 */
/* kineto_read.c - one event of a trace, out of the scanner into a struct. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "import/kineto.h"

enum { ARG_MOST = 240 }; /* bytes of one argument */

#define KEY(id, key, kept) [K_##id] = {kept, sizeof(kept) - 1},
static const struct {
    const char *text;
    size_t len; /* 0: it is not kept */
} kept_as[K_N] = {
    [K_NONE] = {"", 0},
#include "import/kineto_keys.def"
};
#undef KEY

/* ---- arguments as lines ---- */

static void put_bytes(struct kineto_event *v, const char *p, size_t n)
{
    memcpy(v->args + v->args_len, p, n);
    v->args_len += (uint32_t)n;
}

/* Raw JSON written over several lines becomes one line. */
static void put_one_line(struct kineto_event *v, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)p[i] > ' ')
            v->args[v->args_len++] = p[i];
}

static void keep_arg(struct kineto *k, const char *key, size_t key_len, const char *p, size_t n)
{
    struct kineto_event *v = &k->event;
    if (n > ARG_MOST || key_len > ARG_MOST) {
        k->event.long_texts++;
        n = MIN_OF(n, (size_t)ARG_MOST);
        key_len = MIN_OF(key_len, (size_t)ARG_MOST);
    }
    if (v->args_len + key_len + n + 2 > KINETO_ARGS_MOST) {
        k->event.long_texts++;
        return;
    }
    if (v->args_len)
        put_bytes(v, "\n", 1);
    put_bytes(v, key, key_len);
    put_bytes(v, "=", 1);
    if (memchr(p, '\n', n))
        put_one_line(v, p, n);
    else
        put_bytes(v, p, n);
}

static void keep_text(struct kineto *k, const char *key, size_t key_len, const struct json_text *t)
{
    char text[ARG_MOST + 1];
    if (t->len == 0)
        return;
    if (!t->escaped && !t->high) {
        keep_arg(k, key, key_len, t->p, t->len);
        return;
    }
    struct json_faults faults = {0};
    const size_t n = json_decode(t, text, sizeof text, &faults);
    k->event.long_texts += t->len > ARG_MOST;
    k->event.bad_escapes += faults.escapes > 0;
    k->event.bad_utf8 += faults.utf8 > 0;
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)text[i] < ' ') /* an argument is a line */
            text[i] = ' ';
    keep_arg(k, key, key_len, text, n);
}

static void keep_item(struct kineto *k, const struct json_item *it)
{
    static const struct json_text words[] = {
        [JS_TRUE] = {"true", 4, false, false},
        [JS_FALSE] = {"false", 5, false, false},
    };
    const char *key = it->id ? kept_as[it->id].text : it->key.p;
    const size_t len = it->id ? kept_as[it->id].len : it->key.len;
    if (len == 0 || it->kind == JS_NULL)
        return;
    keep_text(k, key, len,
              it->kind == JS_TRUE || it->kind == JS_FALSE ? &words[it->kind] : &it->text);
}

/* An object or array among the arguments, as it stands. */
static enum json_kind keep_raw(struct kineto *k, const struct json_item *it)
{
    struct json_text raw;
    const enum json_kind kind = json_skip(&k->scan, &raw);
    if (kind == JS_END && kept_as[it->id].len) /* the opening bracket stands before */
        keep_arg(k, kept_as[it->id].text, kept_as[it->id].len, raw.p - 1, raw.len + 1ul);
    return kind;
}

/* ---- numbers ---- */

static int64_t whole(const struct json_item *it)
{
    int64_t v;
    return json_int(it, &v) ? v : INT64_MIN;
}

/* Ids may be written as texts, and beyond what a signed number holds. */
static uint64_t id_of(const struct json_item *it)
{
    int64_t v;
    if (it->kind != JS_STRING)
        return json_int(it, &v) ? (uint64_t)v : 0;
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < it->text.len; i++)
        hash = (hash ^ (uint8_t)it->text.p[i]) * 1099511628211u;
    return hash;
}

static uint64_t positive(const struct json_item *it)
{
    const int64_t v = whole(it);
    return v > 0 ? (uint64_t)v : 0;
}

static void add_series(struct kineto_event *v, const struct json_item *it)
{
    double value;
    if (v->n_series < KINETO_SERIES_MOST && json_double(it, &value))
        v->series[v->n_series++] = (struct kineto_series){it->key, value};
}

/* ---- the parts of an event ---- */

static void take_arg(struct kineto *k, const struct json_item *it)
{
    struct kineto_event *v = &k->event;
    switch (it->id) {
    case K_CORRELATION:
        v->link = positive(it);
        break;
    case K_EXTERNAL_ID:
    case K_EXTERNAL_ID_OLD:
        v->parent = positive(it);
        break;
    case K_DEVICE:
        v->device = whole(it);
        break;
    case K_STREAM:
        v->stream = whole(it);
        break;
    case K_BYTES:
        v->bytes = whole(it);
        break;
    case K_MEM_BYTES:
        v->mem_bytes = whole(it);
        break;
    case K_MEM_ADDRESS:
        v->mem_address = id_of(it);
        break;
    case K_MEM_ALLOCATED:
        v->mem_allocated = whole(it);
        break;
    case K_MEM_RESERVED:
        v->mem_reserved = whole(it);
        break;
    case K_MEM_DEVICE_TYPE:
        v->mem_device_type = whole(it);
        break;
    case K_MEM_DEVICE:
        v->mem_device = whole(it);
        break;
    case K_NAME:
        v->arg_name = it->text;
        break;
    default:
        keep_item(k, it);
    }
}

static enum json_kind read_args(struct kineto *k)
{
    struct json_item it;
    for (;;) {
        enum json_kind kind = json_next(&k->scan, &it);
        if (kind == JS_END || kind >= JS_LOST)
            return kind;
        if (kind == JS_OBJECT || kind == JS_ARRAY) {
            kind = keep_raw(k, &it);
            if (kind != JS_END)
                return kind;
            continue;
        }
        if (k->event.ph == 'C' || k->event.ph == 0)
            add_series(&k->event, &it);
        if (k->event.ph != 'C')
            take_arg(k, &it);
    }
}

/* "7" and "stream 7" are numbers too. */
static bool number_in_text(const struct json_text *t, int64_t *out)
{
    static const char prefix[] = "stream ";
    const uint32_t skip = t->len > 7 && memcmp(t->p, prefix, 7) == 0 ? 7 : 0;
    int64_t v = 0;
    if (t->len == skip || t->len - skip > 18)
        return false;
    for (uint32_t i = skip; i < t->len; i++) {
        if (t->p[i] < '0' || t->p[i] > '9')
            return false;
        v = v * 10 + (t->p[i] - '0');
    }
    *out = v;
    return true;
}

static void take_who(struct kineto_who *w, const struct json_item *it)
{
    *w = (struct kineto_who){.given = true, .text = it->text};
    if (it->kind == JS_NUMBER)
        w->is_text = !json_int(it, &w->number);
    else
        w->is_text = !number_in_text(&it->text, &w->number);
}

static void take_member(struct kineto *k, const struct json_item *it)
{
    struct kineto_event *v = &k->event;
    switch (it->id) {
    case K_PH:
        v->ph = it->kind == JS_STRING && it->text.len == 1 ? it->text.p[0] : '?';
        break;
    case K_CAT:
        v->cat = it->text;
        break;
    case K_NAME:
        v->name = it->text;
        break;
    case K_PID:
        take_who(&v->pid, it);
        break;
    case K_TID:
        take_who(&v->tid, it);
        break;
    case K_TS:
        v->has_ts = json_us_to_ns(it, &v->ts_ns);
        break;
    case K_DUR:
        if (!json_us_to_ns(it, &v->dur_ns))
            v->dur_ns = 0;
        break;
    case K_ID:
        v->id = id_of(it);
        break;
    default:
        return;
    }
    const uint32_t bit = 1u << (it->id - K_PH);
    v->duplicates += (v->seen & bit) != 0;
    v->seen |= bit;
}
static_assert(K_ID - K_PH < 32, "a bit for each key of an event");

/* Everything but the two arrays, which their counts guard. */
static void clear(struct kineto_event *v)
{
    memset(v, 0, offsetof(struct kineto_event, series));
    v->bytes = v->device = v->stream = INT64_MIN;
    v->mem_bytes = v->mem_allocated = v->mem_reserved = INT64_MIN;
    v->mem_device_type = v->mem_device = INT64_MIN;
}

enum json_kind kineto_read(struct kineto *k)
{
    struct json_item it;
    clear(&k->event);
    for (;;) {
        enum json_kind kind = json_next(&k->scan, &it);
        if (kind == JS_END || kind >= JS_LOST)
            return kind;
        if (kind == JS_OBJECT && it.id == K_ARGS)
            kind = read_args(k);
        else if (kind == JS_OBJECT || kind == JS_ARRAY)
            kind = json_skip(&k->scan, NULL);
        else
            take_member(k, &it);
        if (kind >= JS_LOST)
            return kind;
    }
}
