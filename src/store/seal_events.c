/* SPDX-License-Identifier: Apache-2.0 */
/* seal_events.c - the events of a segment, track by track, into blocks. */
#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/event_block.h"
#include "store/event_open.h"
#include "store/event_order.h"
#include "store/seal.h"

/* Memory of one sealing, and the block at hand. */
struct seal_events_work {
    struct codec *codec;
    const struct segment *s;
    uint32_t number;
    enum seal_use use;
    const struct seal_out *out;

    struct open_events open;
    struct order_key *keys, *spare; /* ROWS_MOST at most, as of all up to `what` */
    int64_t *value;
    uint64_t *link, *parent;
    uint32_t *name, *args;
    uint16_t *what;
    uint32_t n;
    uint32_t *local; /* by text of the segment: 1 + its number in the block; 0: not in it */
    const struct seg_text **texts; /* of the block */
    uint32_t n_texts;
    size_t text_bytes;
    struct buf head, data, block;
};

static void seal_events_work_open(struct seal_events_work *w)
{
    const uint32_t n_texts = w->s->n_texts;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < w->s->n_tracks; i++)
        rows = MAX_OF(rows, MIN_OF(w->s->tracks[i].rows, (uint32_t)ROWS_MOST));
    w->keys = xmalloc((rows + 1ul) * sizeof *w->keys);
    w->spare = xmalloc((rows + 1ul) * sizeof *w->spare);
    w->value = xmalloc((rows + 1ul) * sizeof *w->value);
    w->link = xmalloc((rows + 1ul) * sizeof *w->link);
    w->parent = xmalloc((rows + 1ul) * sizeof *w->parent);
    w->name = xmalloc((rows + 1ul) * sizeof *w->name);
    w->args = xmalloc((rows + 1ul) * sizeof *w->args);
    w->what = xmalloc((rows + 1ul) * sizeof *w->what);
    w->local = xcalloc(n_texts + 1u, sizeof *w->local);
    w->texts = xcalloc(n_texts + 1u, sizeof *w->texts);
    if (w->use == SEAL_TO_SHOW)
        open_events_begin(&w->open, w->s);
}

static void seal_events_work_close(struct seal_events_work *w)
{
    free(w->keys);
    free(w->spare);
    free(w->value);
    free(w->link);
    free(w->parent);
    free(w->name);
    free(w->args);
    free(w->what);
    free(w->local);
    free(w->texts);
    open_events_end(&w->open);
    buf_free(&w->head);
    buf_free(&w->data);
    buf_free(&w->block);
}

/* The text's number in the block. */
static inline uint32_t local_text(struct seal_events_work *w, uint32_t text)
{
    if (w->local[text] == 0) {
        w->texts[w->n_texts++] = &w->s->texts[text];
        w->local[text] = w->n_texts;
        w->text_bytes += w->s->texts[text].len;
    }
    return w->local[text] - 1;
}

static inline void seal_events_add_event(struct seal_events_work *w, const struct bare_event *v)
{
    const uint32_t n = w->n++;
    w->keys[n] = order_key(v->at, v->dur, n, w->s->pile != NULL);
    w->value[n] = v->value;
    w->link[n] = v->link;
    w->parent[n] = v->parent;
    w->name[n] = local_text(w, v->name);
    w->args[n] = v->args ? 1 + local_text(w, v->args - 1) : 0;
    w->what[n] = v->what;
}

static bool seal_events_wanted(struct seal_events_work *w, struct bare_event *v)
{
    if (w->use == SEAL_TO_SHOW)
        return open_events_show(&w->open, v);
    return what_end(v->what) != END_OPEN;
}

static void forget_texts(struct seal_events_work *w)
{
    for (uint32_t i = 0; i < w->n_texts; i++)
        w->local[w->texts[i] - w->s->texts] = 0;
    w->n_texts = 0;
    w->text_bytes = 0;
}

static int end_block(struct seal_events_work *w, const struct seg_track *t, struct err *e)
{
    if (w->n == 0)
        return 0;
    event_order(w->keys, w->spare, w->n);
    const struct event_rows rows = {
        .track = t,
        .n = w->n,
        .order = w->keys,
        .value = w->value,
        .link = w->link,
        .parent = w->parent,
        .name = w->name,
        .args = w->args,
        .what = w->what,
        .texts = w->texts,
        .n_texts = w->n_texts,
    };
    struct block_header h = {.segment = w->number};
    w->head.len = w->data.len = 0;
    event_block_put(w->codec, &rows, &w->head, &w->data, &h);
    w->n = 0;
    forget_texts(w);
    return seal_emit(&h, &w->head, &w->data, &w->block, w->out, e);
}

/* A block holds what was told in a row: those of a track may overlap in time. */
static inline int seal_event(struct seal_events_work *w, const struct seg_track *t,
                             struct bare_event *v, struct err *e)
{
    if (!seal_events_wanted(w, v))
        return 0;
    seal_events_add_event(w, v);
    return w->n == ROWS_MOST || w->text_bytes >= TEXT_BYTES_MOST ? end_block(w, t, e) : 0;
}

static int seal_track(struct seal_events_work *w, const struct seg_track *t, struct err *e)
{
    struct event_cur c = segment_events(t);
    struct bare_event v;
    int rc = 0;
    if (w->use == SEAL_TO_SHOW)
        open_events_track(&w->open, w->s, t);
    while (rc == 0 && segment_event(w->s, &c, &v))
        rc = seal_event(w, t, &v, e);
    return rc ? rc : end_block(w, t, e);
}

/* The same from a pile. */
static int seal_piled(struct seal_events_work *w, const struct seg_track *t, struct err *e)
{
    const uint32_t *row = w->s->piled + t->first, *const end = row + t->rows;
    int rc = 0;
    while (rc == 0 && row < end) {
        struct bare_event v = pile_get(w->s->pile, *row++);
        rc = seal_event(w, t, &v, e);
    }
    return rc ? rc : end_block(w, t, e);
}

int seal_events(struct codec *c, const struct segment *s, uint32_t number, enum seal_use use,
                const struct seal_out *out, struct err *e)
{
    if (s->n_tracks == 0)
        return 0;
    struct seal_events_work w = {.codec = c, .s = s, .number = number, .use = use, .out = out};
    int rc = 0;
    seal_events_work_open(&w);
    for (uint32_t i = 0; i < s->n_tracks && rc == 0; i++)
        rc = (s->pile ? seal_piled : seal_track)(&w, &s->tracks[i], e);
    seal_events_work_close(&w);
    return rc;
}
