/* SPDX-License-Identifier: Apache-2.0 */
/* top_read.h - reads a run over and over for `footplate top`, for at most 1 % of a core.
 *
 * Three kinds of numbers cost differently, so each has its own pace: readings, the rate of steps
 * (from the newest events alone), and statistics and rules over the whole run. A pause grows with
 * the CPU time that its reading took. */
#ifndef CMD_TOP_READ_H
#define CMD_TOP_READ_H

#include "cmd/check.h"
#include "cmd/top_view.h"

struct top_source;

struct top_want {
    const char *path; /* of the run */
    size_t node;      /* its number, modulo how many there are */
    int64_t interval_ns;
};

/* `check`: parameters of rules and prices; it must stay. */
struct top_source *top_source_open(const struct check *check);
void top_source_close(struct top_source *s); /* NULL is fine */

/* Everything that is due; what is not due is as it was. The view is in the arena. */
MUST_CHECK int top_source_read(struct top_source *s, const struct top_want *w, struct arena *a,
                               struct top_view *out, struct err *e);
/* When the next reading may begin. */
mono_ns top_source_next(const struct top_source *s);

/* Cores, memory, job and GPUs of the node that is wanted, in the arena. */
MUST_CHECK int top_read_node(struct run *r, const struct top_want *w, struct arena *a,
                             struct top_node *out, struct err *e);

/* When what began then and took so much CPU time may begin again, so that it takes at most
 * 1 / `times` of a core; not sooner than `least_ns` after it began. */
mono_ns top_pace(mono_ns begin, int64_t cpu_ns, int64_t least_ns, int64_t times);

/* A training step whose iteration is over. */
struct top_iteration {
    int64_t start_ns, ns;
};

/* n spans of time, one after the other. */
struct top_seconds {
    int64_t from_ns, each_ns;
    size_t n;
};

/* Steps per second in each of them: an iteration counts with the share of it that lies there. */
void top_rates(const struct top_iteration *v, size_t n, struct top_seconds s, double *out);

#endif
