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
#include "base/vec.h"
#include "store/event_columns.h"
#include "store/reader_internal.h"
#include "store/segment.h"

enum {
    TAIL_MOST = 256 << 20,
    TAIL_PART = 64 << 10, /* bytes; a day's evaluation seals two or three a minute */
};

struct found_block {
    struct block_header h;
    const uint8_t *p;
};

/* The frames of a tail and the blocks that they make. One that is followed is cut into parts, and
 * each part is sealed separately, so that a tail that has grown is sealed from its last part on.
 * One that is read once is one part: more and smaller blocks cost a fifth more, and four times as
 * much with 2000 tracks. */
struct store_tail {
    uint64_t number; /* of its segment */
    size_t read;     /* bytes of the file; 0: it was not begun */
    uint8_t last[8]; /* of them: they must be there when it has grown */
    size_t in_part;  /* of them, in the last part */
    struct segment segment;
    struct buf *parts; /* blocks; the last one changes when more is read */
    uint32_t n_parts, cap_parts;
};

struct store_internal {
    struct fmap map;
    struct store_tail tail;
    struct found_block *found; /* while it is opened: the file's, then the tail's */
    uint32_t n_found, cap_found, n_of_file;
    struct catalog catalog;
    uint32_t cap_blocks, cap_events;
    struct arena scratch; /* what is made anew when the file has grown */
    uint64_t damaged;     /* ranges of the file that are no block, headers, a tail */
    bool torn;
    bool no_header; /* the file's is damaged */
    bool bad_tail;  /* it is there and cannot be read */

    /* For store_follow. */
    bool follows;             /* it can continue */
    uint64_t complete;        /* the last segment of the file; map.len is its end */
    struct catalog_mark mark; /* the catalog of the file */
};

/* Blocks are listed in the order of the file, those of the tail after them. */
static void add_found(struct store_internal *o, const struct block_header *h, const uint8_t *p)
{
    *VEC_ADD(o->found, o->n_found, o->cap_found) = (struct found_block){*h, p};
}

/* ---- finding the blocks ---- */

/* An index that was being written when the recorder died takes nothing with it. */
static bool is_index(const uint8_t *p, size_t n)
{
    struct cur c = cur_of(p, n);
    return cur_u32(&c) == BLOCK_MAGIC && cur_u16(&c) == BLOCK_INDEX && !c.bad;
}

/* A block that does not check is skipped by searching the next one. Damage costs the blocks that
 * it hits, and not what follows. The search gives up after BAD_BLOCKS_MOST false starts: a file
 * full of magic numbers must not cost minutes. */
static void walk_blocks(struct store_internal *o, const uint8_t *p, size_t at, size_t n)
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
        const size_t next = format_next_block(p, at + BLOCK_ALIGN, n, &tries);
        if (next < n)
            o->damaged++;
        else
            o->torn = !is_index(p + at, n - at);
        at = next;
    }
}

/* The index of a closed file. False when there is none, or it does not lead to whole blocks. */
static bool use_index(struct store_internal *o, const uint8_t *p, size_t n)
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
static bool segment_complete(const struct store_internal *o, uint64_t number)
{
    return FIND_ANY(i, o->n_found,
                    o->found[i].h.segment == number && o->found[i].h.flags & BLOCK_LAST);
}

/* The number of the segment that the tail has when its header does not have it: one more than the
 * last complete one. */
static uint64_t next_segment(const struct store_internal *o)
{
    uint64_t next = 1;
    for (uint32_t i = 0; i < o->n_found; i++)
        if (o->found[i].h.flags & BLOCK_LAST)
            next = MAX_OF(next, (uint64_t)o->found[i].h.segment + 1);
    return next;
}

/* Blocks of a segment that is incomplete in the file: the tail has all of it. */
static void forget_segment(struct store_internal *o, uint64_t number)
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

/* One more part. For reading, not for storing: it is the last, and has the open events. */
static void tail_seal(struct store_tail *t, struct codec *codec, enum seal_use use)
{
    struct err e;
    struct buf *part = VEC_ADD(t->parts, t->n_parts, t->cap_parts);
    *part = (struct buf){0};
    const struct seal_out out = {keep_in_memory, part};
    const int rc = seal_segment(codec, &t->segment, (uint32_t)t->number, use, &out, &e);
    assert(rc == 0); /* only the output can fail */
    (void)rc;
}

/* The frames at p, which follow those that were read before, and the eight bytes before p. */
static void tail_feed(struct store_tail *t, bool follows, const uint8_t *p, size_t n, bool *torn)
{
    struct codec *codec = codec_open();
    const size_t part = follows ? TAIL_PART : SIZE_MAX;
    size_t at = 0;
    if (follows)
        codec_pack_only(codec); /* by a profile, 1 ms of 9 for a minute of new data */
    if (t->n_parts)
        buf_free(&t->parts[--t->n_parts]);
    for (;;) {
        const size_t got =
            segment_read_frames(&t->segment, p + at, n - at, part - t->in_part, t->number, torn);
        at += got;
        t->in_part += got;
        if (t->in_part < part)
            break;
        tail_seal(t, codec, SEAL_TO_KEEP);
        seal_cut(&t->segment);
        t->in_part = 0;
    }
    tail_seal(t, codec, SEAL_TO_SHOW);
    t->read += at;
    memcpy(t->last, p + at - sizeof t->last, sizeof t->last);
    codec_close(codec);
}

static void tail_close(struct store_tail *t)
{
    for (uint32_t i = 0; i < t->n_parts; i++)
        buf_free(&t->parts[i]);
    free(t->parts);
    segment_free(&t->segment);
    *t = (struct store_tail){0};
}

static void find_in_tail(struct store_internal *o)
{
    o->n_of_file = o->n_found;
    for (uint32_t i = 0; i < o->tail.n_parts; i++)
        walk_blocks(o, o->tail.parts[i].p, 0, o->tail.parts[i].len);
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
    bool torn = false;
    assert(len >= FILE_HEADER_LEN); /* file_header_get refuses less */
    s->own->tail.number = h.segment;
    tail_feed(&s->own->tail, false, p + FILE_HEADER_LEN, len - FILE_HEADER_LEN, &torn);
    segment_free(&s->own->tail.segment);
    forget_segment(s->own, h.segment);
    find_in_tail(s->own);
    /* What the file ends in the middle of is this very segment, and that is in the tail. */
    if (h.segment <= 1 || segment_complete(s->own, h.segment - 1))
        s->own->torn = false;
    s->own->torn |= torn;
    s->file_bytes += len;
}

/* ---- parsing the heads ---- */

/* False: damaged. Kinds of a later version are skipped. */
static bool parse_block(struct store *s, const struct found_block *f, bool in_tail)
{
    struct store_internal *o = s->own;
    const uint8_t *payload = f->p + BLOCK_HEADER_LEN;
    struct rows_block *rows;
    struct events_block *events;
    bool good = true;
    switch (f->h.kind) {
    case BLOCK_LOG:
        return catalog_log(&o->catalog, payload, f->h.head_len);
    case BLOCK_ROWS:
        rows = VEC_ADD(s->blocks, s->n_blocks, o->cap_blocks);
        good = rows_block_get(&f->h, payload, in_tail ? &o->scratch : &s->arena, rows);
        rows->in_tail = in_tail;
        s->n_blocks -= !good;
        return good;
    case BLOCK_EVENTS:
        events = VEC_ADD(s->events, s->n_events, o->cap_events);
        good = event_block_get(&f->h, payload, events);
        events->in_tail = in_tail;
        if (good)
            track_names_add(&o->catalog.names, &events->track);
        s->n_events -= !good;
        return good;
    default:
        return good;
    }
}

/* Each head is parsed once. The names of a track may come later than its first block, so they
 * are applied when all blocks are known. */
static void parse_blocks(struct store *s)
{
    struct store_internal *o = s->own;
    for (uint32_t i = 0; i < o->n_found; i++)
        o->damaged += !parse_block(s, &o->found[i], i >= o->n_of_file);
    for (uint32_t i = 0; i < s->n_events; i++)
        track_names_apply(&o->catalog.names, &s->events[i].track);
}

/* Blocks of different groups interleave; those of one group do not overlap. */
COMPARE_BY(reader_by_time, struct rows_block, t_first_us)

static int events_by_time(const void *a, const void *b)
{
    const struct events_block *x = a, *y = b;
    return COMPARE(x->t_first_us, y->t_first_us)
               ?: COMPARE(x->track.pid, y->track.pid) ?: COMPARE(x->track.id, y->track.id);
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
    s->rows = s->samples = 0;
    for (uint32_t i = 0; i < s->n_blocks; i++) {
        const struct rows_block *b = &s->blocks[i];
        reader_add_span(s, i == 0, b->t_first_us, b->t_last_us);
        s->rows += b->rows;
        s->samples += b->samples;
    }
    for (uint32_t i = 0; i < s->n_events; i++)
        reader_add_span(s, i == 0 && s->n_blocks == 0, s->events[i].t_first_us,
                        s->events[i].t_last_us);
}

static void add_damage(struct store *s)
{
    struct catalog *cat = &s->own->catalog;
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

const struct store_source store_files = {file_read_range, fmap_open, fmap_follow};

/* Whether the file has the end that writer_close gives it; after that it does not change. While it
 * grows this may read more bytes than were requested, which is an error and the right answer. */
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
    struct store_internal *o = s->own;
    s->closed = use_index(o, o->map.p, o->map.len);
    if (!s->closed) {
        o->n_found = 0;
        o->damaged = o->no_header + o->bad_tail;
        walk_blocks(o, o->map.p, FILE_HEADER_LEN, o->map.len);
    }
    o->n_of_file = o->n_found;
    if (tail)
        use_tail(s, tail, tail_len);
}

/* Adds the blocks that were found. In this order: ties before wall times, wall times before blocks
 * are dropped, and the list of blocks must be final before series refer to it by number. */
static bool list_contents(struct store *s)
{
    struct store_internal *o = s->own;
    const uint32_t first = s->n_blocks;
    s->steps = NULL;
    parse_blocks(s);
    if (s->n_ties == 0)
        return false;
    catalog_find_steps(s, &o->scratch);
    drop_far_blocks(s);
    SORT(s->blocks + first, s->n_blocks - first, reader_by_time);
    SORT(s->events, s->n_events, events_by_time);
    reader_sum_up(s);
    catalog_finish(&o->catalog, first);
    return first == 0 || first >= s->n_blocks ||
           reader_by_time(&s->blocks[first - 1], &s->blocks[first]) <= 0;
}

static void forget_found(struct store_internal *o)
{
    free(o->found);
    o->found = NULL;
    o->n_found = o->cap_found = o->n_of_file = 0;
}

/* A file whose header is damaged is read all the same: each segment has a tie. */
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
    if (rc == 0)
        catalog_tie(&s->own->catalog, h.tie);
    if (!list_contents(s))
        return rc ? rc : err_set(e, ERR_FORMAT, "'%s' has a time that no clock shows", s->path);
    add_damage(s);
    forget_found(s->own);
    catalog_free(&s->own->catalog);
    return 0;
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
        /* It is there and cannot be read; ERR_BUSY: it changes faster than it can be fetched. */
        s->own->bad_tail = e->sys != ENOENT && e->code != ERR_BUSY;
        tail = NULL;
    }
    int rc = from->map(s->path, !has_end(from, s->path), &s->own->map, e);
    if (rc == 0)
        rc = read_parts(s, tail, tail_len, e);
    arena_free(&scratch);
    return rc;
}

/* ---- a file that grows ----
 *
 * What was listed of the file stays, what was listed of the tail is replaced. Only the healthy case
 * is handled; in all others, which are rare or the end of the recording, store_follow opens anew.
 *
 * - As above, the tail is read before the file. Its frames from tail.read on belong to the same
 *   segment as those before, or else their checksums, which are seeded with its number, are wrong.
 * When the file has that segment now, the tail was emptied: it is read again, from its start, and
 * must be that of the next segment.
 * - A block is read from the mapping when the tail that follows it is there: the writer empties
 *   a tail after the blocks before it are on the medium, and never cuts those. Blocks of a segment
 *   that is incomplete are read from a copy, and ignored.
 * - Blocks are numbered in order of time, and series refer to them by number. So blocks that follow
 *   must not begin before those that are listed (list_contents). Events may: nothing refers to
 *   them. */

/* The blocks of the segments that the file has got since: `more` is what is in it after map.len. */
static bool follow_blocks(struct store_internal *o, const struct buf *more)
{
    size_t end = o->map.len ? 0 : FILE_HEADER_LEN;
    uint32_t n = 0;
    o->torn = false;
    o->n_found = 0;
    walk_blocks(o, more->p, end, more->len);
    for (uint32_t i = 0; i < o->n_found; i++) {
        struct found_block *f = &o->found[i];
        const size_t at = (size_t)(f->p - more->p);
        if (f->h.segment != o->complete + 1)
            return false;
        f->p = o->map.p + o->map.len + at;
        if (f->h.flags & BLOCK_LAST) {
            end = at + block_size(&f->h);
            o->complete++;
            n = i + 1;
        }
    }
    o->torn |= n < o->n_found;
    o->n_found = o->n_of_file = n;
    o->map.len += end;
    return o->damaged == 0 && end <= more->len;
}

static bool follow_header(struct store *s, const struct buf *more)
{
    struct file_header h;
    struct err e;
    if (file_header_get(&h, more->p, more->len, s->path, &e) || h.kind != FILE_SEALED)
        return false;
    memcpy(s->id, h.id, sizeof s->id);
    catalog_tie(&s->own->catalog, h.tie);
    catalog_set_mark(&s->own->catalog, &s->own->mark);
    return true;
}

/* False: it is not the next segment's, or not what it was. An empty one was not begun. */
static bool follow_tail(struct store *s, const char *bytes, size_t len)
{
    struct store_internal *o = s->own;
    struct store_tail *t = &o->tail;
    const uint8_t *p = (const uint8_t *)bytes;
    struct file_header h;
    struct err e;
    size_t known = sizeof t->last;
    if (len == 0)
        return t->read == 0 && !o->torn;
    if (t->read == 0) {
        if (file_header_get(&h, p, len, "tail", &e) || h.kind != FILE_TAIL ||
            memcmp(h.id, s->id, sizeof h.id) != 0 || h.segment != o->complete + 1)
            return false;
        t->number = h.segment;
        t->read = known = FILE_HEADER_LEN;
    } else if (len < known || memcmp(p, t->last, known) != 0) {
        return false;
    }
    s->file_bytes += t->read + len - known;
    tail_feed(t, true, p + known, len - known, &o->torn);
    return true;
}

/* Replaces what was listed of the tail. */
static bool follow_list(struct store *s)
{
    struct store_internal *o = s->own;
    uint32_t n = 0;
    catalog_return(&o->catalog, &o->mark);
    for (uint32_t i = 0; i < s->n_events; i++)
        if (!s->events[i].in_tail)
            s->events[n++] = s->events[i];
    s->n_events = n;
    arena_free(&o->scratch);
    if (o->n_found && !list_contents(s))
        return false;
    catalog_set_mark(&o->catalog, &o->mark);
    o->n_found = 0;
    find_in_tail(o);
    const bool good = list_contents(s) && o->damaged == 0;
    add_damage(s);
    forget_found(o);
    return good;
}

static bool follow_parts(struct store *s, const struct store_source *from, struct buf *more,
                         struct arena *a)
{
    struct store_internal *o = s->own;
    struct err e;
    char path[PATH_LEN], *tail;
    size_t len;
    const bool begins = o->map.len == 0;
    if (tail_path(s, path, &e) ||
        from->read(path, (int64_t)(o->tail.read ? o->tail.read - sizeof o->tail.last : 0),
                   TAIL_MOST, a, &tail, &len, &e) ||
        from->follow(s->path, &o->map, more, &e))
        return false;
    s->file_bytes = o->map.len + more->len;
    if ((begins && !follow_header(s, more)) || !follow_blocks(o, more))
        return false;
    if (o->tail.read && o->tail.number <= o->complete) {
        tail_close(&o->tail);
        if (from->read(path, 0, TAIL_MOST, a, &tail, &len, &e))
            return false;
    }
    return follow_tail(s, tail, len) && follow_list(s);
}

/* False: it must be opened anew. A tail that ends in the middle of a frame may have more in its
 * segment than was counted, so it is not continued. */
static bool store_grow(struct store *s, const struct store_source *from)
{
    struct arena scratch = {0};
    struct buf more = {0};
    const bool good = follow_parts(s, from, &more, &scratch);
    s->own->follows = good && !s->own->torn;
    buf_free(&more);
    arena_free(&scratch);
    return good;
}

static int store_new(struct store **out, const char *path, struct err *e)
{
    struct store *s = xcalloc(1, sizeof *s);
    s->own = xcalloc(1, sizeof *s->own);
    s->own->catalog.store = s;
    *out = s;
    return path_join(s->path, e, "%s", path);
}

int store_open_from(struct store **out, const struct store_source *from, const char *path,
                    struct err *e)
{
    struct store *s;
    int rc = store_new(&s, path, e);
    if (rc == 0)
        rc = reader_open_parts(s, from, e);
    if (rc)
        store_close(s);
    else
        *out = s;
    return rc;
}

int store_follow(struct store **s, const struct store_source *from, const char *path, struct err *e)
{
    if (*s && (*s)->own->follows && strcmp((*s)->path, path) == 0 && store_grow(*s, from))
        return 0;
    store_close(*s);
    *s = NULL;
    if (from->follow && !has_end(from, path)) {
        if (store_new(s, path, e) == 0 && store_grow(*s, from))
            return 0;
        store_close(*s);
        *s = NULL;
    }
    return store_open_from(s, from, path, e);
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
    tail_close(&s->own->tail);
    forget_found(s->own);
    catalog_free(&s->own->catalog);
    free(s->own->mark.losses);
    arena_free(&s->own->scratch);
    free(s->own);
    free(s->blocks);
    free(s->events);
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
    const struct store_internal *o = s->own;
    size_t bytes = sizeof *s + sizeof *o + arena_bytes(&s->arena) + arena_bytes(&o->scratch) +
                   o->cap_blocks * sizeof *s->blocks + o->cap_events * sizeof *s->events +
                   o->map.copied;
    for (uint32_t i = 0; i < o->tail.n_parts; i++)
        bytes += o->tail.parts[i].cap;
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
    assert(b->rows > 0 && b->rows <= ROWS_MOST && b->period_ns > 0); /* rows_block_get checked it */
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
