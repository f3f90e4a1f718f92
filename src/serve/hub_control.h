/* SPDX-License-Identifier: Apache-2.0 */
/* hub_control.h - requests of users to recorders that send their runs to this hub.
 *
 * The hub cannot reach a recorder. The process that sends its run announces within which time it
 * looks for requests (hub_control_seen), fetches them (hub_control_take), hands them to the
 * recorder's control socket and reports the answer (hub_control_answer). Requests are the lines of
 * control_protocol.h and nothing else, and the sender checks them again.
 *
 * All of it is in memory: a hub that restarts forgets requests that were not fetched. A request
 * that is not fetched in time expires, so that a job is not stopped an hour after the user's
 * request. Safe for any number of threads. */
#ifndef SERVE_HUB_CONTROL_H
#define SERVE_HUB_CONTROL_H

#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "control/control_protocol.h"
#include "run/rundir.h"
#include "serve/rights.h"

enum hub_request_state { HUB_WAITING, HUB_APPLIED, HUB_REFUSED, HUB_EXPIRED, HUB_REQUEST_STATES };

struct hub_control_request {
    uint64_t id; /* grows, also over restarts of the hub */
    char node[NODE_ID_LEN];
    char set[CONTROL_LINE];
    char by[TOKEN_NAME_LEN]; /* the name of the user's token; "": it has none */
    wall_ns requested;
    mono_ns until; /* it expires */
    enum hub_request_state state;
    char text[CONTROL_ANSWER]; /* of the recorder; "": none yet */
};

struct hub_control;

struct hub_control *hub_control_open(void);
void hub_control_close(struct hub_control *c); /* NULL is fine */

const char *hub_request_state_name(enum hub_request_state s);

/* ---- the sender of a node's data ---- */

/* It is there, and looks for requests at least every `within_s` seconds; 0: it takes none. Returns
 * how many wait for it. */
unsigned hub_control_seen(struct hub_control *c, const char *run, const char *node,
                          unsigned within_s);
typedef void hub_request_visit(void *ctx, const struct hub_control_request *q);
/* Each request that waits, oldest first. They wait until they are answered. */
void hub_control_take(struct hub_control *c, const char *run, const char *node,
                      hub_request_visit *visit, void *ctx);
/* What the recorder answered. One that is not known any more is ignored. */
void hub_control_answer(struct hub_control *c, const char *run, const char *node, uint64_t id,
                        bool applied, const char *text);

/* ---- users ---- */

/* Within which time requests to the run are fetched, in seconds; 0: none of its nodes takes any. */
unsigned hub_control_within(struct hub_control *c, const char *run);
/* Leaves the request for a node, or with NULL for all nodes of the run that take requests. What was
 * added is in the arena. ERR_NOT_FOUND: there is no such node; ERR_LIMIT: too many wait. */
MUST_CHECK int hub_control_ask(struct hub_control *c, const char *run, const char *node,
                               const char *set, const char *by, struct arena *a,
                               struct hub_control_request **out, size_t *n, struct err *e);
/* The last requests to all nodes of the run, oldest first, in the arena. */
void hub_control_list(struct hub_control *c, const char *run, struct arena *a,
                      struct hub_control_request **out, size_t *n);

#endif
