/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - what was taken in goes into the tail, the tail into blocks.
 *
 *     rows, events --intake--> records in memory
 *       writer_flush           one frame of them, appended to NAME.tail
 *       at SEAL_BYTES          the tail becomes blocks, appended to NAME.fp; then it is emptied
 *       writer_close           index and end, appended to NAME.fp; NAME.tail is removed
 *
 *     NAME.fp    file header | blocks of segment 1 | blocks of segment 2 | ... | index | end
 *     NAME.tail  file header with the number N of its segment | frame | frame | ...
 *
 * Why a crash at any moment loses at most what was not flushed, and no row is read twice:
 *
 * 1. Bytes are only appended. A frame has a length and a checksum, and so has a block. One that was
 *    being written is not whole, and a reader stops there.
 * 2. The last block of a segment has the flag BLOCK_LAST. A reader takes segment N from the file
 *    when it finds that block, else from the tail; never from both (use_tail in reader.c). So the
 *    moment in which BLOCK_LAST is whole is the moment in which the segment moves.
 * 3. The blocks are on the medium (fdatasync) before the tail is emptied. After a power failure one
 *    of the two has the segment.
 * 4. The checksum of a frame is seeded with N. Bytes of an old tail that the file system brings
 *    back are not taken for frames of this one.
 * 5. When an append fails, the file is cut back to where it began, and the same bytes are tried
 *    again by the next flush. While a frame or a sealing waits for that, flush_locked takes no more
 *    records, so nothing overtakes it; the intake buffers, and drops at its limit.
 * 6. `sealed` is set between the two steps of seal_tail. A tail that is in blocks and could not be
 *    emptied is only emptied again: sealing it twice would store its rows twice.
 *
 * Locks: `lock` is held across system calls, by the thread that flushes or closes. The lock of the
 * intake is held for memory copies only, and may be taken inside `lock`, never the other way
 * round. So a slow disk never makes the sampling thread wait.
 *
 * In bulk (imports) there is no tail: the frame is the segment, and the caller makes the run
 * durable when it is complete. 1 to 4 are not needed then, as no reader knows the folder yet. */
#include "store/writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "store/codec.h"
#include "store/intake.h"
#include "store/segment.h"

enum {
    SEAL_BYTES = 1 << 19,   /* of tail, that are then sealed */
    PENDING_MOST = 1 << 20, /* bytes that wait for a disk with room */
    EVENTS_SEAL_BYTES = 2 << 20,
    EVENTS_PENDING_MOST = 32 << 20, /* five seconds of a million events: a disk may pause */
    TAIL_WINDOW = 64 << 10,         /* bytes read at a time when sealing */
    FRAME_KEEP = 4 << 20,           /* of memory for a frame; more is given back */
    LOCK_TRIES = 20,                /* a reader may hold the lock for an instant */
    LOCK_WAIT_US = 10000,
};
#define TIE_EVERY_NS  (60 * NS_PER_S)
#define JUMP_NS       (10 * NS_PER_MS)
#define SEAL_AGAIN_NS (5 * NS_PER_S)

struct writer {
    struct sink sink; /* first: the sink is the writer */
    char dir[PATH_LEN], path[PATH_LEN], tail_path[PATH_LEN];
    unsigned session;
    bool beside; /* another writer has the lock and records jumps of the clock */
    bool bulk;   /* the tail stays in memory, as the frame, until it is sealed */
    off_t seal_bytes;

    struct intake in;
    /* Sizes and errors, read by others without the lock. */
    _Atomic uint64_t bytes_written, file_bytes;
    atomic_int write_errno;
    atomic_bool held;

    pthread_mutex_t lock; /* held by the thread that flushes or closes, across system calls */
    int fd, tail_fd, lock_fd;
    uint8_t id[FILE_ID_LEN];
    off_t fp_len, tail_len;
    struct buf frame;    /* header and payload of the frame to write; only the header: none */
    uint64_t frame_tail; /* number of the tail it belongs to */
    struct buf index;    /* uint64_t offset, kind of each block */
    struct codec *codec;
    struct clock_tie tie; /* the last one written */
    bool tie_due;         /* every segment has one, so it can do without the file header */
    mono_ns seal_not_before;
    bool seal_wanted;
    bool sealed; /* the tail is in blocks, but not emptied yet */
};

/* ---- taking in ---- */

static void writer_add_row(struct sink *s, struct group *g, mono_ns t)
{
    intake_row(&((struct writer *)s)->in, g, t);
}

static void writer_add_loss(struct sink *s, const struct loss *l)
{
    intake_loss(&((struct writer *)s)->in, l);
}

static void writer_add_mark(struct sink *s, const struct mark *m)
{
    intake_mark(&((struct writer *)s)->in, m);
}

static void writer_add_events(struct sink *s, const struct track *t, const struct event *v,
                              size_t n)
{
    intake_events(&((struct writer *)s)->in, t, v, n);
}

static const struct sink_ops ops = {
    .row = writer_add_row,
    .loss = writer_add_loss,
    .mark = writer_add_mark,
    .events = writer_add_events,
};

/* ---- flushing (under the lock) ---- */

/* A tie maps the monotonic clock of the rows to wall time. It is written every minute, when the
 * wall clock jumped, and once in every segment, so that a reader can do without the file header
 * and without the segments before. In bulk the tie is that of the recording and never changes. */
static void writer_put_tie(struct writer *w)
{
    const struct clock_tie now = w->bulk ? w->tie : clock_tie_now();
    const int64_t offset = now.wall.ns - now.mono.ns, old = w->tie.wall.ns - w->tie.mono.ns;
    const bool jump = offset - old > JUMP_NS || old - offset > JUMP_NS;
    if (!jump && !w->tie_due && mono_diff(now.mono, w->tie.mono) < TIE_EVERY_NS)
        return;
    w->tie = now;
    w->tie_due = false;
    intake_tie(&w->in, now);
    if (jump && !w->beside)
        sink_mark(&w->sink, MARK_CLOCK_JUMP, offset - old, "wall clock set %s",
                  offset > old ? "forward" : "back");
}

/* Appends at `*len`; on failure the file is cut back to it, so a retry starts clean. */
static int writer_append(struct writer *w, int fd, off_t *len, const struct buf *b,
                         const char *name, struct err *e)
{
    assert(fd >= 0 && *len >= 0);
    if (lseek(fd, *len, SEEK_SET) < 0)
        return err_sys(e, "seek in '%s'", name);
    int rc = fd_write_all(fd, b->p, b->len, name, e);
    if (rc) {
        if (ftruncate(fd, *len) < 0)
            return err_sys(e, "truncate '%s'", name);
        return rc;
    }
    *len += (off_t)b->len;
    /* Under the lock; other threads read these numbers without it, so they are atomic. */
    atomic_fetch_add(&w->bytes_written, b->len);
    atomic_store(&w->file_bytes, (uint64_t)w->fp_len);
    return 0;
}

static uint16_t minor_of(const struct writer *w)
{
    return w->beside ? MINOR_EVENTS : MINOR_FIRST;
}

/* The number of the segment and the id of the file tie the tail to its NAME.fp: a reader ignores
 * the tail of another recorder, and one whose segment is in the file. */
static int write_tail_header(struct writer *w, struct err *e)
{
    struct buf b = {0};
    assert(!w->bulk && w->tail_len == 0 && w->frame_tail > 0);
    struct file_header h = {.kind = FILE_TAIL, .segment = w->frame_tail, .tie = w->tie};
    h.minor = minor_of(w);
    memcpy(h.id, w->id, sizeof h.id);
    file_header_put(&b, &h);
    int rc = writer_append(w, w->tail_fd, &w->tail_len, &b, w->tail_path, e);
    buf_free(&b);
    return rc;
}

/* Bytes before a frame's payload; in bulk the frame is not written and has none. */
static size_t frame_head(const struct writer *w)
{
    return w->bulk ? 0 : FRAME_HEADER_LEN;
}

/* After a frame was written. Its memory is used for the next one, unless a burst made it large. */
static void empty_frame(struct writer *w)
{
    if (w->frame.cap > FRAME_KEEP)
        buf_free(&w->frame);
    buf_reserve(&w->frame, FRAME_HEADER_LEN);
    w->frame.len = frame_head(w);
}

/* Writes the frame that waits, if any, and empties it. It stays as it is on failure, so that the
 * next call writes the same bytes. A tail that was emptied begins with a header again. With
 * `durable` the frame survives a loss of power when this returns; without it, it survives the
 * process only. */
static int write_frame(struct writer *w, bool durable, struct err *e)
{
    if (w->frame.len == FRAME_HEADER_LEN || w->bulk)
        return 0;
    assert(w->frame.len > FRAME_HEADER_LEN && !w->sealed);
    TRY(w->tail_len == 0 ? write_tail_header(w, e) : 0);
    TRY(writer_append(w, w->tail_fd, &w->tail_len, &w->frame, w->tail_path, e));
    empty_frame(w);
    return durable && fdatasync(w->tail_fd) < 0 ? err_sys(e, "sync '%s'", w->tail_path) : 0;
}

/* Called by sealing for each block of the segment, in order. The offset goes to the index that
 * writer_close writes; seal_blocks takes it back on failure. */
static int keep_block(void *ctx, const struct block_header *h, const struct buf *b, struct err *e)
{
    struct writer *w = ctx;
    const off_t at = w->fp_len;
    assert(at % BLOCK_ALIGN == 0 && b->len % BLOCK_ALIGN == 0 &&
           h->segment == (uint32_t)w->frame_tail);
    TRY(writer_append(w, w->fd, &w->fp_len, b, w->path, e));
    buf_u64(&w->index, (uint64_t)at);
    buf_u64(&w->index, h->kind);
    return 0;
}

/* Reads back what this writer appended, in windows, so that sealing needs little more memory than
 * the columns. The bytes are checked all the same: another process may have changed them. */
static int writer_read_tail(struct writer *w, struct segment *s, struct err *e)
{
    struct buf window = {0};
    off_t at = FILE_HEADER_LEN;
    size_t want = TAIL_WINDOW;
    int rc = 0;
    while (at < w->tail_len && rc == 0) {
        buf_reserve(&window, want);
        const ssize_t got = pread(w->tail_fd, window.p, want, at);
        bool torn;
        if (got <= 0) {
            rc = err_sys(e, "read '%s'", w->tail_path);
            break;
        }
        const size_t used =
            segment_read_frames(s, window.p, (size_t)got, SIZE_MAX, w->frame_tail, &torn);
        at += (off_t)used;
        want = used ? want : want * 2; /* a frame larger than the window */
        if (!used && (want > 2 * (size_t)FRAME_MOST || at + got >= w->tail_len))
            rc = err_set(e, ERR_FORMAT, "'%s' was changed by another process", w->tail_path);
    }
    buf_free(&window);
    return rc;
}

/* In bulk: the frame is the whole segment. It was never on a disk, so it can only be refused for
 * its size. */
static int take_frame(const struct writer *w, struct segment *s, struct err *e)
{
    assert(w->bulk && w->tail_fd < 0);
    if (segment_feed(s, w->frame.p, w->frame.len))
        return 0;
    return err_set(e, ERR_LIMIT, "'%s': block too large", w->path);
}

/* Appends the blocks of the tail, all or none: on failure the file and the index are cut back. */
static int seal_blocks(struct writer *w, struct err *e)
{
    const off_t before = w->fp_len;
    const size_t index_before = w->index.len;
    const struct seal_out out = {keep_block, w};
    struct segment s = {.listed = w->bulk};
    assert(!w->sealed && w->frame.len >= frame_head(w));
    int rc = w->bulk ? take_frame(w, &s, e) : writer_read_tail(w, &s, e);
    if (rc == 0)
        rc = seal_segment(w->codec, &s, (uint32_t)w->frame_tail, SEAL_TO_KEEP, &out, e);
    if (rc == 0 && !w->bulk && fdatasync(w->fd) < 0)
        rc = err_sys(e, "sync '%s'", w->path);
    segment_free(&s);
    if (!w->bulk)
        malloc_trim(0); /* the columns were the recorder's largest memory; give it back */
    if (rc) {
        w->fp_len = before;
        w->index.len = index_before;
        if (ftruncate(w->fd, before) < 0)
            return err_sys(e, "truncate '%s'", w->path);
    }
    return rc;
}

/* Two steps, each done once: a tail that could not be emptied must not be sealed a second time. */
static int seal_tail(struct writer *w, struct err *e)
{
    TRY(w->sealed ? 0 : seal_blocks(w, e));
    w->sealed = true; /* from here on the rows are in the file */
    if (w->bulk)
        empty_frame(w);
    else if (ftruncate(w->tail_fd, 0) < 0)
        return err_sys(e, "empty '%s'", w->tail_path);
    w->tail_len = 0;
    w->seal_wanted = false;
    w->sealed = false;
    w->tie_due = true;
    return 0;
}

/* Makes a frame of what came since the last one. When the tail has then grown enough it is to be
 * sealed, and new rows belong to the next. */
static void take_rows(struct writer *w, bool last)
{
    const off_t left = w->seal_bytes - w->tail_len;
    const size_t room = left > 0 ? (size_t)left : 0;
    assert(!w->seal_wanted && !w->sealed && w->frame.len == frame_head(w));
    w->frame.len = frame_head(w);
    w->frame_tail =
        intake_take(&w->in, &w->frame, last ? 0 : room, atomic_load(&w->write_errno), &last);
    w->seal_wanted = last;
    if (w->bulk)
        return;
    const uint32_t len = (uint32_t)(w->frame.len - FRAME_HEADER_LEN);
    assert(w->frame.len - FRAME_HEADER_LEN <= FRAME_MOST);
    const uint32_t sum = format_sum32(w->frame.p + FRAME_HEADER_LEN, len, w->frame_tail);
    memcpy(w->frame.p, &len, sizeof len);
    memcpy(w->frame.p + sizeof len, &sum, sizeof sum);
}

/* Seals when the tail has grown enough. After a failure, which is a full disk as a rule, it
 * waits some seconds: sealing costs more than a flush and would only fail again. Until then it
 * returns an error, so that no more rows are taken from the intake. */
static int seal_if_wanted(struct writer *w, struct err *e)
{
    if (!w->seal_wanted)
        return 0;
    if (mono_diff(clock_mono(), w->seal_not_before) < 0)
        return err_set(e, ERR_SYS, "'%s': waiting for disk space", w->path);
    int rc = seal_tail(w, e);
    if (rc)
        w->seal_not_before = mono_add(clock_mono(), SEAL_AGAIN_NS);
    return rc;
}

/* In order: what failed last time, then what has come since. A return before take_rows leaves the
 * frame and seal_wanted as they are, so the next flush tries the same bytes again. */
static int flush_locked(struct writer *w, bool durable, bool last, struct err *e)
{
    TRY(write_frame(w, durable, e));
    TRY(seal_if_wanted(w, e));
    if (w->bulk && !last && writer_pending(w) < (size_t)w->seal_bytes)
        return 0;
    writer_put_tie(w);
    take_rows(w, last || w->bulk);
    TRY(write_frame(w, durable, e));
    return seal_if_wanted(w, e);
}

static size_t writer_pending_most(const struct writer *w, bool held)
{
    return (w->beside || w->bulk) && !held ? EVENTS_PENDING_MOST : PENDING_MOST;
}

void writer_hold(struct writer *w, bool held)
{
    if (atomic_exchange(&w->held, held) == held)
        return;
    pthread_mutex_lock(&w->in.lock);
    w->in.pending_most = writer_pending_most(w, held);
    pthread_mutex_unlock(&w->in.lock);
}

int writer_flush(struct writer *w, bool durable, struct err *e)
{
    if (atomic_load(&w->held)) {
        atomic_store(&w->write_errno, INTAKE_HELD);
        return err_set(e, ERR_LIMIT,
                       "the spool is full: the destination has not taken what is in '%s'", w->dir);
    }
    pthread_mutex_lock(&w->lock);
    int rc = flush_locked(w, durable, false, e);
    if (rc == 0)
        atomic_store(&w->write_errno, 0);
    else if (e->sys)
        atomic_store(&w->write_errno, e->sys);
    pthread_mutex_unlock(&w->lock);
    return rc;
}

/* ---- opening and closing ---- */

/* The lock is held as long as the writer exists and ends with the process, however that ends.
 * Readers use it to see whether a recorder is alive. Links and devices are refused: the folder
 * may belong to another user. */
static int lock_folder(struct writer *w, struct err *e)
{
    char path[PATH_LEN];
    TRY(path_join(path, e, "%s/" STORE_LOCK, w->dir));
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    struct stat st;
    w->lock_fd = open(path, flags, 0666);
    if (w->lock_fd < 0)
        return err_sys(e, "create '%s'", path);
    if (fstat(w->lock_fd, &st) < 0 || !S_ISREG(st.st_mode))
        return err_set(e, ERR_FORMAT, "'%s' is not a regular file", path);
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(w->lock_fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return 0; /* a file system without locks is trusted to have one recorder a node */
        usleep(LOCK_WAIT_US);
    }
    return err_set(e, ERR_BUSY,
                   "'%s' is being written by another recorder: give each its own node name",
                   w->dir);
}

static int session_paths(struct writer *w, const char *name, unsigned k, struct err *e)
{
    char file[128];
    assert(strlen(name) < NAME_LEN);
    store_file_name(file, sizeof file, name, k, STORE_SEALED);
    TRY(path_join(w->path, e, "%s/%s", w->dir, file));
    store_file_name(file, sizeof file, name, k, STORE_TAIL);
    return path_join(w->tail_path, e, "%s/%s", w->dir, file);
}

/* ERR_BUSY when the file is there already. */
static int create_files(struct writer *w, const char *name, unsigned k, struct err *e)
{
    TRY(session_paths(w, name, k, e));
    const int rc = file_create_new(&w->fd, w->path, e);
    if (rc == ERR_SYS && e->sys == EEXIST)
        return err_set(e, ERR_BUSY, "'%s' exists already and was left unchanged", w->path);
    TRY(rc);
    w->session = k;
    if (w->bulk)
        return 0;
    if (unlink(w->tail_path) < 0 && errno != ENOENT) /* without its file it is worth nothing */
        return err_sys(e, "remove '%s'", w->tail_path);
    return file_create_new(&w->tail_fd, w->tail_path, e);
}

/* Files with the first number that is free. */
static int create_first_free(struct writer *w, struct err *e)
{
    for (unsigned k = 1; k < SESSIONS_MOST; k++) {
        const int rc = create_files(w, STORE_METRICS, k, e);
        if (rc != ERR_BUSY)
            return rc;
    }
    return err_set(e, ERR_LIMIT, "'%s' already contains %d recordings", w->dir, SESSIONS_MOST);
}

/* The id is random. It makes a tail of another file with the same name recognizable. */
static int write_file_header(struct writer *w, struct err *e)
{
    struct file_header h = {.kind = FILE_SEALED, .minor = minor_of(w), .tie = w->tie};
    if (getrandom(w->id, sizeof w->id, 0) != (ssize_t)sizeof w->id)
        return err_sys(e, "random file id");
    memcpy(h.id, w->id, sizeof h.id);
    struct buf b = {0};
    file_header_put(&b, &h);
    int rc = writer_append(w, w->fd, &w->fp_len, &b, w->path, e);
    buf_free(&b);
    return rc;
}

/* Frees everything and closes the descriptors, which also ends the lock. The files stay as they
 * are. */
static void writer_free(struct writer *w)
{
    intake_close(&w->in);
    buf_free(&w->frame);
    buf_free(&w->index);
    codec_close(w->codec);
    for (int *fd = (int[]){w->fd, w->tail_fd, w->lock_fd, -2}; *fd != -2; fd++)
        if (*fd >= 0)
            close(*fd);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

/* Before anything was written. */
static void go_bulk(struct writer *w, struct clock_tie tie)
{
    w->bulk = true;
    w->tie = tie;
    w->in.pending_most = EVENTS_PENDING_MOST; /* rows, too, come as fast as they are read */
    empty_frame(w);
}

/* `beside`: another one, for events. */
static struct writer *writer_new(bool beside)
{
    struct writer *w = xcalloc(1, sizeof *w);
    w->beside = beside;
    w->seal_bytes = beside ? EVENTS_SEAL_BYTES : SEAL_BYTES;
    w->sink.ops = &ops;
    w->fd = w->tail_fd = w->lock_fd = -1;
    w->codec = codec_open();
    w->tie = clock_tie_now();
    w->tie_due = true;
    intake_open(&w->in, beside ? EVENTS_PENDING_MOST : PENDING_MOST);
    pthread_mutex_init(&w->lock, NULL);
    empty_frame(w);
    return w;
}

/* Hands the writer over, or takes back what a failed opening has made. */
static int writer_opened(struct writer **out, struct writer *w, int rc)
{
    if (rc == 0) {
        *out = w;
        return 0;
    }
    if (w->fd >= 0) { /* ours, and empty */
        unlink(w->path);
        unlink(w->tail_path);
    }
    writer_free(w);
    return rc;
}

/* The file `name` of the session; 0: the first that is free. With `locked` this writer is the first
 * of the folder, else it is beside one that is. */
static int writer_make(struct writer **out, struct writer *w, const char *dir, const char *name,
                       unsigned session, bool locked, struct err *e)
{
    assert(session > 0 || !w->beside);
    int rc = path_join(w->dir, e, "%s", dir);
    if (rc == 0 && locked)
        rc = lock_folder(w, e);
    if (rc == 0)
        rc = session ? create_files(w, name, session, e) : create_first_free(w, e);
    if (rc == 0)
        rc = write_file_header(w, e);
    return writer_opened(out, w, rc);
}

int writer_open(struct writer **out, const char *dir, struct err *e)
{
    return writer_make(out, writer_new(false), dir, STORE_METRICS, 0, true, e);
}

int writer_open_bulk(struct writer **out, const char *dir, unsigned session, struct clock_tie tie,
                     struct err *e)
{
    struct writer *w = writer_new(false);
    go_bulk(w, tie);
    return writer_make(out, w, dir, STORE_METRICS, session, false, e);
}

int writer_open_beside(struct writer **out, const struct writer *first, const char *name,
                       struct err *e)
{
    struct writer *w = writer_new(true);
    if (first->bulk)
        go_bulk(w, first->tie);
    return writer_make(out, w, first->dir, name, first->session, false, e);
}

int writer_open_session(struct writer **out, const char *dir, unsigned session, const char *name,
                        struct err *e)
{
    return writer_make(out, writer_new(true), dir, name, session, false, e);
}

struct sink *writer_sink(struct writer *w)
{
    return &w->sink;
}

unsigned writer_session(const struct writer *w)
{
    return w->session;
}

uint64_t writer_tail(struct writer *w)
{
    pthread_mutex_lock(&w->in.lock);
    const uint64_t tail = w->in.tail;
    pthread_mutex_unlock(&w->in.lock);
    return tail;
}

size_t writer_pending(struct writer *w)
{
    pthread_mutex_lock(&w->in.lock);
    const size_t pending = w->in.records.len;
    pthread_mutex_unlock(&w->in.lock);
    return pending;
}

void writer_get_stats(struct writer *w, struct writer_stats *out)
{
    pthread_mutex_lock(&w->in.lock);
    *out = (struct writer_stats){
        .rows = w->in.rows,
        .samples = w->in.samples,
        .rows_dropped = w->in.rows_dropped,
        .events = w->in.ev.accepted,
        .events_dropped = w->in.ev.dropped,
    };
    pthread_mutex_unlock(&w->in.lock);
    out->bytes_written = atomic_load(&w->bytes_written);
    out->file_bytes = atomic_load(&w->file_bytes);
    out->write_errno = atomic_load(&w->write_errno);
}

/* The index lists the blocks, so that a reader of a closed file does not have to walk it. The
 * end marker comes in the same append: a file that has it is complete and never changes again. A
 * crash in between leaves a file without the marker, which is walked. */
static int write_index(struct writer *w, struct err *e)
{
    const size_t n = w->index.len / 16;
    assert(w->index.len % 16 == 0 && w->tail_len == 0 && !w->seal_wanted);
    struct cur in = cur_of(w->index.p, w->index.len);
    struct buf head = {0}, none = {0}, out = {0};
    uint64_t before = 0;
    buf_varint(&head, n);
    for (size_t i = 0; i < n; i++) {
        const uint64_t at = cur_u64(&in);
        assert(at > before && at % BLOCK_ALIGN == 0);
        buf_varint(&head, (at - before) / BLOCK_ALIGN);
        buf_varint(&head, cur_u64(&in));
        before = at;
    }
    const struct block_header h = {.kind = BLOCK_INDEX, .segment = (uint32_t)w->frame_tail + 1};
    block_put(&out, &h, &head, &none);
    buf_u64(&out, (uint64_t)w->fp_len);
    buf_put(&out, FILE_END_MAGIC, 8);
    int rc = writer_append(w, w->fd, &w->fp_len, &out, w->path, e);
    if (rc == 0 && !w->bulk && fdatasync(w->fd) < 0)
        rc = err_sys(e, "sync '%s'", w->path);
    buf_free(&head);
    buf_free(&out);
    return rc;
}

/* In order: everything into blocks, the index, and only then is the tail removed. A crash before
 * the last step leaves an empty tail, which a reader ignores. */
int writer_close(struct writer *w, struct err *e)
{
    pthread_mutex_lock(&w->lock);
    w->seal_not_before = (mono_ns){0};
    int rc = flush_locked(w, true, true, e);
    if (rc == 0)
        rc = write_index(w, e);
    if (rc == 0 && !w->bulk && unlink(w->tail_path) < 0)
        rc = err_sys(e, "remove '%s'", w->tail_path);
    pthread_mutex_unlock(&w->lock);
    writer_free(w);
    return rc;
}

void writer_discard(struct writer *w)
{
    unlink(w->tail_path);
    unlink(w->path);
    writer_free(w);
}
