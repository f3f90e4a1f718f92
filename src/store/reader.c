/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - see reader.h. writer.c describes how the files are made.
 *
 *     tail, then file     read in this order (reader_open_parts)
 *     blocks of the file  by the index of a closed file, else by walking (find_blocks)
 *     blocks of the tail  sealed in memory, when the file does not have its segment (use_tail)
 *     heads of blocks     parsed into rows_block, events_block, losses, marks, ties (catalog.c)
 *
 * Why each stored row is listed once, while a writer works and after any crash:
 *
 * - A segment is in the file when its block with BLOCK_LAST is whole there. Then the tail of that
 *   number is ignored. Otherwise blocks of that segment in the file are ignored (forget_segment),
 *   and the tail has all of it: the writer empties it only after BLOCK_LAST is written.
 * - The tail is read before the file. If the writer seals in between, the segment is in both
 *   copies, and the file's counts. In the other order it could be in neither.
 * - A writer whose disk is full cuts off what it could not finish. A file without its end is
 *   therefore copied, not mapped: a mapping of cut pages would raise SIGBUS. A closed file never
 *   changes.
 *
 * Nothing is believed without its checksum: header and head of a block when the store is opened,
 * each column when it is decoded (blob_whole). What does not match is left out and counted in
 * `damaged`; what ends in the middle sets `torn`. */
#include "store/reader.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/event_block.h"
#include "store/reader_internal.h"
#include "store/seal.h"
#include "store/segment.h"

enum {
    TAIL_MOST = 256 << 20,
    BAD_BLOCKS_MOST = 1000, /* wrong checksums after which the rest is given up */
};

struct found_block {
    struct block_header h;
    const uint8_t *p;
};

struct store_own {
    struct fmap map;
    struct buf tail_blocks;
    struct found_block *found;
    uint32_t n_found, cap_found;
    uint64_t damaged; /* ranges of the file that are no block, headers, a tail */
    bool torn;
    bool no_header; /* the file's is damaged */
    bool bad_tail;  /* it is there and cannot be read */
};

/* Blocks are listed in the order of the file, those of the tail after them. */
static void add_found(struct store_own *o, const struct block_header *h, const uint8_t *p)
{
    *VEC_ADD(o->found, o->n_found, o->cap_found) = (struct found_block){*h, p};
}

/* ---- finding the blocks ---- */

/* The next whole block from `at` on; n: none. Blocks are aligned, so only multiples are tried. */
static size_t next_block(const uint8_t *p, size_t at, size_t n, unsigned *tries)
{
    struct block_header h;
    const uint32_t magic = BLOCK_MAGIC;
    for (; at + BLOCK_HEADER_LEN <= n; at += BLOCK_ALIGN) {
        if (memcmp(p + at, &magic, sizeof magic) != 0)
            continue;
        if (block_get(&h, p + at, n - at))
            return at;
        if (++*tries > BAD_BLOCKS_MOST)
            break;
    }
    return n;
}

/* An index that was being written when the recorder died takes nothing with it. */
static bool is_index(const uint8_t *p, size_t n)
{
    struct cur c = cur_of(p, n);
    return cur_u32(&c) == BLOCK_MAGIC && cur_u16(&c) == BLOCK_INDEX && !c.bad;
}

/* A block that does not check is skipped by searching the next one. Damage costs the blocks that
 * it hits, and not what follows. The search gives up after BAD_BLOCKS_MOST false starts: a file
 * full of magic numbers must not cost minutes. */
static void walk_blocks(struct store_own *o, const uint8_t *p, size_t at, size_t n)
{
    unsigned tries = 0;
    while (at < n) {
        struct block_header h;
        assert(at % BLOCK_ALIGN == 0);
        if (block_get(&h, p + at, n - at)) {
            if (h.kind == BLOCK_INDEX)
                return; /* nothing but the end comes after it */
            add_found(o, &h, p + at);
            at += block_size(&h); /* may pass n by padding that was not written */
            continue;
        }
        const size_t next = next_block(p, at + BLOCK_ALIGN, n, &tries);
        if (next < n)
            o->damaged++;
        else
            o->torn = !is_index(p + at, n - at);
        at = next;
    }
}

/* The index of a closed file. False when there is none, or it does not lead to whole blocks. */
static bool use_index(struct store_own *o, const uint8_t *p, size_t n)
{
    if (n < FILE_HEADER_LEN + BLOCK_HEADER_LEN + FILE_END_LEN ||
        memcmp(p + n - 8, FILE_END_MAGIC, 8) != 0)
        return false;
    struct cur end = cur_of(p + n - FILE_END_LEN, 8);
    const uint64_t at = cur_u64(&end);
    struct block_header h;
    if (at >= n || at % BLOCK_ALIGN || !block_get(&h, p + at, n - at) || h.kind != BLOCK_INDEX)
        return false;
    struct cur in = cur_of(p + at + BLOCK_HEADER_LEN, h.head_len);
    const uint64_t count = cur_varint_most(&in, n / BLOCK_HEADER_LEN);
    uint64_t offset = 0, end_before = FILE_HEADER_LEN;
    for (uint64_t i = 0; i < count; i++) {
        offset += cur_varint_most(&in, n) * BLOCK_ALIGN;
        cur_varint(&in);
        if (in.bad || offset < end_before || offset >= n)
            return false;
        struct block_header one;
        if (block_get(&one, p + offset, n - offset)) {
            add_found(o, &one, p + offset);
            end_before = offset + block_size(&one);
        } else {
            o->damaged++;
            end_before = offset + BLOCK_HEADER_LEN;
        }
    }
    return true;
}

/* ---- the tail ---- */

/* Whether the file has all blocks of a segment: its last one is there. */
static bool segment_complete(const struct store_own *o, uint64_t number)
{
    for (uint32_t i = 0; i < o->n_found; i++)
        if (o->found[i].h.segment == number && o->found[i].h.flags & BLOCK_LAST)
            return true;
    return false;
}

/* The number of the segment that the tail has when its header does not say: one more than the
 * last complete one. */
static uint64_t next_segment(const struct store_own *o)
{
    uint64_t next = 1;
    for (uint32_t i = 0; i < o->n_found; i++)
        if (o->found[i].h.flags & BLOCK_LAST)
            next = MAX_OF(next, (uint64_t)o->found[i].h.segment + 1);
    return next;
}

/* Blocks of a segment that is incomplete in the file: the tail has all of it. */
static void forget_segment(struct store_own *o, uint64_t number)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->n_found; i++)
        if (o->found[i].h.segment != number)
            o->found[n++] = o->found[i];
    o->n_found = n;
}

static int keep_in_memory(void *ctx, const struct block_header *h, const struct buf *b,
                          struct err *e)
{
    (void)h;
    (void)e;
    buf_put(ctx, b->p, b->len);
    return 0;
}

/* NAME.tail beside NAME.fp; the name of a session has its number in the stem. */
static int tail_path(const struct store *s, char *path, struct err *e)
{
    const size_t n = strlen(s->path);
    const size_t stem = n > 3 && strcmp(s->path + n - 3, "." STORE_SEALED) == 0 ? n - 3 : n;
    return path_join(path, e, "%.*s." STORE_TAIL, (int)stem, s->path);
}

/* Seals the tail in memory. One that was never begun, is another recorder's, or is sealed already
 * is ignored. */
static void use_tail(struct store *s, const char *bytes, size_t len)
{
    struct file_header h;
    struct err e;
    const uint8_t *p = (const uint8_t *)bytes;
    if (len == 0)
        return;
    const int rc = file_header_get(&h, p, len, "tail", &e);
    if (rc && (s->closed || rc != ERR_FORMAT || len < FILE_HEADER_LEN)) {
        s->own->torn |= !s->closed;
        return;
    }
    if (rc) /* a damaged header: the number is the next one, and the checksums decide */
        h = (struct file_header){.kind = FILE_TAIL, .segment = next_segment(s->own)};
    s->own->damaged += rc != 0;
    const bool other = !rc && !s->own->no_header && memcmp(h.id, s->id, sizeof h.id) != 0;
    if (h.kind != FILE_TAIL || other || segment_complete(s->own, h.segment))
        return;
    struct segment seg = {0};
    bool torn = false;
    assert(len >= FILE_HEADER_LEN); /* file_header_get refuses less */
    segment_read_frames(&seg, p + FILE_HEADER_LEN, len - FILE_HEADER_LEN, h.segment, &torn);
    forget_segment(s->own, h.segment);
    const struct seal_out out = {keep_in_memory, &s->own->tail_blocks};
    assert(s->own->tail_blocks.len == 0); /* blocks point into it, so it is filled once */
    struct codec *codec = codec_open();
    if (seal_segment(codec, &seg, (uint32_t)h.segment, SEAL_TO_SHOW, &out, &e) == 0)
        walk_blocks(s->own, s->own->tail_blocks.p, 0, s->own->tail_blocks.len);
    codec_close(codec);
    segment_free(&seg);
    /* What the file ends in the middle of is this very segment, and that is in the tail. */
    if (h.segment <= 1 || segment_complete(s->own, h.segment - 1))
        s->own->torn = false;
    s->own->torn |= torn;
    s->file_bytes += len;
}

/* ---- parsing the heads ---- */

static bool is_of_tail(const struct store_own *o, const uint8_t *p)
{
    return o->tail_blocks.len && p >= o->tail_blocks.p && p < o->tail_blocks.p + o->tail_blocks.len;
}

/* False: damaged. Kinds of a later version are skipped. */
static bool parse_block(struct store *s, struct catalog *cat, const struct found_block *f)
{
    const uint8_t *payload = f->p + BLOCK_HEADER_LEN;
    bool good = true;
    switch (f->h.kind) {
    case BLOCK_LOG:
        return catalog_log(cat, payload, f->h.head_len);
    case BLOCK_ROWS:
        good = rows_block_get(&f->h, payload, &s->arena, &s->blocks[s->n_blocks]);
        s->blocks[s->n_blocks].in_tail = is_of_tail(s->own, f->p);
        s->n_blocks += good;
        return good;
    case BLOCK_EVENTS:
        good = event_block_get(&f->h, payload, &s->events[s->n_events]);
        if (good)
            track_names_add(&cat->names, &s->events[s->n_events++].track);
        return good;
    default:
        return good;
    }
}

static uint32_t count_kind(const struct store_own *o, enum block_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->n_found; i++)
        n += o->found[i].h.kind == kind;
    return n;
}

/* Each head is parsed once. The names of a track may come later than its first block, so they
 * are applied when all blocks are known. */
static void parse_blocks(struct store *s, struct catalog *cat)
{
    struct store_own *o = s->own;
    s->blocks = arena_array(&s->arena, struct rows_block, count_kind(o, BLOCK_ROWS));
    s->events = arena_array(&s->arena, struct events_block, count_kind(o, BLOCK_EVENTS));
    for (uint32_t i = 0; i < o->n_found; i++)
        o->damaged += !parse_block(s, cat, &o->found[i]);
    assert(s->n_blocks <= count_kind(o, BLOCK_ROWS));
    assert(s->n_events <= count_kind(o, BLOCK_EVENTS));
    for (uint32_t i = 0; i < s->n_events; i++)
        track_names_apply(&cat->names, &s->events[i].track);
    track_names_free(&cat->names);
}

/* Blocks of different groups interleave; those of one group do not overlap. */
static int reader_by_time(const void *a, const void *b)
{
    const struct rows_block *x = a, *y = b;
    return (x->t_first_us > y->t_first_us) - (x->t_first_us < y->t_first_us);
}

static int events_by_time(const void *a, const void *b)
{
    const struct events_block *x = a, *y = b;
    if (x->t_first_us != y->t_first_us)
        return x->t_first_us > y->t_first_us ? 1 : -1;
    if (x->track.pid != y->track.pid)
        return x->track.pid > y->track.pid ? 1 : -1;
    return (x->track.id > y->track.id) - (x->track.id < y->track.id);
}

static void reader_add_span(struct store *s, bool first, int64_t from_us, int64_t to_us)
{
    s->t_first_us = first ? from_us : MIN_OF(s->t_first_us, from_us);
    s->t_last_us = first ? to_us : MAX_OF(s->t_last_us, to_us);
}

/* Drops blocks whose wall time is out of range, so that sums and differences of times cannot
 * overflow later. */
static void drop_far_blocks(struct store *s)
{
    uint32_t rows = 0, events = 0;
    for (uint32_t i = 0; i < s->n_blocks; i++)
        if (store_wall_fits(s, s->blocks[i].t_first_us, s->blocks[i].t_last_us))
            s->blocks[rows++] = s->blocks[i];
        else
            rows_block_forget(&s->blocks[i]);
    for (uint32_t i = 0; i < s->n_events; i++)
        if (store_wall_fits(s, s->events[i].t_first_us, s->events[i].t_last_us))
            s->events[events++] = s->events[i];
    assert(rows <= s->n_blocks && events <= s->n_events);
    s->own->damaged += s->n_blocks - rows + s->n_events - events;
    s->n_blocks = rows;
    s->n_events = events;
}

/* Totals over what is left after damaged blocks were dropped. */
static void reader_sum_up(struct store *s)
{
    for (uint32_t i = 0; i < s->n_blocks; i++) {
        const struct rows_block *b = &s->blocks[i];
        reader_add_span(s, i == 0, b->t_first_us, b->t_last_us);
        s->rows += b->rows;
        for (uint32_t k = 0; k < b->n_columns; k++)
            s->samples += block_columns(b)[k].count;
    }
    for (uint32_t i = 0; i < s->n_events; i++)
        reader_add_span(s, i == 0 && s->n_blocks == 0, s->events[i].t_first_us,
                        s->events[i].t_last_us);
}

static void add_damage(struct store *s, struct catalog *cat)
{
    const char *name = path_base(s->path);
    struct loss bad =
        loss_of(LOSS_DAMAGED, LOST_PART(name), "blocks with an invalid checksum or content");
    struct loss torn =
        loss_of(LOSS_TORN, LOST_PART(name), "the file ends in the middle of a block");
    bad.count = s->own->damaged;
    bad.at = torn.at = (mono_ns){s->t_last_us * NS_PER_US};
    if (s->own->damaged)
        catalog_loss(cat, &bad);
    if (s->own->torn)
        catalog_loss(cat, &torn);
}

const struct store_source store_files = {file_read_range, fmap_open};

/* Whether the file has the end that writer_close gives it; after that nobody changes it. While it
 * grows this may read more bytes than it asked for, which is an error and the right answer. */
static bool has_end(const struct store_source *from, const char *path)
{
    const size_t n = sizeof FILE_END_MAGIC - 1;
    struct arena scratch = {0};
    struct err e;
    char *end;
    size_t len;
    const bool has = from->read(path, -(int64_t)n, n, &scratch, &end, &len, &e) == 0 && len == n &&
                     memcmp(end, FILE_END_MAGIC, n) == 0;
    arena_free(&scratch);
    return has;
}

/* What is in the file, then what is in the tail. */
static void find_blocks(struct store *s, const char *tail, size_t tail_len)
{
    struct store_own *o = s->own;
    s->closed = use_index(o, o->map.p, o->map.len);
    if (!s->closed) {
        o->n_found = 0;
        o->damaged = o->no_header + o->bad_tail;
        walk_blocks(o, o->map.p, FILE_HEADER_LEN, o->map.len);
    }
    if (tail)
        use_tail(s, tail, tail_len);
}

/* In this order: ties before wall times, wall times before blocks are dropped, and the list of
 * blocks must be final before series refer to it by number. */
static bool list_contents(struct store *s, const struct clock_tie *tie)
{
    struct catalog cat = {.store = s};
    if (tie)
        catalog_tie(&cat, *tie);
    parse_blocks(s, &cat);
    if (s->n_ties == 0)
        return false;
    catalog_find_steps(s);
    drop_far_blocks(s);
    qsort(s->blocks, s->n_blocks, sizeof *s->blocks, reader_by_time);
    qsort(s->events, s->n_events, sizeof *s->events, events_by_time);
    reader_sum_up(s);
    add_damage(s, &cat);
    catalog_finish(&cat);
    return true;
}

/* A file whose header is damaged is read all the same: each segment has a tie of its own. */
static int read_parts(struct store *s, const char *tail, size_t tail_len, struct err *e)
{
    struct file_header h;
    int rc = file_header_get(&h, s->own->map.p, s->own->map.len, s->path, e);
    if (rc == 0 && h.kind != FILE_SEALED)
        return err_set(e, ERR_FORMAT, "'%s' is a tail file; open the .fp file next to it", s->path);
    if (rc && (rc != ERR_FORMAT || s->own->map.len < FILE_HEADER_LEN))
        return rc;
    s->own->no_header = rc != 0;
    s->own->damaged = s->own->no_header + s->own->bad_tail;
    if (rc == 0)
        memcpy(s->id, h.id, sizeof s->id);
    s->file_bytes = s->own->map.len;
    find_blocks(s, tail, tail_len);
    if (rc && s->own->n_found == 0)
        return rc;
    if (list_contents(s, rc ? NULL : &h.tie))
        return 0;
    return rc ? rc : err_set(e, ERR_FORMAT, "'%s' has a time that no clock shows", s->path);
}

/* In the order that the head of this file gives reasons for. */
static int reader_open_parts(struct store *s, const struct store_source *from, struct err *e)
{
    char path[PATH_LEN];
    struct arena scratch = {0};
    char *tail = NULL;
    size_t tail_len = 0;
    TRY(tail_path(s, path, e));
    if (from->read(path, 0, TAIL_MOST, &scratch, &tail, &tail_len, e)) {
        s->own->bad_tail = e->sys != ENOENT; /* it is there and cannot be read */
        tail = NULL;
    }
    int rc = from->map(s->path, !has_end(from, s->path), &s->own->map, e);
    if (rc == 0)
        rc = read_parts(s, tail, tail_len, e);
    arena_free(&scratch);
    return rc;
}

int store_open_from(struct store **out, const struct store_source *from, const char *path,
                    struct err *e)
{
    struct store *s = xcalloc(1, sizeof *s);
    s->own = xcalloc(1, sizeof *s->own);
    int rc = path_join(s->path, e, "%s", path);
    if (rc == 0)
        rc = reader_open_parts(s, from, e);
    if (rc)
        store_close(s);
    else
        *out = s;
    return rc;
}

int store_open(struct store **out, const char *path, struct err *e)
{
    return store_open_from(out, &store_files, path, e);
}

void store_close(struct store *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->n_blocks; i++)
        rows_block_forget(&s->blocks[i]);
    fmap_close(&s->own->map);
    buf_free(&s->own->tail_blocks);
    free(s->own->found);
    free(s->own);
    arena_free(&s->arena);
    free(s);
}

/* Columns and pages can be read again from the file. The arena, which has the lists, stays. */
void store_forget(struct store *s)
{
    for (uint32_t i = 0; i < s->n_blocks; i++)
        rows_block_forget(&s->blocks[i]);
    fmap_forget(&s->own->map);
}

size_t store_memory(const struct store *s)
{
    const struct store_own *o = s->own;
    size_t bytes = sizeof *s + sizeof *o + arena_bytes(&s->arena) + o->tail_blocks.cap +
                   o->cap_found * sizeof *o->found + o->map.copied;
    for (uint32_t i = 0; i < s->n_blocks; i++)
        bytes += rows_block_memory(&s->blocks[i]);
    return bytes;
}

/* ---- data ---- */

/* Row i is at t_first + i periods + a stored difference. Each time is checked, because they are
 * used in sums later. */
bool store_times(struct codec *c, const struct rows_block *b, int64_t *out)
{
    if (!blob_whole(&b->times) || !codec_decode(c, b->times.p, b->times.len, b->rows, out))
        return false;
    const uint64_t period_us = (uint64_t)b->period_ns / NS_PER_US;
    bool good = true;
    assert(b->rows > 0 && b->rows <= ROWS_MOST && b->period_ns > 0); /* rows_block_get saw to it */
    for (uint32_t i = 0; i < b->rows; i++) {
        out[i] = (int64_t)((uint64_t)out[i] + (uint64_t)b->t_first_us + i * period_us);
        good = good && out[i] >= -TIME_MOST_US && out[i] <= TIME_MOST_US;
    }
    return good;
}

/* Runs of values and gaps alternate, beginning with values. Their sum must give exactly `count`
 * values within the rows of the block: the caller has room for no more. */
bool store_value_rows(struct codec *codec, const struct column *c, uint32_t rows, uint32_t *out)
{
    if (!c->has_gaps) {
        for (uint32_t i = 0; i < c->count; i++)
            out[i] = c->first_row + i;
        return true;
    }
    assert(c->first_row <= rows && c->count <= rows - c->first_row);
    int64_t *runs = xmalloc(sizeof *runs * (c->n_runs + 1u));
    uint32_t n = 0;
    uint64_t row = c->first_row;
    bool good =
        blob_whole(&c->gaps) && codec_decode(codec, c->gaps.p, c->gaps.len, c->n_runs, runs);
    for (uint32_t i = 0; i < c->n_runs && good; i++) {
        good = runs[i] >= 0 && runs[i] <= (int64_t)rows && row + (uint64_t)runs[i] <= rows &&
               (i % 2 || n + (uint64_t)runs[i] <= c->count);
        for (int64_t k = 0; good && i % 2 == 0 && k < runs[i]; k++)
            out[n++] = (uint32_t)(row + (uint64_t)k);
        row += good ? (uint64_t)runs[i] : 0;
    }
    free(runs);
    return good && n == c->count;
}

/* Opening checks only the heads. This reads all data once, for run_losses. */
uint64_t store_verify(struct store *s)
{
    uint64_t bad = 0;
    for (uint32_t i = 0; i < s->n_blocks; i++) {
        const struct rows_block *b = &s->blocks[i];
        struct column *room = xmalloc((b->n_columns + 1) * sizeof *room);
        const struct column *columns = block_columns_once(b, room);
        bad += !blob_whole(&b->times);
        for (uint32_t k = 0; k < b->n_columns; k++) {
            const struct column *c = &columns[k];
            bool good = blob_whole(&c->values) && (!c->has_gaps || blob_whole(&c->gaps));
            for (int l = 0; l < 3 && c->count >= b->l1; l++)
                good = good && blob_whole(&c->level1[l]);
            bad += !good;
        }
        free(room);
    }
    for (uint32_t i = 0; i < s->n_events; i++)
        bad += event_block_verify(&s->events[i]);
    return bad;
}
