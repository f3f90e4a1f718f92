/* SPDX-License-Identifier: Apache-2.0 */
/* catalog.h - while a store is opened: its blocks become series, its logs become losses, marks and
 * ties. The store's own helper, used by reader.c alone. */
#ifndef STORE_CATALOG_H
#define STORE_CATALOG_H

#include "store/reader.h"
#include "store/track_names.h"

struct catalog {
    struct store *store;
    uint32_t cap_losses, cap_marks, cap_ties, cap_series;
    uint32_t *buckets; /* hash of series: index + 1 */
    uint32_t n_buckets;
    struct track_names names; /* of event blocks and logs, told in the order of the file */
};

/* The records of a log block; false when they are not. Words this version does not know are
 * skipped. */
bool catalog_log(struct catalog *c, const uint8_t *p, size_t n);
/* Adds to the count of the same loss, or a new one. */
void catalog_loss(struct catalog *c, const struct loss *l);
/* A tie that no clock shows (clock_fits) is left out. */
void catalog_tie(struct catalog *c, struct clock_tie tie);
/* Of the ties, those from which on time is mapped anew. After it store_wall may be used. */
void catalog_find_steps(struct store *s);
/* Whether a span of monotonic time maps to wall time that fits, not only to the nearest one. */
bool store_wall_fits(const struct store *s, int64_t first_us, int64_t last_us);
/* After all blocks are in the store: makes the list of series. */
void catalog_finish(struct catalog *c);

#endif
