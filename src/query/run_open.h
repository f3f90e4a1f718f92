/* SPDX-License-Identifier: Apache-2.0 */
/* run_open.h - the inside of an open run, for the files of query/ alone. */
#ifndef QUERY_RUN_OPEN_H
#define QUERY_RUN_OPEN_H

#include "query/run.h"
#include "store/reader.h"

/* A series of a node, which may go on in the files of several recorders. */
struct part {
    struct store *store;
    const struct store_series *series;
};

struct merged {
    const char *node, *metric, *entity, *unit;
    struct part *parts; /* in order of time */
    size_t n_parts;
};

struct run {
    struct arena arena;
    struct run_info info;
    struct store **stores;  /* one per node_info; NULL when its file cannot be read */
    struct loss *file_loss; /* why, for those that cannot */
    struct merged *series;  /* sorted */
    size_t n_series;
};

#endif
