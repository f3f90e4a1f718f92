/* SPDX-License-Identifier: Apache-2.0 */
/* remake.h - a run put together anew from all the data of another one: an export of it, or
 * several runs.
 *
 * The reader describes the run and each recorder (node and session), then requests the sink of
 * each place it has something for. What receives it (the command that makes the run) the reader
 * cannot see. Sinks live until the whole is done. */
#ifndef RECORD_REMAKE_H
#define RECORD_REMAKE_H

#include "record/record.h"

/* One recorder. Times of everything that belongs to it count on its monotonic clock. */
struct remake_node {
    const char *id;
    unsigned session;       /* 1, 2, ... */
    int64_t clock_ahead_ns; /* of the wall clock before that */
    wall_ns start, end;     /* 0: not known */
    const char *about;      /* its node.json; NULL: it had none */
    size_t about_len;
};

enum remake_file {
    REMAKE_METRICS, /* rows, losses, marks */
    REMAKE_EVENTS,
    REMAKE_DETAIL, /* events of a detail window */
};

struct remake_place {
    const char *node;
    unsigned session;
    enum remake_file file;
    uint32_t pid;    /* of REMAKE_DETAIL: whose, */
    unsigned window; /* and which of its windows */
};

struct remake;

struct remake_ops {
    /* The run.json, as it was; once, before all others. */
    void (*run)(struct remake *m, const char *about, size_t len);
    /* Before its first sink is requested. */
    void (*node)(struct remake *m, const struct remake_node *n);
    /* Never NULL: what cannot be stored is an error when all is done. */
    struct sink *(*sink)(struct remake *m, const struct remake_place *p);
};

struct remake {
    const struct remake_ops *ops;
};

#endif
