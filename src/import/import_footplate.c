/* SPDX-License-Identifier: Apache-2.0 */
/* import_footplate.c - our own exports: a Chrome trace with everything of the run under
 * "footplate", or JSON lines. The run that comes out is the one that went in. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "import/footplate_internal.h"
#include "json/json.h"

/* ------------------------------------------------------------------------------------------------
 * One record */

/* Keys that mean something among the arguments of an event; others are the arguments. */
#define BIT(k) (UINT64_C(1) << (k))
#define IN_ARGS                                                                                    \
    (BIT(F_VALUE) | BIT(F_CORRELATION) | BIT(F_EXTERNAL) | BIT(F_STEP) | BIT(F_MODE) |             \
     BIT(F_CATEGORY) | BIT(F_END) | BIT(F_TEXT) | BIT(F_REAL))

static void fp_keep(struct fp_record *r, const struct json_item *it)
{
    r->seen |= BIT(it->id);
    r->item[it->id] = *it;
}

static void add_text(struct footplate *f, const struct json_text *t)
{
    struct fp_record *r = &f->record;
    const size_t room = sizeof r->args - r->args_len;
    r->args_cut |= t->len >= room;
    r->args_len += (uint32_t)json_decode(t, r->args + r->args_len, room, &f->scan.faults);
}

static void add_arg(struct footplate *f, const struct json_item *it)
{
    static const struct json_text line = {.p = "\n", .len = 1}, equals = {.p = "=", .len = 1};
    if (f->record.args_len)
        add_text(f, &line);
    add_text(f, &it->key);
    add_text(f, &equals);
    add_text(f, &it->text);
}

/* A member of args or fp. */
static enum json_kind fp_take_arg(void *ctx, const struct json_item *it)
{
    struct footplate *f = ctx;
    if (it->kind <= JS_ARRAY)
        return JS_NULL;
    if (it->id && (IN_ARGS >> it->id & 1 || (it->id == F_COUNT && it->kind == JS_NUMBER)))
        fp_keep(&f->record, it);
    else if (it->kind == JS_STRING)
        add_arg(f, it);
    if (it->kind == JS_NUMBER) {
        f->record.only = *it;
        f->record.has_only = true;
    }
    return JS_NULL;
}

/* Passes over the object or array just entered; `out` is the whole of it. Needs a hold. */
static enum json_kind fp_skip(struct footplate *f, struct json_text *out)
{
    const enum json_kind kind = json_skip(&f->scan, out);
    if (kind == JS_END) { /* the bracket that was entered is before it */
        out->p--;
        out->len++;
    }
    return kind;
}

static enum json_kind fp_take_member(void *ctx, const struct json_item *it)
{
    struct footplate *f = ctx;
    struct json_item whole = *it;
    if (it->kind == JS_OBJECT && (it->id == F_ARGS || it->id == F_FP))
        return json_each(&f->scan, fp_take_arg, f);
    const enum json_kind kind = it->kind <= JS_ARRAY ? fp_skip(f, &whole.text) : JS_END;
    if (kind == JS_END && it->id)
        fp_keep(&f->record, &whole);
    return kind;
}

static enum json_kind fp_read_more(struct footplate *f)
{
    return json_each(&f->scan, fp_take_member, f);
}

/* Reads the members of the object that the scanner has just entered: JS_END, or a kind from JS_LOST
 * on. fp_read_more continues with an object of which some are read already. */
static enum json_kind fp_read(void *ctx)
{
    struct footplate *f = ctx;
    f->record.seen = 0;
    f->record.args_len = 0;
    f->record.has_only = f->record.args_cut = false;
    return fp_read_more(f);
}

/* ---- values ---- */

int64_t fp_int(const struct footplate *f, enum footplate_key k, int64_t otherwise)
{
    int64_t v;
    return fp_has(f, k) && json_int(&f->record.item[k], &v) ? v : otherwise;
}

void fp_text(struct footplate *f, enum footplate_key k, char *to, size_t room)
{
    to[0] = '\0';
    if (fp_has(f, k) && f->record.item[k].kind == JS_STRING)
        json_decode(&f->record.item[k].text, to, room, &f->scan.faults);
}

bool fp_is(const struct footplate *f, enum footplate_key k, const char *text)
{
    const struct json_item *it = &f->record.item[k];
    return fp_has(f, k) && it->kind == JS_STRING && json_text_is(&it->text, text, strlen(text));
}

unsigned fp_word(const struct footplate *f, enum footplate_key k, const char *const *names,
                 unsigned n, unsigned otherwise)
{
    for (unsigned i = 0; i < n; i++)
        if (fp_is(f, k, names[i]))
            return i;
    return otherwise;
}

/* ------------------------------------------------------------------------------------------------
 * The file */

enum { VERSION_MOST = 1 };

#define KEY(id, key) key,
static const char *const key_names[] = {
#include "import/footplate_keys.def"
};
#undef KEY

/* ---- lists of records ---- */

static enum json_kind fp_read_list(struct footplate *f, void (*emit)(void *f))
{
    struct json_elements x = {.scan = &f->scan, .read = fp_read, .emit = emit, .ctx = f};
    const enum json_kind kind = json_elements(&x);
    f->result->count[IMPORTED_PHASES] += x.others;
    return kind;
}

/* ---- "footplate" ---- */

static const struct {
    enum footplate_key key;
    void (*emit)(void *f);
} lists[] = {
    {F_NODES, fp_put_node},  {F_TRACKS, fp_put_track}, {F_SERIES, fp_put_series},
    {F_LOSSES, fp_put_loss}, {F_MARKS, fp_put_mark},
};

static enum json_kind read_about(struct footplate *f)
{
    struct json_text raw;
    const enum json_kind kind = fp_skip(f, &raw);
    if (kind == JS_END)
        fp_put_run(f, &raw);
    return kind;
}

static enum json_kind read_head_member(struct footplate *f, const struct json_item *it)
{
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        if (it->kind == JS_ARRAY && it->id == lists[i].key)
            return fp_read_list(f, lists[i].emit);
    if (it->kind == JS_OBJECT && it->id == F_ABOUT)
        return read_about(f);
    if (it->kind == JS_OBJECT || it->kind == JS_ARRAY)
        return json_skip(&f->scan, NULL);
    if (it->id == F_LANES && (!json_int(it, &f->lanes) || f->lanes < 1))
        f->lanes = 1;
    if (it->id == F_VERSION && !json_int(it, &f->version))
        f->version = 0;
    return JS_END;
}

static enum json_kind fp_read_head(struct footplate *f)
{
    struct json_item it;
    for (;;) {
        json_hold(&f->scan);
        enum json_kind kind = json_next(&f->scan, &it);
        if (kind == JS_END)
            break;
        if (kind < JS_LOST)
            kind = read_head_member(f, &it);
        if (kind != JS_END && kind != JS_AGAIN && kind != JS_LOST)
            return kind;
    }
    json_release(&f->scan);
    return JS_END;
}

static enum json_kind fp_read_top_member(struct footplate *f, const struct json_item *it)
{
    if (it->kind == JS_OBJECT && it->id == F_FOOTPLATE) {
        f->ours = true;
        return fp_read_head(f);
    }
    if (it->kind == JS_ARRAY && it->id == F_EVENTS && f->ours)
        return fp_read_list(f, fp_put_trace_event);
    if (it->kind == JS_OBJECT || it->kind == JS_ARRAY)
        return json_skip(&f->scan, NULL);
    if (it->id == F_BASE && !json_int(it, &f->base_ns))
        f->base_ns = 0;
    return JS_END;
}

/* The rest of the top-level object, of which the scanner has read `it`. */
static enum json_kind read_trace(struct footplate *f, const struct json_item *first)
{
    struct json_item it = *first;
    enum json_kind kind = first->kind;
    while (kind != JS_END) {
        if (kind < JS_LOST)
            kind = fp_read_top_member(f, &it);
        if (kind != JS_END && kind != JS_LOST)
            return kind;
        kind = json_next(&f->scan, &it);
        if (json_is_over(kind))
            return kind;
    }
    return json_next(&f->scan, &it);
}

/* ---- lines ---- */

static void fp_put_first(void *ctx)
{
    struct footplate *f = ctx;
    const struct json_item *about = &f->record.item[F_ABOUT];
    f->ours = true;
    f->version = fp_int(f, F_VERSION, 0);
    if (fp_has(f, F_ABOUT) && about->kind == JS_OBJECT)
        fp_put_run(f, &about->text);
}

static const struct {
    const char *type;
    void (*emit)(void *f);
} types[] = {
    {"sample", fp_put_sample}, {"event", fp_emit_event},    {"series", fp_put_series},
    {"track", fp_put_track},   {"node", fp_put_node},       {"loss", fp_put_loss},
    {"mark", fp_put_mark},     {"footplate", fp_put_first},
};

/* Steps and operators follow from the events; lines of other types are of newer versions. */
static void put_line(void *ctx)
{
    struct footplate *f = ctx;
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (fp_is(f, F_TYPE, types[i].type)) {
            types[i].emit(f);
            return;
        }
    f->result->count[IMPORTED_PHASES] += !fp_is(f, F_TYPE, "step") && !fp_is(f, F_TYPE, "op");
}

/* ---- the whole ---- */

/* The first member distinguishes traces from lines. */
static enum json_kind fp_read_all(struct footplate *f)
{
    struct json_item it;
    enum json_kind kind;
    do {
        json_hold(&f->scan);
        kind = json_next(&f->scan, &it);
        if (kind == JS_OBJECT)
            kind = json_next(&f->scan, &it);
        else if (kind != JS_AGAIN)
            return kind;
        if (kind == JS_STRING && it.id == F_TYPE) {
            f->record.seen = UINT64_C(1) << F_TYPE;
            f->record.item[F_TYPE] = it;
            kind = fp_read_more(f);
        } else if (kind != JS_AGAIN) {
            json_release(&f->scan);
            return read_trace(f, &it);
        }
    } while (kind == JS_AGAIN);
    if (kind != JS_END)
        return kind;
    put_line(f);
    return fp_read_list(f, put_line);
}

/* Only what was cut after its head still gives what it has. */
static int fp_judge(const struct footplate *f, enum json_kind kind, struct err *e)
{
    const struct err *why = json_error(&f->scan);
    TRY(json_failed(&f->scan, kind, e));
    if (!f->ours)
        return err_set(e, ERR_FORMAT, "not a Footplate export%s%s", *why->msg ? ": " : "",
                       why->msg);
    if (f->version > VERSION_MOST)
        return err_set(e, ERR_VERSION,
                       "exported by a newer version (%lld); this program reads versions up to %d",
                       (long long)f->version, VERSION_MOST);
    if (!import_gave_something(f->result))
        return err_set(e, ERR_FORMAT, "the export contains no readings and no events");
    return 0;
}

static int fp_run(const struct import_ask *ask, struct import_result *out, struct err *e)
{
    struct footplate *f = xcalloc(1, sizeof *f);
    *out = (struct import_result){.rank = -1, .world_size = -1};
    f->ask = ask;
    f->result = out;
    f->lanes = 1;
    json_keys_init(&f->keys, key_names, COUNT_OF(key_names));
    json_open(&f->scan, ask->in, &(struct json_options){.keys = &f->keys, .many = true});
    const enum json_kind kind = fp_read_all(f);
    fp_flush_events(f);
    fp_flush_row(f);
    out->faults = f->scan.faults;
    out->bytes = json_position(&f->scan);
    const int rc = fp_judge(f, kind, e);
    json_close(&f->scan);
    fp_rows_free(f);
    texts_clear(&f->texts);
    free(f->nodes);
    free(f->tracks);
    free(f);
    return rc;
}

static int fp_sniff(const char *head, size_t n)
{
    static const char *const begins[] = {"{\"footplate\":{", "{\"type\":\"footplate\""};
    return FIND_ANY(i, COUNT_OF(begins),
                    n >= strlen(begins[i]) && memcmp(head, begins[i], strlen(begins[i])) == 0)
               ? 100
               : 0;
}

const struct importer importer_footplate = {
    .name = "footplate",
    .help = "a Footplate export (Chrome trace or JSON Lines)",
    .sniff = fp_sniff,
    .run = fp_run,
};
