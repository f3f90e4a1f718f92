/* SPDX-License-Identifier: Apache-2.0 */
/* trend.h - the course of a value over the training loop in at most 64 blocks of equal length, and
 * whether it climbs steadily.
 *
 * Blocks lie on a grid of wall time whose mesh doubles until the loop fits. Mesh and sums depend on
 * what was seen alone. */
#ifndef RULES_TREND_H
#define RULES_TREND_H

#include "rules/verdict.h"

enum { TREND_BLOCKS = 64 };

struct trend {
    int64_t length_ns; /* of a block; 0: nothing seen yet */
    int64_t first;     /* number of the first block on the grid */
    uint32_t n;        /* blocks; some between may be empty */
    struct {
        uint64_t n;
        int64_t sum; /* in the caller's whole units */
    } block[TREND_BLOCKS];
};

/* Each reading counts as `scale` times its value, rounded. NAN is left out. In order of time. */
void trend_add(struct trend *t, const wall_ns *at, const float *v, size_t n, float scale);

/* Least squares over the means of the blocks, each with the weight of its readings. In the unit of
 * the readings. */
struct trend_fit {
    uint32_t blocks;   /* with values; below 3 the rest is NAN */
    double from, to;   /* of the line, at both ends */
    double seconds;    /* from the first block to the last */
    double per_s;      /* its slope */
    double late_per_s; /* slope of a line over the last third alone */
    double r2;         /* share of the variance that the line explains */
};

struct trend_fit trend_fit_of(const struct trend *t, float scale);
/* The line explains nearly everything, more than it does of one or two steps, and the climb
 * continues in the last third. */
bool trend_is_climb(const struct trend_fit *f);
/* The time of all blocks becomes the range of a finding. */
void finding_over(struct verdict *v, struct finding *f, const struct trend *t);
/* A row of a PLOT_SERIES whose edges are the middles of the blocks in s since `zero`. */
void trend_plot(const struct trend *t, float scale, wall_ns zero, const char *title,
                const char *unit, struct verdict *v);

#endif
