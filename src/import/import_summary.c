/* SPDX-License-Identifier: Apache-2.0 */
/* import_summary.c - see import_summary.h. */
#include "import/import_summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* ------------------------------------------------------------------------------------------------
 * Messages. Numbers of fields are those of TensorFlow's event.proto, summary.proto, tensor.proto.
 */

bool tag_text_is(struct tag_text t, const char *s)
{
    return t.len == strlen(s) && memcmp(t.p, s, t.len) == 0;
}

static struct tag_text text_of(const struct proto_field *f)
{
    return f->wire == PROTO_BYTES && f->bytes.p
               ? (struct tag_text){(const char *)f->bytes.p, cur_left(&f->bytes)}
               : (struct tag_text){"", 0};
}

/* SourceMetadata: 1 is the program that wrote the file. */
static bool is_own(struct cur source)
{
    struct proto_field f;
    while (proto_next(&source, &f))
        if (f.number == 1)
            return tag_text_is(text_of(&f), "footplate");
    return false;
}

bool summary_event_read(struct cur payload, struct summary_event *out)
{
    struct proto_field f;
    *out = (struct summary_event){.wall_s = (double)NAN};
    while (proto_next(&payload, &f))
        switch (f.number) {
        case 1:
            out->wall_s = proto_real(&f);
            break;
        case 2:
            out->step = (int64_t)f.v;
            break;
        case 3:
            out->version = true;
            break;
        case 5:
            out->summary = f.bytes;
            break;
        case 10:
            out->own = is_own(f.bytes);
            break;
        default:
            break;
        }
    return !payload.bad;
}

static void read_plugin(struct cur message, struct summary_value *v)
{
    struct proto_field f;
    struct summary_plugin p = {{"", 0}, {"", 0}};
    while (proto_next(&message, &f)) {
        if (f.number == 1)
            p.name = text_of(&f);
        else if (f.number == 2)
            p.content = text_of(&f);
    }
    if (v->n_plugins < SUMMARY_PLUGINS)
        v->plugins[v->n_plugins++] = p;
}

static void read_metadata(struct cur message, struct summary_value *v)
{
    struct proto_field f;
    while (proto_next(&message, &f))
        if (f.number == 1 && f.wire == PROTO_BYTES)
            read_plugin(f.bytes, v);
}

bool summary_value_read(struct cur message, struct summary_value *out)
{
    struct proto_field f;
    *out = (struct summary_value){.tag = {"", 0}};
    while (proto_next(&message, &f)) {
        if (f.number == 1) {
            out->tag = text_of(&f);
        } else if (f.number == 2 && f.wire == PROTO_FIXED32) {
            out->has_simple = true;
            out->simple = proto_real(&f);
        } else if (f.number == 5 && f.wire == PROTO_BYTES) {
            out->has_histogram = true;
            out->histogram = f.bytes;
        } else if (f.number == 8 && f.wire == PROTO_BYTES) {
            out->has_tensor = true;
            out->tensor = f.bytes;
        } else if (f.number == 9 && f.wire == PROTO_BYTES) {
            read_metadata(f.bytes, out);
        }
    }
    return !message.bad;
}

const struct summary_plugin *summary_plugin_of(const struct summary_value *v, const char *name)
{
    return FIND_ITEM(x, v->plugins, v->n_plugins, tag_text_is(x->name, name));
}

/* ---- tensors ---- */

/* TensorFlow's DataType: size of an element, and how it is read. */
enum element_kind { ELEMENT_NONE, ELEMENT_FLOAT, ELEMENT_SIGNED, ELEMENT_UNSIGNED, ELEMENT_TEXT };

static const struct {
    enum element_kind kind;
    uint8_t bytes;
    enum health_dtype dtype;
} element_types[] = {
    [1] = {ELEMENT_FLOAT, 4, HEALTH_FLOAT32},     [2] = {ELEMENT_FLOAT, 8, HEALTH_FLOAT64},
    [3] = {ELEMENT_SIGNED, 4, HEALTH_FLOAT64},    [4] = {ELEMENT_UNSIGNED, 1, HEALTH_FLOAT64},
    [5] = {ELEMENT_SIGNED, 2, HEALTH_FLOAT64},    [6] = {ELEMENT_SIGNED, 1, HEALTH_FLOAT64},
    [7] = {ELEMENT_TEXT, 0, HEALTH_FLOAT64},      [9] = {ELEMENT_SIGNED, 8, HEALTH_FLOAT64},
    [10] = {ELEMENT_UNSIGNED, 1, HEALTH_FLOAT64}, [14] = {ELEMENT_FLOAT, 2, HEALTH_BFLOAT16},
    [17] = {ELEMENT_UNSIGNED, 2, HEALTH_FLOAT64}, [19] = {ELEMENT_FLOAT, 2, HEALTH_FLOAT16},
    [22] = {ELEMENT_UNSIGNED, 4, HEALTH_FLOAT64}, [23] = {ELEMENT_UNSIGNED, 8, HEALTH_FLOAT64},
};

static void read_dim(struct cur message, struct summary_tensor *t)
{
    struct proto_field f;
    int64_t size = 0;
    while (proto_next(&message, &f))
        if (f.number == 1)
            size = (int64_t)f.v;
    if (t->n_dims < SUMMARY_DIMS)
        t->dims[t->n_dims] = size;
    t->n_dims++;
}

static void read_shape(struct cur message, struct summary_tensor *t)
{
    struct proto_field f;
    while (proto_next(&message, &f))
        if (f.number == 2 && f.wire == PROTO_BYTES)
            read_dim(f.bytes, t);
}

/* float_val, double_val, int_val, int64_val and the like: packed, or one after the other. */
static void read_listed(const struct proto_field *f, struct buf *room)
{
    struct cur c = f->bytes;
    if (f->wire == PROTO_FIXED32 || f->wire == PROTO_FIXED64)
        buf_f64(room, proto_real(f));
    else if (f->wire == PROTO_VARINT)
        buf_f64(room, (double)(int64_t)f->v);
    else
        while (!c.bad && cur_left(&c) > 0) {
            struct proto_field one = {.wire = f->number == 5   ? PROTO_FIXED32
                                              : f->number == 6 ? PROTO_FIXED64
                                                               : PROTO_VARINT};
            one.v = f->number == 5 ? cur_u32(&c) : f->number == 6 ? cur_u64(&c) : cur_varint(&c);
            if (!c.bad)
                buf_f64(room, one.wire == PROTO_VARINT ? (double)(int64_t)one.v : proto_real(&one));
        }
}

static double integer_at(const uint8_t *p, unsigned bytes, bool is_signed)
{
    uint64_t v = 0;
    memcpy(&v, p, bytes);
    if (!is_signed)
        return (double)v;
    const unsigned shift = 64 - 8 * bytes;
    return (double)((int64_t)(v << shift) >> shift);
}

static void convert(const struct cur *raw, unsigned bytes, bool is_signed, struct buf *room)
{
    const size_t n = cur_left(raw) / bytes;
    for (size_t i = 0; i < n; i++)
        buf_f64(room, integer_at(raw->p + i * bytes, bytes, is_signed));
}

static bool set_elements(struct summary_tensor *t, uint64_t type, const struct cur *raw,
                         struct buf *room)
{
    const bool known = type < COUNT_OF(element_types) && element_types[type].kind != ELEMENT_NONE;
    t->elements = (struct health_tensor){room->p, room->len / sizeof(double), 1, HEALTH_FLOAT64};
    t->is_text = t->is_text || (known && element_types[type].kind == ELEMENT_TEXT);
    if (t->is_text)
        return true;
    if (!known)
        return false;
    t->is_float = element_types[type].kind == ELEMENT_FLOAT;
    if (cur_left(raw) == 0)
        return true;
    const unsigned bytes = element_types[type].bytes;
    if (!t->is_float) {
        convert(raw, bytes, element_types[type].kind == ELEMENT_SIGNED, room);
        t->elements.at = room->p;
        t->elements.n = room->len / sizeof(double);
    } else {
        t->elements =
            (struct health_tensor){raw->p, cur_left(raw) / bytes, 1, element_types[type].dtype};
    }
    return cur_left(raw) % bytes == 0;
}

bool summary_tensor_read(struct cur message, struct buf *room, struct summary_tensor *out)
{
    struct proto_field f;
    struct cur raw = cur_of(NULL, 0);
    uint64_t type = 0;
    *out = (struct summary_tensor){0};
    room->len = 0;
    while (proto_next(&message, &f)) {
        if (f.number == 1)
            type = f.v;
        else if (f.number == 2 && f.wire == PROTO_BYTES)
            read_shape(f.bytes, out);
        else if (f.number == 4 && f.wire == PROTO_BYTES)
            raw = f.bytes;
        else if (f.number == 5 || f.number == 6 || f.number == 7 || f.number == 10 ||
                 f.number == 11)
            read_listed(&f, room);
        else if (f.number == 8)
            out->is_text = true;
    }
    return !message.bad && set_elements(out, type, &raw, room);
}

double summary_tensor_first(const struct summary_tensor *t)
{
    struct health_tensor one = t->elements;
    struct health_tensor_stats stats;
    one.n = 1;
    if (one.dtype == HEALTH_FLOAT64) {
        double d;
        memcpy(&d, one.at, sizeof d);
        return d;
    }
    health_tensor_stats(&one, &stats);
    if (!stats.nonfinite)
        return stats.sum;
    float f;
    if (one.dtype != HEALTH_FLOAT32)
        return (double)NAN;
    memcpy(&f, one.at, sizeof f);
    return (double)f;
}

void summary_shape(const struct summary_tensor *t, char *text, size_t size)
{
    size_t at = 0;
    *text = '\0';
    for (size_t i = 0; i < MIN_OF(t->n_dims, (size_t)SUMMARY_DIMS) && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%lld",
                               i ? "," : "shape=", (long long)t->dims[i]);
}

/* ------------------------------------------------------------------------------------------------
 * Records */

void summary_open(struct summary_in *s, const struct import_ask *ask, struct import_result *r,
                  const char *process)
{
    *r = (struct import_result){.rank = -1, .world_size = -1};
    s->ask = ask;
    s->result = r;
    s->records = (struct tfrecord_in){.in = ask->in};
    s->room = (struct buf){0};
    s->process = process;
    s->pid = import_pid(ask);
    s->timed = false;
    out_open(&s->out, ask->sink, r);
}

static void take_record(struct summary_in *s,
                        void (*take)(void *ctx, const struct summary_event *v), void *ctx)
{
    struct summary_event v;
    if (summary_event_read(cur_of(s->records.payload.p, s->records.payload.len), &v))
        take(ctx, &v);
    else
        s->result->faults.unread++;
}

int summary_records(struct summary_in *s, void (*take)(void *ctx, const struct summary_event *v),
                    void *ctx, const char *what, struct err *e)
{
    bool any = false;
    int kind;
    while ((kind = tfrecord_next(&s->records, e)) > TFRECORD_END && kind < TFRECORD_CUT) {
        any = true;
        if (kind == TFRECORD_WHOLE)
            take_record(s, take, ctx);
        s->result->count[IMPORTED_CHECKSUMS] += kind == TFRECORD_DAMAGED;
        s->result->count[IMPORTED_LARGE] += kind == TFRECORD_LARGE;
    }
    s->result->bytes = s->records.bytes;
    if (kind < 0)
        return kind;
    if (!any)
        return err_set(e, ERR_FORMAT, "not an event file of %s", what);
    s->result->faults.unread += kind == TFRECORD_BAD;
    return 0;
}

void summary_close(struct summary_in *s)
{
    out_close(&s->out);
    tfrecord_close(&s->records);
    buf_free(&s->room);
}

bool summary_time(struct summary_in *s, double wall_s, mono_ns *out)
{
    const double most = 9e9; /* seconds; what fits */
    if (!(wall_s > 0 && wall_s < most)) {
        s->result->count[isnan(wall_s) ? IMPORTED_NO_TIME : IMPORTED_BAD_TIME]++;
        return false;
    }
    const int64_t whole = (int64_t)wall_s;
    const int64_t ns = whole * NS_PER_S + (int64_t)((wall_s - (double)whole) * 1e9);
    return import_time(s->ask, s->result, &ns, 0, out);
}

/* ------------------------------------------------------------------------------------------------
 * Health events */

/* The text is one of the texts of `out`, cut where it has a NUL and where it is too long. */
static const char *keep_name(struct summary_in *s, struct tag_text name)
{
    const struct json_text text = {name.p, (uint32_t)MIN_OF(name.len, (size_t)UINT32_MAX), false,
                                   true};
    return import_intern(&s->out.texts, &text, s->result, &s->result->faults)->p;
}

static void put_event(struct summary_in *s, const struct summary_where *w, enum health_id stat,
                      enum event_kind kind, int64_t value)
{
    const uint32_t track = out_track(&s->out, TRACK_HEALTH, s->pid, stat);
    out_name(&s->out, track, s->process, health_words[stat].name);
    const struct event v = {
        .at = w->at,
        .kind = kind,
        .value = value,
        .name = keep_name(s, w->name),
        .args =
            w->args && *w->args ? texts_intern(&s->out.texts, w->args, strlen(w->args))->p : NULL,
        .link = w->step >= 0 ? (uint64_t)w->step + 1 : 0,
        .mode = w->mode,
        .category = CAT_OTHER,
    };
    out_event(&s->out, track, &v);
}

void summary_put(struct summary_in *s, const struct summary_where *w, enum health_id stat, double v)
{
    int64_t bits;
    if (stat == HEALTH_N)
        return;
    if (health_words[stat].kind == EVENT_COUNT) {
        summary_put_count(s, w, stat, isfinite(v) && fabs(v) < 9e18 ? (int64_t)v : 0);
        return;
    }
    if (stat != HEALTH_SCALAR)
        v = (double)(float)v;
    memcpy(&bits, &v, sizeof bits);
    put_event(s, w, stat, EVENT_REAL, bits);
}

void summary_put_count(struct summary_in *s, const struct summary_where *w, enum health_id stat,
                       int64_t v)
{
    put_event(s, w, stat, EVENT_COUNT, v);
}

#define NOT_KEPT HEALTH_N
const struct summary_kind summary_kinds[SUMMARY_SUBJECTS] = {
    [SUMMARY_GRADIENT] = {HEALTH_GRADIENT_L1, HEALTH_GRADIENT_L2, HEALTH_GRADIENT_MIN,
                          HEALTH_GRADIENT_MAX, HEALTH_GRADIENT_MEAN, NOT_KEPT,
                          HEALTH_GRADIENT_ZEROS, HEALTH_GRADIENT_NONFINITE, NOT_KEPT,
                          HEALTH_GRADIENT_EXPONENTS},
    [SUMMARY_WEIGHT] = {HEALTH_WEIGHT_L1, HEALTH_WEIGHT_L2, HEALTH_WEIGHT_MIN, HEALTH_WEIGHT_MAX,
                        HEALTH_WEIGHT_MEAN, NOT_KEPT, HEALTH_WEIGHT_ZEROS, HEALTH_WEIGHT_NONFINITE,
                        HEALTH_WEIGHT_SUM, HEALTH_WEIGHT_EXPONENTS},
    [SUMMARY_OUTPUT] = {NOT_KEPT, NOT_KEPT, HEALTH_OUTPUT_MIN, HEALTH_OUTPUT_MAX,
                        HEALTH_OUTPUT_MEAN, HEALTH_OUTPUT_STD, HEALTH_OUTPUT_ZEROS,
                        HEALTH_OUTPUT_NONFINITE, NOT_KEPT, HEALTH_OUTPUT_EXPONENTS},
    [SUMMARY_INPUT] = {NOT_KEPT, NOT_KEPT, HEALTH_INPUT_MIN, HEALTH_INPUT_MAX, HEALTH_INPUT_MEAN,
                       NOT_KEPT, HEALTH_INPUT_ZEROS, HEALTH_INPUT_NONFINITE, NOT_KEPT, NOT_KEPT},
    [SUMMARY_ACTIVATION_INPUT] = {NOT_KEPT, NOT_KEPT, HEALTH_INPUT_MIN, HEALTH_INPUT_MAX,
                                  HEALTH_INPUT_MEAN, HEALTH_INPUT_STD, HEALTH_INPUT_ZEROS,
                                  HEALTH_INPUT_NONFINITE, NOT_KEPT, NOT_KEPT},
    [SUMMARY_OPTIMIZER] = {NOT_KEPT, HEALTH_OPTIMIZER_L2, NOT_KEPT, HEALTH_OPTIMIZER_MAX, NOT_KEPT,
                           NOT_KEPT, HEALTH_OPTIMIZER_ZEROS, NOT_KEPT, NOT_KEPT, NOT_KEPT},
};
#undef NOT_KEPT

static void put_word_sum(struct summary_in *s, const struct summary_where *w, enum health_id stat,
                         const struct summary_tensor *t)
{
    const struct health_tensor *x = &t->elements;
    if (stat != HEALTH_N && t->is_float)
        summary_put_count(
            s, w, stat,
            (int64_t)health_word_sum(x->at, x->n, (unsigned)health_dtype_bytes(x->dtype)));
}

/* Statistics of no finite element are not measured. The largest value has the arguments. */
static void put_finite(struct summary_in *s, const struct summary_where *w,
                       const struct summary_kind *k, const struct health_tensor_stats *x, size_t n)
{
    struct summary_where plain = *w;
    plain.args = NULL;
    const double mean = x->sum / (double)n;
    const double square = x->l2 * x->l2 / (double)n - mean * mean;
    summary_put(s, &plain, k->mean, mean);
    summary_put(s, &plain, k->std, sqrt(MAX_OF(square, 0)));
    summary_put(s, &plain, k->min, x->min);
    summary_put(s, w, k->max, x->max);
    summary_put(s, &plain, k->l1, x->l1);
    summary_put(s, &plain, k->l2, x->l2);
}

void summary_put_tensor(struct summary_in *s, const struct summary_where *w,
                        enum summary_subject subject, const struct summary_tensor *t)
{
    const struct summary_kind *k = &summary_kinds[subject];
    struct health_tensor_stats x;
    if (t->elements.n == 0)
        return;
    char shape[SUMMARY_DIMS * 24];
    struct summary_where shaped = *w;
    summary_shape(t, shape, sizeof shape);
    shaped.args = shape;
    health_tensor_stats(&t->elements, &x);
    if (x.nonfinite < t->elements.n)
        put_finite(s, &shaped, k, &x, t->elements.n - x.nonfinite);
    summary_put(s, w, k->zeros, (double)x.zeros / (double)t->elements.n);
    if (x.nonfinite && k->nonfinite != HEALTH_N)
        summary_put_count(s, w, k->nonfinite, (int64_t)x.nonfinite);
    put_word_sum(s, w, k->sum, t);
}
