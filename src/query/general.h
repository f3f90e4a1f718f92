/* SPDX-License-Identifier: Apache-2.0 */
/* general.h - what threads did that is neither a pass of a step nor an operator: waiting for data,
 * copies, compilation, checkpoints, collectives, and the program's other spans, by kind. */
#ifndef QUERY_GENERAL_H
#define QUERY_GENERAL_H

#include "query/events.h"

struct general_row {
    const char *what; /* "checkpoints", or the name of a span of the program */
    uint64_t count;   /* spans */
    /* Of all threads together. A span inside another of the same kind and thread counts once;
     * kinds may lie inside each other. */
    double total_s;
    double longest_s; /* of one span */
    size_t threads;   /* that have it */
    double share;     /* 0..1: total_s of lived_s */
    double lived_s;   /* from the first to the last event of the process of each of these threads */
};

struct general {
    struct general_row *rows; /* what took longest first */
    size_t n;
    size_t left_out; /* kinds that took less than those */
};

/* Of what hooks, programs and imported traces recorded of threads; detail windows, which have the
 * same of some steps once more, are left out. At most `most` rows. */
MUST_CHECK int general_read(struct run *r, size_t most, struct arena *a, struct general *out,
                            struct err *e);

#endif
