/* SPDX-License-Identifier: Apache-2.0 */
/* intake.h - where rows, events, losses and marks arrive: encoded at once as bytes of the tail, in
 * memory, under a lock that is never held across a system call. For writer.c.
 *
 * When the bytes are not taken away (a full disk), rows and events beyond a limit are dropped and
 * counted. */
#ifndef STORE_INTAKE_H
#define STORE_INTAKE_H

#include <pthread.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/vec.h"
#include "record/event.h"
#include "record/group.h"
#include "store/format.h"

/* A text that the tail has. Its number is its place in the array. */
struct intake_text {
    uint16_t what;    /* of the first event that it named */
    uint32_t at, len; /* in intake_events.bytes */
};

/* A track that the tail has. Its number is its place in the array. */
struct intake_track {
    struct track track;
    uint64_t end; /* of its last event, ns */
};

/* What the tail has of texts and tracks. Each tail begins with none, so that it can be read without
 * the one before, and the tables are as small as one tail is. */
struct intake_events {
    struct buf bytes; /* the texts, a NUL after each */
    struct intake_text *texts;
    uint32_t n_texts, cap_texts;
    struct hash_index text_index;
    struct intake_track *tracks;
    uint32_t n_tracks, cap_tracks;
    struct hash_index track_index;
    uint64_t accepted, dropped;
    uint64_t dropped_counted; /* of them, counted as a loss already */
};

/* Instead of an errno, why rows had to be dropped: writer_hold. */
enum { INTAKE_HELD = -1 };

struct intake {
    pthread_mutex_t lock;
    struct buf records;  /* not taken yet */
    size_t pending_most; /* bytes that wait for a disk with room; then rows are dropped */
    struct wgroup **groups;
    uint32_t n_groups, cap_groups;
    uint64_t tail; /* number of the tail that records are made for, from 1 */
    uint32_t tail_groups;
    struct pending_loss *losses;
    size_t n_losses, cap_losses;
    uint64_t rows, samples; /* accepted */
    uint64_t rows_dropped;
    uint64_t dropped_counted; /* of them, counted as a loss already */
    struct intake_events ev;
};

void intake_open(struct intake *in, size_t pending_most);
void intake_close(struct intake *in);

void intake_row(struct intake *in, struct group *g, mono_ns t);
void intake_loss(struct intake *in, const struct loss *l);
void intake_mark(struct intake *in, const struct mark *m);
void intake_tie(struct intake *in, struct clock_tie tie);
void intake_events(struct intake *in, const struct track *t, const struct event *v, size_t n);
/* Appends all records to `out` and returns the number of their tail. When `out` has then reached
 * `tail_most` bytes, `*last` is set: these are the last records of that tail, and whatever arrives
 * from now on belongs to the next one. `why_errno` is why rows had to be dropped, if any were. */
uint64_t intake_take(struct intake *in, struct buf *out, size_t tail_most, int why_errno,
                     bool *last);
#endif
