/* SPDX-License-Identifier: Apache-2.0 */
/* ship.h - sends a run that is on this machine to another place, while it grows or afterwards.
 *
 * ship_open, ship_round now and then, ship_close. A round sends what is new. Nothing is remembered
 * between processes: the target says how far each file came, and the round goes on there. So a cut
 * connection, a restart and a kill need nothing but the next round.
 *
 * What arrives is a run at every moment: a file that grows is a prefix of the local one, and a
 * segment is complete in the sealed file before the tail of the next one replaces its tail. To get
 * that, the tail is read before the sealed file, and sent after it (docs/format.md). */
#ifndef SHIP_SHIP_H
#define SHIP_SHIP_H

#include "base/buf.h"
#include "base/err.h"
#include "run/rundir.h"
#include "store/format.h"

/* ---- where it goes ---- */

/* A file of the run; `node` NULL: of the run itself. */
struct ship_place {
    const char *run, *node, *file;
};

struct ship_remote {
    const char *file;
    uint64_t size;
    uint64_t segment; /* of a tail */
    uint8_t id[FILE_ID_LEN];
    bool complete;
};

/* A part of a file that grows. */
struct ship_part {
    struct ship_place at;
    uint8_t id[FILE_ID_LEN];
    bool tail;
    uint64_t segment; /* of a tail: a larger one begins the file again, with offset 0 */
    uint64_t offset;
    bool complete; /* its recorder closed it: nothing follows, and its tail goes */
    const void *p;
    size_t n;
};

struct ship_target;
typedef void ship_visit(void *ctx, const struct ship_remote *r);

/* Errors: ERR_NOT_FOUND when another attempt may succeed, after retry_s of the target; any other
 * when the user has to do something first. */
struct ship_target_ops {
    /* How far the files of a node came; one that is not known has none. */
    int (*state)(struct ship_target *t, const char *run, const char *node, ship_visit *visit,
                 void *ctx, struct err *e);
    /* *size: how far the file is now. ERR_BUSY: the part does not begin there. */
    int (*append)(struct ship_target *t, const struct ship_part *part, uint64_t *size,
                  struct err *e);
    /* A whole file. `absent`: only if there is none; another one stays, which is no error. */
    int (*put)(struct ship_target *t, const struct ship_place *at, const void *p, size_t n,
               bool absent, struct err *e);
    /* Takes back a sealed file without data, and its tail. */
    int (*remove)(struct ship_target *t, const struct ship_place *at, const uint8_t id[FILE_ID_LEN],
                  struct err *e);
    void (*close)(struct ship_target *t);
};

/* The first member of each target. */
struct ship_target {
    const struct ship_target_ops *ops;
    const char *to;     /* as the user named it, without secrets */
    size_t append_most; /* bytes of a part */
    int retry_s;        /* of the last failure: what the target asks for; 0: nothing */
    int64_t interval_ns;
};

struct ship_target_ask {
    const char *to;         /* "https://host[:port]", or "http://" for this machine */
    const char *token;      /* NULL: none */
    const char *ca;         /* a file; NULL: the system's */
    const char *pinned_key; /* "sha256//BASE64"; NULL: any */
};

/* Whether the address can be used, and all else that can be checked before a job starts: libcurl
 * is there. ERR_USAGE or ERR_NOT_FOUND with a sentence. */
MUST_CHECK int ship_target_check(const struct ship_target_ask *ask, struct err *e);
/* Loads libcurl into this process. */
MUST_CHECK int ship_target_open(struct ship_target **out, const struct ship_target_ask *ask,
                                struct err *e);
/* The token of the environment (FOOTPLATE_TOKEN), or of a file; NULL: none. */
MUST_CHECK int ship_read_token(const char *file, struct arena *a, const char **out, struct err *e);

/* ---- what is sent ---- */

struct ship;

/* `node` NULL: all nodes in the folder. */
MUST_CHECK int ship_open(struct ship **out, const char *run, const char *node,
                         struct ship_target *t, struct err *e);
/* Sends what is new. `all`: no recorder will add to it any more, so also what it left half. */
MUST_CHECK int ship_round(struct ship *s, bool all, struct err *e);
uint64_t ship_bytes(const struct ship *s); /* sent so far, not compressed */
void ship_close(struct ship *s);           /* NULL is fine; the target stays open */

#endif
