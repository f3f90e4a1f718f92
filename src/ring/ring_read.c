/* SPDX-License-Identifier: Apache-2.0 */
/* ring_read.c - see ring_read.h. ring_layout.h explains why an event that was seen whole stays so.
 *
 * Order of one drain, and what it relies on:
 *
 * - Heads are read first, with an acquire fence after them. Places before a head were taken before.
 * - Slots are copied twice. The first copy shows by seq which are whole; after another fence the
 *   second copy has all words of those. pread copies bytes in no given order, so one copy could
 *   have a new seq with an old value.
 * - The tail is written into the file after the events were delivered. Until then the job cannot
 *   use these places again, however long the handler takes.
 * - Nothing from the file is used as a size or a position. A head that is too far from our own tail
 *   is counted as bad, and its ring continues there. */
#include "ring/ring_read.h"

#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "ring/ring_proc.h"

/* ---- names ---- */

struct utf8_form { /* of characters with this many bytes */
    uint8_t mask, lead;
    uint32_t least; /* smaller ones have a shorter form, which is the only one allowed */
};

static const struct utf8_form forms[] = {
    {0x80, 0x00, 0x20},
    {0xe0, 0xc0, 0xa0}, /* 0x80 to 0x9f are controls */
    {0xf0, 0xe0, 0x800},
    {0xf8, 0xf0, 0x10000},
};

static bool is_printable(uint32_t c)
{
    return c != 0x7f && !(c >= 0xd800 && c <= 0xdfff) && c <= 0x10ffff;
}

/* How many bytes the character at p has, 0 when there is none. */
static size_t char_length(const uint8_t *p, size_t left)
{
    for (size_t n = 1; n <= sizeof forms / sizeof forms[0]; n++) {
        const struct utf8_form *f = &forms[n - 1];
        if ((p[0] & f->mask) != f->lead)
            continue;
        uint32_t c = p[0] & (uint8_t)~f->mask;
        if (n > left)
            return 0;
        for (size_t i = 1; i < n; i++) {
            if ((p[i] & 0xc0) != 0x80)
                return 0;
            c = c << 6 | (p[i] & 0x3f);
        }
        return c >= f->least && is_printable(c) ? n : 0;
    }
    return 0;
}

void ring_text_clean(char *out, size_t most, const char *text, size_t len)
{
    if (len > most)
        len = most;
    for (size_t at = 0; at < len;) {
        const size_t n = char_length((const uint8_t *)text + at, len - at);
        if (n)
            memcpy(out + at, text + at, n);
        else
            out[at] = '?';
        at += n ? n : 1;
        assert(at <= len); /* char_length counts no byte that is not there */
    }
    out[len] = '\0';
}

/* ---- clock ---- */

/* Ties come fast at first, until the rate is known well, then rarely: 128 of them are 32 s. */
enum { FIRST_TIES = 16, TRIES = 5, RATE_OVER = 8 };
static const int64_t first_gap_ns = 5 * NS_PER_MS, gap_ns = 250 * NS_PER_MS;

/* The clock between two readings of the counter, the tightest of a few tries: a preemption in
 * between would shift the tie by a time slice. */
static struct ring_tie take_tie(void)
{
    struct ring_tie best = {0};
    uint64_t best_width = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        const uint64_t before = ring_tsc(), ns = ring_mono_ns(), width = ring_tsc() - before;
        if (width < best_width) {
            best_width = width;
            best = (struct ring_tie){before + width / 2, (int64_t)ns};
        }
    }
    return best;
}

void ring_clock_add(struct ring_clock *c, struct ring_tie tie)
{
    if (c->n && (tie.ticks <= c->tie[c->n - 1].ticks || tie.ns <= c->tie[c->n - 1].ns))
        return;
    if (c->n == RING_TIES)
        memmove(c->tie, c->tie + 1, --c->n * sizeof c->tie[0]);
    assert(c->n < RING_TIES);
    c->tie[c->n++] = tie; /* both clocks grow from tie to tie, so every rate is above 0 */
}

void ring_clock_start(struct ring_clock *c)
{
    const struct timespec wait = {.tv_nsec = 2 * NS_PER_MS};
    *c = (struct ring_clock){0};
    if (!ring_tsc_usable())
        return;
    ring_clock_add(c, take_tie());
    nanosleep(&wait, NULL);
    ring_clock_add(c, take_tie());
}

void ring_clock_tick(struct ring_clock *c)
{
    if (c->n == 0)
        return;
    const int64_t gap = c->n < FIRST_TIES ? first_gap_ns : gap_ns;
    if ((int64_t)ring_mono_ns() - c->tie[c->n - 1].ns >= gap)
        ring_clock_add(c, take_tie());
}

static mono_ns on_line(struct ring_tie a, struct ring_tie b, struct ring_tie from, uint64_t ticks)
{
    assert(b.ticks > a.ticks && b.ns > a.ns); /* ring_clock_add accepts no other */
    const double rate = (double)(b.ns - a.ns) / (double)(b.ticks - a.ticks);
    const double ns = (double)(int64_t)(ticks - from.ticks) * rate;
    const double most = 4e18; /* about 130 years: beyond is nonsense, and must not overflow */
    if (!(ns > -most && ns < most))
        return (mono_ns){0};
    return (mono_ns){(int64_t)((uint64_t)from.ns + (uint64_t)(int64_t)ns)};
}

mono_ns ring_clock_at(const struct ring_clock *c, uint64_t ticks)
{
    assert(c->n <= RING_TIES);
    if (c->n < 2)
        return (mono_ns){c->n ? c->tie[0].ns : 0};
    const struct ring_tie *last = &c->tie[c->n - 1], *t = last;
    if (ticks >= last->ticks) { /* newer than the last tie: continues at the latest rate */
        const unsigned back = c->n - 1 < RATE_OVER ? c->n - 1 : RATE_OVER;
        return on_line(last[-(int)back], *last, *last, ticks);
    }
    while (t > c->tie + 1 && t[-1].ticks > ticks)
        t--;
    assert(t > c->tie && t <= last);
    return on_line(t[-1], *t, t[-1], ticks);
}

/* ---- the rings of a process ---- */

enum { BATCH = 512 };

/* A place that was taken and is still not written after this long: its thread was stopped, or
 * jumped out of a signal handler in the middle of an emit. The ring must not wait for it forever.
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
    struct ring_losses losses, reported;
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

/* Sizes must be ours. They are never taken from the file, so no offset can be wrong later. */
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

/* Continues where the last reader stopped, as far as that is plausible. */
static void ring_read_resume(struct ring_reader *r, struct ring_read_source *s,
                             const struct ring_head *h)
{
    const bool sane = h->head - h->tail <= RING_SLOTS; /* unsigned: also when the tail is ahead */
    s->tail = sane ? h->tail : h->head;
    s->tid = h->owner;
    r->losses.bad += !sane;
}

/* Before the first drain. A file without magic is being made; its process may also have died
 * while it made it, and then the folder removes it with its other files. */
static int ring_read_start(struct ring_reader *r, struct err *e)
{
    struct stat st;
    if (fstat(r->fd, &st) != 0)
        return err_sys(e, "ring file");
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_FORMAT, "not a file");
    if (st.st_size == 0)
        return err_set(e, ERR_BUSY, "the ring is not ready yet");
    TRY(ring_read_all(r, &r->top, sizeof r->top, 0, e));
    TRY(check_header(&r->top.file, e));
    const struct ring_file *f = &r->top.file;
    const uint64_t ns = ring_pid_ns();
    r->process = (struct ring_process){
        .pid = f->pid,
        .start_ticks = f->start_ticks,
        .same_ns = ns != 0 && ns == f->pid_ns,
        .clock = f->clock,
    };
    for (unsigned i = 0; i < RING_COUNT; i++)
        ring_read_resume(r, &r->ring[i], &r->top.head[i]);
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
        ring_text_clean(text, RING_NAME_LEN, n.text, n.len);
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

/* One whole slot: an event, a change of thread, or nothing that makes sense. Kind and mode come
 * from the job, so they are checked. */
static size_t ring_read_take_slot(struct drain *d, struct ring_read_source *s,
                                  const struct ring_slot *slot, struct ring_event *out)
{
    const uint32_t what = (uint32_t)(slot->what >> 32), name = (uint32_t)slot->what;
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
        .name = kind >= RING_HEALTH_STEP ? "" : ring_read_name_of(d->r, name),
        .step = slot->value,
    };
    if (kind == RING_LOSS)
        out->reason = ring_read_name_of(d->r, slot->value < RING_NAMES ? (uint32_t)slot->value : 0);
    return 1;
}

static void ring_read_deliver(struct drain *d, struct ring_read_source *s, size_t n)
{
    struct ring_reader *r = d->r;
    size_t made = 0;
    assert(n <= BATCH);
    for (size_t i = 0; i < n; i++)
        made += ring_read_take_slot(d, s, &r->slots[i], &r->events[made]);
    if (made)
        d->h->events(d->h->arg, r, r->events, made);
    d->events += made;
}

/* How many places from the first on have the seq of this lap. */
static size_t count_whole(const struct ring_slot *slot, uint64_t index, size_t n)
{
    size_t i = 0;
    while (i < n && slot[i].seq == index + i + 1)
        i++;
    return i;
}

/* How many places from the first on have another seq: of a dead process these are never written. */
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
    assert(*n > 0 && *n <= BATCH && (s->tail & RING_MASK) + *n <= RING_SLOTS);
    TRY(ring_read_all(r, r->seen, *n * sizeof r->seen[0], at, e));
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    *n = count_whole(r->seen, s->tail, *n);
    assert(*n <= BATCH);
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

/* One range of places that does not go round the end of the ring. *done: nothing more can be read.
 */
static int drain_batch(struct drain *d, struct ring_read_source *s, unsigned ring, uint64_t head,
                       bool *done, struct err *e)
{
    const size_t straight = MIN_OF(head - s->tail, RING_SLOTS - (s->tail & RING_MASK));
    const size_t most = MIN_OF(straight, (size_t)BATCH);
    size_t n = most, torn = 0;
    TRY(ring_read_whole(d, s, ring, &n, e));
    if (n) {
        s->stalled_ns = 0;
        ring_read_deliver(d, s, n);
        s->tail += n;
    } else {
        torn = ring_read_give_up(d, s, most);
        d->r->losses.torn += torn;
        s->tail += torn;
    }
    assert(n + torn <= most && head - s->tail <= RING_SLOTS); /* the tail never passes the head */
    *done = n + torn == 0;
    return 0;
}

/* An aligned word in the recorder's cache line. The job reads it with an atomic load and relies on
 * the kernel to store it whole. */
static int write_tail(const struct ring_reader *r, unsigned ring, uint64_t tail, struct err *e)
{
    const size_t at = RING_HEADS_AT + ring * sizeof(struct ring_head);
    const off_t where = (off_t)(at + offsetof(struct ring_head, tail));
    if (pwrite(r->fd, &tail, sizeof tail, where) != (ssize_t)sizeof tail)
        return err_sys(e, "ring of process %u", r->process.pid);
    return 0;
}

/* Counters of the job only grow. One that fell was overwritten; it counts as bad, and continues
 * from there. */
static void ring_read_grow(struct ring_reader *r, uint64_t *seen, uint64_t now, uint64_t *lost)
{
    if (now < *seen)
        r->losses.bad++;
    else
        *lost += now - *seen;
    *seen = now;
}

/* Up to the head that was read at the start of the drain. What comes later waits for the next
 * one, so a thread that writes fast cannot occupy the recorder with one ring. */
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
    assert(h->head - s->tail <= RING_SLOTS);
    while (rc == 0 && !done && s->tail != h->head)
        rc = drain_batch(d, s, ring, h->head, &done, e);
    if (rc == 0 && s->tail != began)
        rc = write_tail(r, ring, s->tail, e);
    return rc;
}

static void ring_read_report_losses(struct drain *d)
{
    struct ring_reader *r = d->r;
    const struct ring_losses *a = &r->losses, *b = &r->reported;
    const struct ring_losses more = {
        .dropped = a->dropped - b->dropped,
        .no_ring = a->no_ring - b->no_ring,
        .torn = a->torn - b->torn,
        .bad = a->bad - b->bad,
        .names = a->names - b->names,
    };
    if (more.dropped || more.no_ring || more.torn || more.bad || more.names)
        d->h->lost(d->h->arg, r, &more);
    r->reported = r->losses;
}

/* Counters first, then all rings. Losses are reported also when a ring failed. */
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
    ring_read_report_losses(&d);
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

void **ring_reader_user(struct ring_reader *r)
{
    return &r->user;
}
