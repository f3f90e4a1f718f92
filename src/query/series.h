/* SPDX-License-Identifier: Apache-2.0 */
/* series.h - readings over time, at the requested resolution.
 *
 * The cost follows the points requested: whole blocks are answered from their summaries, only
 * blocks at the edges of the window, or finer than the summaries, are decoded. Arrays live in the
 * caller's arena and survive run_close. */
#ifndef QUERY_SERIES_H
#define QUERY_SERIES_H

#include "query/run.h"

/* One series of one node, over all its sessions. */
struct series_key {
    const char *node;
    const char *metric; /* by name: a run may have metrics this version does not know */
    const char *entity;
    const char *unit;
};

/* All series of the run, sorted by node, metric, entity (numbers in names by value). */
MUST_CHECK int series_list(struct run *r, struct arena *a, struct series_key **out, size_t *n,
                           struct err *e);

/* What the metric is, in words; "": this version does not know it. */
const char *series_title(const struct series_key *k);

struct series_ask {
    const char *node;   /* NULL: all */
    const char *metric; /* NULL: all; "cpu." with a dot at the end: all below */
    const char *entity; /* NULL: all */
    wall_ns from, to;   /* 0: open; from inclusive, to exclusive */
    size_t points;      /* at most so many per series; 0: every stored sample */
};

/* `want` as series_ask.metric. */
bool series_metric_matches(const char *want, const char *metric);
/* By node, metric and entity. */
bool series_matches(const struct series_ask *ask, const struct series_key *k);

struct series {
    struct series_key key;
    size_t n;
    const wall_ns *t; /* of the first sample in the bucket; several series may share it */
    double *v;        /* mean of the bucket; the sample itself when it is alone */
    double *min, *max;
};

MUST_CHECK int series_read(struct run *r, const struct series_ask *ask, struct arena *a,
                           struct series **out, size_t *n, struct err *e);

/* Quantiles with linear interpolation, exact to the stored resolution. */
struct series_stats {
    struct series_key key;
    uint64_t count; /* 0: nothing in the window, the rest is NAN */
    double min, max, mean, p5, p25, p50, p75, p90, p95, p99;
};

MUST_CHECK int series_stats_read(struct run *r, const struct series_ask *ask, struct arena *a,
                                 struct series_stats **out, size_t *n, struct err *e);

/* As above, but all matching series of a node pooled into one ("all GPUs"). */
MUST_CHECK int series_stats_pooled(struct run *r, const struct series_ask *ask, struct arena *a,
                                   struct series_stats **out, size_t *n, struct err *e);

/* ---- how often a percentage had each of its values: 101 bins, of 0 to 100 inclusive ----
 *
 * Exact: whole blocks are answered from the histograms in their heads, the rest is decoded. */

enum { DEVHIST_BINS = 101 };

struct devhist {
    struct series_key key;
    uint64_t bins[DEVHIST_BINS]; /* bin i: i <= value < i + 1; what is above 100 is in the last */
    uint64_t count;
};

/* Every series that matches; points are not read. */
MUST_CHECK int devhist_read(struct run *r, const struct series_ask *ask, struct arena *a,
                            struct devhist **out, size_t *n, struct err *e);

#endif
