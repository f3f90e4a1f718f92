/* SPDX-License-Identifier: Apache-2.0 */
/* ring_layout.h - the bytes that a job and its recorder share: one file per process.
 *
 *     offset        bytes
 *          0         4096  struct ring_file: its process, its clock, what was lost
 *       4096   64 x   128  struct ring_head: one per thread ring
 *      12288  1024 x   64  struct ring_name: append-only; the id is the index, 0 is never used
 *      77824   64 x 512 K  16384 x struct ring_slot: the events of ring 0, of ring 1, ...
 *
 *     one ring:   tail (recorder)          head (job)
 *                  v                        v
 *     ... | read | event | event | event*  | free | free | ...       index & RING_MASK = place
 *                                    * taken, not yet written: its seq is still of the last lap
 *
 * The file is sparse: a ring costs memory once a thread has claimed it. Integers are of the
 * machine: the file never leaves it. Counters only grow.
 *
 * Why every event that is read is whole, and was not read before:
 *
 * 1. Each word has one writer. Only the thread that owns a ring moves `head` and writes slots; only
 *    the recorder moves `tail`. `owner` changes by compare-and-swap, so a ring has one owner.
 * 2. A thread takes place h by an atomic add to `head`, writes time, what and value, and then
 *    stores seq = h + 1 with release order. A signal handler in between takes the next place.
 * 3. A place is used again one lap later, after h - tail < RING_ROOM was seen: the recorder has
 *    read it by then. So what lies between tail and head never changes once it is whole.
 * 4. Before it is whole, the seq of a place is 0 or of an earlier lap, which is smaller: indexes
 *    grow forever. The recorder compares it with h + 1, and then reads the slot again.
 * 5. A process that is killed at any instruction leaves at most places that were taken and are not
 *    whole: their seq shows it, and the recorder counts them as torn. The file survives it.
 * 6. A recorder that is killed leaves its tails in the file. Threads that find their ring full drop
 *    events and count them; nothing in the job waits for a recorder. */
#ifndef RING_LAYOUT_H
#define RING_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define RING_MAGIC   UINT64_C(0x31474e4952504671) /* "qFPRING1" */
#define RING_VERSION 1u

enum {
    RING_COUNT = 64,    /* thread rings of a process */
    RING_SLOTS = 16384, /* of a ring; a power of two */
    RING_SPARE = 64,    /* slots that only events nested in another emit may take: a handler blocks
                         * its own signal, so at most 64 emits of a thread are open at once */
    RING_ROOM = RING_SLOTS - RING_SPARE, /* events that fit into a ring */
    RING_NAMES = 1024,                   /* ids 1 to 1023 */
    RING_NAME_LEN = 62,                  /* longest name; longer ones are cut */
    RING_PREFIX_LEN = 5,                 /* of RING_PREFIX */
};

#define RING_MASK   ((uint64_t)RING_SLOTS - 1)
#define RING_PREFIX "ring-" /* file names: ring-<pid>-<16 hex digits> */
#define RING_ENV    "FOOTPLATE_RING"

enum ring_clock_kind {
    RING_CLOCK_MONOTONIC = 1, /* CLOCK_MONOTONIC in ns */
    RING_CLOCK_TSC = 2,       /* the CPU's counter; the reader converts */
};

/* Values are part of the ABI of emit.h. */
enum ring_kind {
    RING_STEP_BEGIN = 1, /* value: step number; mode */
    RING_STEP_END = 2,   /* value: step number; mode */
    RING_SPAN_BEGIN = 3, /* value: the program's own */
    RING_SPAN_END = 4,
    RING_MARK = 5,
    RING_COUNT_INT = 6,  /* value: int64_t */
    RING_COUNT_REAL = 7, /* value: the bits of a double */
    RING_THREAD = 8,     /* value: the id of the thread that writes from here on */
    RING_PAST_BEGIN = 9, /* a span that is emitted when it is over; value: ns ago; mode: lane */
    RING_PAST_END = 10,  /* its end, the next event; value: ns ago; mode: lane */
    RING_LOSS = 11, /* a hook could not record what the name identifies; value: id of the reason */
    /* Training health; the word of the name has other content, see below. */
    RING_HEALTH_STEP = 12,  /* opens a group of values; value: its step, UINT64_MAX: none */
    RING_HEALTH_AT = 13,    /* of the group; value: CLOCK_MONOTONIC when they were taken, ns */
    RING_HEALTH_TEXT = 14,  /* value: 8 bytes of a name */
    RING_HEALTH_REAL = 15,  /* value: the bits of a double */
    RING_HEALTH_COUNT = 16, /* value: int64_t */
    RING_HEALTH_LOST = 17,  /* value: how many values were dropped; name: enum ring_health_lost */
    RING_KIND_END
};

/* A group is STEP, AT and any number of values of one thread, each with the number of its group, so
 * that a value whose STEP was lost is not taken for one of the step before:
 *
 *     mode of STEP, AT, REAL, COUNT:   bits 0-1 mode of the step | bits 2-7 number of the group
 *     name of REAL, COUNT:             bits 0-15 statistic | bits 16-31 number of the name
 *     name of TEXT:                    bits 0-15 which 8 bytes | bits 16-31 number of the name
 *
 * A name comes before its first value in a ring, its bytes in order; a byte 0 ends it. It comes
 * again from time to time, for a recorder that has missed it. */
enum {
    RING_HEALTH_NAMES = 65536, /* numbers 1 to 65535 */
    RING_HEALTH_NAME_LEN = 240,
    RING_HEALTH_MODE_BITS = 2,
};

enum ring_health_lost {
    RING_HEALTH_FULL,        /* values came faster than they could be recorded */
    RING_HEALTH_MANY_NAMES,  /* the table of names is full */
    RING_HEALTH_BUDGET,      /* the hooks left them out to limit their cost */
    RING_HEALTH_UNSUPPORTED, /* a tensor of a kind that has no statistics */
    RING_HEALTH_UNSAVED,     /* tensors that were to be saved and were not */
    RING_HEALTH_LOST_N
};

struct ring_slot {
    uint64_t time; /* of the file's clock */
    uint64_t what; /* name id, 0 for none | enum ring_kind << 32 | mode << 40 */
    uint64_t value;
    uint64_t seq; /* index + 1, stored last */
};

/* The owner's cache line and the recorder's. */
struct ring_head {
    uint64_t head;    /* places taken since the file began */
    uint64_t dropped; /* events that found the ring full */
    uint32_t owner;   /* thread id, 0 when free */
    uint32_t pad;
    uint64_t pad_owner[5];
    uint64_t tail; /* places read */
    uint64_t pad_recorder[7];
};

struct ring_name {
    uint8_t ready; /* 1 when the text is whole, stored last */
    uint8_t len;
    char text[RING_NAME_LEN];
};

struct ring_file {
    uint64_t magic; /* stored last, when the file is ready to be read */
    uint32_t version;
    uint32_t rings, slots, names; /* must be ours: sizes are never taken from a file */
    uint32_t pid;
    uint32_t clock;         /* enum ring_clock_kind */
    uint64_t pid_ns;        /* inode of the process's pid namespace, 0 when not known */
    uint64_t start_ticks;   /* field 22 of /proc/PID/stat: identifies a reused pid */
    uint64_t nonce;         /* in the file's name */
    uint64_t tie_time;      /* one moment in the file's clock... */
    uint64_t tie_ns;        /* ...and in CLOCK_MONOTONIC; for people, the reader ties anew */
    uint64_t dropped;       /* events of threads that got no ring */
    uint64_t names_lost;    /* names that found the table full */
    uint64_t asked;         /* by the recorder: grows when hooks should read their settings */
    uint64_t reserved[500]; /* up to 4096 */
};

#define RING_HEADS_AT   ((size_t)4096)
#define RING_NAMES_AT   (RING_HEADS_AT + RING_COUNT * sizeof(struct ring_head))
#define RING_SLOTS_AT   (RING_NAMES_AT + RING_NAMES * sizeof(struct ring_name))
#define RING_BYTES      (RING_SLOTS * sizeof(struct ring_slot)) /* of one ring */
#define RING_FILE_BYTES (RING_SLOTS_AT + RING_COUNT * RING_BYTES)

static_assert(sizeof(struct ring_slot) == 32, "two events to a cache line");
static_assert(sizeof(struct ring_head) == 128, "two cache lines");
static_assert(offsetof(struct ring_head, tail) == 64, "the recorder's line is its own");
static_assert(sizeof(struct ring_name) == 64, "a name is a cache line");
static_assert(sizeof(struct ring_file) == RING_HEADS_AT, "the header is a page");
static_assert(RING_SLOTS_AT % 4096 == 0, "rings start on a page");
static_assert((RING_SLOTS & (RING_SLOTS - 1)) == 0, "places are found by a mask");

#endif
