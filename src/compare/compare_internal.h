/* SPDX-License-Identifier: Apache-2.0 */
/* compare_internal.h - what is read of each run before anything is compared. For the files of
 * compare/ alone.
 *
 * reading_open fills one `reading` per run, all in a scratch arena that goes when the comparison is
 * made; what stays is copied. */
#ifndef COMPARE_COMPARE_INTERNAL_H
#define COMPARE_COMPARE_INTERNAL_H

#include "compare/compare.h"
#include "compare/jobsteps.h"
#include "query/breakdown.h"
#include "rules/feed_run.h"
#include "tables/show.h"

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

/* Mean over the runs of a side of what `of` says; NAN when one of them is. */
double side_mean(const struct side_reading *s, double (*of)(const struct compare_reading *, size_t),
                 size_t arg);

void compare_lose(struct comparing *c, const char *what, const char *why, int side);

void compare_steps(struct comparing *c);    /* iterations, their parts, the histogram */
void compare_tables(struct comparing *c);   /* throughput, phases, utilization */
void compare_detail(struct comparing *c);   /* operators, breakdown */
void compare_findings(struct comparing *c); /* what rules say */
/* What an interval of a difference says. */
enum compare_verdict compare_call(const struct diff_interval *v);
void compare_conclude(struct comparing *c); /* verdict and sentence: last */

#endif
