/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - two runs, or two groups of runs, side by side: what changed from A to B, and whether
 * the data can show that it did.
 *
 * compare_runs reads all runs (A and B at the same time, by two threads, so each must be open once
 * for itself: a run that is on both sides is opened twice). Everything in struct compared lives
 * in the arena and survives run_close. The same runs give the same answer: nothing is drawn by
 * chance that is not seeded. docs/compare.md has the method and what the words mean.
 *
 * Of a group of several runs, times, costs and quantiles are the means over its runs. A share is
 * the relative difference of B from A: +0.02 is 2 % more in B. NAN: not known; `losses` has the
 * reason. */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include "base/human.h"
#include "base/row_table.h"
#include "compare/stepdiff.h"
#include "cost/machines.h"
#include "query/ops.h"
#include "query/run.h"
#include "query/steps.h"
#include "rules/engine.h"

/* ---- runspread.c: how much runs of the same code differ from each other ----
 *
 * Another machine, other neighbours on it, a warmer room: the steps of one run cannot show it. It
 * is learnt from other runs of the same code in the same folder of runs; where there are too few of
 * them, a default is assumed. docs/compare.md has the numbers, docs/decisions.md the reason. */

struct run_spread {
    double sd;    /* of the mean iteration of one run, as a share */
    size_t runs;  /* that it was learnt from; 0: the default */
    double reach; /* two runs of the same code differ by less than this, with the confidence */
};

/* Means of runs of one code. */
struct spread_group {
    const double *means; /* > 0 */
    size_t n;
};

/* From groups of runs; NULL and 0, or too few runs, give the default. Pure. */
void runspread_from(const struct spread_group *groups, size_t n, double confidence,
                    struct run_spread *out);

/* An interval of a change (a share) that covers the change of the code, not only of these two
 * runs. */
struct diff_interval runspread_widen(struct diff_interval v, double reach);

/* Whether two runs are of the same code, as far as is known: name, command, commit where
 * both know it, and kind of machine. */
bool runspread_same_code(const struct run_info *a, const struct run_info *b);

/* One run against one run: what other runs beside them show. What cannot be read is left out. */
struct spread_ask {
    const struct run_info *a, *b;
    double mean[2];  /* of a and b, in the unit of `per_sample` */
    bool per_sample; /* time of a sample; else of an iteration */
    double confidence;
};

void runspread_learn(const struct spread_ask *ask, struct run_spread *out);

/* ---- what is compared ---- */

enum { COMPARE_A, COMPARE_B, COMPARE_SIDES };

/* Runs that one call takes at most, in each group. */
enum { COMPARE_RUNS_MOST = 64 };

struct compare_group {
    struct run *const *runs;
    size_t n;
    double price_per_hour; /* of each machine; 0: as recorded in the runs */
};

struct compare_ask {
    struct compare_group side[COMPARE_SIDES];
    double confidence;            /* 0: 0.95 */
    bool has_range;               /* only train steps from..to, both included; no warm-up is left */
    int64_t from, to;             /* out then, since the user chose the steps */
    const struct machines *table; /* prices of kinds of machines; NULL: none */
};

/* ---- each side ---- */

struct compared_run {
    const char *run; /* its folder's name */
    const char *id, *name, *path;
    enum run_status status;
    wall_ns start;
    double duration_s, cost;
    size_t machines, gpus, ranks, steps; /* steps: of the job, in train mode */
};

struct compared_side {
    struct compared_run *runs;
    size_t n;
    const char *name;         /* of the run, or of all runs with commas between */
    double machines;          /* of one run */
    double price_per_hour;    /* of one machine; NAN: not known, or not the same for all */
    double duration_s, cost;  /* of one run */
    double throughput_steady; /* samples a second of the loop, of all ranks; NAN: not known */
    double throughput_overall;
    double batch;                  /* samples in a step of the job; NAN: not known */
    struct step_diff_spread steps; /* iterations of the compared steps; count 0: none */
    size_t warmup;                 /* steps at the beginning that do not count, in each run */
    size_t disturbed;              /* later ones that do not count, because of a detail window */
    size_t gpu_timed_steps;        /* whose phases were timed on the GPU, of all ranks and runs */
    size_t gpu_steps;              /* of so many */
};

/* ---- what changed ---- */

enum compare_verdict {
    COMPARE_FASTER,
    COMPARE_SLOWER,
    COMPARE_SAME,
    COMPARE_NOT,
    COMPARE_VERDICTS
};

extern const char *const compare_verdict_names[COMPARE_VERDICTS]; /* "faster", "no_difference" */

struct compared_phase {
    const char *phase; /* "total" comes last */
    double s[COMPARE_SIDES];
};

/* A part of an iteration, by the clock of the host or of the GPU. */
struct compared_part {
    const char *part;
    double s[COMPARE_SIDES];     /* per iteration */
    struct diff_interval diff_s; /* of the difference, in seconds a step */
    enum compare_verdict verdict;
};

/* One number of each side, not a distribution: throughput, and what is derived from it. */
struct compared_number {
    const char *key, *title, *unit;
    double v[COMPARE_SIDES];
    const char *why[COMPARE_SIDES]; /* not known: why; NULL: it is */
};

enum { COMPARE_NUMBERS_MOST = 16 };

enum { COMPARE_QUANTILES = 7 };

extern const char *const compare_quantile_names[COMPARE_QUANTILES]; /* "min", "mean", "p50", ... */

struct compared_use {
    const char *metric, *title, *unit;
    double v[COMPARE_SIDES][COMPARE_QUANTILES];
    double diff;                    /* of the medians */
    const char *why[COMPARE_SIDES]; /* not measured: why; NULL: it was */
};

/* A share of the time of steps or devices, from operator detail. */
struct compared_time {
    const char *of;   /* "step": seconds of one; "device": shares of its time */
    const char *what; /* "kernel", "idle" */
    const char *unit; /* "s", "share" */
    double v[COMPARE_SIDES];
};

struct compared_op {
    enum op_device device;
    const char *name;
    double self_s[COMPARE_SIDES], calls[COMPARE_SIDES]; /* NAN: it does not occur there */
};

/* More self time in B; one that does not occur on a side took none there. */
double compared_op_diff(const struct compared_op *o);

enum finding_change {
    FINDING_APPEARED,
    FINDING_WENT,
    FINDING_STAYED,
    FINDING_UNKNOWN, /* found on one side; the other could not be judged */
    FINDING_CHANGES
};

extern const char *const finding_change_names[FINDING_CHANGES]; /* "appeared", "went", ... */

struct compared_finding {
    const struct rule *rule;
    enum finding_change change;
    enum severity severity[COMPARE_SIDES]; /* where it was found */
    size_t runs[COMPARE_SIDES];            /* in how many */
    const char *message[COMPARE_SIDES];    /* of the first finding; NULL: none */
    double lost_s[COMPARE_SIDES], lost_share[COMPARE_SIDES];
    const char *why; /* FINDING_UNKNOWN: why one side could not be judged */
};

/* What is known to differ between the runs: command, commit, machines. */
struct compared_difference {
    const char *what;
    const char *v[COMPARE_SIDES];
    const char *text; /* "commit abc1234 -> def5678" */
};

/* Training of both, of the first run of each side and its first rank. */
enum { COMPARE_LOSS_ROWS = 10 };

struct compared_loss_row { /* mean loss of the common steps from..to, both included */
    int64_t from, to;
    double loss[COMPARE_SIDES];
};

struct compared_health {
    const char *sentence;
    size_t steps;                       /* with a loss in both */
    int64_t loss_same_to, loss_differs; /* last step before the first difference; that; -1: none */
    int64_t loss_apart; /* from here on they are more than 1 % apart, for good; -1: they are not */
    size_t samples;     /* steps at which the weights of both were summed */
    int64_t sums_same_to, sums_differ; /* as of losses */
    struct compared_loss_row rows[COMPARE_LOSS_ROWS];
    size_t n_rows;
};

struct compared_loss {
    const char *what, *why;
    int side; /* COMPARE_A, COMPARE_B; -1: both */
};

/* Bars of the same width for both sides, over the compared steps. */
struct compared_histogram {
    double *edges_s; /* n + 1; the last bin is for all that is longer */
    uint64_t *counts[COMPARE_SIDES];
    size_t n;
};

/* What steps were compared by. */
enum compare_basis {
    BASIS_STEP,
    BASIS_SAMPLE, /* time per sample, since the batches differ */
    BASIS_N
};

struct compared {
    struct compared_side side[COMPARE_SIDES];
    const char *currency; /* of costs and prices: that of A */
    enum compare_verdict verdict;
    const char *sentence; /* with numbers */
    const char *why;      /* what the verdict rests on; or why there is none */
    double confidence;

    enum compare_basis basis;
    bool one_by_one; /* step by step, run against run; else means of runs */
    /* Of the mean iteration, as a share of A's. With one run a side it reaches as far as runs of
     * the same code differ; steps_diff is what the steps of these two runs alone show. */
    struct diff_interval diff, steps_diff;
    struct diff_interval median; /* of the median, as diff */
    struct run_spread spread;    /* with one run a side; else all 0 */
    bool may_be_noise;           /* steps differ, but no more than runs of the same code may */
    double least_share;          /* two runs of the same code may differ by this; 0: measured */
    double detectable_share;     /* smallest that would have been found in four of five cases */
    struct compared_histogram histogram;

    struct compared_phase *phases;
    size_t n_phases;
    struct compared_part *parts; /* host time; they add up to the iteration */
    size_t n_parts;
    struct compared_part *gpu_parts; /* GPU time; none unless both sides have it */
    size_t n_gpu_parts;
    bool launch_only; /* host parts of a job that uses GPUs whose time is not known */
    struct compared_number numbers[COMPARE_NUMBERS_MOST];
    size_t n_numbers;
    struct compared_use *uses;
    size_t n_uses;
    struct compared_time *times;
    size_t n_times;
    struct compared_op *ops; /* the most changed first */
    size_t n_ops;
    bool ops_per_step;                 /* their times and calls are of one step; else of the run */
    struct compared_finding *findings; /* appeared, went, stayed, unknown */
    size_t n_findings;
    size_t rules_judged[COMPARE_SIDES]; /* rules that could judge a run of that side */

    double cost[COMPARE_SIDES]; /* as shown: rounded to cents, or finer when small */
    double saving, saving_share;
    struct compared_difference *differences;
    size_t n_differences;
    bool same_hardware, same_run;
    const char **hardware; /* sentences: what differs */
    size_t n_hardware;
    struct compared_health *health; /* NULL: one of them has no losses, or no step is in both */
    struct compared_loss *losses;
    size_t n_losses;
};

MUST_CHECK int compare_runs(const struct compare_ask *ask, struct arena *a, struct compared *out,
                            struct err *e);

extern const struct row_table row_Compare; /* see compare_rows.def */
/* The keys of `footplate compare --json`, into an object that the caller opened. */
void compare_json(struct jw *j, const struct compared *c);

/* ---- texts ---- */

const char *compare_title(const struct compared *c);       /* "B is faster", ... */
extern const char *const compare_called[COMPARE_VERDICTS]; /* "faster", "no difference", ... */

/* What B has more than A, as a share of A; NAN: A has nothing. */
double compared_share(const double v[COMPARE_SIDES]);
/* Numbers in words, in the arena; NAN is "-". "+2.4 %": what B has more than A. */
const char *share_text(struct arena *a, double share);
/* "2.4 %": the same without its sign. */
const char *share_size_text(struct arena *a, double share);
/* "+12.4 ms": times of steps and operators. */
const char *step_more_text(struct arena *a, double s);

#endif
