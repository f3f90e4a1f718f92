/* SPDX-License-Identifier: Apache-2.0 */
/* devhist.h - how often a percentage had each of its values: 101 bins, of 0 to 100 inclusive.
 * Exact: whole blocks are answered from the histograms in their heads, the rest is decoded. */
#ifndef QUERY_DEVHIST_H
#define QUERY_DEVHIST_H

#include "query/series.h"

enum { DEVHIST_BINS = 101 };

struct devhist {
    struct series_key key;
    uint64_t bins[DEVHIST_BINS]; /* bin i: i <= value < i + 1; what is above 100 is in the last */
    uint64_t count;
};

/* Every series that matches; points are not looked at. */
MUST_CHECK int devhist_read(struct run *r, const struct series_ask *ask, struct arena *a,
                            struct devhist **out, size_t *n, struct err *e);

#endif
