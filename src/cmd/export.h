/* SPDX-License-Identifier: Apache-2.0 */
/* export.h - a format that a run is exported to: one const record and one line in exports.def.
 * `write` streams: what it holds in memory does not grow with the run. */
#ifndef CMD_EXPORT_H
#define CMD_EXPORT_H

#include <stdio.h>

#include "base/buf.h"
#include "base/progress.h"
#include "query/series.h"

struct export_job {
    struct run *run;
    struct series_ask ask; /* what of it; points is 0 */
    FILE *to;
    const char *name; /* of what `to` is, for messages */
    struct progress *progress;
};

struct export_format {
    const char *name;
    const char *title; /* what it is good for */
    int (*write)(const struct export_job *job, struct err *e);
};

#define EXPORT(id) extern const struct export_format export_##id;
#include "cmd/exports.def"
#undef EXPORT

/* The walk that all row formats share: every sample of every series, series by series, in order of
 * time. */
struct export_rows {
    /* Called before the first row; NULL: nothing to do. */
    void (*begin)(struct buf *out);
    /* What is the same in all rows of a series; kept and handed to `row`. */
    void (*series)(struct buf *prefix, const struct series_key *k);
    void (*row)(struct buf *out, const struct buf *prefix, wall_ns t, double v);
};

MUST_CHECK int export_walk(const struct export_job *job, const struct export_rows *f,
                           struct err *e);

#endif
