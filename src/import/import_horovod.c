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
#include "base/vec.h"
#include "import/import_timeline.h"
#include "json/json.h"

/* What is not about a tensor. */
enum { CYCLES = 0 };

struct hvd {
    struct import_timeline t;
    bool put_base, ranked;
    char **tensors; /* whole names, by number of the tensor */
    size_t n_tensors;
    char text[EVENT_NAME_MOST];
};

/* ---- tensors ---- */

static void hvd_name_tensor(struct hvd *h)
{
    const int64_t id = h->t.event.lane;
    if (id < 0 || id >= OUT_TRACKS_MOST) {
        h->t.json.result->count[IMPORTED_TRACKS]++;
        return;
    }
    VEC_ZEROED(h->tensors, h->n_tensors, (size_t)id + 1);
    json_decode(&h->t.event.arg_name, h->text, sizeof h->text, &h->t.json.scan.faults);
    free(h->tensors[id]);
    h->tensors[id] = xstrdup(h->text);
}

/* NULL: it was not named. */
static const char *tensor_of(const struct hvd *h)
{
    const int64_t id = h->t.event.lane;
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
    const uint32_t track = out_track(&h->t.json.out, TRACK_THREAD, h->t.pid,
                                     (uint64_t)MAX_OF(h->t.event.lane, CYCLES));
    out_name(&h->t.json.out, track, "horovod", tensor ? hvd_shown(tensor) : "");
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
    return texts_intern(&h->t.json.out.texts, h->text, n + sizeof key - 1)->p;
}

/* ---- events ---- */

static void hvd_put_mark(struct hvd *h, const char *name, int64_t value)
{
    struct event v = {.kind = EVENT_MARK, .category = CAT_COMM, .value = value};
    if (!timeline_time(&h->t, &v.at))
        return;
    v.name =
        name ? texts_intern(&h->t.json.out.texts, name, strlen(name))->p : timeline_name(&h->t);
    v.args = hvd_args_of(h);
    out_event(&h->t.json.out, hvd_track_of(h), &v);
}

static void hvd_put_span(struct hvd *h, bool begins)
{
    struct event v = {.kind = EVENT_SPAN, .category = CAT_COMM, .dur_ns = h->t.event.dur_ns};
    if (!timeline_time(&h->t, &v.at))
        return;
    if (v.dur_ns < 0) {
        h->t.json.result->count[IMPORTED_NEGATIVE]++;
        v.dur_ns = 0;
    }
    v.name = timeline_name(&h->t);
    v.args = hvd_args_of(h);
    if (begins)
        out_begin(&h->t.json.out, hvd_track_of(h), &v);
    else
        out_event(&h->t.json.out, hvd_track_of(h), &v);
}

/* Complete events are ticks of ranks; some writers gave them a duration that means nothing. */
static void hvd_put_complete(struct hvd *h)
{
    const struct json_text *name = &h->t.event.name;
    int64_t rank; /* "4": rank 4 has the tensor ready */
    if (name->len >= 10 || !import_digits(name->p, name->len, &rank)) {
        hvd_put_span(h, false);
        return;
    }
    h->t.json.result->count[IMPORTED_CAPPED] += h->t.event.dur_ns > 0;
    hvd_put_mark(h, "rank ready", rank);
}

static void hvd_put_metadata(struct hvd *h)
{
    if (!json_is(&h->t.event.name, "process_name"))
        return;
    if (h->t.event.base_us != INT64_MIN && !h->put_base) { /* more reliable than the hint */
        h->put_base = true;
        timeline_set_base(&h->t);
    }
    if (h->t.event.arg_name.len)
        hvd_name_tensor(h);
}

static void hvd_put_end(struct hvd *h)
{
    mono_ns at;
    if (timeline_time(&h->t, &at))
        out_end(&h->t.json.out, hvd_track_of(h), at);
}

static void hvd_put_rank(struct hvd *h)
{
    const struct import_hint *hint = &h->t.json.ask->hint;
    mono_ns at;
    if (h->ranked || !hint->has_rank || !h->t.event.has_ts || !timeline_time(&h->t, &at))
        return;
    h->ranked = true;
    h->t.json.result->rank = hint->rank;
    const struct event v = import_fact(EV_RANK, hint->rank, at);
    out_event(&h->t.json.out, hvd_track_of(h), &v);
}

static void hvd_put(void *ctx)
{
    struct hvd *h = ctx;
    if (h->t.event.ph != 'M')
        hvd_put_rank(h);
    switch (h->t.event.ph) {
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
        h->t.json.result->count[IMPORTED_PHASES]++;
    }
}

static int hvd_run(const struct import_ask *ask, struct import_result *out, struct err *e)
{
    static const struct import_timeline_format format = {
        .name = "Horovod timeline", .is_often_open = true, .mono_otherwise = true, .put = hvd_put};
    struct hvd *h = xcalloc(1, sizeof *h);
    const int rc = timeline_run(&h->t, &format, ask, out, e);
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
