/* SPDX-License-Identifier: Apache-2.0 */
/* footplate_read.c - a record of our own exports, taken apart. */
#include <string.h>

#include "import/footplate_in.h"
#include "json/json.h"

/* Keys that mean something among the arguments of an event; others are the arguments. */
#define BIT(k) (UINT64_C(1) << (k))
#define IN_ARGS                                                                                    \
    (BIT(F_VALUE) | BIT(F_CORRELATION) | BIT(F_EXTERNAL) | BIT(F_STEP) | BIT(F_MODE) |             \
     BIT(F_CATEGORY) | BIT(F_END) | BIT(F_TEXT) | BIT(F_REAL))

static void footplate_read_keep(struct fp_record *r, const struct json_item *it)
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

/* The members of args or fp. */
static enum json_kind footplate_read_args(struct footplate *f)
{
    struct json_item it;
    for (;;) {
        enum json_kind kind = json_next(&f->scan, &it);
        if (kind == JS_OBJECT || kind == JS_ARRAY) {
            kind = json_skip(&f->scan, NULL);
            if (kind == JS_END)
                continue;
        }
        if (kind == JS_END || kind >= JS_LOST)
            return kind;
        if (it.id && (IN_ARGS >> it.id & 1 || (it.id == F_COUNT && kind == JS_NUMBER)))
            footplate_read_keep(&f->record, &it);
        else if (kind == JS_STRING)
            add_arg(f, &it);
        if (kind == JS_NUMBER) {
            f->record.only = it;
            f->record.has_only = true;
        }
    }
}

enum json_kind fp_skip(struct footplate *f, struct json_text *out)
{
    const enum json_kind kind = json_skip(&f->scan, out);
    if (kind == JS_END) { /* the bracket that was entered stands before it */
        out->p--;
        out->len++;
    }
    return kind;
}

static enum json_kind read_inner(struct footplate *f, struct json_item *it)
{
    if (it->kind == JS_OBJECT && (it->id == F_ARGS || it->id == F_FP))
        return footplate_read_args(f);
    const enum json_kind kind = fp_skip(f, &it->text);
    if (kind == JS_END && it->id)
        footplate_read_keep(&f->record, it);
    return kind;
}

enum json_kind fp_read_more(struct footplate *f)
{
    struct json_item it;
    for (;;) {
        enum json_kind kind = json_next(&f->scan, &it);
        if (kind == JS_OBJECT || kind == JS_ARRAY) {
            kind = read_inner(f, &it);
            if (kind == JS_END)
                continue;
        }
        if (kind == JS_END || kind >= JS_LOST)
            return kind;
        if (it.id)
            footplate_read_keep(&f->record, &it);
    }
}

enum json_kind fp_read(void *ctx)
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
