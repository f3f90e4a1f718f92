/* SPDX-License-Identifier: Apache-2.0 */
/* event_block.c - see event_block.h. */
#include "store/event_block.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

enum { COLUMNS_KNOWN_MOST = 64 }; /* that a later version may have added */

/* us that are not after, or not before, a moment in ns */
static int64_t floor_us(int64_t ns)
{
    return ns / NS_PER_US - (ns % NS_PER_US < 0);
}

static int64_t ceil_us(int64_t ns)
{
    return ns / NS_PER_US + (ns % NS_PER_US > 0);
}

/* ---- writing ---- */

/* Gathers one column of the rows. */
typedef void gather(const struct event_rows *r, int64_t *out);

static void gather_at(const struct event_rows *r, int64_t *out)
{
    uint64_t at = (uint64_t)floor_us(r->v[0].at) * (uint64_t)NS_PER_US, dur = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        const uint64_t d = (uint64_t)r->v[i].at - at;
        out[i] = (int64_t)(d >= dur ? 2 * (d - dur) : 2 * d + 1);
        at = (uint64_t)r->v[i].at;
        dur = (uint64_t)r->v[i].dur;
    }
}

static void gather_dur(const struct event_rows *r, int64_t *out)
{
    for (uint32_t i = 0; i < r->n; i++)
        out[i] = r->v[i].dur;
}

static void gather_name(const struct event_rows *r, int64_t *out)
{
    for (uint32_t i = 0; i < r->n; i++)
        out[i] = r->v[i].name;
}

static void gather_what(const struct event_rows *r, int64_t *out)
{
    for (uint32_t i = 0; i < r->n; i++)
        out[i] = (int64_t)r->v[i].what - r->texts[r->v[i].name]->what;
}

static void gather_value(const struct event_rows *r, int64_t *out)
{
    uint64_t *before = xcalloc(r->n_texts, sizeof *before); /* by name */
    for (uint32_t i = 0; i < r->n; i++) {
        const uint64_t value = (uint64_t)r->v[i].value;
        out[i] = (int64_t)(value - before[r->v[i].name]);
        before[r->v[i].name] = value;
    }
    free(before);
}

static void gather_link(const struct event_rows *r, int64_t *out)
{
    for (uint32_t i = 0; i < r->n; i++)
        out[i] = (int64_t)r->v[i].link;
}

static void gather_parent(const struct event_rows *r, int64_t *out)
{
    for (uint32_t i = 0; i < r->n; i++)
        out[i] = (int64_t)r->v[i].parent;
}

static void gather_args(const struct event_rows *r, int64_t *out)
{
    for (uint32_t i = 0; i < r->n; i++)
        out[i] = r->v[i].args;
}

static gather *const gathers[EVENT_COLUMN_N] = {
    [COLUMN_AT] = gather_at,         [COLUMN_DUR] = gather_dur,     [COLUMN_NAME] = gather_name,
    [COLUMN_WHAT] = gather_what,     [COLUMN_VALUE] = gather_value, [COLUMN_LINK] = gather_link,
    [COLUMN_PARENT] = gather_parent, [COLUMN_ARGS] = gather_args,
};

static bool all_zero(const int64_t *v, uint32_t n)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < n; i++)
        any |= (uint64_t)v[i];
    return any == 0;
}

static void put_columns(struct codec *c, const struct event_rows *r, struct buf *head,
                        struct buf *data)
{
    int64_t *values = xmalloc(r->n * sizeof *values);
    struct buf bytes = {0};
    buf_varint(head, EVENT_COLUMN_N);
    for (unsigned k = 0; k < EVENT_COLUMN_N; k++) {
        gathers[k](r, values);
        bytes.len = 0;
        if (!all_zero(values, r->n))
            codec_encode(c, values, r->n, true, &bytes);
        blob_put(head, data, &bytes);
    }
    buf_free(&bytes);
    free(values);
}

static void put_texts(struct codec *c, const struct event_rows *r, struct buf *head,
                      struct buf *data)
{
    struct buf all = {0}, packed = {0};
    for (uint32_t i = 0; i < r->n_texts; i++) {
        buf_varint(&all, r->texts[i]->what);
        buf_varint(&all, r->texts[i]->len);
        buf_put(&all, r->texts[i]->text, r->texts[i]->len);
    }
    codec_put_bytes(c, &all, &packed);
    buf_varint(head, r->n_texts);
    blob_put(head, data, &packed);
    buf_free(&all);
    buf_free(&packed);
}

void event_block_put(struct codec *c, const struct event_rows *r, struct buf *head,
                     struct buf *data, struct block_header *h)
{
    assert(r->n > 0 && r->n <= ROWS_MOST);
    buf_u8(head, r->track->kind);
    buf_varint(head, r->track->pid);
    buf_varint(head, r->track->id);
    buf_str(head, r->track->process);
    buf_str(head, r->track->name);
    put_texts(c, r, head, data);
    put_columns(c, r, head, data);
    int64_t last = r->v[0].at;
    for (uint32_t i = 0; i < r->n; i++)
        last = MAX_OF(last, r->v[i].at + r->v[i].dur);
    h->kind = BLOCK_EVENTS;
    h->rows = r->n;
    h->t_first_us = floor_us(r->v[0].at);
    h->t_last_us = ceil_us(last);
}

/* ---- reading ---- */

static bool times_fit(const struct events_block *b)
{
    return b->t_first_us >= -TIME_MOST_US && b->t_last_us <= TIME_MOST_US &&
           b->t_first_us <= b->t_last_us;
}

bool event_block_get(const struct block_header *h, const uint8_t *payload, struct events_block *out)
{
    struct cur head = cur_of(payload, h->head_len);
    struct cur data = cur_of(payload + h->head_len, h->payload_len - h->head_len);
    *out = (struct events_block){
        .t_first_us = h->t_first_us, .t_last_us = h->t_last_us, .rows = h->rows};
    out->track.kind = track_kind_of(cur_u8(&head));
    out->track.pid = (uint32_t)cur_varint_most(&head, UINT32_MAX);
    out->track.id = cur_varint(&head);
    cur_str(&head, out->track.process, sizeof out->track.process);
    cur_str(&head, out->track.name, sizeof out->track.name);
    out->n_names = (uint32_t)cur_varint_most(&head, 2 * ROWS_MOST);
    out->names = blob_get(&head, &data);
    const uint64_t columns = cur_varint_most(&head, COLUMNS_KNOWN_MOST);
    for (uint64_t i = 0; i < columns; i++) {
        const struct blob one = blob_get(&head, &data);
        if (i < EVENT_COLUMN_N)
            out->column[i] = one;
    }
    return !head.bad && h->rows > 0 && h->rows <= ROWS_MOST && times_fit(out);
}

uint64_t event_block_verify(const struct events_block *b)
{
    uint64_t bad = !blob_whole(&b->names);
    for (unsigned k = 0; k < EVENT_COLUMN_N; k++)
        bad += b->column[k].len && !blob_whole(&b->column[k]);
    return bad;
}

/* A block while it is decoded. */
struct unpacking {
    const struct events_block *b;
    struct event *out;
    const char **texts;
    uint16_t *whats;  /* by text */
    uint64_t *values; /* the last one, by text */
    uint32_t *names;  /* by row: number of a text */
};

/* Spreads one column over the rows; false when it says what no writer says. */
typedef bool spread(struct unpacking *u, const int64_t *in);

static bool spread_dur(struct unpacking *u, const int64_t *in)
{
    for (uint32_t i = 0; i < u->b->rows; i++)
        u->out[i].dur_ns = in[i]; /* spread_at looks whether it fits */
    return true;
}

/* All lie within the block's times, which keeps the sums from overflowing. */
static bool spread_at(struct unpacking *u, const int64_t *in)
{
    const uint64_t last = (uint64_t)(u->b->t_last_us * NS_PER_US);
    uint64_t at = (uint64_t)(u->b->t_first_us * NS_PER_US), dur = 0;
    for (uint32_t i = 0; i < u->b->rows; i++) {
        const uint64_t v = (uint64_t)in[i], half = v >> 1;
        if (v & 1 ? half >= dur : half > last - at - dur)
            return false;
        at += v & 1 ? half : half + dur;
        dur = (uint64_t)u->out[i].dur_ns;
        if (dur > last - at)
            return false;
        u->out[i].at.ns = (int64_t)at;
    }
    return true;
}

static bool spread_name(struct unpacking *u, const int64_t *in)
{
    for (uint32_t i = 0; i < u->b->rows; i++) {
        if (in[i] < 0 || in[i] >= (int64_t)u->b->n_names)
            return false;
        u->names[i] = (uint32_t)in[i];
        u->out[i].name = u->texts[in[i]];
    }
    return true;
}

/* What a later version says and this one does not know becomes what comes nearest. */
static void set_what(struct event *v, unsigned what)
{
    const unsigned kind = what_part(what, 0, WHAT_KIND_BITS);
    const unsigned mode = what_part(what, WHAT_MODE_SHIFT, WHAT_MODE_BITS);
    const unsigned end = what_end(what);
    const unsigned category = what_part(what, WHAT_CATEGORY_SHIFT, WHAT_CATEGORY_BITS);
    const bool known = kind > 0 && kind < EVENT_KIND_N && (kind != EVENT_STEP || mode < MODE_N);
    v->kind = known ? (enum event_kind)kind : v->dur_ns ? EVENT_SPAN : EVENT_MARK;
    v->mode = mode < MODE_N ? (enum event_mode)mode : MODE_TRAIN;
    v->end = end <= END_OPEN ? (enum event_end)end : END_KNOWN;
    v->category = category < CAT_N ? (enum event_category)category : CAT_OTHER;
}

static bool spread_what(struct unpacking *u, const int64_t *in)
{
    for (uint32_t i = 0; i < u->b->rows; i++) {
        const uint64_t what = (uint64_t)in[i] + u->whats[u->names[i]];
        if (what > WHAT_MOST)
            return false;
        set_what(&u->out[i], (unsigned)what);
    }
    return true;
}

static bool spread_value(struct unpacking *u, const int64_t *in)
{
    for (uint32_t i = 0; i < u->b->rows; i++) {
        uint64_t *value = &u->values[u->names[i]];
        *value += (uint64_t)in[i];
        u->out[i].value = (int64_t)*value;
    }
    return true;
}

static bool spread_link(struct unpacking *u, const int64_t *in)
{
    for (uint32_t i = 0; i < u->b->rows; i++)
        u->out[i].link = (uint64_t)in[i];
    return true;
}

static bool spread_parent(struct unpacking *u, const int64_t *in)
{
    for (uint32_t i = 0; i < u->b->rows; i++)
        u->out[i].parent = (uint64_t)in[i];
    return true;
}

static bool spread_args(struct unpacking *u, const int64_t *in)
{
    for (uint32_t i = 0; i < u->b->rows; i++) {
        if (in[i] < 0 || in[i] > (int64_t)u->b->n_names)
            return false;
        u->out[i].args = in[i] ? u->texts[in[i] - 1] : NULL;
    }
    return true;
}

/* In this order: begins need durations, `what` needs both, values need names. */
static const struct {
    enum event_column column;
    spread *spread;
} spreads[] = {
    {COLUMN_DUR, spread_dur},       {COLUMN_AT, spread_at},       {COLUMN_NAME, spread_name},
    {COLUMN_WHAT, spread_what},     {COLUMN_VALUE, spread_value}, {COLUMN_LINK, spread_link},
    {COLUMN_PARENT, spread_parent}, {COLUMN_ARGS, spread_args},
};
_Static_assert(COUNT_OF(spreads) == EVENT_COLUMN_N, "every column is read");

static bool get_column(struct codec *c, const struct blob *b, uint32_t rows, int64_t *out)
{
    if (b->len == 0) {
        memset(out, 0, rows * sizeof *out);
        return true;
    }
    return blob_whole(b) && codec_decode(c, b->p, b->len, rows, out);
}

static bool get_columns(struct codec *c, struct unpacking *u)
{
    int64_t *values = xmalloc(u->b->rows * sizeof *values);
    bool good = true;
    for (unsigned k = 0; k < COUNT_OF(spreads) && good; k++)
        good = get_column(c, &u->b->column[spreads[k].column], u->b->rows, values) &&
               spreads[k].spread(u, values);
    free(values);
    return good;
}

/* All texts into one piece of the arena. */
static bool get_texts(struct codec *c, struct unpacking *u, struct arena *a)
{
    const struct blob *b = &u->b->names;
    struct buf bytes = {0};
    bool good =
        blob_whole(b) && codec_get_bytes(c, b->p, b->len, 2 * (size_t)TEXT_BYTES_MOST, &bytes);
    struct cur in = cur_of(bytes.p, bytes.len);
    /* A text takes two bytes at least in front of its own: there is room for the NULs. */
    char *to = good ? arena_array(a, char, bytes.len + 1) : NULL;
    for (uint32_t i = 0; i < u->b->n_names && good; i++) {
        u->whats[i] = (uint16_t)cur_varint_most(&in, WHAT_MOST);
        cur_str(&in, to, MIN_OF(cur_left(&in) + 1, (size_t)EVENT_NAME_MOST));
        u->texts[i] = to;
        to += strlen(to) + 1;
        good = !in.bad;
    }
    buf_free(&bytes);
    return good;
}

bool store_events(struct codec *c, const struct events_block *b, struct arena *a, struct event *out)
{
    struct unpacking u = {.b = b, .out = out};
    memset(out, 0, b->rows * sizeof *out);
    u.texts = xcalloc(b->n_names + 1u, sizeof *u.texts);
    u.whats = xcalloc(b->n_names + 1u, sizeof *u.whats);
    u.values = xcalloc(b->n_names + 1u, sizeof *u.values);
    u.names = xcalloc(b->rows, sizeof *u.names);
    const bool good = get_texts(c, &u, a) && get_columns(c, &u);
    free(u.texts);
    free(u.whats);
    free(u.values);
    free(u.names);
    return good;
}

bool store_event_names(struct codec *c, const struct events_block *b, struct arena *a,
                       const char ***out)
{
    struct unpacking u = {.b = b};
    u.texts = arena_array(a, const char *, b->n_names);
    u.whats = xcalloc(b->n_names + 1u, sizeof *u.whats);
    const bool good = get_texts(c, &u, a);
    free(u.whats);
    *out = u.texts;
    return good;
}
