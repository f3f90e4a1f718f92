/* SPDX-License-Identifier: Apache-2.0 */
/* compare_internal.h - what is read of each run before anything is compared. For the files of
 * compare/ alone.
 *
 * reading_open fills one `reading` per run, all in a scratch arena that goes when the comparison is
 * made; what stays is copied. */
#ifndef COMPARE_COMPARE_INTERNAL_H
#define COMPARE_COMPARE_INTERNAL_H

#include "compare/compare.h"
#include "query/breakdown.h"
#include "rules/feed_run.h"
#include "tables/healthview.h"
#include "tables/show.h"

/* ---- the training steps of a job from those of its ranks ----
 *
 * A step of the job begins and ends with the last of its ranks. Pure.
 *
 * A step counts by its iteration, from its begin to the begin of the next step of the rank: where
 * the program runs ahead of a GPU, a step alone is only the time it takes to launch the work. The
 * last step of a rank has no iteration and counts by its duration. */

/* Parts of an iteration: those of the step, then the time between it and the next. */
enum { ITERATION_PARTS_MOST = STEP_PARTS_MOST + 1 };

size_t iteration_parts(void);                 /* how many there are, "between" included */
const char *iteration_part_name(size_t part); /* the last is "between" */

struct jobsteps {
    size_t n;
    int64_t *number;                      /* as the program or the order of steps has it */
    double *s;                            /* how long its iteration took */
    double *part_s[ITERATION_PARTS_MOST]; /* of the last rank, host time; NULL: no step has it */
    double *batch;                        /* samples over all ranks; NULL: not known */
    bool *warmup, *disturbed;             /* by the step of any rank: see struct step */
    size_t ranks;
};

/* Steps that were cut do not count. Ranks are tied together by the numbers of steps where each
 * counts upwards, else by their order. Lives in the arena. */
void jobsteps_of(const struct rank_steps *ranks, size_t n, struct arena *a, struct jobsteps *out);

/* ---- what is read of a run ---- */

/* The weights of all parameters at a sample, as one number: equal bits have equal numbers. */
struct weight_sum {
    int64_t step;
    uint64_t sum;
};

struct compare_reading {
    const struct run_info *info;
    struct jobsteps steps;
    unsigned unseen; /* parts of steps that no rank could see, as bits */
    double throughput_steady, throughput_overall; /* of all ranks together; NAN: not known */
    double gpu_part_s[STEP_PARTS_MOST];           /* mean of the ranks; NAN: not timed */
    size_t gpu_timed_steps, gpu_steps;            /* of all ranks */
    bool has_phases;
    double phase_s[PHASE_N], job_s; /* the phases are what the job's time is made of */
    const char *no_steps;           /* why there are none; NULL: there are */
    struct summary_line *lines;
    size_t n_lines;
    struct checked checked;
    struct health_losses losses; /* of training, of the first rank; in the order of steps */
    struct weight_sum *sums;     /* the same */
    size_t n_sums;
    bool detail; /* what follows is there */
    struct op_row *ops;
    size_t n_ops;
    struct breakdown breakdown;
};

struct side_reading {
    struct compare_reading *v;
    size_t n;
};

/* Both sides; the caller frees the arenas. */
MUST_CHECK int readings_open(const struct compare_ask *ask, struct arena scratch[COMPARE_SIDES],
                             struct side_reading out[COMPARE_SIDES], struct err *e);

/* What all that follow work with. */
struct comparing {
    const struct compare_ask *ask;
    const struct side_reading *side; /* COMPARE_SIDES of them */
    struct arena *arena;             /* of the result */
    struct arena *scratch;
    struct compared *out;
    size_t cap_losses, cap_hardware;
};

/* Mean of `of` over the runs of a side; NAN when one of them is. */
double side_mean(const struct side_reading *s, double (*of)(const struct compare_reading *, size_t),
                 size_t arg);

void compare_lose(struct comparing *c, const char *what, const char *why, int side);

void compare_steps(struct comparing *c);  /* iterations, their parts, the histogram */
void compare_tables(struct comparing *c); /* throughput, phases, utilization */
void compare_detail(struct comparing *c); /* operators, breakdown */
MUST_CHECK int compare_read_health(struct run *r, struct arena *a, struct compare_reading *out,
                                   struct err *e);
void compare_health(struct comparing *c);   /* where the training of both parts */
void compare_findings(struct comparing *c); /* findings of rules */
/* The change that an interval of a difference shows. */
enum compare_verdict compare_call(const struct diff_interval *v);
void compare_conclude(struct comparing *c); /* verdict and sentence: last */

#endif
