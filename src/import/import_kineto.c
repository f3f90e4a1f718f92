/* SPDX-License-Identifier: Apache-2.0 */
/* import_kineto.c - Chrome traces, above all those of PyTorch's profiler, of all ages.
 *
 * The top level is an object with traceEvents, or the bare array. What says which rank it is may
 * come before the events or after them. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/kineto_internal.h"
#include "json/json.h"

#define KEY(id, key, kept) key,
static const char *const key_names[] = {
#include "import/kineto_keys.def"
};
#undef KEY

/* Arguments that are common, not kept, and no counter's: the scanner skips them. */
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
        .tell = kineto_put,
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
    .run = kineto_run,
};
