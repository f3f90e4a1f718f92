/* SPDX-License-Identifier: Apache-2.0 */
/* digests.h - what is known of the steps of runs, kept beside them.
 *
 * Steps are derived from all events of a run, which takes a second for a million of them. A run
 * with few is looked at while the request waits; of one with many a thread makes the digest, and
 * the request is answered with "ask again", or from the digest of data that is a little older.
 * Bounded in bytes: what was not asked for longest goes first. Safe for any number of threads. */
#ifndef SERVE_DIGESTS_H
#define SERVE_DIGESTS_H

#include "serve/route.h"
#include "tables/stepdigest.h"

struct digests;

struct heavy;

MUST_CHECK int digests_open(struct digests **out, struct heavy *heavy, size_t bytes_most,
                            struct err *e);
void digests_close(struct digests *d); /* NULL is fine */

/* The digest of the run that the request is about, until digests_give. `*out` NULL: it is being
 * made, ask again. `*older`: it is one of older data, while the new one is being made. */
MUST_CHECK int digests_take(struct digests *d, const struct route_ask *q,
                            const struct step_digest **out, bool *older, struct err *e);
void digests_give(struct digests *d, const struct step_digest *x); /* NULL is fine */

#endif
