/* SPDX-License-Identifier: Apache-2.0 */
/* run_files.h - the files of a run: which there are, reading them, and whether they changed. */
#ifndef RUN_RUN_FILES_H
#define RUN_RUN_FILES_H

#include <jansson.h>

#include "run/run_info.h"
#include "run/run_names.h"
#include "store/reader.h"

/* A file with events: of a recorder, or of a detail window. */
struct run_event_file {
    const char *path;
    size_t node; /* in run_info.nodes */
    bool detail;
};

/* The readings of a recorder. `follows`: by store_follow, so that *out is an earlier one or NULL.
 */
MUST_CHECK int run_open_metrics(struct store **out, const struct run_info *info, size_t node,
                                bool follows, struct err *e);
/* In the order in which they are opened; a run without any is a normal one. */
MUST_CHECK int run_event_files(const struct run_info *info, struct arena *a,
                               struct run_event_file **out, size_t *n, struct err *e);
MUST_CHECK int run_open_events(struct store **out, const struct run_event_file *f, bool follows,
                               struct err *e);
/* The node.json of a recorder as a tree; the caller ends it with json_decref. */
MUST_CHECK int run_read_node(json_t **out, const struct run_info *info, const struct node_info *n,
                             struct err *e);
MUST_CHECK int run_read_about(json_t **out, const struct run_info *info, struct err *e);

/* The results of the rules (findings.json). */
MUST_CHECK int run_read_findings(const char *run, struct arena *a, char **text, size_t *len,
                                 struct err *e);
/* Replaces a file of the run that is no node's, as RUN_FINDINGS. */
MUST_CHECK int run_put(const char *run, const char *file, const void *p, size_t n, struct err *e);

/* A file of saved tensors of a node. */
struct run_saved_file {
    const char *node, *name;
    struct run_saved saved;
    unsigned session;
    uint64_t bytes;
};

/* By step, rank and the order in which they came. */
MUST_CHECK int run_saved_files(const struct run_info *info, struct arena *a,
                               struct run_saved_file **out, size_t *n, struct err *e);
MUST_CHECK int run_map_saved(const struct run_info *info, const struct run_saved_file *f,
                             struct fmap *out, struct err *e);
/* Writes one into the folder of a node, under `name` with the session in it. */
MUST_CHECK int run_put_saved(const char *folder, unsigned session, const char *name, const void *p,
                             size_t n, struct err *e);

/* Whether something changed in a run, from sizes and times alone. */
struct run_stamp {
    uint64_t version;  /* another one when something changed; 0: there is no such run. At most 53
                          bits, for JSON */
    int64_t newest_ns; /* newest change, since the epoch */
    uint64_t bytes;    /* of all files */
};

/* Of the files that describe a run. */
uint64_t run_stamp_about(const char *run);
/* Of the files of its nodes: its data. */
struct run_stamp run_stamp_data(const char *run);
/* When the results of the rules were written, since the epoch in ns; 0: never. */
int64_t run_stamp_findings(const char *run);
/* When the run itself was changed; 0: there is none. */
int64_t run_stamp_folder(const char *run);

#endif
