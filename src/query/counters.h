/* SPDX-License-Identifier: Apache-2.0 */
/* counters.h - numbers and marks that the program reported, as curves over the columns of a grid.
 *
 * A mark is the number of marks of its name so far. Values that are not numbers are left out. */
#ifndef QUERY_COUNTERS_H
#define QUERY_COUNTERS_H

#include "query/grid.h"

struct counter_row {
    /* metric: the name that the program gave; entity: "rank 0", "pid 417" without a rank, with the
     * thread where it is not the first; unit: "", "B" of the allocator's bytes, "marks" */
    struct grid_row row;
    double last; /* the newest value before the end of the window; NAN: there is none */
    /* Every value with its time, `row.count` of them; NULL: not requested, or more than columns. */
    int64_t *at_ns;
    double *exact;
    bool own; /* of the program; false: of the hooks */
};

enum { COUNTERS_MOST = 500 };

struct counters {
    struct grid axis; /* has no rows */
    struct counter_row *v;
    size_t n; /* sorted by node, rank and pid, then in the order in which they first came */
    bool cut; /* there are more than COUNTERS_MOST, which are left out */
};

struct counters_ask {
    wall_ns from, to; /* both given */
    size_t columns;
    const char *node; /* NULL: all */
    const char *name; /* NULL: all */
    bool exact;       /* the values, too, where there are few */
};

MUST_CHECK int counters_read(struct run *r, const struct counters_ask *ask, struct arena *a,
                             struct counters *out, struct err *e);

#endif
