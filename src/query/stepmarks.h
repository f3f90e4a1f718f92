/* SPDX-License-Identifier: Apache-2.0 */
/* stepmarks.h - when steps began and how long they took, without their parts: a fifth of the
 * memory, for callers that go through all of them. */
#ifndef QUERY_STEPMARKS_H
#define QUERY_STEPMARKS_H

#include "query/steps.h"

struct step_mark {
    int64_t start, dur_ns; /* wall ns */
    int64_t iteration_ns;  /* to the start of the next step; of the last one its duration */
    int64_t number;
    enum event_mode mode;
    bool cut;
    bool left_out; /* of statistics: cut, warm-up, slowed by a detail window, the last */
};

struct rank_marks {
    const char *node;
    int64_t rank;
    uint32_t pid;
    struct step_mark *v; /* in order of their begin */
    size_t n;
};

struct rank_marks rank_marks_of(const struct rank_steps *s, struct arena *a);

struct steps_sum {
    size_t n;
    int64_t dur_ns;
};

/* Step i and those that follow it as long as they are of its mode, begin before a moment and end
 * sooner than so long after its begin. */
struct steps_sum steps_together(const struct rank_marks *r, size_t i, int64_t begin_by,
                                int64_t within_ns);

/* How long the iterations of the steps of a mode took that begin in from..to (to 0: open).
 * Those left out do not count. */
enum { STEP_HIST_BINS = 40, STEP_HIST_OUTLIERS = 200 };

struct step_hist {
    size_t count;                       /* 0: none, the rest is empty */
    double edges_s[STEP_HIST_BINS + 2]; /* n + 1 of them */
    uint64_t counts[STEP_HIST_BINS + 1];
    size_t n;              /* bins: equal ones up to where outliers begin, then one for those */
    double outlier_from_s; /* mean + 3 standard deviations */
    const struct step_mark *outliers[STEP_HIST_OUTLIERS]; /* the longest, in order of time */
    size_t n_outliers, outliers_all;
};

/* One for each mode. */
void step_hists_of(const struct rank_marks *r, wall_ns from, wall_ns to,
                   struct step_hist out[MODE_N]);

#endif
