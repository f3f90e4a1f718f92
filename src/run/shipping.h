/* SPDX-License-Identifier: Apache-2.0 */
/* shipping.h - how far a node of a run has been sent elsewhere: a small file in the node's folder,
 * which the shipper writes and others show. It stays on this machine. */
#ifndef RUN_SHIPPING_H
#define RUN_SHIPPING_H

#include "run/run_info.h"

enum {
    SHIPPING_TEXT = 256,
    SHIPPING_SEAL_S = 600, /* between signs of life of a node of which only sealed data is sent */
};

enum shipping_state {
    SHIPPING_OK,      /* the last round went through */
    SHIPPING_WAITING, /* it failed, and is tried again */
    SHIPPING_STOPPED, /* the user has to do something; tried again now and then */
    SHIPPING_DONE,    /* all of it is there */
    SHIPPING_STATE_N,
};

struct shipping {
    char to[SHIPPING_TEXT];
    enum shipping_state state;
    wall_ns synced; /* when all that was recorded until then was there; 0: never */
    uint64_t bytes;
    char error[SHIPPING_TEXT]; /* "": none */
};

const char *shipping_state_name(enum shipping_state s);
/* Since when something has been missing there, in seconds; NAN: nothing ever arrived. */
double shipping_lag_s(const struct shipping *s);
MUST_CHECK int shipping_put(const char *run, const char *node, const struct shipping *s,
                            struct err *e);
/* A process that was killed while it wrote the file left a part of it beside it: that goes. For the
 * only writer of the node's file, when it begins. */
void shipping_tidy(const char *run, const char *node);
/* ERR_NOT_FOUND: the node is not sent anywhere. */
MUST_CHECK int shipping_read(const char *run, const char *node, struct shipping *out,
                             struct err *e);
/* Of all nodes together: the worst state, the oldest time, all bytes. */
MUST_CHECK int shipping_of_run(const struct run_info *info, struct shipping *out, struct err *e);

#endif
