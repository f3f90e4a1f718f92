/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - rows into the tail, the tail into blocks.
 *
 * Two locks in a fixed order: `files` (held by whoever flushes or closes, across system calls),
 * then `pending` (held by whoever adds a row, never across a system call). */
#include "store/writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "record/group.h"
#include "store/codec.h"
#include "store/seal.h"
#include "store/segment.h"

enum {
    SEAL_BYTES = 1 << 20,   /* of tail, that are then sealed */
    PENDING_MOST = 1 << 20, /* bytes that wait for a disk with room; then rows are dropped */
    MARKS_MOST = 5 << 18,   /* the same for marks, which come rarely and say more */
    TAIL_WINDOW = 64 << 10, /* bytes read at a time when sealing */
    LOSSES_MOST = 256,      /* different ones */
    SESSIONS_MOST = 10000,
    LOCK_TRIES = 20, /* a reader may hold the lock for an instant */
    LOCK_WAIT_US = 10000,
};
#define TIE_EVERY_NS  (60 * NS_PER_S)
#define JUMP_NS       (10 * NS_PER_MS)
#define SEAL_AGAIN_NS (5 * NS_PER_S)

/* What the tail knows of a group. */
struct wgroup {
    uint64_t tail;       /* number of the tail in which it is declared; 0: in none */
    uint32_t number;     /* in that tail */
    uint32_t generation; /* of the group, as declared */
    uint32_t rows;
    int64_t period_ns, t_prev_us;
    uint32_t n, cap;
    uint32_t *born; /* per slot: as declared; 0: not in use */
    int64_t *last;  /* per slot: the cell before */
};

struct pending_loss {
    struct loss loss;
    uint64_t count; /* not written yet */
};

struct writer {
    struct sink sink; /* first: the sink is the writer */
    char dir[PATH_LEN], path[PATH_LEN], tail_path[PATH_LEN];
    unsigned session;

    pthread_mutex_t pending;
    struct buf rows; /* records not in the tail yet */
    struct wgroup **groups;
    uint32_t n_groups;
    uint64_t tail; /* number of the tail that rows are written for, from 1 */
    uint32_t tail_groups;
    struct pending_loss *losses;
    size_t n_losses;
    struct writer_stats stats;
    uint64_t dropped_told; /* of stats.rows_dropped, already counted as a loss */

    pthread_mutex_t files;
    int fd, tail_fd, lock_fd;
    uint8_t id[FILE_ID_LEN];
    off_t fp_len, tail_len;
    struct buf frame;    /* header and payload of the frame to write; only the header: none */
    uint64_t frame_tail; /* number of the tail it belongs to */
    struct buf index;    /* uint64_t offset, kind of each block */
    struct codec *codec;
    struct clock_tie tie; /* the last one written */
    mono_ns seal_not_before;
    bool seal_wanted;
    bool sealed; /* the tail is in blocks, but not emptied yet */
};

/* ---- adding (under `pending`) ---- */

static struct wgroup *wgroup_of(struct writer *w, struct group *g)
{
    if (g->sink_data)
        return g->sink_data;
    struct wgroup *wg = xcalloc(1, sizeof *wg);
    w->groups = xrealloc(w->groups, w->n_groups + 1, sizeof *w->groups);
    w->groups[w->n_groups++] = wg;
    g->sink_data = wg;
    return wg;
}

static void make_room(struct wgroup *wg, uint32_t n)
{
    if (n > wg->cap) {
        wg->cap = MAX_OF(n, wg->cap * 2);
        wg->born = xrealloc(wg->born, wg->cap, sizeof *wg->born);
        wg->last = xrealloc(wg->last, wg->cap, sizeof *wg->last);
    }
    for (; wg->n < n; wg->n++)
        wg->born[wg->n] = 0;
}

static void put_slot(struct buf *out, const struct wgroup *wg, uint32_t i, const struct slot *s)
{
    const struct metric *m = &metrics[s->metric];
    buf_u8(out, TAG_SLOT);
    buf_varint(out, wg->number);
    buf_varint(out, i);
    buf_str(out, m->name);
    buf_str(out, unit_name(m->unit));
    buf_str(out, s->entity);
    buf_f64(out, s->step);
}

static void declare_slots(struct buf *out, struct wgroup *wg, const struct group *g)
{
    make_room(wg, g->n);
    for (uint32_t i = 0; i < g->n; i++) {
        const struct slot *s = &g->slots[i];
        const uint32_t born = s->used ? s->born : 0;
        if (wg->born[i] == born)
            continue;
        if (wg->born[i] && !born) {
            buf_u8(out, TAG_DROP);
            buf_varint(out, wg->number);
            buf_varint(out, i);
        }
        if (born)
            put_slot(out, wg, i, s);
        wg->born[i] = born;
        wg->last[i] = 0;
    }
    wg->generation = g->generation;
}

static void declare_group(struct writer *w, struct wgroup *wg, const struct group *g, int64_t t_us)
{
    wg->tail = w->tail;
    wg->number = w->tail_groups++;
    wg->rows = 0;
    wg->period_ns = g->period_ns;
    wg->t_prev_us = t_us - g->period_ns / NS_PER_US;
    wg->n = 0;
    buf_u8(&w->rows, TAG_GROUP);
    buf_varint(&w->rows, wg->number);
    buf_str(&w->rows, g->name);
    buf_varint(&w->rows, (uint64_t)g->period_ns);
    buf_varint(&w->rows, zigzag(wg->t_prev_us));
}

static inline uint8_t *put_cell(uint8_t *p, int64_t cell, int64_t *last)
{
    if (cell == CELL_MISSING) {
        *p = CELL_GAP;
        return p + 1;
    }
    const uint64_t z = zigzag((int64_t)((uint64_t)cell - (uint64_t)*last));
    *last = cell;
    if (z <= CELL_SMALL_MOST) {
        *p = (uint8_t)z;
        return p + 1;
    }
    const unsigned len = z <= UINT16_MAX ? 2 : z <= UINT32_MAX ? 4 : 8;
    *p = len == 2 ? CELL_U16 : len == 4 ? CELL_U32 : CELL_U64;
    memcpy(p + 1, &z, len);
    return p + 1 + len;
}

static void put_row(struct writer *w, struct wgroup *wg, const struct group *g, int64_t t_us)
{
    const int64_t off = t_us - wg->t_prev_us - wg->period_ns / NS_PER_US;
    buf_u8(&w->rows, TAG_ROW);
    buf_varint(&w->rows, wg->number);
    buf_varint(&w->rows, zigzag(off));
    buf_reserve(&w->rows, 9 * (size_t)g->n);
    uint8_t *p = w->rows.p + w->rows.len;
    /* In locals, as a byte stored through p could otherwise have changed any of these. */
    const uint32_t *born = wg->born, n = g->n;
    const int64_t *cells = g->cells;
    int64_t *last = wg->last;
    uint64_t samples = 0;
    for (uint32_t i = 0; i < n; i++)
        if (born[i]) {
            samples += cells[i] != CELL_MISSING;
            p = put_cell(p, cells[i], &last[i]);
        }
    w->stats.samples += samples;
    w->rows.len = (size_t)(p - w->rows.p);
    wg->t_prev_us = t_us;
    wg->rows++;
    w->stats.rows++;
}

static void add_row(struct sink *s, struct group *g, mono_ns t)
{
    struct writer *w = (struct writer *)s;
    const int64_t t_us = t.ns / NS_PER_US;
    pthread_mutex_lock(&w->pending);
    if (w->rows.len > PENDING_MOST) {
        w->stats.rows_dropped++;
    } else {
        struct wgroup *wg = wgroup_of(w, g);
        if (wg->tail != w->tail || wg->period_ns != g->period_ns || wg->rows == ROWS_MOST)
            declare_group(w, wg, g, t_us);
        if (wg->generation != g->generation || wg->rows == 0)
            declare_slots(&w->rows, wg, g);
        put_row(w, wg, g, t_us);
    }
    pthread_mutex_unlock(&w->pending);
}

static bool same_loss(const struct loss *a, const struct loss *b)
{
    return a->id == b->id && strcmp(a->what, b->what) == 0 && strcmp(a->why, b->why) == 0;
}

/* Losses are counted here and written with the next flush, so a reading that fails a thousand times
 * a second costs one record a second. */
static struct pending_loss *find_loss(struct writer *w, const struct loss *l)
{
    for (size_t i = 0; i < w->n_losses; i++)
        if (same_loss(&w->losses[i].loss, l))
            return &w->losses[i];
    if (w->n_losses == LOSSES_MOST)
        return &w->losses[LOSSES_MOST - 1];
    w->losses = xrealloc(w->losses, w->n_losses + 1, sizeof *w->losses);
    struct pending_loss *p = &w->losses[w->n_losses++];
    *p = (struct pending_loss){.loss = *l};
    if (w->n_losses == LOSSES_MOST) {
        p->loss.id = LOSS_LIMIT;
        snprintf(p->loss.what, sizeof p->loss.what, "losses");
        snprintf(p->loss.why, sizeof p->loss.why, "more kinds of loss than are kept apart");
    }
    return p;
}

static void count_loss(struct writer *w, const struct loss *l)
{
    struct pending_loss *p = find_loss(w, l);
    p->loss.at = l->at;
    p->count += l->count;
}

static void add_loss(struct sink *s, const struct loss *l)
{
    struct writer *w = (struct writer *)s;
    pthread_mutex_lock(&w->pending);
    count_loss(w, l);
    pthread_mutex_unlock(&w->pending);
}

static void add_mark(struct sink *s, const struct mark *m)
{
    struct writer *w = (struct writer *)s;
    pthread_mutex_lock(&w->pending);
    if (w->rows.len > MARKS_MOST) {
        struct loss l = {.id = LOSS_WRITE, .count = 1, .at = m->at};
        snprintf(l.what, sizeof l.what, "marks");
        snprintf(l.why, sizeof l.why, "no room to keep them until the run folder takes them");
        count_loss(w, &l);
    } else {
        buf_u8(&w->rows, TAG_MARK);
        buf_str(&w->rows, marks[m->id].name);
        buf_varint(&w->rows, zigzag(m->at.ns / NS_PER_US));
        buf_varint(&w->rows, zigzag(m->number));
        buf_str(&w->rows, m->text);
    }
    pthread_mutex_unlock(&w->pending);
}

static const struct sink_ops ops = {.row = add_row, .loss = add_loss, .mark = add_mark};

/* ---- flushing (under `files`) ---- */

static void put_losses(struct writer *w)
{
    for (size_t i = 0; i < w->n_losses; i++) {
        struct pending_loss *p = &w->losses[i];
        if (!p->count)
            continue;
        buf_u8(&w->rows, TAG_LOSS);
        buf_str(&w->rows, losses[p->loss.id].name);
        buf_varint(&w->rows, p->count);
        buf_varint(&w->rows, zigzag(p->loss.at.ns / NS_PER_US));
        buf_str(&w->rows, p->loss.what);
        buf_str(&w->rows, p->loss.why);
        p->count = 0;
    }
}

/* Rows that had to be dropped become a loss once there is room again. */
static void put_dropped(struct writer *w)
{
    if (w->stats.rows_dropped == w->dropped_told)
        return;
    struct loss l = {.id = LOSS_DISK_FULL, .at = clock_mono()};
    l.count = w->stats.rows_dropped - w->dropped_told;
    if (w->stats.write_errno != ENOSPC && w->stats.write_errno != EDQUOT)
        l.id = LOSS_WRITE;
    snprintf(l.what, sizeof l.what, "rows");
    snprintf(l.why, sizeof l.why, "%s",
             w->stats.write_errno ? strerror(w->stats.write_errno)
                                  : "they came faster than they were written");
    w->dropped_told = w->stats.rows_dropped;
    count_loss(w, &l);
}

static void put_tie(struct writer *w)
{
    const struct clock_tie now = clock_tie_now();
    const int64_t offset = now.wall.ns - now.mono.ns, old = w->tie.wall.ns - w->tie.mono.ns;
    const bool jump = offset - old > JUMP_NS || old - offset > JUMP_NS;
    if (!jump && mono_diff(now.mono, w->tie.mono) < TIE_EVERY_NS)
        return;
    w->tie = now;
    pthread_mutex_lock(&w->pending);
    buf_u8(&w->rows, TAG_TIE);
    buf_varint(&w->rows, zigzag(now.mono.ns));
    buf_varint(&w->rows, zigzag(now.wall.ns));
    pthread_mutex_unlock(&w->pending);
    if (jump)
        sink_mark(&w->sink, MARK_CLOCK_JUMP, offset - old, "wall clock set %s",
                  offset > old ? "forward" : "back");
}

static void count_bytes(struct writer *w, size_t n)
{
    pthread_mutex_lock(&w->pending);
    w->stats.bytes_written += n;
    w->stats.file_bytes = (uint64_t)w->fp_len;
    pthread_mutex_unlock(&w->pending);
}

/* Appends at `*len`; on failure the file is cut back to it, so a retry starts clean. */
static int append(struct writer *w, int fd, off_t *len, const struct buf *b, const char *name,
                  struct err *e)
{
    if (lseek(fd, *len, SEEK_SET) < 0)
        return err_sys(e, "seek in '%s'", name);
    int rc = fd_write_all(fd, b->p, b->len, name, e);
    if (rc) {
        if (ftruncate(fd, *len) < 0)
            return err_sys(e, "cut '%s' back", name);
        return rc;
    }
    *len += (off_t)b->len;
    count_bytes(w, b->len);
    return 0;
}

static int write_tail_header(struct writer *w, struct err *e)
{
    struct buf b = {0};
    struct file_header h = {.kind = FILE_TAIL, .segment = w->frame_tail, .tie = w->tie};
    memcpy(h.id, w->id, sizeof h.id);
    file_header_put(&b, &h);
    int rc = append(w, w->tail_fd, &w->tail_len, &b, w->tail_path, e);
    buf_free(&b);
    return rc;
}

static int write_frame(struct writer *w, bool durable, struct err *e)
{
    if (w->frame.len == FRAME_HEADER_LEN)
        return 0;
    int rc = w->tail_len == 0 ? write_tail_header(w, e) : 0;
    if (rc == 0)
        rc = append(w, w->tail_fd, &w->tail_len, &w->frame, w->tail_path, e);
    if (rc == 0)
        w->frame.len = FRAME_HEADER_LEN;
    if (rc == 0 && durable && fdatasync(w->tail_fd) < 0)
        rc = err_sys(e, "sync '%s'", w->tail_path);
    return rc;
}

static int keep_block(void *ctx, const struct block_header *h, const struct buf *b, struct err *e)
{
    struct writer *w = ctx;
    const off_t at = w->fp_len;
    int rc = append(w, w->fd, &w->fp_len, b, w->path, e);
    if (rc == 0) {
        buf_u64(&w->index, (uint64_t)at);
        buf_u64(&w->index, h->kind);
    }
    return rc;
}

/* In windows, so that sealing needs little more memory than the columns. */
static int read_tail(struct writer *w, struct segment *s, struct err *e)
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
        const size_t used = segment_read_frames(s, window.p, (size_t)got, w->frame_tail, &torn);
        at += (off_t)used;
        want = used ? want : want * 2; /* a frame larger than the window */
        if (!used && (want > 2 * (size_t)FRAME_MOST || at + got >= w->tail_len))
            rc = err_set(e, ERR_FORMAT, "'%s' was changed by somebody else", w->tail_path);
    }
    buf_free(&window);
    return rc;
}

static int seal_blocks(struct writer *w, struct err *e)
{
    const off_t before = w->fp_len;
    const size_t index_before = w->index.len;
    const struct seal_out out = {keep_block, w};
    struct segment s = {0};
    int rc = read_tail(w, &s, e);
    if (rc == 0)
        rc = seal_segment(w->codec, &s, (uint32_t)w->frame_tail, &out, e);
    if (rc == 0 && fdatasync(w->fd) < 0)
        rc = err_sys(e, "sync '%s'", w->path);
    segment_free(&s);
    malloc_trim(0); /* the columns were the recorder's largest memory; give it back */
    if (rc) {
        w->fp_len = before;
        w->index.len = index_before;
        if (ftruncate(w->fd, before) < 0)
            return err_sys(e, "cut '%s' back", w->path);
    }
    return rc;
}

/* Two steps, each done once: a tail that could not be emptied must not be sealed a second time. */
static int seal_tail(struct writer *w, struct err *e)
{
    int rc = w->sealed ? 0 : seal_blocks(w, e);
    if (rc)
        return rc;
    w->sealed = true;
    if (ftruncate(w->tail_fd, 0) < 0)
        return err_sys(e, "empty '%s'", w->tail_path);
    w->tail_len = 0;
    w->seal_wanted = false;
    w->sealed = false;
    return 0;
}

/* Takes the pending records as the next frame. From here on new rows belong to the next tail when
 * this one has grown enough. */
static void take_rows(struct writer *w, bool last)
{
    pthread_mutex_lock(&w->pending);
    put_dropped(w);
    put_losses(w);
    w->frame_tail = w->tail;
    w->frame.len = FRAME_HEADER_LEN;
    buf_put(&w->frame, w->rows.p, w->rows.len);
    w->rows.len = 0;
    if (last || (size_t)w->tail_len + w->frame.len >= SEAL_BYTES) {
        w->seal_wanted = true;
        w->tail++;
        w->tail_groups = 0;
    }
    pthread_mutex_unlock(&w->pending);
    const uint32_t len = (uint32_t)(w->frame.len - FRAME_HEADER_LEN);
    const uint32_t sum = format_sum32(w->frame.p + FRAME_HEADER_LEN, len, w->frame_tail);
    memcpy(w->frame.p, &len, sizeof len);
    memcpy(w->frame.p + sizeof len, &sum, sizeof sum);
}

static int seal_if_wanted(struct writer *w, struct err *e)
{
    if (!w->seal_wanted)
        return 0;
    if (mono_diff(clock_mono(), w->seal_not_before) < 0)
        return err_set(e, ERR_SYS, "'%s' waits for room", w->path);
    int rc = seal_tail(w, e);
    if (rc)
        w->seal_not_before = mono_add(clock_mono(), SEAL_AGAIN_NS);
    return rc;
}

/* In order: what failed last time, then what has come since. */
static int flush_locked(struct writer *w, bool durable, bool last, struct err *e)
{
    int rc = write_frame(w, durable, e);
    if (rc == 0)
        rc = seal_if_wanted(w, e);
    if (rc)
        return rc;
    put_tie(w);
    take_rows(w, last);
    rc = write_frame(w, durable, e);
    return rc ? rc : seal_if_wanted(w, e);
}

int writer_flush(struct writer *w, bool durable, struct err *e)
{
    pthread_mutex_lock(&w->files);
    int rc = flush_locked(w, durable, false, e);
    pthread_mutex_lock(&w->pending);
    if (rc && e->sys)
        w->stats.write_errno = e->sys;
    else if (rc == 0 && w->stats.rows_dropped == w->dropped_told)
        w->stats.write_errno = 0;
    pthread_mutex_unlock(&w->pending);
    pthread_mutex_unlock(&w->files);
    return rc;
}

/* ---- opening and closing ---- */

static int lock_folder(struct writer *w, struct err *e)
{
    char path[PATH_LEN];
    int rc = path_join(path, e, "%s/lock", w->dir);
    if (rc)
        return rc;
    w->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (w->lock_fd < 0)
        return err_sys(e, "create '%s'", path);
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(w->lock_fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return 0; /* a file system without locks is trusted to have one recorder a node */
        usleep(LOCK_WAIT_US);
    }
    return err_set(e, ERR_BUSY,
                   "'%s' is being written by another recorder: give each its own node id", w->dir);
}

static int session_paths(struct writer *w, unsigned k, struct err *e)
{
    char number[16] = "";
    if (k > 1)
        snprintf(number, sizeof number, "-%u", k);
    int rc = path_join(w->path, e, "%s/metrics%s.fp", w->dir, number);
    return rc ? rc : path_join(w->tail_path, e, "%s/metrics%s.tail", w->dir, number);
}

static int create_files(struct writer *w, struct err *e)
{
    for (unsigned k = 1; k < SESSIONS_MOST; k++) {
        int rc = session_paths(w, k, e);
        if (rc)
            return rc;
        w->fd = open(w->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (w->fd < 0 && errno == EEXIST)
            continue;
        if (w->fd < 0)
            return err_sys(e, "create '%s'", w->path);
        w->session = k;
        w->tail_fd = open(w->tail_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        return w->tail_fd < 0 ? err_sys(e, "create '%s'", w->tail_path) : 0;
    }
    return err_set(e, ERR_LIMIT, "'%s' holds %d recordings already", w->dir, SESSIONS_MOST);
}

static int write_file_header(struct writer *w, struct err *e)
{
    struct file_header h = {.kind = FILE_SEALED, .tie = w->tie};
    if (getrandom(w->id, sizeof w->id, 0) != (ssize_t)sizeof w->id)
        return err_sys(e, "random file id");
    memcpy(h.id, w->id, sizeof h.id);
    struct buf b = {0};
    file_header_put(&b, &h);
    int rc = append(w, w->fd, &w->fp_len, &b, w->path, e);
    buf_free(&b);
    return rc;
}

static void writer_free(struct writer *w)
{
    for (uint32_t i = 0; i < w->n_groups; i++) {
        free(w->groups[i]->born);
        free(w->groups[i]->last);
        free(w->groups[i]);
    }
    free(w->groups);
    free(w->losses);
    buf_free(&w->rows);
    buf_free(&w->frame);
    buf_free(&w->index);
    codec_close(w->codec);
    for (int *fd = (int[]){w->fd, w->tail_fd, w->lock_fd, -2}; *fd != -2; fd++)
        if (*fd >= 0)
            close(*fd);
    pthread_mutex_destroy(&w->pending);
    pthread_mutex_destroy(&w->files);
    free(w);
}

int writer_open(struct writer **out, const char *dir, struct err *e)
{
    struct writer *w = xcalloc(1, sizeof *w);
    w->sink.ops = &ops;
    w->fd = w->tail_fd = w->lock_fd = -1;
    w->tail = 1;
    w->codec = codec_open();
    w->tie = clock_tie_now();
    pthread_mutex_init(&w->pending, NULL);
    pthread_mutex_init(&w->files, NULL);
    buf_reserve(&w->frame, FRAME_HEADER_LEN);
    w->frame.len = FRAME_HEADER_LEN;
    int rc = path_join(w->dir, e, "%s", dir);
    if (rc == 0)
        rc = lock_folder(w, e);
    if (rc == 0)
        rc = create_files(w, e);
    if (rc == 0)
        rc = write_file_header(w, e);
    if (rc && w->fd >= 0) { /* ours, and empty */
        unlink(w->path);
        unlink(w->tail_path);
    }
    if (rc) {
        writer_free(w);
        return rc;
    }
    *out = w;
    return 0;
}

struct sink *writer_sink(struct writer *w)
{
    return &w->sink;
}

unsigned writer_session(const struct writer *w)
{
    return w->session;
}

void writer_get_stats(struct writer *w, struct writer_stats *out)
{
    pthread_mutex_lock(&w->pending);
    *out = w->stats;
    pthread_mutex_unlock(&w->pending);
}

static int write_index(struct writer *w, struct err *e)
{
    const size_t n = w->index.len / 16;
    struct cur in = cur_of(w->index.p, w->index.len);
    struct buf head = {0}, none = {0}, out = {0};
    uint64_t before = 0;
    buf_varint(&head, n);
    for (size_t i = 0; i < n; i++) {
        const uint64_t at = cur_u64(&in);
        buf_varint(&head, (at - before) / BLOCK_ALIGN);
        buf_varint(&head, cur_u64(&in));
        before = at;
    }
    const struct block_header h = {.kind = BLOCK_INDEX, .segment = (uint32_t)w->tail};
    block_put(&out, &h, &head, &none);
    buf_u64(&out, (uint64_t)w->fp_len);
    buf_put(&out, FILE_END_MAGIC, 8);
    int rc = append(w, w->fd, &w->fp_len, &out, w->path, e);
    if (rc == 0 && fdatasync(w->fd) < 0)
        rc = err_sys(e, "sync '%s'", w->path);
    buf_free(&head);
    buf_free(&out);
    return rc;
}

int writer_close(struct writer *w, struct err *e)
{
    pthread_mutex_lock(&w->files);
    w->seal_not_before = (mono_ns){0};
    int rc = flush_locked(w, true, true, e);
    if (rc == 0)
        rc = write_index(w, e);
    if (rc == 0 && unlink(w->tail_path) < 0)
        rc = err_sys(e, "remove '%s'", w->tail_path);
    pthread_mutex_unlock(&w->files);
    writer_free(w);
    return rc;
}
