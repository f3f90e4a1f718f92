/* SPDX-License-Identifier: Apache-2.0 */
/* hook_pass.h - one pass over the events that hooks told, for steps.c.
 *
 * Every block is decoded once, for the points that steps are made of and for the events that have
 * one of a few names. The blocks of a thread go to several pieces, so that one long thread is read
 * by several threads of ours, too. */
#ifndef QUERY_HOOK_PASS_H
#define QUERY_HOOK_PASS_H

#include "query/named_events.h"
#include "query/run_open.h"
#include "query/steps_internal.h"

/* A phase as the device had it. */
struct gpu_span {
    int64_t at, dur_ns; /* monotonic clock of the node */
    enum event_id id;
};

struct gpu_spans {
    struct gpu_span *v;
    size_t n, cap;
};

/* Some blocks of a track, one behind the other. */
struct hook_piece {
    const struct event_track *track;
    uint32_t first, n; /* of its blocks */
    uint64_t rows;
    bool may_step;        /* steps may be in it */
    bool gpu_times;       /* phases of the process, as a device had them */
    struct points points; /* in room of the pass, behind those of the piece before */
    struct gpu_spans gpu; /* of a device's line */
    struct named_list named;
};

struct hook_pass {
    const struct event_index *index;
    bool (*wanted)(enum event_id id); /* the names; NULL: none */
    struct hook_piece *v;             /* in the order of tracks */
    size_t n;
    struct point *room; /* for the points of all pieces that were read last */
    size_t cap_room;
};

/* Lists the pieces; nothing is read. */
void hook_pass_open(struct hook_pass *p, const struct event_index *x,
                    bool (*wanted)(enum event_id id));
/* Reads the pieces from `begin` to before `end`; points of those before are gone. */
void hook_pass_read(struct hook_pass *p, size_t begin, size_t end);
/* All points of n pieces of one track, in order of time; they lie in the pass. Once for each. */
const struct points *hook_pass_points(struct hook_piece *v, size_t n);
/* Pages of their files, from `begin` to before `end`, are not needed any more. */
void hook_pass_forget(const struct hook_pass *p, size_t begin, size_t end);
void hook_pass_close(struct hook_pass *p);

#endif
