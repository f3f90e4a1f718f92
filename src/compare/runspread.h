/* SPDX-License-Identifier: Apache-2.0 */
/* runspread.h - how much runs of the same code differ from each other: another machine, other
 * neighbours on it, a warmer room. The steps of one run cannot show it.
 *
 * It is learnt from other runs of the same code in the same folder of runs; where there are too few
 * of them, a default is assumed. docs/compare.md has the numbers, docs/decisions.md the reason. */
#ifndef COMPARE_RUNSPREAD_H
#define COMPARE_RUNSPREAD_H

#include "compare/stepdiff.h"
#include "query/run.h"

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

/* An interval of a change (a share) that holds it for the code, not only for these two runs. */
struct diff_interval runspread_widen(struct diff_interval v, double reach);

/* Whether two runs are of the same code, as far as is known: name, command, commit where
 * both know it, and kind of machine. */
bool runspread_same_code(const struct run_info *a, const struct run_info *b);

/* One run against one run: what other runs beside them show. What cannot be read is left out. */
struct spread_ask {
    const struct run_info *a, *b;
    double mean[2];  /* of a and b, as `per_sample` says */
    bool per_sample; /* time of a sample; else of an iteration */
    double confidence;
};

void runspread_learn(const struct spread_ask *ask, struct run_spread *out);

#endif
