/* SPDX-License-Identifier: Apache-2.0 */
/* health_judging.h - what rules about training health need when they judge.
 *
 * A health rule has no state: all of them judge the same book of each node (query/health_book.h).
 * Ranks of a job train the same model, so a finding of many ranks is one finding, about the first
 * of them. */
#ifndef RULES_HEALTH_JUDGING_H
#define RULES_HEALTH_JUDGING_H

#include "query/health_book.h"
#include "rules/per_entity.h"

struct health_at {
    const struct judged_node *node;
    size_t next_node, next;
};

/* One after the other, of all nodes. NULL: that was the last. */
const struct book_rank *next_health_rank(const struct judge *j, struct health_at *at);

/* A rank for which a rule found something. */
struct health_hit {
    const struct judged_node *node;
    const struct book_rank *rank; /* NULL: none */
    size_t ranks;                 /* for which it did */
};

/* Counts it; the first rank that is hit stays. */
void health_hit_add(struct health_hit *h, const struct health_at *at, const struct book_rank *r);

/* Of a model that has replicas, the first measures everything and the others only sum their words.
 * A rank that measures everything as well has a shard, or a model of its own. */
bool health_is_replica(const struct book_rank *r);
/* The rank that all replicas are compared with: the one that measures, or the lowest. Ranks come in
 * the order of nodes and processes, so it need not be the first. `rank` NULL: none. */
struct health_hit health_reference_rank(const struct judge *j);

/* A finding about the rank, at a step and a module. `module` NULL or "": none. `step` -1: none. */
struct finding *health_finding(const struct judge *j, struct verdict *v, const struct health_hit *h,
                               int64_t step, const char *module);
/* The time from then to the end of the loop. */
void health_finding_from(const struct judge *j, struct verdict *v, struct finding *f, wall_ns from);
/* " (on 8 ranks)", or "". */
const char *health_ranks_text(const struct judge *j, const struct health_hit *h);

/* ---- tensors ---- */

/* A tensor and how bad it is; larger is worse. */
struct health_worst {
    uint32_t name;
    double v;
};

struct health_worsts {
    struct health_worst *v; /* by falling badness when sorted */
    size_t n, cap;
    size_t of; /* tensors that were checked */
};

void health_worst_add(struct health_worsts *w, struct arena *a, uint32_t name, double v);
void health_worst_sort(struct health_worsts *w);
/* "0.weight, 2.weight, 4.weight and 3 more". */
const char *health_worst_text(const struct judge *j, const struct book_rank *r,
                              const struct health_worsts *w);
/* Values of a tensor in rows from..to of the table, those that were measured, in the arena. */
double *health_cells(const struct book_table *t, size_t from, uint32_t name, struct arena *a,
                     size_t *n);

#endif
