/* SPDX-License-Identifier: Apache-2.0 */
/* query_match.h - which series of a run a query means, and what to say when it means none. */
#ifndef TABLES_QUERY_MATCH_H
#define TABLES_QUERY_MATCH_H

#include "query/series.h"

/* Every metric there is, for completion; ends with NULL. */
extern const char *const metric_names[];

/* All series of the run. */
struct keys {
    struct series_key *v;
    size_t n;
};

bool query_matches(const struct series_ask *ask, const struct series_key *k);
/* ERR_NOT_FOUND when nothing matches; it says which part is wrong, what there is instead, or why
 * it was not measured. */
MUST_CHECK int query_check(struct run *r, const struct series_ask *ask, const struct keys *all,
                           struct err *e);

#endif
