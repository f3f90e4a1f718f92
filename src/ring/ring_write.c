/* SPDX-License-Identifier: Apache-2.0 */
/* ring_write.c - all but the fast path of ring_write.h: names get their ids, a process gets its
 * file, a thread its ring. ring_layout.h has the argument why readers see whole events.
 *
 * This code runs inside a training job. It never blocks, allocates, prints, exits or
 * raises a signal, and it leaves errno, the signal mask and cancellation as they were. So it has no
 * assert: what cannot be done is counted as dropped.
 *
 * Why threads, signal handlers and children of fork do not disturb each other:
 *
 * - A thread attaches with its signals blocked and cancellation off (struct quiet). A handler that
 *   came before has either attached the thread, which ring_attach() sees, or found it unattached.
 * - Two threads may both make a file. The compare-and-swap of live->map decides; the loser removes
 *   its own, which was never announced.
 * - A name that is added while a file is made gets into it: the adder stores the name and then
 * looks for a file, the maker stores the file and then copies the names, with full fences between.
 * At least one of the two sees the other's store, and copy_one lets only one of them write.
 * - After a fork `live` is empty in the child, so no thread of it is attached. It never writes into
 *   its parent's rings again. */
#include "ring/ring_write.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/ring_make.h"

/* ---- names ----
 *
 * The table is the process's own, so the ids in a forked child's variables remain valid, and its
 * new file gets all the names. Threads and signal handlers add to it without waiting for each
 * other: the loser of a race leaves an entry that is not used, at worst a second id for the same
 * text, which the reader resolves to the same name. */

static uint32_t ring_name_hash(const char *text, size_t len)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)text[i]) * 16777619u;
    return h ^ h >> 15;
}

/* Where a text that is too long can be cut without breaking a UTF-8 character. */
static size_t cut_length(const char *text)
{
    size_t len = strnlen(text, RING_NAME_LEN + 1);
    if (len <= RING_NAME_LEN)
        return len;
    len = RING_NAME_LEN;
    while (len > RING_NAME_LEN - 4 && ((uint8_t)text[len] & 0xc0) == 0x80)
        len--;
    return len;
}

static bool ring_name_is(const struct ring_name *n, const char *text, size_t len)
{
    return __atomic_load_n(&n->ready, __ATOMIC_ACQUIRE) && n->len == len &&
           memcmp(n->text, text, len) == 0;
}

static void ring_name_fill(struct ring_name *n, const char *text, size_t len)
{
    n->len = (uint8_t)len;
    memcpy(n->text, text, len);
    __atomic_store_n(&n->ready, 1, __ATOMIC_RELEASE);
}

static void copy_one(const struct ring_writer *w, uint8_t *map, uint32_t id)
{
    const struct ring_name *from = &w->names[id];
    struct ring_name *to = ring_name_of(map, id);
    uint8_t empty = 0;
    if (!__atomic_load_n(&from->ready, __ATOMIC_ACQUIRE) ||
        !__atomic_compare_exchange_n(&to->ready, &empty, 2, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return; /* not whole yet: its thread copies it; or another one has, or has begun to */
    ring_name_fill(to, from->text, from->len);
}

void ring_names_copy(const struct ring_writer *w, uint8_t *map)
{
    const uint32_t used = __atomic_load_n(&w->names_used, __ATOMIC_ACQUIRE);
    for (uint32_t id = 1; id <= used && id < RING_NAMES; id++)
        copy_one(w, map, id);
}

static void count_lost_name(struct ring_writer *w)
{
    uint8_t *map = __atomic_load_n(&w->live->map, __ATOMIC_ACQUIRE);
    if (map)
        __atomic_fetch_add(&ring_file_of(map)->names_lost, 1, __ATOMIC_RELAXED);
}

/* A new entry, also in the file if there is one; 0 when the table is full. */
static uint32_t ring_name_add(struct ring_writer *w, const char *text, size_t len)
{
    uint32_t used = __atomic_load_n(&w->names_used, __ATOMIC_RELAXED);
    do {
        if (used + 1 >= RING_NAMES) {
            count_lost_name(w);
            return 0;
        }
    } while (!__atomic_compare_exchange_n(&w->names_used, &used, used + 1, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    const uint32_t id = used + 1;
    ring_name_fill(&w->names[id], text, len);
    /* Against ring_put_slow, which announces a file and then copies what is ready: either it sees
     * this name or we see its file. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint8_t *map = __atomic_load_n(&w->live->map, __ATOMIC_ACQUIRE);
    if (map)
        copy_one(w, map, id);
    return id;
}

uint32_t ring_intern(struct ring_writer *w, const char *text)
{
    const size_t len = text ? cut_length(text) : 0;
    if (len == 0 || !w->live)
        return 0;
    uint32_t made = 0;
    for (uint32_t i = ring_name_hash(text, len), n = 0; n < RING_NAME_INDEX; i++, n++) {
        uint32_t *place = &w->name_index[i % RING_NAME_INDEX];
        uint32_t id = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        if (id == 0) {
            if (made == 0 && (made = ring_name_add(w, text, len)) == 0)
                return 0;
            if (__atomic_compare_exchange_n(place, &id, made, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE))
                return made;
        }
        if (ring_name_is(&w->names[id], text, len))
            return id;
    }
    return made;
}

/* ---- files and rings ---- */

/* With more threads than rings, looking for one must not become what an event costs. */
static const uint64_t retry_ns = 20 * 1000 * 1000;

/* glibc stores the values of the first keys in the thread itself and allocates for later ones. */
enum { KEYS_WITHOUT_MALLOC = 32, LIVE_BYTES = 4096 };
static_assert(sizeof(struct ring_live) <= LIVE_BYTES, "one page");
static_assert(RING_NAME_INDEX >= 2 * RING_NAMES, "a search in the index always ends");

/* While a thread attaches nothing may come in between on that thread. */
struct quiet {
    sigset_t mask;
    int cancel;
    int err;
};

/* While a thread attaches, no signal handler and no cancellation of the same thread may come in
 * between: they would find it half attached. */
static void quiet_begin(struct quiet *q)
{
    sigset_t all;
    q->err = errno;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &q->mask);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &q->cancel);
}

static void quiet_end(const struct quiet *q)
{
    pthread_setcancelstate(q->cancel, NULL);
    pthread_sigmask(SIG_SETMASK, &q->mask, NULL);
    errno = q->err;
}

static uint32_t thread_id(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

static bool thread_is_gone(uint32_t tid)
{
    return syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) != 0 && errno == ESRCH;
}

static uint64_t free_places(struct ring_head *r)
{
    return RING_ROOM - (__atomic_load_n(&r->head, __ATOMIC_RELAXED) -
                        __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE));
}

static bool take_owner(struct ring_head *r, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&r->owner, &from, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

/* Reads the recorder's tail only when the ring seems full. A tail that makes no sense leaves it
 * full. */
static bool has_room(struct ring_thread *t)
{
    if (!ring_seems_full(t))
        return true;
    t->tail = __atomic_load_n(&t->ring->tail, __ATOMIC_ACQUIRE);
    return !ring_seems_full(t);
}

/* As the end of ring_put, for either clock. */
static void put_attached(struct ring_thread *t, enum ring_clock_kind clock, struct ring_payload s)
{
    if (!has_room(t)) {
        __atomic_fetch_add(&t->ring->dropped, 1, __ATOMIC_RELAXED);
        return;
    }
    const uint64_t now = clock == RING_CLOCK_TSC ? ring_tsc() : ring_mono_ns();
    ring_fill(t, ring_take(&t->ring->head), now, s);
}

/* What a thread looks for in a ring, best first. The first that will do is taken, so threads that
 * come and go use the same few again. */
struct ring_write_choice {
    bool orphan; /* owned by a thread that ended without releasing it */
    uint64_t room;
};

static const struct ring_write_choice choices[] = {
    {.room = RING_SLOTS / 2},
    {.room = 2},
    {.orphan = true, .room = 2},
};

/* Takes a ring by compare-and-swap of its owner. A ring whose counters make no sense is left
 * alone. The owner of an orphan has ended, which the kernel confirms. */
static bool try_claim(uint8_t *map, unsigned i, const struct ring_write_choice *choice, uint32_t me)
{
    struct ring_head *r = ring_head_of(map, i);
    const uint32_t owner = __atomic_load_n(&r->owner, __ATOMIC_RELAXED);
    if (free_places(r) < choice->room || free_places(r) > RING_ROOM)
        return false;
    if (choice->orphan)
        return owner != 0 && (owner == me || thread_is_gone(owner)) && take_owner(r, owner, me);
    return owner == 0 && take_owner(r, 0, me);
}

/* A ring for this thread, or -1. */
static int ring_claim(uint8_t *map, uint32_t me)
{
    for (size_t w = 0; w < sizeof choices / sizeof choices[0]; w++)
        for (unsigned i = 0; i < RING_COUNT; i++)
            if (try_claim(map, i, &choices[w], me))
                return (int)i;
    return -1;
}

static bool make_backed(const struct ring_writer *w, uint8_t *map, unsigned i)
{
    struct ring_live *live = w->live;
    if (__atomic_load_n(&live->backed[i], __ATOMIC_ACQUIRE))
        return true;
    if (!ring_back(w, map, i))
        return false;
    __atomic_store_n(&live->backed[i], 1, __ATOMIC_RELEASE);
    return true;
}

static void free_ring(struct ring_head *r)
{
    __atomic_store_n(&r->owner, 0, __ATOMIC_RELEASE);
}

/* The first event in a ring has the id of the thread that emits the next ones. */
static bool attach_ring(struct ring_writer *w, struct ring_thread *t, uint8_t *map)
{
    const uint32_t me = thread_id();
    const int i = ring_claim(map, me);
    if (i < 0)
        return false;
    struct ring_head *r = ring_head_of(map, (unsigned)i);
    if (!make_backed(w, map, (unsigned)i)) {
        free_ring(r);
        return false;
    }
    t->ring = r;
    t->slots = ring_slots_of(map, (unsigned)i);
    t->tail = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);
    t->writer = w;
    put_attached(t, w->clock, ring_payload_of(RING_THREAD, 0, me));
    t->map = map;
    t->fast = w->clock == RING_CLOCK_TSC ? map : RING_NO_MAP;
    if (w->has_key)
        pthread_setspecific(w->key, t);
    return true;
}

/* Threads that come here together each make a file; one wins, the others remove theirs. That is
 * cheaper than an event lost, and no thread waits. */
static uint8_t *make_file(struct ring_writer *w, uint64_t now)
{
    struct ring_live *live = w->live;
    bool gone = false;
    if (now < __atomic_load_n(&live->retry_ns, __ATOMIC_RELAXED))
        return NULL;
    uint8_t *map = ring_make(w, &gone), *old = NULL;
    if (gone)
        __atomic_store_n(w->on, 0, __ATOMIC_RELAXED);
    if (!map) {
        __atomic_store_n(&live->retry_ns, now + retry_ns, __ATOMIC_RELAXED);
        return NULL;
    }
    if (!__atomic_compare_exchange_n(&live->map, &old, map, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_ACQUIRE)) {
        ring_unmake(w, map);
        return old;
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* with ring_intern */
    ring_names_copy(w, map);
    __atomic_fetch_add(&ring_file_of(map)->dropped,
                       __atomic_exchange_n(&live->dropped, 0, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    ring_announce(map);
    return map;
}

/* Into a new file only: the child of a fork emits again what its parent was. */
static void put_facts(const struct ring_writer *w, struct ring_thread *t)
{
    for (size_t i = 0; i < RING_FACTS; i++) {
        const struct ring_fact *f = &w->facts[i];
        const uint32_t name = __atomic_load_n(&f->name, __ATOMIC_ACQUIRE);
        const uint64_t value = __atomic_load_n(&f->value, __ATOMIC_RELAXED);
        if (name)
            put_attached(t, w->clock, ring_payload_of(RING_COUNT_INT, name, value));
    }
}

/* False: no file or no ring now; it is tried again after some time, so that events without a
 * ring stay cheap. */
static bool ring_attach(struct ring_writer *w, struct ring_thread *t)
{
    uint8_t *map = __atomic_load_n(&w->live->map, __ATOMIC_ACQUIRE);
    if (t->map == map)
        return true; /* a signal handler has done it meanwhile */
    const uint64_t now = ring_mono_ns();
    if (t->writer == w && now < t->retry_ns)
        return false;
    const bool is_new = !map;
    if (is_new)
        map = make_file(w, now);
    if (map && attach_ring(w, t, map)) {
        if (is_new)
            put_facts(w, t);
        return true;
    }
    t->writer = w;
    t->retry_ns = now + retry_ns;
    return false;
}

/* Before there is a file the count waits in `live`, and make_file moves it. */
static void count_dropped(struct ring_live *live)
{
    uint8_t *map = __atomic_load_n(&live->map, __ATOMIC_ACQUIRE);
    uint64_t *counter = map ? &ring_file_of(map)->dropped : &live->dropped;
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void put_unattached(struct ring_writer *w, struct ring_thread *t, struct ring_payload s)
{
    struct quiet q;
    quiet_begin(&q);
    if (ring_attach(w, t))
        put_attached(t, w->clock, s);
    else
        count_dropped(w->live);
    quiet_end(&q);
}

void ring_put_slow(struct ring_writer *w, struct ring_thread *t, struct ring_payload s)
{
    if (t->map == __atomic_load_n(&w->live->map, __ATOMIC_RELAXED))
        put_attached(t, w->clock, s);
    else
        put_unattached(w, t, s);
}

/* The place of a name: its own, or a free one; NULL when there is none. */
static struct ring_fact *fact_place(struct ring_writer *w, uint32_t name)
{
    for (size_t i = 0; i < RING_FACTS; i++)
        if (__atomic_load_n(&w->facts[i].name, __ATOMIC_RELAXED) == name)
            return &w->facts[i];
    if (__atomic_load_n(&w->facts_used, __ATOMIC_RELAXED) >= RING_FACTS)
        return NULL;
    const uint32_t i = __atomic_fetch_add(&w->facts_used, 1, __ATOMIC_RELAXED);
    return i < RING_FACTS ? &w->facts[i] : NULL;
}

/* Emitted before it is stored: the file is there then, and does not get it twice. */
void ring_put_fact(struct ring_writer *w, struct ring_thread *t, uint32_t name, uint64_t value)
{
    ring_put(w, t, ring_payload_of(RING_COUNT_INT, name, value));
    struct ring_fact *f = name ? fact_place(w, name) : NULL;
    if (!f)
        return;
    __atomic_store_n(&f->value, value, __ATOMIC_RELAXED);
    __atomic_store_n(&f->name, name, __ATOMIC_RELEASE);
}

/* Runs when a thread ends. Destructors of others may emit after it: then the thread gets a ring
 * again and this runs once more. */
static void ring_write_give_back(void *arg)
{
    struct ring_thread *t = arg;
    struct ring_head *r = t->ring;
    const bool mine =
        t->writer && t->map == __atomic_load_n(&t->writer->live->map, __ATOMIC_RELAXED);
    t->fast = t->map = RING_NO_MAP;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (mine)
        free_ring(r);
}

static struct ring_live *make_live(void)
{
    void *p = mmap(NULL, LIVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    madvise(p, LIVE_BYTES, MADV_WIPEONFORK);
    return p;
}

static void make_key(struct ring_writer *w)
{
    if (pthread_key_create(&w->key, ring_write_give_back) != 0)
        return;
    w->has_key = w->key < KEYS_WITHOUT_MALLOC;
    if (!w->has_key)
        pthread_key_delete(w->key);
}

void ring_writer_start(struct ring_writer *w, uint8_t *on, const char *dir,
                       enum ring_clock_kind clock)
{
    const size_t len = dir ? strnlen(dir, RING_DIR_LEN) : 0;
    const int err = errno;
    w->on = on;
    *on = 0;
    if (len == 0 || len >= RING_DIR_LEN || dir[0] != '/')
        return;
    if (w->live) {
        memset(w->live, 0, sizeof *w->live);
    } else if ((w->live = make_live())) {
        if (clock == 0)
            clock = ring_tsc_usable() ? RING_CLOCK_TSC : RING_CLOCK_MONOTONIC;
        w->clock = clock;
        make_key(w);
    }
    if (w->live) {
        memcpy(w->dir, dir, len + 1);
        __atomic_store_n(on, 1, __ATOMIC_RELEASE);
    }
    errno = err;
}

/* A thread may be inside of ring_put, so the addresses stay valid: memory that is never read takes
 * the place of the file's. The recorder has a separate mapping and still reads what was written. No
 * other thread is in ring_put when ring_writer_start follows: a recorder starts in between. */
void ring_writer_end(struct ring_writer *w)
{
    const int err = errno;
    if (!w->live)
        return;
    __atomic_store_n(w->on, 0, __ATOMIC_RELAXED);
    uint8_t *map = __atomic_exchange_n(&w->live->map, NULL, __ATOMIC_ACQ_REL);
    if (map) /* where that fails, the file stays in its place */
        (void)mmap(map, RING_FILE_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    errno = err;
}

void ring_writer_forked(struct ring_writer *w)
{
    if (w->live)
        memset(w->live, 0, sizeof *w->live);
}

uint64_t ring_asked(const struct ring_writer *w)
{
    uint8_t *map = __atomic_load_n(&w->live->map, __ATOMIC_ACQUIRE);
    struct ring_file *file = (struct ring_file *)(void *)map;
    return file ? __atomic_load_n(&file->asked, __ATOMIC_RELAXED) : 0;
}

void ring_writer_stop(struct ring_writer *w)
{
    if (w->has_key)
        pthread_key_delete(w->key);
    w->has_key = false;
}
