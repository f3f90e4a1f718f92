/* SPDX-License-Identifier: Apache-2.0 */
/* ship.h - copies a local run to another place, once or again and again while it is recorded.
 *
 *     ship_open, ship_pass until it says that all is there, ship_close.
 *
 * A pass sends what has grown since the one before. Nothing is remembered in a file: a new shipper
 * asks the target how far it came and goes on there, so a pass that was cut off at any moment costs
 * nothing but its time. The run is only read; its recorder does not notice.
 *
 * The order keeps the invariant of docs/format.md at the target: a tail is read before its sealed
 * file and sent after it, so that whoever reads the target finds each row in one of the two.
 *
 * A target is a struct ship_target with its operations; ship_s3.c is one. */
#ifndef SHIP_SHIP_H
#define SHIP_SHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/format.h"

/* A file that grows, as it is now. */
struct ship_file {
    const char *node; /* ID */
    const char *name; /* "metrics.fp", "events-2.tail" */
    const uint8_t *p; /* sealed: header and whole segments. Tail: header and whole frames */
    size_t len;
    uint8_t id[FILE_ID_LEN];
    uint64_t segment; /* of a tail */
    bool closed;      /* sealed: all of it, and it will never change */
};

struct ship_target;

struct ship_target_ops {
    /* A small file, whole. node NULL: of the run. `absent`: run.json, which is written once; one
     * with other bytes at the target is ERR_BUSY. */
    int (*put)(struct ship_target *t, const char *node, const char *name, const void *p, size_t n,
               bool absent, struct err *e);
    /* Brings the file at the target to f->len bytes, and when it is closed to its final form.
     * ERR_BUSY: the one that is there is of another recorder. */
    int (*sealed)(struct ship_target *t, const struct ship_file *f, struct err *e);
    int (*tail)(struct ship_target *t, const struct ship_file *f, struct err *e);
    /* The node has ended: what the target has of files that grow and are not in `names` (sealed
     * ones, ends with NULL) goes. A recorder removes a file that stayed empty. NULL: not needed. */
    int (*prune)(struct ship_target *t, const char *node, const char *const *names, struct err *e);
    void (*close)(struct ship_target *t);
};

/* The first member of each target's own struct. */
struct ship_target {
    const struct ship_target_ops *ops;
    uint64_t bytes; /* sent so far */
};

/* dest: where runs are, as "s3://BUCKET/PREFIX"; `run`: the name of the run there. */
MUST_CHECK int ship_target_s3(struct ship_target **out, const char *dest, const char *run,
                              struct err *e);

struct ship;

struct ship_config {
    const char *run;  /* the local run */
    const char *dest; /* the place of runs */
    const char *node; /* the only node to send; NULL: all */
};

struct ship_state {
    uint64_t bytes; /* sent in all passes */
    bool running;   /* a recorder writes it still */
    bool complete;  /* it has ended, and what the rules found is at the target as well */
};

MUST_CHECK int ship_open(struct ship **out, const struct ship_config *config, struct err *e);
/* The state is written also after a failure. */
MUST_CHECK int ship_pass(struct ship *s, struct ship_state *out, struct err *e);
void ship_close(struct ship *s); /* NULL is fine */

/* The address of the run at the target. */
const char *ship_place(const struct ship *s);

/* Copies a run from anywhere into the folder of runs `dir`; *path is where. */
MUST_CHECK int ship_pull(const char *run, const char *dir, char *path, struct err *e);

#endif
