/* SPDX-License-Identifier: Apache-2.0 */
/* ship_live.h - the process that sends a run while it is recorded. It runs beside the recorder,
 * which knows nothing of it and never waits for it. */
#ifndef SHIP_SHIP_LIVE_H
#define SHIP_SHIP_LIVE_H

#include "run/shipping.h"
#include "ship/ship.h"

struct ship_live_ask {
    struct ship_target_ask target;
    int64_t interval_ns; /* between rounds; 0: the target's own */
    bool seal;           /* only what is sealed, until the end */
    uint64_t spool;      /* bytes that stay on this machine; 0: all */
    /* As in ship_requests; `ctx` is the struct ship_live_begin. NULL: requests are not taken. */
    bool (*control)(void *ctx, const char *request, char *answer, size_t size);
};

/* Where the run is. */
struct ship_live_begin {
    char run[PATH_LEN];
    char id[RUN_ID_LEN]; /* of the run */
    char node[NODE_ID_LEN];
};

enum ship_live_byte {
    SHIP_LIVE_END = 'e',  /* the run has ended */
    SHIP_LIVE_SOON = 's', /* the machine goes away soon: everything at short intervals */
};

/* Sends rounds until SHIP_LIVE_END comes on `fd`, and then until all is there, or `fd` is closed.
 * When it is closed without that byte the recorder was killed: what there is is sent within a
 * minute. *out: how it went. */
void ship_live(const struct ship_live_ask *ask, const struct ship_live_begin *begin, int fd,
               struct shipping *out);

/* How long to wait after the n-th failure in a row, ms. `retry_s`: what the target requests. */
int64_t ship_backoff_ms(unsigned n, int retry_s, uint32_t random);

#endif
