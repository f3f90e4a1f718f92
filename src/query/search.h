/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - spans by a part of their name. Only stretches that hold such a name are decoded, and
 * of those no more than the budget allows. */
#ifndef QUERY_SEARCH_H
#define QUERY_SEARCH_H

#include "query/events.h"

struct search_ask {
    const char *text; /* upper and lower case are the same */
    wall_ns from, to; /* where they begin; 0: open */
    size_t limit;     /* hits that are told; all are counted */
    uint64_t budget;  /* events to decode */
};

struct search_hit {
    const struct run_track *track;
    const char *name;
    wall_ns at;
    int64_t dur_ns;
};

struct search_result {
    struct search_hit *v; /* the first of each track, in order of time there */
    size_t n;
    uint64_t count; /* of all that were looked at */
    bool cut;       /* not all were looked at */
};

MUST_CHECK int search_read(struct run *r, const struct search_ask *ask, struct arena *a,
                           struct search_result *out, struct err *e);

#endif
