/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - the steps of every rank, the parts they are made of, and the phases of the job.
 *
 * steps_derive is pure: the events of one thread in, its steps out. docs/steps.md defines what a
 * step is and where it ends. */
#ifndef QUERY_STEPS_H
#define QUERY_STEPS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/mem.h"
#include "query/events.h"
#include "record/event.h"

/* Parts of a step: those of events.def, then "other". Spans that lie in another span of a part
 * count for the outer one only, but passes that an optimizer runs count for themselves; the parts
 * of a step sum to its duration. */
enum { STEP_PARTS_MOST = 12, NO_PART = STEP_PART_NONE };
static_assert((int)STEP_PART_OTHER < (int)STEP_PARTS_MOST, "room for all parts");

/* How many there are, "other" included. */
static inline size_t step_parts(void)
{
    return STEP_PART_OTHER + 1;
}

/* "data", "forward", ...; the last is "other". */
static inline const char *step_part_name(size_t part)
{
    return step_part_names[MIN_OF(part, (size_t)STEP_PART_OTHER)];
}

/* The part that events of this name belong to; NO_PART: none. */
static inline uint8_t step_part_of(enum event_id id)
{
    return (uint8_t)event_words[id].part;
}

struct step {
    int64_t number; /* from 0 per rank and mode, or the program's own */
    enum event_mode mode;
    bool cut;       /* the process ended, or the run was read, in its middle */
    bool marked;    /* the program or its framework marked it; else it is derived from its parts */
    bool warmup;    /* one of the first steps, before the loop has its usual pace */
    bool disturbed; /* a detail window recorded it, or had just ended: slower than usual */
    wall_ns start;
    int64_t dur_ns;
    int64_t between_ns;      /* from its end to the start of the next step of the rank, of any mode;
                              * -1: there is none, or it is cut */
    int64_t between_sync_ns; /* of that, time in which the program waited for the GPU */
    int64_t save_ns;         /* time of its iteration in which a checkpoint was saved */
    int64_t paced_ns; /* see step_pace_give: its iteration, as rules compare it; 0: not known */
    int64_t part_ns[STEP_PARTS_MOST];
    int64_t batch; /* samples, summed over the batches that it fetched; -1: not known */
};

/* An iteration lasts from the start of a step to the start of the next. -1: it has no end. */
static inline int64_t step_iteration_ns(const struct step *s)
{
    return s->between_ns < 0 ? -1 : s->dur_ns + s->between_ns;
}

/* Whether statistics of the loop count it. */
static inline bool step_is_steady(const struct step *s)
{
    return !s->cut && !s->warmup && !s->disturbed;
}

/* `v` sorted by begin (as events_read gives it). Steps of one thread never overlap; in order of
 * time. */
void steps_derive(const struct run_event *v, size_t n, struct arena *a, struct step **out,
                  size_t *n_out);

/* GPU time of the phases that hooks timed, as spans on the lines of the process's devices. Those of
 * warm-up and of detail windows are left out. */
struct gpu_phases {
    uint64_t n[EV_N];      /* spans, by name: EV_FORWARD, EV_FORWARD_EVAL, EV_BACKWARD, ... */
    int64_t sum_ns[EV_N];  /* without what lies inside them: an optimizer may run the passes */
    uint64_t host_n[EV_N]; /* spans of the same names on the host, timed or not */
};

/* A table of integers in little memory, for callers that have many rows and read them
 * again in order. Rows are in parts of PACKED_ROWS; a column of a part has as many bytes a row as
 * the difference of its largest and smallest number needs. */

enum { PACKED_ROWS = 256, PACKED_COLUMNS_MOST = 20 };

/* A part as it goes in and comes out. */
struct packed_cells {
    int64_t v[PACKED_COLUMNS_MOST][PACKED_ROWS];
};

struct packed_column {
    int64_t base;
    uint16_t at;   /* where it begins in the bytes of the part */
    uint8_t width; /* bytes a row; 0: all are `base` */
};

struct packed_part {
    uint8_t *bytes;
    struct packed_column *columns;
};

struct packed {
    size_t columns, n; /* rows */
    struct packed_part *parts;
};

/* Room for n rows, in the arena. */
void packed_open(struct packed *k, size_t columns, size_t n, struct arena *a);
/* Sets rows i..i + PACKED_ROWS, or to the end; i is a multiple of PACKED_ROWS. */
void packed_put(struct packed *k, size_t i, const struct packed_cells *cells, struct arena *a);
/* The same rows back; returns how many. */
size_t packed_get(const struct packed *k, size_t i, struct packed_cells *out);
int64_t packed_cell(const struct packed *k, size_t column, size_t i);

struct rank_steps {
    const struct run_process *process;
    const char *node;
    int64_t rank;       /* its own number when none was reported: 0, 1, ... in order of pid */
    struct step *steps; /* NULL: they are in `packed` */
    size_t n;
    size_t final; /* of them, with steps_want.memory: as they are in all reads to come */
    struct packed packed;
    struct gpu_phases gpu;
    bool near_gpu; /* its node has GPUs: steps may be launched ahead of the work */
};

/* ---- events of hooks that have one of a few names ---- */

struct named_event {
    wall_ns at;
    int64_t dur_ns;   /* of a span, else 0 */
    int64_t value;    /* as in struct event; a real number is cut to a whole one */
    uint32_t process; /* in the list of events_processes */
    enum event_id id;
};

/* Of one node, in order of time. */
struct node_events {
    const char *node;
    wall_ns final; /* with steps_want.memory: those before it do not come in later reads */
    size_t n;
    struct packed packed;
};

/* Those from `i`, a multiple of PACKED_ROWS, into out[PACKED_ROWS]; returns how many. */
size_t node_events_read(const struct node_events *x, size_t i, struct named_event *out);

/* ---- reading ---- */

/* Every process that has steps, loader workers left out, sorted by rank. */
MUST_CHECK int steps_read(struct run *r, struct arena *a, struct rank_steps **out, size_t *n,
                          struct err *e);

/* The same, and from the same pass over the events of hooks those whose name is wanted. Only blocks
 * that steps or such a name are in are decoded. */
struct steps_want {
    bool (*wanted)(enum event_id id); /* NULL: none is */
    bool packed; /* a quarter of the memory: of a day of many nodes that is a gigabyte */
    struct steps_memory *memory; /* of earlier reads; with `packed` only. NULL: none */
};

/* For a run that is read again and again while it grows: what was made of its events, so that only
 * new ones are decoded. All steps are returned each time, with parts of the packed tables in the
 * memory. Named events are returned until they are final. */
struct steps_memory *steps_memory_open(void);
void steps_memory_close(struct steps_memory *m); /* NULL is fine */
/* Begins anew: all is read by the next read. */
void steps_memory_reset(struct steps_memory *m);
/* Grows when it began anew: events that were final come again. */
uint64_t steps_memory_age(const struct steps_memory *m);

struct run_steps {
    struct rank_steps *ranks;
    size_t n_ranks;
    struct node_events *named; /* one of each node that has any */
    size_t n_named;
};

MUST_CHECK int steps_read_named(struct run *r, const struct steps_want *want, struct arena *a,
                                struct run_steps *out, struct err *e);

/* How many training steps the program plans in total, as it reported last; -1: it did not, or its
 * EV_STEPS_TOTAL was not wanted. */
int64_t steps_planned(const struct run_steps *s);
/* Until they are done, if the loop continues as it did so far, pauses included. */
double steps_left_s(wall_ns loop_start, wall_ns now, uint64_t done, int64_t planned);

/* Packed ones from `i`, a multiple of PACKED_ROWS, into out[PACKED_ROWS]; returns how many. */
size_t rank_steps_read(const struct rank_steps *r, size_t i, struct step *out);
/* One step, in either representation. */
struct step rank_step(const struct rank_steps *r, size_t i);

/* Which steps the statistics, histograms and charts of iterations are about: the steady ones; if
 * there are none, also those that a detail window slowed; else all that have an iteration; else
 * all. The last step of a rank has no next one, and so no iteration. */
enum step_choice { STEPS_STEADY, STEPS_SLOWED_TOO, STEPS_WHOLE, STEPS_ALL };
enum step_choice step_choice_of(const struct rank_steps *s, enum event_mode mode);
bool step_is_chosen(const struct step *s, enum event_mode mode, enum step_choice choice);

/* Statistics of one rank and mode. Cut steps do not count. */
struct step_stats {
    enum event_mode mode;
    size_t count;
    double mean_s, min_s, p50_s, p95_s, p99_s, max_s, stddev_s; /* population */
    int64_t *outliers; /* numbers of steps whose iteration took more than mean + 3 stddev */
    size_t n_outliers;

    /* Iterations: begin to begin. Of steady steps, or of all when there are no steady ones. */
    size_t iterations;
    double iteration_mean_s, iteration_p50_s, iteration_p95_s, iteration_p99_s, iteration_max_s;
    double iteration_stddev_s;
    size_t warmup, disturbed; /* steps that were left out */

    /* Samples over wall time of the loop; NAN: batch sizes are not known. */
    double throughput_steady;  /* warm-up, evaluation, checkpoints, detail windows left out */
    double throughput_overall; /* from the start of training to the end of the last step */

    /* What an iteration is spent on, on average. Host parts add up to the iteration: what the
     * program waited for the GPU between steps counts for "sync", the rest for `between_s`. */
    double host_part_s[STEP_PARTS_MOST], between_s;
    double gpu_part_s[STEP_PARTS_MOST]; /* NAN: not timed */
    size_t gpu_timed_steps;             /* 0: no GPU times */
};

void step_stats_of(const struct rank_steps *s, enum event_mode mode, struct arena *a,
                   struct step_stats *out);

/* Seconds that each part took in the steps of a mode; cut steps do not count. */
void steps_parts_s(const struct rank_steps *s, enum event_mode mode, double out[STEP_PARTS_MOST]);
/* Whether a hook reported that it could not see this part. */
bool steps_part_lost(const struct run_loss *lost, size_t n_lost, size_t part);
/* Parts of these steps that were not recorded, as bits: their time is not zero but not known, and
 * is in "other". */
unsigned steps_unseen(const struct rank_steps *rank, enum event_mode mode,
                      const struct run_loss *lost, size_t n_lost);

/* ---- phases ---- */

enum phase_kind { PHASE_INIT, PHASE_TRAIN, PHASE_EVAL, PHASE_FINAL, PHASE_INTERRUPTION, PHASE_N };

const char *phase_name(enum phase_kind k); /* "initialization", "train", ... */

struct phase {
    enum phase_kind kind;
    wall_ns start, end;
};

/* They tile the job from its start to its end, in order of time; a running job has no finalization.
 * Without steps the whole job is one initialization and `has_steps` is false. */
struct run_phases {
    bool has_steps;
    bool loop_goes_on; /* the job is running: loop_end is that of its last step so far */
    wall_ns job_start, job_end, loop_start, loop_end;
    struct phase *phases;
    size_t n;
    double seconds[PHASE_N];
};

MUST_CHECK int phases_read(struct run *r, struct arena *a, struct run_phases *out, struct err *e);

/* The same from what is read already; pure. */
struct phases_from {
    const struct run_info *info;
    const struct run_mark *marks;
    size_t n_marks;
    const struct rank_steps *ranks;
    size_t n_ranks;
};

void phases_of(const struct phases_from *from, struct arena *a, struct run_phases *out);

/* ---- iterations of a loop that launches work on a GPU and does not wait for it ----
 *
 * Such a loop runs ahead of the GPU for a while and then waits for it: a few iterations that take
 * next to nothing are beside one that takes as long as all of them should have. None of them shows
 * how long an iteration takes; their mean does.
 *
 *     host  |s|s|s|----- long -----|s|s|s|----- long -----|
 *     GPU   |-----|-----|-----|-----|-----|-----|-----|----- */

/* Of n iterations in order of time, each as long as the group it belongs to takes on average. A
 * group is an iteration above the mean of all with those next to it that are below half of that
 * mean: those that follow it, and before the first such one those that precede it. All others are
 * groups of one. Below 0: left out, and no group reaches across it. `out` may be `ns`. */
void iteration_groups(const int64_t *ns, size_t n, int64_t *out);

/* Iterations are compared with those around them: the steps of a rank are cut into windows of
 * PACE_STEPS, the last of which is up to twice as long. So what is known of old steps does not
 * change as new ones come. */
enum { PACE_STEPS = 1 << 13 };

/* The end of the window that begins at step `from` of n; another one begins there. */
size_t pace_window_end(size_t from, size_t n);

/* The same for the steps of a window, given in order and in any number of calls. Zeroed: none yet.
 */
struct step_pace {
    int64_t *ns; /* of each step */
    unsigned char *mode;
    size_t n, cap, cap_mode;
};

/* Steady steps count; one whose iteration has no end counts with its duration. */
void step_pace_see(struct step_pace *p, const struct step *v, size_t n);
/* All were shown. Modes are compared one by one. */
void step_pace_done(struct step_pace *p);
/* Sets paced_ns of the n steps of the window from number `from` on. */
void step_pace_give(const struct step_pace *p, size_t from, struct step *v, size_t n);
void step_pace_free(struct step_pace *p);

#endif
