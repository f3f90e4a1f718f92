/* SPDX-License-Identifier: Apache-2.0 */
/* shipper.h - sends the run elsewhere while it is recorded (--to), in a process of its own.
 * shipper_start before the job, shipper_place once the run folder is there, shipper_end when
 * nothing is added to it any more. */
#ifndef SESSION_SHIPPER_H
#define SESSION_SHIPPER_H

#include "config/settings.h"
#include "run/rundir.h"
#include "run/shipping.h"

struct shipper {
    int fd; /* -1: nothing is sent */
    struct rundir dir;
};

/* ERR_USAGE or ERR_NOT_FOUND with a sentence: the run is not sent. */
MUST_CHECK int shipper_start(struct shipper *out, const struct settings *s, struct arena *a,
                             struct err *e);
void shipper_place(void *ctx, const struct rundir *dir); /* `ctx`: the shipper */
/* Waits for the rest, a bounded time. False: nothing is sent, and *out is empty. */
bool shipper_end(struct shipper *s, struct shipping *out);

#endif
