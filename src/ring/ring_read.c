/* SPDX-License-Identifier: Apache-2.0 */
/* ring_read.c - see ring_read.h. */
#include "ring/ring_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "ring/ring_proc.h"
#include "ring/ring_text.h"

enum { BATCH = 512 };

/* A place that was taken and is still not written after this long: its thread was stopped, or
 * jumped out of a signal handler in the middle of an emit. The ring must not wait for it for ever.
 */
static const int64_t torn_after_ns = NS_PER_S;

struct ring_read_source { /* one thread ring, as far as we have come */
    uint64_t tail;
    uint64_t dropped;
    uint32_t tid;
    int64_t last_ns; /* of the last event */
    int64_t
        stalled_ns; /* since when the place at the tail is taken and not written; 0: it is not */
};

struct ring_reader {
    int fd;
    struct ring_process process;
    bool gone;  /* the process had ended when last checked */
    bool empty; /* the last drain, begun after that, brought nothing */
    struct ring_losses losses, told;
    uint64_t seen_dropped, seen_names_lost;
    void *user;
    struct ring_read_source ring[RING_COUNT];
    char names[RING_NAMES][RING_TEXT_LEN]; /* "" until it is known */
    /* Scratch of a drain. */
    struct {
        struct ring_file file;
        struct ring_head head[RING_COUNT];
    } top;
    struct ring_slot seen[BATCH], slots[BATCH];
    struct ring_event events[BATCH];
};

struct drain { /* what one call of ring_reader_drain works with */
    struct ring_reader *r;
    const struct ring_clock *clock;
    const struct ring_handler *h;
    int64_t now_ns;
    size_t events;
};

static int ring_read_all(const struct ring_reader *r, void *to, size_t n, uint64_t at,
                         struct err *e)
{
    const ssize_t got = pread(r->fd, to, n, (off_t)at);
    if (got < 0)
        return err_sys(e, "ring of process %u", r->process.pid);
    if ((size_t)got != n)
        return err_set(e, ERR_FORMAT, "the ring of process %u was truncated", r->process.pid);
    return 0;
}

static int check_header(const struct ring_file *f, struct err *e)
{
    if (f->magic == 0)
        return err_set(e, ERR_BUSY, "the ring is not ready yet");
    if (f->magic != RING_MAGIC)
        return err_set(e, ERR_FORMAT, "not a ring file");
    if (f->version != RING_VERSION)
        return err_set(e, ERR_VERSION, "ring format %u, this program reads %u", f->version,
                       RING_VERSION);
    if (f->rings != RING_COUNT || f->slots != RING_SLOTS || f->names != RING_NAMES)
        return err_set(e, ERR_FORMAT, "a ring file with other sizes");
    if (f->clock != RING_CLOCK_MONOTONIC && f->clock != RING_CLOCK_TSC)
        return err_set(e, ERR_FORMAT, "a ring file with clock %u", f->clock);
    return 0;
}

/* Goes on where the last reader stopped, as far as that can be true. */
static void resume(struct ring_reader *r, struct ring_read_source *s, const struct ring_head *h)
{
    const bool sane = h->head - h->tail <= RING_SLOTS;
    s->tail = sane ? h->tail : h->head;
    s->tid = h->owner;
    r->losses.bad += !sane;
}

static int ring_read_start(struct ring_reader *r, struct err *e)
{
    struct stat st;
    if (fstat(r->fd, &st) != 0)
        return err_sys(e, "ring file");
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_FORMAT, "not a file");
    if (st.st_size == 0)
        return err_set(e, ERR_BUSY, "the ring is not ready yet");
    int rc = ring_read_all(r, &r->top, sizeof r->top, 0, e);
    if (rc == 0)
        rc = check_header(&r->top.file, e);
    if (rc)
        return rc;
    const struct ring_file *f = &r->top.file;
    const uint64_t ns = ring_pid_ns();
    r->process = (struct ring_process){
        .pid = f->pid,
        .start_ticks = f->start_ticks,
        .same_ns = ns != 0 && ns == f->pid_ns,
        .clock = f->clock,
    };
    for (unsigned i = 0; i < RING_COUNT; i++)
        resume(r, &r->ring[i], &r->top.head[i]);
    return 0;
}

int ring_reader_open(struct ring_reader **out, int dirfd, const char *name, struct err *e)
{
    const int fd = openat(dirfd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, "open '%s'", name);
    struct ring_reader *r = xcalloc(1, sizeof *r);
    r->fd = fd;
    const int rc = ring_read_start(r, e);
    if (rc) {
        ring_reader_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

void ring_reader_close(struct ring_reader *r)
{
    if (!r)
        return;
    close(r->fd);
    free(r);
}

/* The text of a name; the table only grows, so what was whole once stays. */
static const char *ring_read_name_of(struct ring_reader *r, uint32_t id)
{
    struct ring_name n;
    struct err e;
    if (id == 0 || id >= RING_NAMES)
        return "";
    char *text = r->names[id];
    if (!text[0] && ring_read_all(r, &n, sizeof n, RING_NAMES_AT + id * sizeof n, &e) == 0 &&
        n.ready == 1)
        ring_text_clean(text, n.text, n.len);
    return text;
}

/* Not after now, not before the thread's last event. */
static int64_t ring_read_time_of(const struct drain *d, struct ring_read_source *s, uint64_t time)
{
    int64_t ns =
        d->r->process.clock == RING_CLOCK_TSC ? ring_clock_at(d->clock, time).ns : (int64_t)time;
    if (ns > d->now_ns)
        ns = d->now_ns;
    if (ns < s->last_ns)
        ns = s->last_ns;
    s->last_ns = ns;
    return ns;
}

/* One whole slot: an event, a change of thread, or nothing that makes sense. */
static size_t ring_read_take_slot(struct drain *d, struct ring_read_source *s,
                                  const struct ring_slot *slot, struct ring_event *out)
{
    const uint32_t what = (uint32_t)(slot->said >> 32), name = (uint32_t)slot->said;
    const uint32_t kind = what & 0xff, mode = what >> 8;
    if (kind == 0 || kind >= RING_KIND_END || mode > UINT8_MAX) {
        d->r->losses.bad++;
        return 0;
    }
    if (kind == RING_THREAD) {
        s->tid = (uint32_t)slot->value;
        return 0;
    }
    *out = (struct ring_event){
        .at = {ring_read_time_of(d, s, slot->time)},
        .kind = (enum ring_kind)kind,
        .mode = (uint8_t)mode,
        .tid = s->tid,
        .name_id = name,
        .name = ring_read_name_of(d->r, name),
        .step = slot->value,
    };
    if (kind == RING_LOSS)
        out->reason = ring_read_name_of(d->r, slot->value < RING_NAMES ? (uint32_t)slot->value : 0);
    return 1;
}

static void deliver(struct drain *d, struct ring_read_source *s, size_t n)
{
    struct ring_reader *r = d->r;
    size_t made = 0;
    for (size_t i = 0; i < n; i++)
        made += ring_read_take_slot(d, s, &r->slots[i], &r->events[made]);
    if (made)
        d->h->events(d->h->arg, r, r->events, made);
    d->events += made;
}

static size_t count_whole(const struct ring_slot *slot, uint64_t index, size_t n)
{
    size_t i = 0;
    while (i < n && slot[i].seq == index + i + 1)
        i++;
    return i;
}

static size_t count_torn(const struct ring_slot *slot, uint64_t index, size_t n)
{
    size_t i = 0;
    while (i < n && slot[i].seq != index + i + 1)
        i++;
    return i;
}

/* Up to n places from the tail on, as many as are whole. They are read twice: the first copy shows
 * which are whole, and only what is copied after that is sure not to be half written. */
static int ring_read_whole(struct drain *d, const struct ring_read_source *s, unsigned ring,
                           size_t *n, struct err *e)
{
    struct ring_reader *r = d->r;
    const uint64_t at =
        RING_SLOTS_AT + ring * RING_BYTES + (s->tail & RING_MASK) * sizeof(struct ring_slot);
    int rc = ring_read_all(r, r->seen, *n * sizeof r->seen[0], at, e);
    if (rc)
        return rc;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    *n = count_whole(r->seen, s->tail, *n);
    return *n ? ring_read_all(r, r->slots, *n * sizeof r->slots[0], at, e) : 0;
}

/* The place at the tail is taken and not whole: how many of the n that were seen to step over. Of a
 * dead process all that are not whole; of a living one the first, when it was given its time. */
static size_t ring_read_give_up(const struct drain *d, struct ring_read_source *s, size_t n)
{
    if (d->r->gone)
        return count_torn(d->r->seen, s->tail, n);
    if (s->stalled_ns == 0)
        s->stalled_ns = d->now_ns;
    if (d->now_ns - s->stalled_ns < torn_after_ns)
        return 0;
    s->stalled_ns = 0;
    return 1;
}

/* One stretch that does not go round the end of the ring. *done: there is no more to be had. */
static int drain_batch(struct drain *d, struct ring_read_source *s, unsigned ring, uint64_t head,
                       bool *done, struct err *e)
{
    const size_t straight = MIN_OF(head - s->tail, RING_SLOTS - (s->tail & RING_MASK));
    const size_t most = MIN_OF(straight, (size_t)BATCH);
    size_t n = most, torn = 0;
    const int rc = ring_read_whole(d, s, ring, &n, e);
    if (rc)
        return rc;
    if (n) {
        s->stalled_ns = 0;
        deliver(d, s, n);
        s->tail += n;
    } else {
        torn = ring_read_give_up(d, s, most);
        d->r->losses.torn += torn;
        s->tail += torn;
    }
    *done = n + torn == 0;
    return 0;
}

static int write_tail(const struct ring_reader *r, unsigned ring, uint64_t tail, struct err *e)
{
    const size_t at = RING_HEADS_AT + ring * sizeof(struct ring_head);
    const off_t where = (off_t)(at + offsetof(struct ring_head, tail));
    if (pwrite(r->fd, &tail, sizeof tail, where) != (ssize_t)sizeof tail)
        return err_sys(e, "ring of process %u", r->process.pid);
    return 0;
}

static void ring_read_grow(struct ring_reader *r, uint64_t *seen, uint64_t now, uint64_t *lost)
{
    if (now < *seen)
        r->losses.bad++;
    else
        *lost += now - *seen;
    *seen = now;
}

static int drain_ring(struct drain *d, unsigned ring, struct err *e)
{
    struct ring_reader *r = d->r;
    struct ring_read_source *s = &r->ring[ring];
    const struct ring_head *h = &r->top.head[ring];
    const uint64_t began = s->tail;
    bool done = false;
    int rc = 0;
    ring_read_grow(r, &s->dropped, h->dropped, &r->losses.dropped);
    if (h->head - s->tail > RING_SLOTS) { /* no writer of ours does that */
        r->losses.bad++;
        s->tail = h->head;
    }
    while (rc == 0 && !done && s->tail != h->head)
        rc = drain_batch(d, s, ring, h->head, &done, e);
    if (rc == 0 && s->tail != began)
        rc = write_tail(r, ring, s->tail, e);
    return rc;
}

static void ring_read_tell_losses(struct drain *d)
{
    struct ring_reader *r = d->r;
    const struct ring_losses *a = &r->losses, *b = &r->told;
    const struct ring_losses more = {
        .dropped = a->dropped - b->dropped,
        .no_ring = a->no_ring - b->no_ring,
        .torn = a->torn - b->torn,
        .bad = a->bad - b->bad,
        .names = a->names - b->names,
    };
    if (more.dropped || more.no_ring || more.torn || more.bad || more.names)
        d->h->lost(d->h->arg, r, &more);
    r->told = r->losses;
}

int ring_reader_drain(struct ring_reader *r, const struct ring_clock *c,
                      const struct ring_handler *h, size_t *events, struct err *e)
{
    struct drain d = {.r = r, .clock = c, .h = h, .now_ns = clock_mono().ns};
    int rc = ring_read_all(r, &r->top, sizeof r->top, 0, e);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (rc == 0) {
        ring_read_grow(r, &r->seen_dropped, r->top.file.dropped, &r->losses.no_ring);
        ring_read_grow(r, &r->seen_names_lost, r->top.file.names_lost, &r->losses.names);
    }
    for (unsigned i = 0; rc == 0 && i < RING_COUNT; i++)
        rc = drain_ring(&d, i, e);
    ring_read_tell_losses(&d);
    r->empty = r->gone && d.events == 0;
    *events = d.events;
    return rc;
}

enum ring_check ring_reader_check(struct ring_reader *r)
{
    if (!r->gone && r->process.same_ns)
        r->gone = !ring_process_lives(r->process.pid, r->process.start_ticks);
    return r->gone && r->empty ? RING_FINISHED : RING_ALIVE;
}

int ring_reader_ask(struct ring_reader *r, uint64_t generation, struct err *e)
{
    const off_t where = (off_t)offsetof(struct ring_file, asked);
    if (pwrite(r->fd, &generation, sizeof generation, where) != (ssize_t)sizeof generation)
        return err_sys(e, "ring of process %u", r->process.pid);
    return 0;
}

const struct ring_process *ring_reader_process(const struct ring_reader *r)
{
    return &r->process;
}

const struct ring_losses *ring_reader_losses(const struct ring_reader *r)
{
    return &r->losses;
}

void **ring_reader_user(struct ring_reader *r)
{
    return &r->user;
}
