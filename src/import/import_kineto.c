/* SPDX-License-Identifier: Apache-2.0 */
/* import_kineto.c - Chrome traces, above all those of PyTorch's profiler, of all ages.
 *
 * The top level is an object with traceEvents, or the bare array. The rank may come before the
 * events or after them. */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "import/kineto_internal.h"
#include "json/json.h"
#include "json/json_members.h"

/* ---- reading ---- */

/* One event of a trace, out of the scanner into a struct. */

enum {
    ARG_MOST = 240, /* bytes of one argument */
    SHORT = 32,     /* of a usual one */
};

#define KEY(id, key, kept) [K_##id] = {kept, sizeof(kept) - 1},
static const struct {
    char text[SHORT];
    size_t len; /* 0: it is not stored */
} stored_as[K_N] = {
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

static void kineto_read_keep_arg(struct kineto_event *v, const char *key, size_t key_len,
                                 const char *p, size_t n)
{
    if (n > ARG_MOST || key_len > ARG_MOST) {
        v->long_texts++;
        n = MIN_OF(n, (size_t)ARG_MOST);
        key_len = MIN_OF(key_len, (size_t)ARG_MOST);
    }
    if (v->args_len + key_len + n + 2 > KINETO_ARGS_MOST) {
        v->long_texts++;
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

/* The usual argument is short: it and its key are copied as SHORT bytes each, and what is too much
 * is overwritten by what follows. Both have as many bytes to read: the words are that wide, and
 * after a text of the window is its pad. */
static inline void keep_short_arg(struct kineto_event *v, uint32_t id, const char *p, size_t n)
{
    char *to = v->args + v->args_len;
    if (v->args_len)
        *to++ = '\n';
    memcpy(to, stored_as[id].text, SHORT);
    to += stored_as[id].len;
    *to++ = '=';
    memcpy(to, p, SHORT);
    v->args_len = (uint32_t)(to + n - v->args);
}

static inline bool kineto_read_is_short(const struct kineto_event *v, size_t n)
{
    return n <= SHORT && v->args_len + 2 * SHORT + 2 <= KINETO_ARGS_MOST;
}

static void kineto_read_keep_text(struct kineto *k, const char *key, size_t key_len,
                                  const struct json_text *t)
{
    char text[ARG_MOST + 1];
    if (t->len == 0)
        return;
    if (!t->escaped && !t->high) {
        kineto_read_keep_arg(&k->event, key, key_len, t->p, t->len);
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
    kineto_read_keep_arg(&k->event, key, key_len, text, n);
}

static void keep_item(struct kineto *k, const struct json_item *it)
{
    const char *key = it->id ? stored_as[it->id].text : it->key.p;
    const size_t len = it->id ? stored_as[it->id].len : it->key.len;
    if (len == 0 || it->kind == JS_NULL)
        return;
    if (it->id && it->kind <= JS_NUMBER && !it->text.escaped && !it->text.high && it->text.len &&
        kineto_read_is_short(&k->event, it->text.len)) {
        keep_short_arg(&k->event, it->id, it->text.p, it->text.len);
        return;
    }
    kineto_read_keep_text(k, key, len, json_word_text(it));
}

/* An object or array among the arguments, as it is. */
static void keep_raw(struct kineto *k, uint32_t id, const char *p, size_t n)
{
    if (!stored_as[id].len)
        return;
    if (kineto_read_is_short(&k->event, n) && !memchr(p, '\n', n))
        keep_short_arg(&k->event, id, p, n);
    else
        kineto_read_keep_arg(&k->event, stored_as[id].text, stored_as[id].len, p, n);
}

static enum json_kind skip_raw(struct kineto *k, const struct json_item *it)
{
    struct json_text raw;
    const enum json_kind kind = json_skip(&k->scan, &raw);
    if (kind == JS_END) /* the opening bracket is before */
        keep_raw(k, it->id, raw.p - 1, raw.len + 1ul);
    return kind;
}

/* ---- numbers ---- */

JSON_INLINE int64_t whole(const struct json_item *it)
{
    int64_t v;
    return json_int(it, &v) ? v : INT64_MIN;
}

/* Ids may be written as texts, and may exceed a signed number. */
static uint64_t id_of(const struct json_item *it)
{
    int64_t v;
    if (it->kind != JS_STRING)
        return json_int(it, &v) ? (uint64_t)v : 0;
    return hash_more(HASH_BEGIN, it->text.p, it->text.len);
}

JSON_INLINE uint64_t positive(const struct json_item *it)
{
    const int64_t v = whole(it);
    return v > 0 ? (uint64_t)v : 0;
}

static void kineto_read_add_series(struct kineto *k, const struct json_item *it)
{
    struct kineto_event *v = &k->event;
    double value;
    if (v->n_series < KINETO_SERIES_MOST && json_double(it, &value))
        v->series[v->n_series++] = (struct kineto_series){json_item_key(&k->keys, it), value};
}

/* ---- the parts of an event ---- */

JSON_INLINE void take_arg(struct kineto *k, const struct json_item *it)
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

JSON_INLINE void take_any_arg(struct kineto *k, const struct json_item *it)
{
    if (__builtin_expect(k->event.ph == 'C' || k->event.ph == 0, 0))
        kineto_read_add_series(k, it);
    if (k->event.ph != 'C')
        take_arg(k, it);
}

/* "7" and "stream 7" are numbers too. */
static bool number_in_text(const struct json_text *t, int64_t *out)
{
    static const char prefix[] = "stream ";
    const uint32_t skip = t->len > 7 && memcmp(t->p, prefix, 7) == 0 ? 7 : 0;
    return t->len && import_digits(t->p + skip, t->len - skip, out);
}

JSON_INLINE void take_who(struct kineto_who *w, const struct json_item *it)
{
    w->given = true;
    w->is_text =
        it->kind == JS_NUMBER ? !json_int(it, &w->number) : !number_in_text(&it->text, &w->number);
    if (__builtin_expect(w->is_text, 0)) {
        w->number = 0;
        w->text = it->text;
    }
}

JSON_INLINE void note_member(struct kineto_event *v, uint32_t id)
{
    const uint32_t bit = 1u << (id - K_PH);
    v->duplicates += (v->seen & bit) != 0;
    v->seen |= bit;
}
static_assert(K_ID - K_PH < 32, "a bit for each key of an event");

/* Field by field: a copy of the whole has to wait until all its parts have reached the cache. */
JSON_INLINE void put_text(struct json_text *to, const struct json_text *t)
{
    to->p = t->p;
    to->len = t->len;
    to->escaped = t->escaped;
    to->high = t->high;
}

JSON_INLINE void take_member(struct kineto *k, const struct json_item *it)
{
    struct kineto_event *v = &k->event;
    switch (it->id) {
    case K_PH:
        v->ph = it->kind == JS_STRING && it->text.len == 1 ? it->text.p[0] : '?';
        break;
    case K_CAT:
        put_text(&v->cat, &it->text);
        break;
    case K_NAME:
        put_text(&v->name, &it->text);
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
        v->others = true;
        return;
    }
    note_member(v, it->id);
}

/* Everything but the two arrays, which their counts guard. Field by field: compilers make one loop
 * of a larger assignment, which costs more than all of this. */
static void kineto_read_clear(struct kineto_event *v)
{
    v->seen = 0;
    v->ph = 0;
    v->has_ts = v->others = false;
    v->ts_ns = v->dur_ns = 0;
    v->cat = v->name = v->arg_name = (struct json_text){0};
    v->pid = v->tid = (struct kineto_who){0};
    v->id = v->link = v->parent = v->mem_address = 0;
    v->bytes = v->device = v->stream = INT64_MIN;
    v->mem_bytes = v->mem_allocated = v->mem_reserved = INT64_MIN;
    v->mem_device_type = v->mem_device = INT64_MIN;
    v->long_texts = v->duplicates = v->bad_escapes = v->bad_utf8 = 0;
    v->n_series = v->args_len = 0;
}

JSON_INLINE void take(void *ctx, const struct json_item *it)
{
    struct kineto *k = ctx;
    if (it->kind == JS_OBJECT || it->kind == JS_END)
        k->in_args = it->kind == JS_OBJECT;
    else if (k->in_args && it->kind == JS_ARRAY)
        keep_raw(k, it->id, it->text.p, it->text.len);
    else if (k->in_args)
        take_any_arg(k, it);
    else if (it->kind != JS_ARRAY)
        take_member(k, it);
}

/* All that looks like the events before. JS_END: the event is over. JS_NULL: continue. */
static enum json_kind kineto_read_take_members(struct kineto *k)
{
    const bool in_args = k->in_args;
    const enum json_kind kind = json_members(&k->scan, in_args ? K_NONE : K_ARGS, take, k);
    if (kind != JS_END || !in_args)
        return kind;
    k->in_args = false;
    return JS_NULL;
}

/* One item as json_next has it. JS_NULL: continue. */
static enum json_kind take_next(struct kineto *k)
{
    struct json_item it;
    enum json_kind kind = json_next(&k->scan, &it);
    if (kind >= JS_LOST || (kind == JS_END && !k->in_args))
        return kind;
    if ((kind == JS_OBJECT && (it.id != K_ARGS || k->in_args)) || kind == JS_ARRAY) {
        kind = k->in_args ? skip_raw(k, &it) : json_skip(&k->scan, NULL);
        return kind >= JS_LOST ? kind : JS_NULL;
    }
    take(k, &it);
    return JS_NULL;
}

enum json_kind kineto_read(void *kineto)
{
    struct kineto *k = kineto;
    enum json_kind kind = JS_NULL;
    kineto_read_clear(&k->event);
    k->in_args = false;
    while (kind == JS_NULL) {
        kind = kineto_read_take_members(k);
        if (kind == JS_NULL)
            kind = take_next(k);
    }
    return kind;
}

#define KEY(id, key, kept) key,
static const char *const key_names[] = {
#include "import/kineto_keys.def"
};
#undef KEY

/* Arguments that are common, not stored, and not of a counter: the scanner skips them. */
static const uint8_t not_reported[] = {
    K_TRACE_NAME,      K_TRACE_ITERATION, K_PROFILER_INDEX, K_EV_IDX,
    K_RECORD_FUNCTION, K_SEQUENCE,        K_FORWARD_THREAD, K_CALL_STACK,
    K_INPUT_STRIDES,   K_CONCRETE_INPUTS, K_EXTERNAL_TS,    K_CBID,
    K_GRAPH_NODE_ID,   K_KERNEL_HASH,     K_BANDWIDTH,      K_PYTHON_ID,
    K_PYTHON_PARENT,   K_PYTHON_MODULE,   K_PYTHON_THREAD,  K_RANK_START,
    K_RANK_STRIDE,
};

void kineto_keys_init(struct json_keys *keys)
{
    json_keys_init(keys, key_names, COUNT_OF(key_names));
    for (size_t i = 0; i < COUNT_OF(not_reported); i++)
        json_keys_ignore(keys, not_reported[i]);
}

/* ---- the file ---- */

static enum json_kind read_events(struct kineto *k)
{
    struct json_elements all = {
        .scan = &k->scan,
        .read = kineto_read,
        .emit = kineto_put,
        .ctx = k,
    };
    k->has_events = true;
    const enum json_kind kind = json_elements(&all);
    k->result->count[IMPORTED_PHASES] += all.others;
    return kind;
}

static enum json_kind take_distributed(void *ctx, const struct json_item *it)
{
    struct import_result *r = ((struct kineto *)ctx)->result;
    if (it->id == K_RANK && !json_int(it, &r->rank))
        r->rank = -1;
    if (it->id == K_WORLD_SIZE && !json_int(it, &r->world_size))
        r->world_size = -1;
    return JS_NULL;
}

static enum json_kind kineto_take_top(void *ctx, const struct json_item *it)
{
    struct kineto *k = ctx;
    int64_t ns;
    if (it->kind == JS_ARRAY && it->id == K_TRACE_EVENTS)
        return read_events(k);
    if (it->kind == JS_OBJECT && it->id == K_DISTRIBUTED)
        return json_each(&k->scan, take_distributed, k);
    if (it->id == K_BASE_TIME && !k->base_known && json_int(it, &ns))
        kineto_set_base(k, ns);
    return JS_NULL;
}

static enum json_kind kineto_read_top(struct kineto *k)
{
    struct json_item it;
    enum json_kind kind = json_next(&k->scan, &it);
    if (kind == JS_ARRAY)
        kind = read_events(k);
    else if (kind == JS_OBJECT)
        do
            kind = json_each(&k->scan, kineto_take_top, k);
        while (kind == JS_LOST);
    return kind == JS_END ? json_next(&k->scan, &it) : kind; /* after the end */
}

/* A trace that is cut, or is broken after its events, gives what it has. */
static int kineto_judge(const struct kineto *k, enum json_kind kind, struct err *e)
{
    const struct err *why = json_error(&k->scan);
    TRY(json_failed(&k->scan, kind, e));
    if (!k->has_events && kind == JS_DONE)
        return err_set(e, ERR_FORMAT, "not a trace: the JSON has no traceEvents");
    if (!k->has_events)
        return err_set(e, ERR_FORMAT, "not a trace: %s",
                       *why->msg ? why->msg : "the top level is neither an object nor an array");
    if (k->result->count[IMPORTED_KEPT] == 0)
        return err_set(e, ERR_FORMAT,
                       k->result->count[IMPORTED_BAD_TIME] ? "the times of its events are invalid"
                                                           : "the trace contains no events");
    return 0;
}

static int kineto_run(const struct import_ask *ask, struct import_result *out, struct err *e)
{
    struct kineto *k = xcalloc(1, sizeof *k);
    *out = (struct import_result){.rank = -1, .world_size = -1};
    k->ask = ask;
    k->result = out;
    out_open(&k->out, ask->sink, out);
    kineto_cats_init(&k->cats);
    kineto_keys_init(&k->keys);
    json_open(&k->scan, ask->in, &(struct json_options){.keys = &k->keys});
    const enum json_kind kind = kineto_read_top(k);
    kineto_put_rest(k);
    out_close(&k->out);
    out->faults = k->scan.faults;
    out->bytes = json_position(&k->scan);
    const int rc = kineto_judge(k, kind, e);
    json_close(&k->scan);
    free(k);
    return rc;
}

/* ---- names of files ---- */

/* host_1234.1700000000000000.pt.trace.json.gz */
static enum import_place kineto_place(const char *path, struct import_hint *h)
{
    const char *name = path_base(path);
    const char *end = strstr(name, ".pt.trace.json");
    if (!end || end == name)
        return PLACE_ANY;
    size_t n = (size_t)(end - name);
    size_t at = n;
    while (at > 0 && isdigit((unsigned char)name[at - 1]))
        at--;
    if (at > 1 && at < n && name[at - 1] == '.')
        n = at - 1;
    import_hint_text(h->worker, name, n);
    import_hint_host(h->worker, '_', h->node);
    import_hint_rank(name, h);
    return PLACE_TRACE;
}

static int kineto_sniff(const char *head, size_t n)
{
    size_t at = n >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < n && (head[at] == ' ' || head[at] == '\n' || head[at] == '\r' || head[at] == '\t'))
        at++;
    if (at == n || (head[at] != '{' && head[at] != '['))
        return 0;
    if (memmem(head, n, "\"traceEvents\"", 13) || memmem(head, n, "\"schemaVersion\"", 15))
        return 90;
    if (memmem(head, n, "\"ph\"", 4))
        return 60;
    return 10; /* traceEvents may be far after */
}

const struct importer importer_kineto = {
    .name = "kineto",
    .help = "PyTorch profiler (Kineto) and other Chrome traces",
    .sniff = kineto_sniff,
    .place = kineto_place,
    .run = kineto_run,
};
