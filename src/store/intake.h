/* SPDX-License-Identifier: Apache-2.0 */
/* intake.h - where rows, events, losses and marks arrive: turned at once into the bytes of the
 * tail, in memory, under a lock that is never held across a system call. The writer's own helper.
 *
 * When nobody takes the bytes away (a full disk), rows and events beyond a limit are dropped and
 * counted. */
#ifndef STORE_INTAKE_H
#define STORE_INTAKE_H

#include <pthread.h>

#include "base/buf.h"
#include "record/group.h"
#include "store/intake_events.h"

struct intake {
    pthread_mutex_t lock;
    struct buf records;  /* not taken yet */
    size_t pending_most; /* bytes that wait for a disk with room; then rows are dropped */
    struct wgroup **groups;
    uint32_t n_groups;
    uint64_t tail; /* number of the tail that records are made for, from 1 */
    uint32_t tail_groups;
    struct pending_loss *losses;
    size_t n_losses;
    uint64_t rows, samples; /* accepted */
    uint64_t rows_dropped;
    uint64_t dropped_told; /* of them, counted as a loss already */
    struct intake_events ev;
};

void intake_open(struct intake *in, size_t pending_most);
void intake_close(struct intake *in);

void intake_row(struct intake *in, struct group *g, mono_ns t);
void intake_loss(struct intake *in, const struct loss *l);
void intake_mark(struct intake *in, const struct mark *m);
void intake_tie(struct intake *in, struct clock_tie tie);
void intake_events(struct intake *in, const struct track *t, const struct event *v, size_t n);
/* Under the lock. */
void intake_count_loss(struct intake *in, const struct loss *l);

/* Bytes that wait to be taken; a piled event counts as much as one in a record takes. */
static inline size_t intake_pending(const struct intake *in)
{
    return in->records.len + (size_t)in->ev.pile.n * EVENT_USUAL;
}

/* Appends all records to `out` and returns the number of their tail. When `out` has then reached
 * `tail_most` bytes, they are the last of that tail: what comes later belongs to the next one, and
 * `*last` says so. `why_errno` is why rows had to be dropped, if any were. What is
 * piled becomes `pile`. */
uint64_t intake_take(struct intake *in, struct buf *out, struct event_pile *pile, size_t tail_most,
                     int why_errno, bool *last);
/* What was taken is done with: its memory is for what comes. */
void intake_give_back(struct intake *in, struct event_pile *pile);

#endif
