/* SPDX-License-Identifier: Apache-2.0 */
/* steps_internal.h - what the files of steps.h share: the few events of a thread that steps are
 * made of.
 *
 * points_add for every event, block by block as they are stored, points_sort, steps_of_points,
 * points_free. All times here are the monotonic clock of the node, ns. */
#ifndef QUERY_STEPS_INTERNAL_H
#define QUERY_STEPS_INTERNAL_H

#include "query/intervals.h"
#include "query/run_internal.h"
#include "query/steps.h"

/* In place of an enum event_id, for a step that the program marked. */
enum { POINT_STEP = EV_N, POINT_PART }; /* a span that is no more than a part of a step */

struct point {
    int64_t at, end;
    int64_t value;
    uint8_t what; /* enum event_id, POINT_STEP or POINT_PART */
    uint8_t part; /* of a step; NO_PART: none */
    uint8_t mode; /* of POINT_STEP */
    bool open;    /* its end is not known */
    bool dead;    /* of EV_DATA: the fetch found the loader empty */
};

/* What the name of an event means. */
struct point_name {
    enum event_id id; /* EV_N: none of those that hooks use */
    uint8_t part;
};

struct points {
    struct point *v;
    size_t n, cap;
    struct sorted_runs runs;
    size_t marked; /* data, forward, backward, optimizer and steps among them */
};

/* What addresses of names mean, so that a name is looked up once and not once an event. */
struct names_seen {
    struct {
        const char *name;
        struct point_name means;
    } v[256];
};

/* Before names come whose addresses may have been those of others. */
void names_seen_forget(struct names_seen *s);
struct point_name names_seen_find(struct names_seen *s, const char *name);

/* Stores the event if steps are made of such. */
void points_add(struct points *p, const struct event *e, struct point_name name);
void points_push(struct points *p, const struct point *x);
/* A phase of a step: spans that decide where steps begin and end. */
bool point_is_phase(uint8_t what);
/* It decides which thread of a process trains. */
bool point_is_mark(uint8_t what);
/* In order of time, the longer one first. */
void points_sort(struct points *p);
void points_free(struct points *p);

/* Steps with `start` on the monotonic clock. `p` is sorted. */
void steps_of_points(struct points *p, struct arena *a, struct step **out, size_t *n);

/* ---- steps before their parts are known ---- */

/* A step before its parts are known. */
struct bare_step {
    int64_t start, end;
    int64_t number;
    enum event_mode mode;
    bool cut, marked;
};

struct step_list {
    struct bare_step *v;
    size_t n, cap;
    int64_t numbers[MODE_N]; /* of the next step */
};

/* One pass over the points of a thread, which may continue when more points have come. Marked
 * steps, or else those that the loop shows. */
struct steps_walker;

struct steps_walker *steps_walker_open(void);
struct steps_walker *steps_walker_copy(const struct steps_walker *w);
void steps_walker_close(struct steps_walker *w); /* NULL is fine */
/* Points of the list that it has taken, and its steps from number `dropped` on. */
size_t steps_walker_taken(const struct steps_walker *w);
const struct step_list *steps_walker_list(const struct steps_walker *w);
/* Takes all points that follow, up to the end of what is known: it cannot continue after that.
 * *before: as it was when all points before `mark` were taken, from where it can continue; NULL:
 * what follows may still change those. `before` may be NULL. False: with these points, points that
 * it had taken mean something else. */
MUST_CHECK bool steps_walker_end(struct steps_walker *w, struct points *p, size_t mark,
                                 struct steps_walker **before);
/* So many points, and the steps before number `steps` of all, are not needed any more. */
void steps_walker_drop(struct steps_walker *w, size_t points, size_t steps);

/* Time that a part has. */
struct step_owned {
    int64_t from, to;
    uint8_t part;
};

/* Steps from bare ones, with their parts and batches: all of a thread in order, some at a time. */
struct steps_fill {
    const struct points *points; /* sorted */
    size_t point, batch, mark;   /* the next to read: for parts, batches, marks */
    struct step *v;              /* the current steps */
    size_t n, at;                /* the first whose iteration has not ended where we are */
    int64_t end;                 /* of the last of them */
    struct step_owned owned[64]; /* from where we are on, in order, without gaps */
    size_t n_owned;
    int64_t detail_end; /* of detail windows so far */
    int disturbed;      /* steps still to be marked */
};

void steps_fill_open(struct steps_fill *w, const struct points *p);
/* Steps from..from + n of the list. */
void steps_fill_next(struct steps_fill *w, const struct step_list *l, size_t from, struct step *v,
                     size_t n);

/* Steps after a detail window that are still slower than usual. */
enum { DISTURBED_AFTER = 2 };

/* Warm-up: see docs/steps.md. Only the first PACKED_ROWS steps of a rank are read. */
enum { WARMUP_LOOKED_AT = 64, WARMUP_MOST = 16 };

/* All steps of a rank, or at least its first PACKED_ROWS; in order. */
void steps_mark_warmup(struct step *v, size_t n);

/* Steps in little room, in the arena: as packed_open and packed_put. */
void steps_pack_open(struct packed *k, size_t n, struct arena *a);
void steps_pack(struct packed *k, size_t i, const struct step *v, struct arena *a);

static inline int64_t step_end(const struct step *s)
{
    return s->start.ns + s->dur_ns;
}

/* ==== steps_process.c: from what was read of a process to its steps, and what is cached ====
 */

struct named_list {
    struct named_event *v;
    size_t n, cap;
    struct sorted_runs runs;
};

/* A phase as the device had it. */
struct gpu_span {
    int64_t at, dur_ns; /* monotonic clock of the node */
    enum event_id id;
};

struct gpu_spans {
    struct gpu_span *v;
    size_t n, cap;
};

/* Some blocks of a track, one after the other. */
struct hook_part {
    const struct event_track *track;
    uint32_t first, n; /* of its blocks */
    uint64_t rows;
    bool may_step;                   /* steps may be in it */
    bool gpu_times;                  /* phases of the process, as a device had them */
    int64_t from, to;                /* of steps_node; INT64_MIN: nothing is cached */
    uint64_t before_from, before_to; /* rows that begin before them */
    struct points points;            /* in memory of the pass, after those of the part before */
    struct gpu_spans gpu;            /* of a device's line */
    struct named_list named;
};

/* The parts of one process, or of some of its tracks, or of one node. */
struct process_parts {
    struct hook_part *v;
    size_t n;
};

/* Times that do not count: before the warm-up is over, and while detail windows slow the program.
 * In order. */
struct quiet_times {
    int64_t steady_from;
    struct {
        int64_t from, to;
    } v[64];
    size_t n;
};

/* The line of a device. */
struct gpu_line {
    uint64_t id;
    struct gpu_span outer;  /* the last one that no other is in */
    struct gpu_spans spans; /* that are not counted yet */
};

struct steps_cached {
    char node[ENTITY_LEN];
    uint32_t pid;
    bool unused;   /* points or spans were dropped, as it had no steps */
    uint64_t main; /* the thread */
    uint64_t *ids; /* of its threads, with how many points of each decide */
    size_t *marked;
    size_t n_ids, cap_ids, cap_marked;
    struct steps_walker *walker;
    struct points points;
    struct steps_fill fill;
    struct arena arena; /* of the parts */
    struct packed_part *parts;
    size_t n_parts, cap_parts;
    bool known;    /* what follows is */
    int64_t limit; /* what begins before it is counted in `gpu` */
    struct quiet_times quiet;
    int windows_left;
    uint64_t windows; /* a hash of their times */
    struct gpu_phases gpu;
    bool timed;
    struct gpu_line *lines;
    size_t n_lines, cap_lines;
};

struct steps_make_ask {
    bool packed, remember;
};

/* `k` has what was cached, or nothing; ask->remember: it gets what there is now. False: what was
 * cached does not fit. */
MUST_CHECK bool steps_of_process(const struct process_parts *p, const struct event_index *x,
                                 struct steps_cached *k, const struct steps_make_ask *ask,
                                 struct arena *a, struct rank_steps *out);
void steps_cached_free(struct steps_cached *k);
void gpu_spans_free(struct gpu_spans *g);

#endif
