/* SPDX-License-Identifier: Apache-2.0 */
/* health_out.h - values of training health on their way from a job to its recorder.
 *
 * Values go straight into the ring of the calling thread as long as it has room; what finds none
 * waits in a bounded buffer, which health_out_flush empties a part at a time. What finds no room
 * there is dropped and counted, and the recorder counts it. The names of tensors are sent before
 * their first value in each ring and file, and again with every 256th value, so that a recorder
 * that missed one gets it.
 *
 * Needs memory of the heap, unlike emit.h, so it is not part of libfootplate: it never fails for
 * want of it, it drops. One thread at a time: the caller holds the GIL. Nothing here knows Python.
 */
#ifndef PYTHON_HEALTH_OUT_H
#define PYTHON_HEALTH_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emit/emit_here.h"

enum {
    HEALTH_OUT_FLUSH = 4096,         /* slots that one flush sends at most */
    HEALTH_OUT_WAITING = 1 << 18,    /* slots that may wait */
    HEALTH_OUT_TEXT_BYTES = 4 << 20, /* of all names */
    HEALTH_OUT_RING = RING_ROOM / 2, /* slots of a ring that may be health's; the rest stays free
                                      * for the events of the job */
};

struct health_group {
    uint64_t step; /* UINT64_MAX: none */
    int64_t at_ns; /* CLOCK_MONOTONIC */
    uint8_t mode;
};

struct health_name {
    uint32_t at, hash; /* in texts, NUL-terminated */
    uint64_t rings;    /* that have the text, as bits */
    uint8_t uses;
};

/* One per process, zeroed. */
struct health_out {
    uint8_t *map;           /* the file of this process that was used last; NULL: none */
    struct health_group in; /* of the values that come */
    bool begun;
    struct health_group queued; /* of the last item that waits */
    struct health_group next;   /* of the first item that waits */
    struct health_group sent;   /* as the ring has it */
    struct ring_head *sent_in;  /* NULL: in none */
    uint8_t number;             /* of the group that was sent last */
    struct ring_payload *items; /* that wait; a circle of `cap`, a power of two */
    uint32_t cap, first, n;
    struct health_name *names; /* 0 is not used */
    uint32_t n_names, cap_names;
    uint32_t *index; /* open addressing: number of a name, 0: free */
    uint32_t n_index;
    char *texts;
    size_t n_texts, cap_texts;
    uint64_t lost[RING_HEALTH_LOST_N]; /* not emitted yet */
};

/* 0: there are too many; counted. */
uint32_t health_out_name(struct health_out *o, const char *text, size_t len);
/* Values that follow were taken at that time in this step. */
void health_out_begin(struct health_out *o, struct health_group g);
/* `kind` is RING_HEALTH_REAL or RING_HEALTH_COUNT. Name 0 is ignored. */
void health_out_put(struct health_out *o, enum ring_kind kind, uint32_t stat, uint32_t name,
                    uint64_t value);
void health_out_lost(struct health_out *o, enum ring_health_lost why, uint64_t n);
/* Sends what waits and fits; how many slots still wait. */
size_t health_out_flush(struct health_out *o);
/* What waits is dropped and counted: how many values. */
size_t health_out_drop(struct health_out *o);

#endif
