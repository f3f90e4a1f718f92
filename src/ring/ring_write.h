/* SPDX-License-Identifier: Apache-2.0 */
/* ring_write.h - the writing side of the ring: it runs inside a training job.
 *
 * ring_writer_start once, then ring_put from any thread, also from signal handlers. No call blocks,
 * allocates, prints, exits, changes errno, or raises a signal; what finds no room is counted and
 * dropped. The file is made by the first event of a process, so a forked child gets a separate one,
 * and a program that emits nothing leaves nothing.
 *
 * How a fork is detected without a system call at each event: `live` lies in a page that the kernel
 * empties in the child (MADV_WIPEONFORK; ring_writer_forked does the same where the kernel is
 * older). An empty page means "no file", and no thread's `map` is equal to that. The child still
 * has its parent's mapping, but no longer uses it: the fork may have happened in a signal handler
 * that interrupted an emit, whose second half must find its slot. */
#ifndef RING_WRITE_H
#define RING_WRITE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring/ring_layout.h"
#include "ring/ring_proc.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RING_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define RING_TSAN 1
#endif
#ifndef RING_TSAN
#define RING_TSAN 0
#endif

/* For a function whose only local variable with an address is a clock's: a stack protector costs it
 * a twentieth. */
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define RING_NO_CANARY __attribute__((no_stack_protector))
#endif
#endif
#ifndef RING_NO_CANARY
#define RING_NO_CANARY
#endif

#define RING_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define RING_NO_MAP      ((uint8_t *)-1)

enum { RING_DIR_LEN = 400, RING_NAME_INDEX = 4096, RING_FACTS = 16 };

/* In the page that a fork empties. */
struct ring_live {
    uint8_t *map;               /* the file, NULL while there is none */
    uint64_t dropped;           /* events before there was a file; later they are counted there */
    uint64_t retry_ns;          /* do not try to make the file again before */
    uint8_t backed[RING_COUNT]; /* the ring's pages are there, so that writing cannot fault */
};

/* A fact about a process: a child of fork, whose file is new, emits it again. */
struct ring_fact {
    uint32_t name; /* 0: there is none here; stored last */
    uint64_t value;
};

/* One per process, zeroed, at an address that never changes. */
struct ring_writer {
    struct ring_live *live;
    uint8_t *on; /* becomes 1 when there is a recorder, 0 when its folder was removed */
    enum ring_clock_kind clock;
    bool has_key;
    pthread_key_t key; /* gives a thread's ring back when the thread ends */
    char dir[RING_DIR_LEN];
    uint32_t facts_used;
    struct ring_fact facts[RING_FACTS];
    uint32_t names_used;
    uint32_t name_index[RING_NAME_INDEX]; /* open addressing: id, 0 when empty */
    struct ring_name names[RING_NAMES];   /* of this process; copied into each file it makes */
};

/* One per thread; starts as RING_THREAD_INIT. */
struct ring_thread {
    uint8_t *fast; /* as map, where the clock is the CPU's counter; else no file's */
    struct ring_head *ring;
    struct ring_slot *slots;
    uint64_t tail;     /* as last seen; the true one is not less */
    uint64_t retry_ns; /* there was no ring: do not search again before */
    struct ring_writer *writer;
    uint8_t *map; /* the file in which this thread has a ring */
};

#define RING_THREAD_INIT                                                                           \
    {                                                                                              \
        RING_NO_MAP, NULL, NULL, 0, 0, NULL, RING_NO_MAP                                           \
    }

struct ring_payload {
    uint64_t what; /* as in struct ring_slot */
    uint64_t value;
};

static inline struct ring_payload ring_payload_of(uint32_t what, uint32_t name, uint64_t value)
{
    return (struct ring_payload){(uint64_t)what << 32 | name, value};
}

/* `dir` NULL, empty, too long or not a folder: the writer stays off. `clock` 0 chooses. Again after
 * ring_writer_end, for another recorder: names, facts and the clock are those of before. */
void ring_writer_start(struct ring_writer *w, uint8_t *on, const char *dir,
                       enum ring_clock_kind clock);
/* The recorder ends, the process continues: off, and the memory of the file is given back. */
void ring_writer_end(struct ring_writer *w);
/* In the child of a fork, from pthread_atfork. */
void ring_writer_forked(struct ring_writer *w);
/* At exit and before the code is unloaded: ending threads no longer call back into it. Events may
 * still be put. */
void ring_writer_stop(struct ring_writer *w);
/* The id of a name, made on first sight; 0 when it is empty or the table is full. */
uint32_t ring_intern(struct ring_writer *w, const char *text);
/* Emits a count, now and as the first event in the file of every child of fork. Of one name the
 * last value counts. A fact that finds no place is only emitted now. */
void ring_put_fact(struct ring_writer *w, struct ring_thread *t, uint32_t name, uint64_t value);
/* What the recorder has written into this process's file; 0 while there is none. */
uint64_t ring_asked(const struct ring_writer *w);
/* The first event of a thread or of a forked child, a ring that seems full, the slower
 * clock. */
void ring_put_slow(struct ring_writer *w, struct ring_thread *t, struct ring_payload s);

/* Takes the next place of the ring. The head is written by one thread, so the instruction need only
 * be whole with respect to that thread's own signals: no lock prefix, which would make
 * 21 ns out of 12. */
static inline uint64_t ring_take(uint64_t *head)
{
#if defined(__x86_64__) && !RING_TSAN
    uint64_t h = 1;
    __asm__ volatile("xaddq %0, %1" : "+r"(h), "+m"(*head) : : "memory");
    return h;
#else
    return __atomic_fetch_add(head, 1, __ATOMIC_RELAXED);
#endif
}

/* No room between the head and the tail as last seen. */
static inline bool ring_seems_full(const struct ring_thread *t)
{
    return __atomic_load_n(&t->ring->head, __ATOMIC_RELAXED) - t->tail >= RING_ROOM;
}

/* Writes into place h, which has been taken. The seq comes last: it makes the event whole. Each
 * word separately: two that a compiler puts together in a wider register wait for one another
 * there.
 */
static inline void ring_fill(struct ring_thread *t, uint64_t h, uint64_t time,
                             struct ring_payload s)
{
    struct ring_slot *slot = &t->slots[h & RING_MASK];
    __atomic_store_n(&slot->time, time, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->what, s.what, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->value, s.value, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->seq, h + 1, __ATOMIC_RELEASE);
}

/* Whatever is not the common case is a tail call, so that this needs no stack frame. Between
 * reading the head and taking a place a signal handler may emit, which is what RING_SPARE is for;
 * its events then come first, and this one is stamped a little early. */
static inline void ring_put(struct ring_writer *w, struct ring_thread *t, struct ring_payload s)
{
    if (RING_UNLIKELY(t->fast != __atomic_load_n(&w->live->map, __ATOMIC_RELAXED) ||
                      ring_seems_full(t))) {
        ring_put_slow(w, t, s);
        return;
    }
    const uint64_t now = ring_tsc();
    ring_fill(t, ring_take(&t->ring->head), now, s);
}

/* As ring_put, where the clock of the writer is CLOCK_MONOTONIC. Reading it waits until all that
 * came before is done, so as little as possible is left to do after it. */
static inline void ring_put_mono(struct ring_writer *w, struct ring_thread *t,
                                 struct ring_payload s)
{
    if (RING_UNLIKELY(t->map != __atomic_load_n(&w->live->map, __ATOMIC_RELAXED) ||
                      ring_seems_full(t))) {
        ring_put_slow(w, t, s);
        return;
    }
    const uint64_t h = ring_take(&t->ring->head);
    ring_fill(t, h, ring_mono_ns(), s);
}

#endif
