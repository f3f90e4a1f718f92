/* SPDX-License-Identifier: Apache-2.0 */
/* event_flow.c - see event_flow.h.
 *
 * A heap of the blocks that overlap, by the row that is next in each. Blocks of a track are in the
 * order of their first time, so a block is opened when its first time is not after the next row:
 * until then none of its rows can be next. Rows of a block are in order of their begin.
 *
 * Why the order is right, also for a damaged or foreign file:
 *
 * - Rows of a decoded block are in order of their begin and within the times of its head:
 *   settle_at (store/event_columns.c) refuses all others. The first time of a head is rounded down
 *   to us, so a block may be opened too early, which costs nothing, but never too late.
 * - A block that begins at the same time as the next row is opened, too, so that events of the same
 *   begin are compared by their duration.
 * - flow_take_rows ends at the first row that is not before the next row of every other block in
 *   the heap, or not before the first time of the block to open next.
 * - Each block in the heap has a next row (row < end). flow_settle_first restores that, and the
 *   order of the heap, after rows of the first block were taken.
 *
 * How long results live: rows are columns of a block of the heap. It is settled by the next call,
 * not by the one that returned the rows. Texts of a block that ends in a call move to `done` and
 * are freed by the next call. A block that was released is used again for the next one: its columns
 * are overwritten, its texts are not.
 *
 * A flow belongs to one thread. The track and its store are the run's; a flow that the run caches
 * has no open blocks, and uses a track again only after event_flow_track or event_flow_blocks. */
#include "query/event_flow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "query/run_internal.h"

enum { FLOW_EVENTS = 256 }; /* few, so that they are in the cache when the caller reads them */

/* A decoded block. */
struct flow_block {
    struct event_columns columns;
    struct arena texts; /* unless the caller has an arena for them */
    uint32_t row;       /* the next one */
    uint32_t end;       /* rows from here on are not in the window */
    bool steady;        /* as in struct flow_rows */
    uint64_t ahead;
    uint32_t place;          /* of the block in its track */
    struct flow_block *next; /* of those that are free */
};

struct event_flow {
    struct event_want want;
    struct codec *codec;
    struct flow_block *spare;
    const struct event_track *track;
    struct flow_window window;
    struct arena *texts;      /* NULL: texts are those of the blocks */
    struct arena done;        /* texts of blocks that ended in the last call */
    uint32_t next, end;       /* block to open, and the one after the last */
    struct flow_block **heap; /* blocks that are being read, the one whose row is next first */
    size_t n, cap;
    bool taken;     /* rows of the first of them, which has to be settled */
    bool as_stored; /* event_flow_blocks */
    flow_names_fn *wanted;
    void *ctx;
    struct run_event events[FLOW_EVENTS];
};

static const struct events_block *flow_block_of(const struct event_track *t, uint32_t place)
{
    assert(place < t->n_blocks);
    return &t->store->events[t->blocks[place]];
}

/* ---- decoding ---- */

static void flow_release(struct event_flow *f, struct flow_block *b)
{
    arena_join(&f->done, &b->texts);
    b->next = f->spare;
    f->spare = b;
}

/* NULL: the block is damaged. */
static struct flow_block *flow_decode(struct event_flow *f, uint32_t place)
{
    struct flow_block *b = f->spare;
    if (b)
        f->spare = b->next;
    else
        b = xcalloc(1, sizeof *b);
    assert(b->texts.chunks == NULL);
    b->row = 0;
    b->place = place;
    if (event_columns_read(&b->columns, f->codec, flow_block_of(f->track, place), &f->want,
                           f->texts ? f->texts : &b->texts))
        return b;
    flow_release(f, b);
    return NULL;
}

/* ---- the heap ---- */

/* Whether the next row of x comes before that of y; equal ones are in the order of blocks. */
static bool flow_comes_before(const struct flow_block *x, const struct flow_block *y)
{
    const int64_t a = x->columns.v[COLUMN_AT][x->row], b = y->columns.v[COLUMN_AT][y->row];
    if (a != b)
        return a < b;
    const int64_t longer = event_cell(&x->columns, COLUMN_DUR, x->row);
    const int64_t other = event_cell(&y->columns, COLUMN_DUR, y->row);
    return longer != other ? longer > other : x->place < y->place;
}

static void flow_swap(struct event_flow *f, size_t i, size_t k)
{
    assert(i < f->n && k < f->n);
    struct flow_block *b = f->heap[i];
    f->heap[i] = f->heap[k];
    f->heap[k] = b;
}

static void flow_sift_up(struct event_flow *f, size_t i)
{
    for (; i > 0 && flow_comes_before(f->heap[i], f->heap[(i - 1) / 2]); i = (i - 1) / 2)
        flow_swap(f, i, (i - 1) / 2);
}

/* The child of `i` that is next; `i` itself when it has none. */
static size_t flow_next_child(const struct event_flow *f, size_t i)
{
    const size_t left = 2 * i + 1, right = left + 1;
    if (left >= f->n)
        return i;
    return right < f->n && flow_comes_before(f->heap[right], f->heap[left]) ? right : left;
}

static void flow_sift_down(struct event_flow *f)
{
    for (size_t i = 0, k;
         (k = flow_next_child(f, i)) != i && flow_comes_before(f->heap[k], f->heap[i]); i = k)
        flow_swap(f, i, k);
}

/* ---- windows and clocks ---- */

static bool flow_window_meets(const struct flow_window *w, const struct event_track *t,
                              uint32_t place)
{
    const struct events_block *b = flow_block_of(t, place);
    return flow_window_overlaps(w, store_wall(t->store, b->t_first_us).ns,
                                store_wall(t->store, b->t_last_us).ns);
}

static uint64_t flow_ahead_of(const struct store *s, mono_ns t)
{
    return (uint64_t)event_wall(s, t).ns - (uint64_t)t.ns;
}

/* The wall clock only ever steps forward, so if the first and the last row are equally far from it,
 * all rows between them are. */
static void flow_compare_clocks(const struct event_flow *f, struct flow_block *b)
{
    const int64_t *at = b->columns.v[COLUMN_AT];
    const uint32_t rows = b->columns.rows;
    b->ahead = rows ? flow_ahead_of(f->track->store, (mono_ns){at[0]}) : 0;
    b->steady = rows && flow_ahead_of(f->track->store, (mono_ns){at[rows - 1]}) == b->ahead;
}

static struct flow_rows flow_rows_of(const struct event_flow *f, const struct flow_block *b,
                                     uint32_t from, uint32_t to)
{
    return (struct flow_rows){&b->columns, from, to, f->track->store, b->steady, b->ahead};
}

/* The first row that does not begin before the end of the window. */
static uint32_t flow_end_of_rows(const struct event_flow *f, const struct flow_block *b)
{
    const struct flow_rows rows = flow_rows_of(f, b, 0, b->columns.rows);
    const int64_t t = f->window.to.ns;
    return t ? (uint32_t)SEARCH_FIRST(i, 0, rows.to, flow_row_wall(&rows, (uint32_t)i) < t)
             : rows.to;
}

/* Leaves out the rows before the first one in the window, and those that begin after it. False: no
 * row is left. */
static bool flow_cut_rows(const struct event_flow *f, struct flow_block *b)
{
    const struct flow_rows rows = flow_rows_of(f, b, 0, b->columns.rows);
    b->end = flow_end_of_rows(f, b);
    for (; b->row < b->end; b->row++) {
        const int64_t begin = flow_row_wall(&rows, b->row);
        const int64_t dur = event_cell(&b->columns, COLUMN_DUR, b->row);
        if (flow_window_overlaps(&f->window, begin, begin + dur))
            return true;
    }
    return false;
}

/* ---- blocks in order of time ---- */

static void flow_open_block(struct event_flow *f, uint32_t place)
{
    struct flow_block *b = flow_decode(f, place);
    if (!b)
        return;
    flow_compare_clocks(f, b);
    if (!flow_cut_rows(f, b)) {
        flow_release(f, b);
        return;
    }
    assert(b->row < b->end && b->end <= b->columns.rows); /* what the heap compares */
    VEC_ROOM(f->heap, f->cap, f->n + 1);
    f->heap[f->n] = b;
    flow_sift_up(f, f->n++);
}

/* The first block has another next row now, or none. */
static void flow_settle_first(struct event_flow *f)
{
    struct flow_block *b = f->heap[0];
    assert(f->n > 0 && b->row <= b->end);
    if (b->row == b->end) {
        f->heap[0] = f->heap[--f->n];
        flow_release(f, b);
    }
    flow_sift_down(f);
    assert(f->n == 0 || f->heap[0]->row < f->heap[0]->end);
}

static int64_t flow_begin_of(const struct event_flow *f, uint32_t place)
{
    return flow_block_of(f->track, place)->t_first_us * NS_PER_US;
}

/* Opens all blocks that may have the next row; false: there is none. */
static bool flow_open_blocks(struct event_flow *f)
{
    for (; f->next < f->end; f->next++) {
        if (f->n && flow_begin_of(f, f->next) > f->heap[0]->columns.v[COLUMN_AT][f->heap[0]->row])
            break;
        if (flow_window_meets(&f->window, f->track, f->next))
            flow_open_block(f, f->next);
    }
    return f->n > 0;
}

/* The rows of the first block up to its end, or until another block comes before it. They are valid
 * until flow_settle_first, which has to follow. */
static struct flow_rows flow_take_rows(struct event_flow *f, size_t most)
{
    struct flow_block *b = f->heap[0];
    const size_t k = flow_next_child(f, 0);
    const struct flow_block *other = k ? f->heap[k] : NULL;
    const int64_t later = f->next < f->end ? flow_begin_of(f, f->next) : INT64_MAX;
    const uint32_t from = b->row, end = (uint32_t)MIN_OF((size_t)b->end, from + most);
    assert(from < b->end && b->end <= b->columns.rows);
    do
        b->row++;
    while (b->row < end && b->columns.v[COLUMN_AT][b->row] < later &&
           (!other || flow_comes_before(b, other)));
    return flow_rows_of(f, b, from, b->row);
}

/* ---- events ---- */

static size_t flow_take_events(struct event_flow *f, struct run_event *out, size_t most)
{
    const struct flow_rows rows = flow_take_rows(f, most);
    assert(rows.to - rows.from <= most);
    for (uint32_t i = rows.from; i < rows.to; i++)
        event_columns_row(rows.columns, i, &out[i - rows.from].event);
    flow_settle_first(f);
    return rows.to - rows.from;
}

/* The same as flow_compare_clocks for rows that may be of several blocks. */
static void flow_set_wall_times(const struct store *s, struct run_event *v, size_t n)
{
    const uint64_t ahead = flow_ahead_of(s, v[0].event.at);
    const bool steady = flow_ahead_of(s, v[n - 1].event.at) == ahead;
    for (size_t i = 0; i < n; i++) {
        const mono_ns at = v[i].event.at;
        v[i].at.ns = (int64_t)((uint64_t)at.ns + (steady ? ahead : flow_ahead_of(s, at)));
    }
}

static size_t flow_keep_overlapping(const struct flow_window *w, struct run_event *v, size_t n)
{
    size_t left = 0;
    if (!w->from.ns && !w->to.ns)
        return n;
    for (size_t i = 0; i < n; i++)
        if (flow_window_overlaps(w, v[i].at.ns, v[i].at.ns + v[i].event.dur_ns))
            v[left++] = v[i];
    return left;
}

size_t event_flow_next(struct event_flow *f, const struct run_event **out)
{
    assert(!f->as_stored && !f->taken); /* nor are its rows read by event_flow_rows */
    arena_free(&f->done);
    *out = f->events;
    for (size_t n = 0; flow_open_blocks(f); n = 0) {
        while (n < FLOW_EVENTS && flow_open_blocks(f))
            n += flow_take_events(f, f->events + n, FLOW_EVENTS - n);
        flow_set_wall_times(f->track->store, f->events, n);
        n = flow_keep_overlapping(&f->window, f->events, n);
        if (n)
            return n;
    }
    return 0;
}

/* ---- rows ---- */

static bool flow_wants_block(struct event_flow *f, uint32_t place)
{
    const struct events_block *b = flow_block_of(f->track, place);
    struct arena texts = {0};
    const char **names;
    const bool wanted = !f->wanted || (store_event_names(f->codec, b, &texts, &names) &&
                                       f->wanted(f->ctx, names, b->n_names));
    arena_free(&texts);
    return wanted;
}

static bool flow_next_stored(struct event_flow *f, struct flow_rows *out)
{
    assert(f->n <= 1); /* one block at a time */
    if (f->n)
        flow_release(f, f->heap[--f->n]);
    while (f->next < f->end && f->n == 0) {
        const uint32_t place = f->next++;
        if (flow_wants_block(f, place))
            flow_open_block(f, place);
    }
    if (f->n)
        *out = flow_rows_of(f, f->heap[0], 0, f->heap[0]->columns.rows);
    return f->n > 0;
}

bool event_flow_rows(struct event_flow *f, struct flow_rows *out)
{
    arena_free(&f->done);
    if (f->as_stored)
        return flow_next_stored(f, out);
    if (f->taken)
        flow_settle_first(f);
    f->taken = flow_open_blocks(f);
    if (f->taken)
        *out = flow_take_rows(f, FLOW_EVENTS);
    return f->taken;
}

/* ---- tracks ---- */

static void flow_close_blocks(struct event_flow *f)
{
    while (f->n)
        flow_release(f, f->heap[--f->n]);
    f->taken = f->as_stored = false;
    arena_free(&f->done);
}

int event_flow_track(struct event_flow *f, struct run *r, const struct run_track *t,
                     const struct flow_window *w, struct arena *texts, struct err *e)
{
    const struct event_track *track = run_event_track(r, t, e);
    if (!track)
        return e->code;
    flow_close_blocks(f);
    f->track = track;
    f->window = *w;
    f->texts = texts;
    f->next = 0;
    f->end = track->n_blocks;
    return 0;
}

void event_flow_blocks(struct event_flow *f, const struct event_track *t, uint32_t first,
                       uint32_t n, flow_names_fn *wanted, void *ctx)
{
    assert(first + n <= t->n_blocks);
    flow_close_blocks(f);
    f->track = t;
    f->window = (struct flow_window){{0}, {0}};
    f->texts = NULL;
    f->next = first;
    f->end = first + n;
    f->as_stored = true;
    f->wanted = wanted;
    f->ctx = ctx;
}

struct event_flow *event_flow_open(const struct event_want *want)
{
    struct event_flow *f = xcalloc(1, sizeof *f);
    f->want = *want;
    f->codec = codec_open();
    return f;
}

void event_flow_close(struct event_flow *f)
{
    if (!f)
        return;
    flow_close_blocks(f);
    for (struct flow_block *b; (b = f->spare);) {
        f->spare = b->next;
        event_columns_free(&b->columns);
        free(b);
    }
    codec_close(f->codec);
    free(f->heap);
    free(f);
}

int events_read(struct run *r, const struct run_track *t, wall_ns from, wall_ns to, struct arena *a,
                struct run_event **out, size_t *n, struct err *e)
{
    const struct flow_window w = {from, to};
    struct event_flow *f = event_flow_open(&EVENT_WANT_ALL);
    const int rc = event_flow_track(f, r, t, &w, a, e);
    const struct run_event *v;
    uint64_t rows = 0;
    for (uint32_t i = 0; rc == 0 && i < f->end; i++)
        rows += flow_window_meets(&w, f->track, i) ? flow_block_of(f->track, i)->rows : 0;
    if (rc == 0) {
        *out = arena_array(a, struct run_event, rows);
        *n = 0;
    }
    for (size_t more; rc == 0 && (more = event_flow_next(f, &v)) > 0; *n += more) {
        assert(more <= rows - *n);
        memcpy(*out + *n, v, more * sizeof *v);
    }
    event_flow_close(f);
    return rc;
}

/* ---- flows that a run caches ---- */

/* Bytes: of two large blocks, which mostly overlap at their edges, and of what decoding takes. */
enum { CACHED_MOST = 4 << 20 };

struct event_flow *event_flow_borrow(struct run *r)
{
    struct event_flow *f = r->flow;
    r->flow = NULL;
    return f ? f : event_flow_open(&(struct event_want){0});
}

void event_flow_give_back(struct run *r, struct event_flow *f)
{
    flow_close_blocks(f);
    if (r->flow || event_flow_memory(f) > CACHED_MOST)
        event_flow_close(f);
    else
        r->flow = f;
}

size_t event_flow_memory(const struct event_flow *f)
{
    size_t bytes = f ? sizeof *f + f->cap * sizeof *f->heap + codec_memory(f->codec) : 0;
    for (const struct flow_block *b = f ? f->spare : NULL; b; b = b->next)
        bytes += sizeof *b + event_columns_memory(&b->columns);
    return bytes;
}

/* ---- blocks of a track ---- */

int track_blocks(struct run *r, const struct run_track *t, wall_ns from, wall_ns to,
                 struct arena *a, struct track_block **out, size_t *n, struct err *e)
{
    const struct flow_window w = {from, to};
    const struct event_track *track = run_event_track(r, t, e);
    if (!track)
        return e->code;
    *n = 0;
    *out = arena_array(a, struct track_block, track->n_blocks + 1);
    for (uint32_t i = 0; i < track->n_blocks; i++) {
        const struct events_block *b = flow_block_of(track, i);
        if (flow_window_meets(&w, track, i))
            (*out)[(*n)++] =
                (struct track_block){store_wall(track->store, b->t_first_us),
                                     store_wall(track->store, b->t_last_us), b->rows, i};
    }
    return 0;
}

int track_block_names(struct run *r, const struct run_track *t, const struct track_block *block,
                      struct arena *a, const char ***out, size_t *n, struct err *e)
{
    const struct event_track *track = run_event_track(r, t, e);
    if (!track)
        return e->code;
    const struct events_block *b = flow_block_of(track, block->place);
    struct codec *codec = codec_open();
    if (!store_event_names(codec, b, a, out))
        *out = NULL;
    codec_close(codec);
    *n = *out ? b->n_names : 0;
    return 0;
}
