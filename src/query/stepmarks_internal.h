/* SPDX-License-Identifier: Apache-2.0 */
/* stepmarks_internal.h - what is known beforehand of several marks in a row, so that a caller that
 * asks about many steps need not look at each. Only whole stretches from a multiple of their length
 * on are known; the marks before and after them are examined. For the files of stepmarks.h alone.
 */
#ifndef QUERY_STEPMARKS_INTERNAL_H
#define QUERY_STEPMARKS_INTERNAL_H

#include "query/stepmarks.h"

enum { STEPS_RUN = 64, STEPS_SUMMED = 1024, STEPS_ORDERED = 8192 };

/* STEPS_RUN steps. */
struct step_run {
    int64_t end;    /* of the last to end */
    int64_t dur_ns; /* of all */
    enum event_mode mode;
    bool mixed; /* there are other modes too */
};

/* The steps of a mode that are not left out, in ns. Sums are of what lies above a step of the same
 * rank, so that long steps do not cost the digits that short differences need. */
struct spread {
    size_t n;
    int64_t min, max;
    double sum, squares;
};

/* STEPS_SUMMED steps, or as many as were asked about. */
struct step_sums {
    struct spread of[MODE_N];
};

/* STEPS_ORDERED steps: those that are not left out, mode by mode, each mode by duration. */
struct step_order {
    size_t n[MODE_N];
    int64_t *dur_ns;
    uint16_t *at; /* which of them it is */
};

struct step_index {
    struct step_run *runs;
    struct step_sums *sums;
    struct step_order *orders;
};

const struct step_index *step_index_make(const struct rank_marks *r, struct arena *a);
/* The steps i..end are added to `out`. */
void step_sums_add(const struct rank_marks *r, size_t i, size_t end, struct step_sums *out);

/* The whole stretch that begins with step i; NULL: none does, or it reaches behind the end. */
static inline const struct step_run *step_run_at(const struct rank_marks *r, size_t i, size_t end)
{
    const bool known = r->index && i % STEPS_RUN == 0 && i + STEPS_RUN <= end;
    return known ? &r->index->runs[i / STEPS_RUN] : NULL;
}

static inline const struct step_order *step_order_at(const struct rank_marks *r, size_t i,
                                                     size_t end)
{
    const bool known = r->index && i % STEPS_ORDERED == 0 && i + STEPS_ORDERED <= end;
    return known ? &r->index->orders[i / STEPS_ORDERED] : NULL;
}

#endif
