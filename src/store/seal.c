/* SPDX-License-Identifier: Apache-2.0 */
/* seal.c - see segment.h. docs/format.md, "Sealed file", describes the blocks.
 *
 *     segment --+-- a rows block for each group    header | head: columns, summaries | data
 *               +-- events blocks for each track   header | head: track, texts | data
 *               +-- one log block, BLOCK_LAST      header | losses, marks, ties, names of tracks
 *
 * There is always a log block, and it comes last: a reader that finds it has the whole segment, and
 * one that does not find it uses the tail (reader.c). The writer may fail after any block, so
 * sealing has no state that outlives the call, and the same segment can be sealed again.
 *
 * The contents of a segment are within the limits of a block: segment.c refuses more rows, columns
 * and longer texts. So only the output can fail here. */

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "store/column.h"
#include "store/event_columns.h"
#include "store/segment.h"

/* ---- events without an end ----
 *
 * What has begun and not ended when a tail is read (docs/format.md, "Open events"). Only for
 * SEAL_TO_SHOW: the writer leaves such events out, because they are recorded again in the next
 * tail, or with their end. An event that is recorded as open and later with its end is shown once:
 * both have the same begin, name and kind. */

struct open_event {
    int64_t at;
    uint32_t name;
    uint16_t what;
    bool done; /* its end is known, or it is shown already */
};

struct process_last {
    uint32_t pid;
    int64_t last;
};

struct open_events {
    struct process_last *processes; /* sorted by pid */
    uint32_t n_processes;
    struct open_event *v; /* of the current track, sorted, each once */
    uint32_t n;
    int64_t last; /* time last seen of its process */
};

/* ---- when a process was last seen ---- */

COMPARE_BY(process_by_pid, struct process_last, pid)

/* When each process was last seen, over all of its tracks: an open event lasts until then at
 * least. */
static void open_events_begin(struct open_events *o, const struct segment *s)
{
    uint32_t n = 0;
    *o = (struct open_events){0};
    o->processes = xcalloc(s->n_tracks + 1u, sizeof *o->processes);
    for (uint32_t i = 0; i < s->n_tracks; i++)
        o->processes[i] = (struct process_last){s->tracks[i].pid, s->tracks[i].last};
    SORT(o->processes, s->n_tracks, process_by_pid);
    for (uint32_t i = 0; i < s->n_tracks; i++) {
        const struct process_last one = o->processes[i];
        if (n && o->processes[n - 1].pid == one.pid)
            o->processes[n - 1].last = MAX_OF(o->processes[n - 1].last, one.last);
        else
            o->processes[n++] = one;
    }
    o->n_processes = n;
}

/* ---- one track ---- */

/* Same begin, name and kind: the same event. Modes, categories and ends may differ, because an
 * event that is recorded again has its final ones. */
static int open_event_cmp(const void *a, const void *b)
{
    const struct open_event *x = a, *y = b;
    const unsigned kind_x = what_part(x->what, 0, WHAT_KIND_BITS);
    const unsigned kind_y = what_part(y->what, 0, WHAT_KIND_BITS);
    return COMPARE(x->at, y->at) ?: COMPARE(x->name, y->name) ?: COMPARE(kind_x, kind_y);
}

static struct open_event *open_event_find(const struct open_events *o, const struct bare_event *v)
{
    const struct open_event key = {.at = v->at, .name = v->name, .what = v->what};
    return o->n ? bsearch(&key, o->v, o->n, sizeof *o->v, open_event_cmp) : NULL;
}

static bool is_open(const struct bare_event *v)
{
    return what_end(v->what) == END_OPEN;
}

/* Those recorded as open, each once. */
static void list_open(struct open_events *o, const struct segment *s, const struct seg_track *t)
{
    struct event_cur c = segment_events(t);
    struct bare_event v;
    uint32_t n = 0;
    o->n = 0;
    assert(t->open > 0);
    o->v = xrealloc(o->v, t->open, sizeof *o->v);
    while (segment_event(s, &c, &v))
        if (is_open(&v))
            o->v[n++] = (struct open_event){.at = v.at, .name = v.name, .what = v.what};
    assert(n == t->open); /* segment_count_events counted the same events */
    SORT(o->v, n, open_event_cmp);
    for (uint32_t i = 0; i < n; i++)
        if (o->n == 0 || open_event_cmp(&o->v[o->n - 1], &o->v[i]) != 0)
            o->v[o->n++] = o->v[i];
}

/* Lists the open events of a track, and marks those whose end was recorded as well: only the
 * complete record of such an event is shown. */
static void open_events_track(struct open_events *o, const struct segment *s,
                              const struct seg_track *t)
{
    struct event_cur c = segment_events(t);
    struct bare_event v;
    o->n = 0;
    if (t->open == 0)
        return;
    const struct process_last key = {.pid = t->pid}, *p;
    p = bsearch(&key, o->processes, o->n_processes, sizeof key, process_by_pid);
    assert(p); /* every track of the segment is in the list */
    o->last = p->last;
    list_open(o, s, t);
    while (segment_event(s, &c, &v)) {
        struct open_event *one = is_open(&v) ? NULL : open_event_find(o, &v);
        if (one)
            one->done = true;
    }
}

/* Whether an event of that track is to be shown; an open one then lasts until its process was last
 * seen. */
static bool open_events_show(struct open_events *o, struct bare_event *v)
{
    if (!is_open(v))
        return true;
    struct open_event *one = open_event_find(o, v);
    assert(one && o->last >= v->at); /* open_events_track saw this event */
    if (one->done)
        return false;
    one->done = true;
    v->dur = o->last - v->at;
    return true;
}

static void open_events_end(struct open_events *o)
{
    free(o->processes);
    free(o->v);
}

/* Those of a track that are open still. */
static void seal_carry(struct open_events *o, const struct segment *s, struct seg_track *t)
{
    struct event_cur c = segment_events(t);
    struct bare_event v, *kept = NULL;
    uint32_t n = 0, cap = 0;
    if (t->open == 0)
        return;
    open_events_track(o, s, t);
    while (segment_event(s, &c, &v))
        if (is_open(&v) && open_events_show(o, &v))
            *VEC_ADD(kept, n, cap) = v;
    free(t->carried);
    t->carried = kept;
    t->n_carried = n;
}

void seal_cut(struct segment *s)
{
    struct open_events o;
    open_events_begin(&o, s);
    for (uint32_t i = 0; i < s->n_tracks; i++)
        seal_carry(&o, s, &s->tracks[i]);
    open_events_end(&o);
    segment_cut(s);
}

/* Hands over the block of that head and data; h has the rest. `block` is memory to use. */
static int seal_emit(const struct block_header *h, const struct buf *head, const struct buf *data,
                     struct buf *block, const struct seal_out *out, struct err *e)
{
    struct block_header full = *h;
    full.head_len = (uint32_t)head->len;
    full.payload_len = (uint32_t)(head->len + data->len);
    block->len = 0;
    block_put(block, &full, head, data);
    return out->block(out->ctx, &full, block, e);
}

/* ---- events, track by track ---- */

/* Memory of one sealing, and the current block. */
struct seal_events_work {
    struct codec *codec;
    const struct segment *s;
    uint32_t number;
    enum seal_use use;
    const struct seal_out *out;

    struct arena arena; /* of the arrays; those up to `rows` have `cap` items */
    uint32_t cap;
    struct open_events open;
    struct order_key *keys, *spare;
    struct bare_event *rows;
    uint32_t n;
    uint32_t *local; /* by text of the segment: 1 + its number in the block; 0: not in it */
    const struct seg_text **texts; /* of the block */
    uint32_t n_texts;
    size_t text_bytes;
    struct buf head, data, block;
};

/* All arrays have room for the largest block that any track needs, so that they are allocated
 * once. `local` begins with zeros and is cleared after each block, text by text. */
static void seal_events_open(struct seal_events_work *w)
{
    struct arena *a = &w->arena;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < w->s->n_tracks; i++)
        rows = MAX_OF(rows, MIN_OF(w->s->tracks[i].rows, (uint32_t)ROWS_MOST));
    w->cap = rows + 1;
    w->keys = arena_alloc_raw(a, w->cap, sizeof *w->keys);
    w->spare = arena_alloc_raw(a, w->cap, sizeof *w->spare);
    w->rows = arena_alloc_raw(a, w->cap, sizeof *w->rows);
    w->local = arena_array(a, uint32_t, w->s->n_texts + 1u);
    w->texts = arena_array(a, const struct seg_text *, w->s->n_texts + 1u);
    if (w->use == SEAL_TO_SHOW)
        open_events_begin(&w->open, w->s);
}

static void seal_events_close(struct seal_events_work *w)
{
    arena_free(&w->arena);
    open_events_end(&w->open);
    buf_free(&w->head);
    buf_free(&w->data);
    buf_free(&w->block);
}

/* The text's number in the block. */
static inline uint32_t local_text(struct seal_events_work *w, uint32_t text)
{
    assert(text < w->s->n_texts);
    if (w->local[text] == 0) {
        w->texts[w->n_texts++] = &w->s->texts[text];
        w->local[text] = w->n_texts;
        w->text_bytes += w->s->texts[text].len;
    }
    return w->local[text] - 1;
}

/* Fields go to arrays by row, in the order of recording; only the keys are sorted. Texts get
 * numbers of the block: it must be readable without the segment. */
static inline void seal_add_event(struct seal_events_work *w, const struct bare_event *v)
{
    const uint32_t n = w->n++;
    assert(n < w->cap);
    w->keys[n] = order_key(v->at, v->dur, n, w->s->listed);
    w->rows[n] = *v;
    w->rows[n].name = local_text(w, v->name);
    w->rows[n].args = v->args ? 1 + local_text(w, v->args - 1) : 0;
}

/* Only the texts of the block are cleared, so the cost depends on the block and not on the
 * segment. */
static void forget_texts(struct seal_events_work *w)
{
    for (uint32_t i = 0; i < w->n_texts; i++)
        w->local[w->texts[i] - w->s->texts] = 0;
    w->n_texts = 0;
    w->text_bytes = 0;
}

/* Sorts the events that were added, writes them as one block, and begins the next one. Without
 * events there is no block. */
static int end_block(struct seal_events_work *w, const struct seg_track *t, struct err *e)
{
    if (w->n == 0)
        return 0;
    event_order(w->keys, w->spare, w->n);
    const struct event_rows rows = {
        .track = t,
        .n = w->n,
        .order = w->keys,
        .v = w->rows,
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

/* The events of a track, block by block. segment_event never fails here: all events were checked
 * when they were fed. The events of a block were recorded one after the other. They are sorted
 * within the block; blocks of a track may overlap in time. */
static int seal_track(struct seal_events_work *w, const struct seg_track *t, struct err *e)
{
    struct event_cur c = segment_events(t);
    struct bare_event v;
    int rc = 0;
    if (w->use == SEAL_TO_SHOW)
        open_events_track(&w->open, w->s, t);
    while (rc == 0 && segment_event(w->s, &c, &v)) {
        if (w->use == SEAL_TO_SHOW ? !open_events_show(&w->open, &v) : is_open(&v))
            continue;
        seal_add_event(w, &v);
        if (w->n == ROWS_MOST || w->text_bytes >= TEXT_BYTES_MOST)
            rc = end_block(w, t, e);
    }
    return rc ? rc : end_block(w, t, e);
}

static int seal_events(struct codec *c, const struct segment *s, uint32_t number, enum seal_use use,
                       const struct seal_out *out, struct err *e)
{
    if (s->n_tracks == 0)
        return 0;
    struct seal_events_work w = {.codec = c, .s = s, .number = number, .use = use, .out = out};
    int rc = 0;
    seal_events_open(&w);
    for (uint32_t i = 0; i < s->n_tracks && rc == 0; i++)
        rc = seal_track(&w, &s->tracks[i], e);
    seal_events_close(&w);
    return rc;
}

/* ---- rows, group by group ---- */

/* Memory of one sealing: used again for every column. */
struct scratch {
    int64_t *values, *times; /* ROWS_MOST at most */
    struct buf runs, head, data, block, bytes;
};

static void scratch_free(struct scratch *w)
{
    free(w->values);
    free(w->times);
    buf_free(&w->runs);
    buf_free(&w->head);
    buf_free(&w->data);
    buf_free(&w->block);
    buf_free(&w->bytes);
}

/* Times are stored as differences to a regular grid from the first row on, which are small and
 * compress well. Every LEVEL2-th time is in the head, too, so that readers of summaries need not
 * decode the column. */
static void seal_put_times(struct codec *c, const struct seg_group *g, struct scratch *w)
{
    const int64_t *t = w->times;
    const uint64_t period_us = (uint64_t)(g->period_ns / NS_PER_US);
    for (uint32_t i = 0; i < g->rows; i++) /* unsigned: made-up times may be anything */
        w->values[i] = (int64_t)((uint64_t)t[i] - (uint64_t)t[0] - i * period_us);
    w->bytes.len = 0;
    codec_encode(c, w->values, g->rows, true, &w->bytes);
    blob_put(&w->head, &w->data, &w->bytes);
    buf_varint(&w->head, bucket_count(g->rows, LEVEL2));
    int64_t before = t[0];
    for (uint32_t i = 0; i < g->rows; i += LEVEL2) {
        buf_varint(&w->head, zigzag((int64_t)((uint64_t)t[i] - (uint64_t)before)));
        before = t[i];
    }
}

/* The head begins with what a reader needs to skip the block: its group, period, rows and bucket
 * sizes. */
static void put_group_head(struct codec *c, const struct seg_group *g, struct scratch *w)
{
    buf_str(&w->head, g->name);
    buf_varint(&w->head, (uint64_t)g->period_ns);
    buf_varint(&w->head, g->rows);
    buf_varint(&w->head, LEVEL1);
    buf_varint(&w->head, LEVEL2);
    seal_put_times(c, g, w);
    buf_varint(&w->head, g->n_series);
}

/* One series at a time: its cells become numbers in memory that the next one uses again. */
static void seal_put_series(struct codec *c, const struct seg_series *s, struct scratch *w)
{
    const uint32_t count = segment_decode(s, w->values, &w->runs);
    assert(count <= s->span && w->runs.len % sizeof(int64_t) == 0);
    const struct column_in in = {
        .metric = s->metric,
        .unit = s->unit,
        .entity = s->entity,
        .step = s->step,
        .first_row = s->first_row,
        .count = count,
        .values = w->values,
        .runs = (const int64_t *)(const void *)w->runs.p,
        .n_runs = w->runs.len / sizeof(int64_t),
    };
    column_put(c, &in, &w->head, &w->data);
}

static int seal_group(struct codec *c, const struct segment *s, const struct seg_group *g,
                      uint32_t number, struct scratch *w, const struct seal_out *out, struct err *e)
{
    assert(g->rows > 0 && g->rows <= ROWS_MOST && g->n_series <= COLUMNS_MOST);
    w->head.len = w->data.len = 0;
    w->values = xrealloc(w->values, g->rows, sizeof *w->values);
    w->times = xrealloc(w->times, g->rows, sizeof *w->times);
    segment_times(g, w->times);
    put_group_head(c, g, w);
    for (uint32_t i = 0; i < g->n_series; i++)
        seal_put_series(c, &s->series[g->series[i]], w);
    const struct block_header h = {
        .kind = BLOCK_ROWS,
        .t_first_us = w->times[0],
        .t_last_us = w->times[g->rows - 1],
        .segment = number,
        .rows = g->rows,
    };
    return seal_emit(&h, &w->head, &w->data, &w->block, out, e);
}

/* Tracks that were named and have no event in this segment, so no block with their name. */
static void put_names(const struct segment *s, struct buf *out)
{
    for (uint32_t i = 0; i < s->n_tracks; i++) {
        const struct seg_track *t = &s->tracks[i];
        if (t->rows)
            continue;
        const size_t begun = record_begin(out, TAG_TRACK);
        buf_varint(out, i);
        buf_u8(out, t->kind);
        buf_varint(out, t->pid);
        buf_varint(out, t->id);
        buf_str(out, t->process);
        buf_str(out, t->name);
        record_end(out, begun);
    }
}

/* Records that belong to no block: losses, marks, ties, as they were in the tail. This is the
 * last block of the segment, and flagged so. */
static int seal_log(const struct segment *s, uint32_t number, struct scratch *w,
                    const struct seal_out *out, struct err *e)
{
    w->head.len = w->data.len = 0;
    buf_put(&w->head, s->log.p, s->log.len);
    put_names(s, &w->head);
    const struct block_header h = {.kind = BLOCK_LOG, .flags = BLOCK_LAST, .segment = number};
    return seal_emit(&h, &w->head, &w->data, &w->block, out, e);
}

/* The order of blocks does not matter, except that the log comes last. */
int seal_segment(struct codec *c, const struct segment *s, uint32_t number, enum seal_use use,
                 const struct seal_out *out, struct err *e)
{
    struct scratch w = {0};
    int rc = 0;
    for (uint32_t i = 0; i < s->n_groups && rc == 0; i++)
        if (s->groups[i].rows)
            rc = seal_group(c, s, &s->groups[i], number, &w, out, e);
    if (rc == 0)
        rc = seal_events(c, s, number, use, out, e);
    if (rc == 0)
        rc = seal_log(s, number, &w, out, e);
    scratch_free(&w);
    return rc;
}
