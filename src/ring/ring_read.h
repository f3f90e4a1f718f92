/* SPDX-License-Identifier: Apache-2.0 */
/* ring_read.h - the reading side of the ring: the events of one process of the job.
 *
 * ring_reader_open, ring_reader_drain every few milliseconds, ring_reader_close. Not safe for two
 * threads at once. A process that has died is read like a living one; ring_reader_check returns
 * when nothing more can come.
 *
 * Every byte of the file may be wrong: no size or position is taken from it, only compared. The
 * file is read with pread and never mapped: a file that is cut while mapped raises SIGBUS, which a
 * library cannot catch for its program, while pread merely returns less. What was checked is also a
 * copy, which cannot change afterwards. */
#ifndef RING_READ_H
#define RING_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "ring/ring_layout.h"

/* ---- the counter of the CPU as CLOCK_MONOTONIC ----
 *
 * The counter is the machine's, so the recorder ties the two itself and trusts no file.
 * ring_clock_start once, ring_clock_tick before each round of reading; the rest is arithmetic. The
 * system slews its clock, so each interval between two ties has a separate rate. */

enum { RING_TIES = 128 };

struct ring_tie {
    uint64_t ticks;
    int64_t ns;
};

struct ring_clock {
    struct ring_tie tie[RING_TIES]; /* oldest first */
    unsigned n;
};

void ring_clock_start(struct ring_clock *c); /* takes 2 ms */
void ring_clock_tick(struct ring_clock *c);
/* Adds a tie; the oldest goes when there is no room. Earlier than the newest is ignored. */
void ring_clock_add(struct ring_clock *c, struct ring_tie tie);
/* Any number has an answer. */
mono_ns ring_clock_at(const struct ring_clock *c, uint64_t ticks);

/* ---- names ---- */

enum { RING_TEXT_LEN = RING_NAME_LEN + 1 };

/* A name as it may be shown: valid UTF-8 without control characters. out has most + 1 bytes. What
 * is not a printable character becomes '?', one per byte; len over `most` is taken as that. */
void ring_text_clean(char *out, size_t most, const char *text, size_t len);

/* ---- the rings of a process ---- */

struct ring_event {
    mono_ns at;
    enum ring_kind kind; /* never RING_THREAD */
    uint8_t mode;        /* of a step: 0 train, 1 eval, 2 predict; of a past span: the lane */
    uint32_t tid;
    uint32_t name_id; /* of RING_HEALTH_*: as ring_layout.h has it */
    const char *name; /* valid UTF-8, "" when it has none; the reader's, until it is closed */
    union {
        uint64_t step;
        int64_t number;
        double real;
        const char *reason; /* of RING_LOSS; as `name` */
    };
};

/* Events and names that were emitted and did not get here. */
struct ring_losses {
    uint64_t dropped; /* events that found their ring full */
    uint64_t no_ring; /* events of threads beyond RING_COUNT, or without room for the file */
    uint64_t torn;    /* events whose writer was stopped in the middle */
    uint64_t bad;     /* events or counters that cannot be right */
    uint64_t names;   /* names that found the table full */
};

struct ring_reader;

/* Called from ring_reader_drain; none may be NULL. */
struct ring_handler {
    /* Events of one thread in the order in which it emitted them; times do not decrease. */
    void (*events)(void *arg, struct ring_reader *r, const struct ring_event *v, size_t n);
    /* What was lost since the last call. */
    void (*lost)(void *arg, struct ring_reader *r, const struct ring_losses *more);
    void *arg;
};

struct ring_process {
    uint32_t pid; /* as the process sees it */
    uint64_t start_ticks;
    bool same_ns; /* the pid means the same to us */
    enum ring_clock_kind clock;
};

enum ring_check {
    RING_ALIVE,    /* or not known */
    RING_FINISHED, /* its process has ended and everything has been read: the file can be removed */
};

/* ERR_BUSY: its process is just making it, try again soon; ERR_VERSION; ERR_FORMAT; ERR_SYS.
 * dirfd and name as for openat. */
MUST_CHECK int ring_reader_open(struct ring_reader **out, int dirfd, const char *name,
                                struct err *e);
void ring_reader_close(struct ring_reader *r); /* NULL is fine */

/* Reads what is there, at most one ring's worth per thread. *events: how many were delivered. After
 * an error (the file was cut, the disk failed) the reader can only be closed. */
MUST_CHECK int ring_reader_drain(struct ring_reader *r, const struct ring_clock *c,
                                 const struct ring_handler *h, size_t *events, struct err *e);
/* Costs two system calls. Order: check, drain, and if the check found it ended and the drain
 * brought nothing, it is finished; ring_reader_check records the first half. */
enum ring_check ring_reader_check(struct ring_reader *r);

/* Signals to the process that there are new settings (emit.h: fp_asked). */
MUST_CHECK int ring_reader_ask(struct ring_reader *r, uint64_t generation, struct err *e);

const struct ring_process *ring_reader_process(const struct ring_reader *r);
/* A place for what the caller stores per process. */
void **ring_reader_user(struct ring_reader *r);

#endif
