/* SPDX-License-Identifier: Apache-2.0 */
/* event_flow.c - see event_flow.h. A heap of the blocks that overlap, by the row that is next in
 * each; blocks that begin later are opened when their time has come. */
#include "query/event_flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { PIECE = 256 }; /* events; few, so that they are in the cache when they are looked at */

struct event_flow {
    struct event_blocks *blocks;
    const struct event_track *track;
    struct flow_window window;
    struct arena *texts;
    uint32_t next;              /* block to open */
    struct event_source **heap; /* blocks that are being read, the one whose row is next first */
    size_t n, cap;
    bool taken; /* rows of the first of them, which has to be settled */
    struct run_event piece[PIECE];
};

/* ---- windows ---- */

bool flow_window_meets(const struct flow_window *w, const struct event_track *t, uint32_t i)
{
    const struct events_block *b = event_block_of(t, i);
    return flow_window_overlaps(w, store_wall(t->store, b->t_first_us).ns,
                                store_wall(t->store, b->t_last_us).ns);
}

/* ---- the heap ---- */

/* Whether what is next in x comes before what is next in y; what is equal in the order of blocks.
 */
static bool comes_before(const struct event_source *x, const struct event_source *y)
{
    const int64_t a = x->columns.v[COLUMN_AT][x->row], b = y->columns.v[COLUMN_AT][y->row];
    if (a != b)
        return a < b;
    const int64_t longer = event_cell(&x->columns, COLUMN_DUR, x->row);
    const int64_t other = event_cell(&y->columns, COLUMN_DUR, y->row);
    return longer != other ? longer > other : x->place < y->place;
}

static void swap(struct event_flow *f, size_t i, size_t k)
{
    struct event_source *s = f->heap[i];
    f->heap[i] = f->heap[k];
    f->heap[k] = s;
}

static void sift_up(struct event_flow *f, size_t i)
{
    for (; i > 0 && comes_before(f->heap[i], f->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(f, i, (i - 1) / 2);
}

/* The child of `i` that is next; `i` itself when it has none. */
static size_t next_child(const struct event_flow *f, size_t i)
{
    const size_t left = 2 * i + 1, right = left + 1;
    if (left >= f->n)
        return i;
    return right < f->n && comes_before(f->heap[right], f->heap[left]) ? right : left;
}

static void sift_down(struct event_flow *f)
{
    for (size_t i = 0, k; (k = next_child(f, i)) != i && comes_before(f->heap[k], f->heap[i]);
         i = k)
        swap(f, i, k);
}

/* ---- blocks ---- */

static uint64_t ahead_of(const struct store *s, mono_ns t)
{
    return (uint64_t)event_wall(s, t).ns - (uint64_t)t.ns;
}

/* Clocks are only ever put forward, so when the first and the last row are as far from the wall
 * clock, all between them are. */
static void compare_clocks(const struct event_flow *f, struct event_source *s)
{
    const int64_t *at = s->columns.v[COLUMN_AT];
    const uint32_t rows = s->columns.rows;
    s->ahead = rows ? ahead_of(f->track->store, (mono_ns){at[0]}) : 0;
    s->steady = rows && ahead_of(f->track->store, (mono_ns){at[rows - 1]}) == s->ahead;
}

static int64_t wall_of_row(const struct event_flow *f, const struct event_source *s, uint32_t row)
{
    const mono_ns at = {s->columns.v[COLUMN_AT][row]};
    return s->steady ? (int64_t)((uint64_t)at.ns + s->ahead) : event_wall(f->track->store, at).ns;
}

/* The first row that does not begin before the end of the window: as rows do, the wall clock goes
 * on. */
static uint32_t end_of_rows(const struct event_flow *f, const struct event_source *s)
{
    uint32_t lo = 0, hi = s->columns.rows;
    if (!f->window.to.ns)
        return hi;
    while (lo < hi) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (wall_of_row(f, s, mid) < f->window.to.ns)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool row_overlaps(const struct event_flow *f, const struct event_source *s, uint32_t row)
{
    const int64_t begin = wall_of_row(f, s, row);
    return flow_window_overlaps(&f->window, begin,
                                begin + event_cell(&s->columns, COLUMN_DUR, row));
}

/* Of a block that reaches out of the window no events are made of the rows before the first in it,
 * nor of those that begin behind it. False: of none. */
static bool cut_rows(const struct event_flow *f, struct event_source *s)
{
    s->end = end_of_rows(f, s);
    while (s->row < s->end && !row_overlaps(f, s, s->row))
        s->row++;
    return s->row < s->end;
}

static void open_block(struct event_flow *f, uint32_t place)
{
    struct event_source *s = event_blocks_take(f->blocks, f->track, place, f->texts);
    if (!s)
        return;
    compare_clocks(f, s);
    if (!cut_rows(f, s)) {
        event_blocks_give(f->blocks, s);
        return;
    }
    if (f->n == f->cap) {
        f->cap = f->cap ? 2 * f->cap : 8;
        f->heap = xrealloc(f->heap, f->cap, sizeof *f->heap);
    }
    f->heap[f->n] = s;
    sift_up(f, f->n++);
}

/* What is next in the first source is another row now, or nothing. */
static void settle_first(struct event_flow *f)
{
    struct event_source *s = f->heap[0];
    if (s->row == s->end) {
        f->heap[0] = f->heap[--f->n];
        event_blocks_give(f->blocks, s);
    }
    sift_down(f);
}

static int64_t begin_of(const struct event_flow *f, uint32_t place)
{
    return event_block_of(f->track, place)->t_first_us * NS_PER_US;
}

/* Opens what may come before the next row of those that are open; false: there is no next one. */
static bool open_blocks(struct event_flow *f)
{
    for (; f->next < f->track->n_blocks; f->next++) {
        if (f->n && begin_of(f, f->next) > f->heap[0]->columns.v[COLUMN_AT][f->heap[0]->row])
            break;
        if (flow_window_meets(&f->window, f->track, f->next))
            open_block(f, f->next);
    }
    return f->n > 0;
}

/* ---- events ---- */

/* The rows of the first source up to its end, or until another one comes before it. They are there
 * until settle_first, which has to follow. */
static struct flow_rows take_rows(struct event_flow *f, size_t most)
{
    struct event_source *s = f->heap[0];
    const size_t k = next_child(f, 0);
    const struct event_source *other = k ? f->heap[k] : NULL;
    const int64_t later = f->next < f->track->n_blocks ? begin_of(f, f->next) : INT64_MAX;
    const uint32_t from = s->row, end = (uint32_t)MIN_OF((size_t)s->end, from + most);
    do
        s->row++;
    while (s->row < end && s->columns.v[COLUMN_AT][s->row] < later &&
           (!other || comes_before(s, other)));
    return (struct flow_rows){&s->columns, from, s->row, f->track->store, s->steady, s->ahead};
}

static size_t take(struct event_flow *f, struct run_event *out, size_t most)
{
    const struct flow_rows rows = take_rows(f, most);
    for (uint32_t i = rows.from; i < rows.to; i++)
        event_columns_row(rows.columns, i, &out[i - rows.from].event);
    settle_first(f);
    return rows.to - rows.from;
}

/* The same of rows that may be of several blocks. */
static void tell_wall_times(const struct store *s, struct run_event *v, size_t n)
{
    const uint64_t ahead = ahead_of(s, v[0].event.at);
    const bool steady = ahead_of(s, v[n - 1].event.at) == ahead;
    for (size_t i = 0; i < n; i++)
        v[i].at.ns =
            (int64_t)((uint64_t)v[i].event.at.ns + (steady ? ahead : ahead_of(s, v[i].event.at)));
}

static size_t keep_overlapping(const struct flow_window *w, struct run_event *v, size_t n)
{
    size_t kept = 0;
    if (!w->from.ns && !w->to.ns)
        return n;
    for (size_t i = 0; i < n; i++)
        if (flow_window_overlaps(w, v[i].at.ns, v[i].at.ns + v[i].event.dur_ns))
            v[kept++] = v[i];
    return kept;
}

size_t event_flow_next(struct event_flow *f, const struct run_event **out)
{
    *out = f->piece;
    for (size_t n = 0; open_blocks(f); n = 0) {
        while (n < PIECE && open_blocks(f))
            n += take(f, f->piece + n, PIECE - n);
        tell_wall_times(f->track->store, f->piece, n);
        n = keep_overlapping(&f->window, f->piece, n);
        if (n)
            return n;
    }
    return 0;
}

bool event_flow_rows(struct event_flow *f, struct flow_rows *out)
{
    if (f->taken)
        settle_first(f);
    f->taken = open_blocks(f);
    if (f->taken)
        *out = take_rows(f, PIECE);
    return f->taken;
}

static void close_blocks(struct event_flow *f)
{
    while (f->n)
        event_blocks_give(f->blocks, f->heap[--f->n]);
    f->taken = false;
}

void event_flow_track(struct event_flow *f, const struct event_track *t,
                      const struct flow_window *w, struct arena *texts)
{
    close_blocks(f);
    f->track = t;
    f->window = *w;
    f->texts = texts;
    f->next = 0;
}

struct event_flow *event_flow_open(const struct event_want *want)
{
    struct event_flow *f = xcalloc(1, sizeof *f);
    f->blocks = event_blocks_open(want);
    return f;
}

void event_flow_ahead(struct event_flow *f, const struct event_track *const *tracks, size_t n)
{
    event_blocks_ahead(f->blocks, tracks, n);
}

void event_flow_close(struct event_flow *f)
{
    if (!f)
        return;
    close_blocks(f);
    event_blocks_close(f->blocks);
    free(f->heap);
    free(f);
}

/* ---- kept ---- */

/* Bytes: of two large blocks, which mostly overlap at their edges, and of what decoding takes. */
enum { KEPT_MOST = 4 << 20 };

struct event_flow *event_flow_borrow(struct run *r)
{
    struct event_flow *f = r->flow;
    r->flow = NULL;
    return f ? f : event_flow_open(&(struct event_want){0});
}

void event_flow_give_back(struct run *r, struct event_flow *f)
{
    close_blocks(f);
    if (r->flow || event_flow_memory(f) > KEPT_MOST)
        event_flow_close(f);
    else
        r->flow = f;
}

size_t event_flow_memory(const struct event_flow *f)
{
    return f ? sizeof *f + f->cap * sizeof *f->heap + event_blocks_memory(f->blocks) : 0;
}
