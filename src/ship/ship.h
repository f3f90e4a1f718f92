/* SPDX-License-Identifier: Apache-2.0 */
/* ship.h - sends a run that is on this machine to another place, while it grows or afterwards.
 *
 * ship_open, ship_round now and then, ship_close. A round sends what is new. No state is stored
 * between processes: the target reports how far each file came, and the round continues there. So a
 * cut connection, a restart and a kill need nothing but the next round.
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

/* A file that grows, as it is now. */
struct ship_file {
    const char *node; /* ID */
    const char *name; /* "metrics.fp", "events-2.tail" */
    const uint8_t *p; /* from its header on */
    size_t len;       /* of a living recorder's sealed file: up to its last whole segment */
    uint8_t id[FILE_ID_LEN];
    uint64_t segment; /* of a tail: a larger one takes the place of the one before */
    bool closed;      /* sealed: nothing follows, and its tail goes */
    size_t gone;      /* the first bytes, up to here, are only at the target any more */
};

struct ship_target;
struct ship_requests;

/* Errors: ERR_NOT_FOUND when another attempt may succeed, after retry_s of the target; any other
 * when the user has to do something first. */
struct ship_target_ops {
    /* A whole file. node NULL: of the run. `absent`: run.json, which is written once: that of
     * another node of the run stays, and that of another run is an error (ship_another_run). */
    int (*put)(struct ship_target *t, const char *node, const char *name, const void *p, size_t n,
               bool absent, struct err *e);
    /* What the target has of a sealed file must be of the same recorder; only node, name and id of
     * `f` are set. Checked before anything of a node is sent. */
    int (*check)(struct ship_target *t, const struct ship_file *f, struct err *e);
    /* Brings the file at the target to f->len bytes. */
    int (*sealed)(struct ship_target *t, const struct ship_file *f, struct err *e);
    int (*tail)(struct ship_target *t, const struct ship_file *f, struct err *e);
    /* `names` are the sealed files of the node. What the target has beside them and has no data was
     * taken back by its recorder, and goes. NULL: not needed. */
    int (*prune)(struct ship_target *t, const char *node, const char *const *names, size_t n,
                 struct err *e);
    /* The run is there, or has ended: records that for readers that list runs. What fails is not
     * reported: readers do without. `tidy`: also does what is to be done for all runs there now and
     * then. NULL: not needed. */
    void (*announce)(struct ship_target *t, bool tidy);
    /* The recorder of the node is alive, although nothing was sent in this round. NULL: not needed.
     */
    int (*alive)(struct ship_target *t, const char *node, struct err *e);
    /* Hands each request that waits at the target to ask->take, and reports its answer. NULL: the
     * target has none. */
    int (*requests)(struct ship_target *t, const char *node, const struct ship_requests *ask,
                    struct err *e);
    /* Something failed: what the target has is to be requested again. NULL: not needed. */
    void (*forget)(struct ship_target *t);
    void (*close)(struct ship_target *t);
};

/* Requests of users at the target, for the recorder of a node. */
struct ship_requests {
    /* Hands a line of control_protocol.h to the recorder. False: it was refused; `answer` has the
     * recorder's answer, or the reason. */
    bool (*take)(void *ctx, const char *request, char *answer, size_t size);
    void *ctx;
};

/* The first member of each target. */
struct ship_target {
    const struct ship_target_ops *ops;
    const char *to;      /* as the user named it, without secrets */
    uint64_t bytes;      /* sent so far, before compression */
    int retry_s;         /* of the last failure: what the target requests; 0: nothing */
    int64_t interval_ns; /* between two rounds: its own, unless the user has set another */
    bool syncs_later;    /* only what arrived before `durable` survives a loss of power there */
    mono_ns durable;
    unsigned control_s; /* announced: requests are looked for so often; 0: none are taken */
    bool has_requests;  /* the target reported so in this round */
};

struct ship_target_ask {
    const char *to;         /* "https://host[:port]" of a hub, "http://" for this machine, or
                               "s3://BUCKET/PREFIX" */
    const char *token;      /* these are for hubs. NULL: none */
    const char *ca;         /* a file; NULL: the system's */
    const char *pinned_key; /* "sha256//BASE64"; NULL: any */
};

/* Whether the address can be used, and all else that can be checked before a job starts: libcurl
 * is there. ERR_USAGE or ERR_NOT_FOUND with a sentence. */
MUST_CHECK int ship_target_check(const struct ship_target_ask *ask, struct err *e);
/* For the run of this name. Loads libcurl into this process. */
MUST_CHECK int ship_target_open(struct ship_target **out, const struct ship_target_ask *ask,
                                const char *run, struct err *e);
/* Whether a client that may write there may read, too: object storage, but not a hub. */
bool ship_target_is_open(const char *to);
/* The token of the environment (FOOTPLATE_TOKEN), or of a file; NULL: none. */
MUST_CHECK int ship_read_token(const char *file, struct arena *a, const char **out, struct err *e);

/* ---- what is sent ---- */

struct ship;

/* The name that a run has elsewhere: that of its folder. ERR_USAGE: it cannot have it. */
MUST_CHECK int ship_run_name(const char *run, char out[RUN_ID_LEN], struct err *e);
/* `node` NULL: all nodes in the folder. */
MUST_CHECK int ship_open(struct ship **out, const char *run, const char *node,
                         struct ship_target *t, struct err *e);
/* From now on only what is sealed is sent, and all of it in the last round. node.json is sent again
 * now and then: it is the sign of life. */
void ship_set_seal(struct ship *s, bool only_sealed);
/* From now on what has arrived is removed from this machine when the files of the node take half of
 * `most` bytes. `node` was given. */
void ship_set_spool(struct ship *s, uint64_t most);
/* Whether a part of what the node recorded was removed so. */
bool ship_is_partial(const char *run, const char *node);
/* Sends what is new, or, to a target that wants it, that the recorder is alive. `all`: no recorder
 * will add to it any more, so also what it left half. */
MUST_CHECK int ship_round(struct ship *s, bool all, struct err *e);
void ship_close(struct ship *s); /* NULL is fine; the target stays open */

/* ---- the other way ---- */

/* Copies a run from anywhere into the folder of runs `dir`; *path is where. */
MUST_CHECK int ship_pull(const char *run, const char *dir, char *path, struct err *e);

#endif
