/* SPDX-License-Identifier: Apache-2.0 */
/* later.h - answers that take long: worked out beside the requests, and kept for a while.
 *
 * What has to look at every event of a run takes a second for some millions of them. Such a request
 * is answered with "ask again" (202), and a thread works the answer out from a run of its own, so
 * that nobody who looks at the same run has to wait. Bounded in number; the oldest goes first. Safe
 * for any number of threads. */
#ifndef SERVE_LATER_H
#define SERVE_LATER_H

#include "serve/route.h"

struct later;

struct heavy;

MUST_CHECK int later_open(struct later **out, struct heavy *heavy, struct err *e);
void later_close(struct later *l); /* NULL is fine */

/* `now` of a run with few events, at once; of one with many, what was worked out before, or 202.
 * `now` may look at run, values and arena of the request, and at nothing else of it. */
MUST_CHECK int later_answer(struct later *l, const struct route_ask *q, route_fn *now,
                            struct route_answer *out, struct err *e);

#endif
