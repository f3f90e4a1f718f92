/* SPDX-License-Identifier: Apache-2.0 */
/* receive.h - runs that arrive from other machines, part by part (docs/remote.md).
 *
 * A run on the hub is a run folder like any other. No other state is stored: the size of a file is
 * how far it came, its header identifies its recorder, and its end shows whether it is complete. So
 * no crash can leave state that contradicts the data. A file that grows is at every moment a prefix
 * of the file that was recorded, and readers take such files as they take those of a living
 * recorder.
 *
 * Names come from a stranger: receive_check_place refuses all that are not the name of a file of a
 * run. Two calls for the same file must not be made at once. */
#ifndef RUN_RECEIVE_H
#define RUN_RECEIVE_H

#include "run/run_names.h"
#include "run/rundir.h"

enum {
    RECEIVE_SMALL_MOST = 256 << 10, /* bytes of run.json and node.json */
    RECEIVE_OWNER_LEN = 64,
};

/* Which file: of the run, or, with `node`, of a node. */
struct receive_place {
    const char *runs; /* the folder of runs */
    const char *run, *node, *file;
};

/* ERR_USAGE: one of the names is not allowed. A file of NULL is not checked. */
MUST_CHECK int receive_check_place(const struct receive_place *at, enum run_file_kind *kind,
                                   struct err *e);

/* ---- the owner of a run ---- */

/* The run may be added to by `owner`, and by no other. A run that is not there is made when `make`
 * is set. ERR_NOT_FOUND: there is none; ERR_USAGE: it is another's, or was recorded here. */
MUST_CHECK int receive_own(const struct receive_place *at, const char *owner, bool make,
                           struct err *e);
/* The owner of a run; false: it was recorded here. */
bool receive_owner(const char *run, char owner[RECEIVE_OWNER_LEN]);
/* The owner of a run, and its size; "": it was recorded here. */
void receive_count(const char *run, char owner[RECEIVE_OWNER_LEN], uint64_t *bytes);

/* ---- files ---- */

struct receive_file {
    const char *name;
    enum run_file_kind kind; /* sealed or tail */
    uint64_t size;           /* 0 while its header is not there */
    uint8_t id[FILE_ID_LEN]; /* these two when the header is there */
    uint64_t segment;        /* of a tail */
    bool complete;           /* its recorder closed it */
};

typedef void receive_visit(void *ctx, const struct receive_file *f);

/* Each file of a node that grows. ERR_NOT_FOUND: there is no such node. */
MUST_CHECK int receive_state(const struct receive_place *at, receive_visit *visit, void *ctx,
                             struct err *e);
/* One of them. Of one that is not there the size is 0. */
MUST_CHECK int receive_look(const struct receive_place *at, struct receive_file *out,
                            struct err *e);

struct receive_part {
    uint8_t id[FILE_ID_LEN];
    uint64_t segment; /* of a tail */
    uint64_t offset;
    bool complete; /* of a sealed file: nothing follows, and its tail is removed */
    const void *p;
    size_t n;
};

/* Appends a part; one without bytes reports that the recorder is alive. *out is how far the file
 * is, also after ERR_BUSY, which means that the part does not begin there. ERR_USAGE: the file is
 * another's, or of a later segment. ERR_FORMAT: it does not begin as such a file does. */
MUST_CHECK int receive_append(const struct receive_place *at, const struct receive_part *part,
                              struct receive_file *out, struct err *e);
/* Its recorder took the file back, with its tail, because nothing was recorded into it. ERR_USAGE
 * unless it is the file of this id and has no data. One that is not there is fine. */
MUST_CHECK int receive_remove(const struct receive_place *at, const uint8_t id[FILE_ID_LEN],
                              struct err *e);
/* Whether it may be the content of a file that comes whole. */
MUST_CHECK int receive_check(const struct receive_place *at, const void *p, size_t n,
                             struct err *e);
/* Writes a file whole: JSON, or a report. A run.json that is there stays; ERR_BUSY when it is not
 * of the same run. */
MUST_CHECK int receive_put(const struct receive_place *at, const void *p, size_t n, struct err *e);
/* The location of a file that is there, for reading. */
MUST_CHECK int receive_path(const struct receive_place *at, char *out, struct err *e);

#endif
