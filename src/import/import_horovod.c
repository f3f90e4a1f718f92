/* SPDX-License-Identifier: Apache-2.0 */
/* import_horovod.c - the timeline that Horovod writes when HOROVOD_TIMELINE names a file.
 *
 *     [
 *     {"name": "process_name", "ph": "M", "pid": 0,
 *      "args": {"start_time_since_epoch_in_micros": 1700000000000000}},      (not in old ones)
 *     {"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "grad_dense_0"}},
 *     {"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 8440608, "pid": 1},
 *     {"ph": "X", "name": "4", "ts": 8440610, "pid": 1, "dur": 0},           rank 4 is ready
 *     {"ph": "E", "ts": 8781515, "pid": 1},
 *     {"ph": "i", "name": "CYCLE_START", "ts": 8781600, "s": "g"},
 *
 * A "process" is a tensor. Times count from the start of the first line; in timelines of
 * old there is none, and they are the machine's monotonic clock. The array is often not closed. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/import_out.h"
#include "import/importer.h"
#include "json/json.h"

#define KEYS(X)                                                                                    \
    X(NAME, "name")                                                                                \
    X(PH, "ph")                                                                                    \
    X(PID, "pid")                                                                                  \
    X(TS, "ts")                                                                                    \
    X(DUR, "dur")                                                                                  \
    X(ARGS, "args")                                                                                \
    X(START, "start_time_since_epoch_in_micros")

#define X(id, text) H_##id,
enum hvd_key { H_NONE, KEYS(X) H_N };
#undef X

#define X(id, text) text,
static const char *const key_names[] = {KEYS(X)};
#undef X

/* What is not about a tensor. */
enum { CYCLES = 0 };

/* As it is in the timeline; texts are of the window. */
struct hvd_event {
    char ph;
    bool has_ts, has_start;
    int64_t ts_ns, dur_ns, start_ns, pid;
    struct json_text name, tensor;
};

struct hvd {
    struct import_json json;
    struct hvd_event event;
    bool has_base, put_base, warned, ranked;
    int64_t base_ns;
    uint32_t pid;
    char **tensors; /* whole names, by number of the tensor */
    size_t n_tensors;
    char text[EVENT_NAME_MOST];
};

/* ---- time ---- */

/* Without a base the times are the monotonic clock of the machine that wrote them: right where
 * that is this one. */
static bool hvd_time_of(struct hvd *h, mono_ns *out)
{
    const struct hvd_event *v = &h->event;
    int64_t t;
    if (!v->has_ts) {
        h->json.result->count[IMPORTED_NO_TIME]++;
        return false;
    }
    h->json.result->count[IMPORTED_NO_BASE] += !h->has_base && !h->warned;
    h->warned = true;
    if (!h->has_base) {
        out->ns = v->ts_ns;
        return true;
    }
    if (__builtin_add_overflow(v->ts_ns, h->base_ns, &t) ||
        __builtin_sub_overflow(t, h->json.ask->wall_minus_mono_ns, &out->ns)) {
        h->json.result->count[IMPORTED_BAD_TIME]++;
        return false;
    }
    return true;
}

/* ---- tensors ---- */

static void hvd_name_tensor(struct hvd *h)
{
    const int64_t id = h->event.pid;
    if (id < 0 || id >= OUT_TRACKS_MOST) {
        h->json.result->count[IMPORTED_TRACKS]++;
        return;
    }
    if ((size_t)id >= h->n_tensors) {
        const size_t n = MAX_OF((size_t)id + 1, 2 * h->n_tensors);
        h->tensors = xrealloc(h->tensors, n, sizeof *h->tensors);
        memset(h->tensors + h->n_tensors, 0, (n - h->n_tensors) * sizeof *h->tensors);
        h->n_tensors = n;
    }
    json_decode(&h->event.tensor, h->text, sizeof h->text, &h->json.scan.faults);
    free(h->tensors[id]);
    h->tensors[id] = xstrdup(h->text);
}

/* NULL: it was not named. */
static const char *tensor_of(const struct hvd *h)
{
    const int64_t id = h->event.pid;
    return id >= 0 && (size_t)id < h->n_tensors ? h->tensors[id] : NULL;
}

/* Names of tensors differ at their end, so the end is what is shown of a long one. */
static const char *hvd_shown(const char *tensor)
{
    const size_t n = strlen(tensor);
    return n < TRACK_NAME_LEN ? tensor : tensor + (n - (TRACK_NAME_LEN - 1));
}

static uint32_t hvd_track_of(struct hvd *h)
{
    const char *tensor = tensor_of(h);
    const uint32_t track =
        out_track(&h->json.out, TRACK_THREAD, h->pid, (uint64_t)MAX_OF(h->event.pid, CYCLES));
    out_name(&h->json.out, track, "horovod", tensor ? hvd_shown(tensor) : "");
    return track;
}

static const char *hvd_args_of(struct hvd *h)
{
    static const char key[] = "tensor=";
    const char *tensor = tensor_of(h);
    if (!tensor)
        return NULL;
    memcpy(h->text, key, sizeof key - 1);
    const size_t n = strnlen(tensor, sizeof h->text - sizeof key);
    memcpy(h->text + sizeof key - 1, tensor, n);
    return texts_keep(&h->json.out.texts, h->text, n + sizeof key - 1)->p;
}

/* ---- events ---- */

static const char *keep_name(struct hvd *h)
{
    h->json.result->count[IMPORTED_LONG_TEXTS] += h->event.name.len >= sizeof h->text;
    const size_t n = json_decode(&h->event.name, h->text, sizeof h->text, &h->json.scan.faults);
    return texts_keep(&h->json.out.texts, h->text, strnlen(h->text, n))->p;
}

/* "4": rank 4 has the tensor ready. */
static bool hvd_rank_in(const struct json_text *t, int64_t *rank)
{
    *rank = 0;
    for (uint32_t i = 0; i < t->len; i++) {
        if (t->p[i] < '0' || t->p[i] > '9')
            return false;
        *rank = *rank * 10 + (t->p[i] - '0');
    }
    return t->len > 0 && t->len < 10;
}

static void hvd_put_mark(struct hvd *h, const char *name, int64_t value)
{
    struct event v = {.kind = EVENT_MARK, .category = CAT_COMM, .value = value};
    if (!hvd_time_of(h, &v.at))
        return;
    v.name = name ? texts_keep(&h->json.out.texts, name, strlen(name))->p : keep_name(h);
    v.args = hvd_args_of(h);
    out_event(&h->json.out, hvd_track_of(h), &v);
}

static void hvd_put_span(struct hvd *h, bool begins)
{
    struct event v = {.kind = EVENT_SPAN, .category = CAT_COMM, .dur_ns = h->event.dur_ns};
    if (!hvd_time_of(h, &v.at))
        return;
    if (v.dur_ns < 0) {
        h->json.result->count[IMPORTED_NEGATIVE]++;
        v.dur_ns = 0;
    }
    v.name = keep_name(h);
    v.args = hvd_args_of(h);
    if (begins)
        out_begin(&h->json.out, hvd_track_of(h), &v);
    else
        out_event(&h->json.out, hvd_track_of(h), &v);
}

/* Complete events are ticks of ranks; some writers gave them a duration that is none. */
static void hvd_put_complete(struct hvd *h)
{
    int64_t rank;
    if (!hvd_rank_in(&h->event.name, &rank)) {
        hvd_put_span(h, false);
        return;
    }
    h->json.result->count[IMPORTED_CAPPED] += h->event.dur_ns > 0;
    hvd_put_mark(h, "rank ready", rank);
}

static void hvd_put_metadata(struct hvd *h)
{
    if (!json_is(&h->event.name, "process_name"))
        return;
    if (h->event.has_start && !h->put_base) { /* it knows better than the hint */
        h->has_base = h->put_base = true;
        h->base_ns = h->event.start_ns;
    }
    if (h->event.tensor.len)
        hvd_name_tensor(h);
}

static void hvd_put_end(struct hvd *h)
{
    mono_ns at;
    if (hvd_time_of(h, &at))
        out_end(&h->json.out, hvd_track_of(h), at);
}

static void hvd_put_rank(struct hvd *h)
{
    struct event v;
    mono_ns at;
    if (h->ranked || !h->json.ask->hint.has_rank || !h->event.has_ts || !hvd_time_of(h, &at))
        return;
    h->ranked = true;
    h->json.result->rank = h->json.ask->hint.rank;
    v = import_rank_event(h->json.result->rank, at);
    v.name = texts_keep(&h->json.out.texts, v.name, strlen(v.name))->p;
    out_event(&h->json.out, hvd_track_of(h), &v);
}

static void hvd_put(void *ctx)
{
    struct hvd *h = ctx;
    if (h->event.ph != 'M')
        hvd_put_rank(h);
    switch (h->event.ph) {
    case 'M':
        hvd_put_metadata(h);
        break;
    case 'B':
        hvd_put_span(h, true);
        break;
    case 'E':
        hvd_put_end(h);
        break;
    case 'X':
        hvd_put_complete(h);
        break;
    case 'i':
        hvd_put_mark(h, NULL, 0);
        break;
    default:
        h->json.result->count[IMPORTED_PHASES]++;
    }
}

/* ---- reading ---- */

static void hvd_take(struct hvd_event *v, const struct json_item *it)
{
    switch (it->id) {
    case H_NAME:
        v->name = it->text;
        break;
    case H_PH:
        v->ph = it->kind == JS_STRING && it->text.len == 1 ? it->text.p[0] : '?';
        break;
    case H_PID:
        if (!json_int(it, &v->pid))
            v->pid = -1;
        break;
    case H_TS:
        v->has_ts = json_us_to_ns(it, &v->ts_ns);
        break;
    case H_DUR:
        if (!json_us_to_ns(it, &v->dur_ns))
            v->dur_ns = 0;
        break;
    default:
        break;
    }
}

static void hvd_take_arg(struct hvd_event *v, const struct json_item *it)
{
    if (it->id == H_NAME)
        v->tensor = it->text;
    if (it->id == H_START)
        v->has_start = json_us_to_ns(it, &v->start_ns);
}

/* The members of an event, or with `args` those of its arguments. */
static enum json_kind hvd_read_members(struct hvd *h, bool args)
{
    struct json_item it;
    for (;;) {
        enum json_kind kind = json_next(&h->json.scan, &it);
        if (kind == JS_END || kind >= JS_LOST)
            return kind;
        if (kind == JS_OBJECT && it.id == H_ARGS && !args)
            kind = hvd_read_members(h, true);
        else if (kind == JS_OBJECT || kind == JS_ARRAY)
            kind = json_skip(&h->json.scan, NULL);
        else if (args)
            hvd_take_arg(&h->event, &it);
        else
            hvd_take(&h->event, &it);
        if (kind >= JS_LOST)
            return kind;
    }
}

static enum json_kind hvd_read_event(void *ctx)
{
    struct hvd *h = ctx;
    h->event = (struct hvd_event){.pid = -1};
    return hvd_read_members(h, false);
}

static enum json_kind hvd_read_top(struct hvd *h, bool *array)
{
    struct json_item it;
    enum json_kind kind = json_next(&h->json.scan, &it);
    if (kind != JS_ARRAY)
        return kind;
    *array = true;
    struct json_elements all = {
        .scan = &h->json.scan, .read = hvd_read_event, .tell = hvd_put, .ctx = h};
    kind = json_elements(&all);
    h->json.result->count[IMPORTED_PHASES] += all.others;
    if (all.unclosed) /* the usual end of such a file */
        h->json.scan.faults.cut = h->json.scan.faults.commas = 0;
    return kind == JS_END ? json_next(&h->json.scan, &it) : kind;
}

static int hvd_run(const struct import_ask *ask, struct import_result *out, struct err *e)
{
    struct hvd *h = xcalloc(1, sizeof *h);
    bool array = false;
    h->pid = import_pid(ask);
    h->has_base = ask->hint.has_base;
    h->base_ns = ask->hint.base.ns;
    import_json_open(&h->json, ask, out, key_names, COUNT_OF(key_names));
    const enum json_kind kind = hvd_read_top(h, &array);
    int rc = import_json_close(&h->json, kind, e);
    if (rc == 0 && !array)
        rc = err_set(e, ERR_FORMAT, "not a Horovod timeline: the top level is not an array");
    if (rc == 0 && out->count[IMPORTED_KEPT] == 0)
        rc = err_set(e, ERR_FORMAT, "the timeline contains no events");
    for (size_t i = 0; i < h->n_tensors; i++)
        free(h->tensors[i]);
    free(h->tensors);
    free(h);
    return rc;
}

/* Horovod leaves no space before the number; others that cut its timeline into parts and write
 * them anew do. */
static int hvd_sniff(const char *head, size_t n)
{
    static const char start_key[] = "\"start_time_since_epoch_in_micros\":";
    size_t at = 0;
    while (at < n && (head[at] == ' ' || head[at] == '\n' || head[at] == '\r' || head[at] == '\t'))
        at++;
    if (at == n || head[at] != '[')
        return 0;
    if (!memmem(head, n, "\"NEGOTIATE_", 11) && !memmem(head, n, "\"CYCLE_START\"", 13))
        return 0;
    const char *start = memmem(head, n, start_key, sizeof start_key - 1);
    const char *digit = start ? start + sizeof start_key - 1 : NULL;
    return !start || (digit < head + n && *digit >= '0' && *digit <= '9') ? 97 : 80;
}

const struct importer importer_horovod = {
    .name = "horovod",
    .help = "Horovod timeline (HOROVOD_TIMELINE)",
    .sniff = hvd_sniff,
    .run = hvd_run,
};
