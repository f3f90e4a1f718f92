/* SPDX-License-Identifier: Apache-2.0 */
/* per_entity.h - a rule's state for each GPU and for each rank of a node. */
#ifndef RULES_PER_ENTITY_H
#define RULES_PER_ENTITY_H

#include "rules/rule.h"

/* ---- GPUs ---- */

/* A rule's state for each GPU of a node, with what says whether the job used it at all:
 * a GPU that it did not use is a finding of its own (UnusedGPU) and no evidence for others. */

/* The head of a rule's own struct for one GPU; what follows begins as zeros. */
struct gpu_head {
    char entity[ENTITY_LEN];
    float most_util;      /* percent; until it was used */
    float most_processes; /* of the job on it; the same */
};

struct per_gpu {
    unsigned char *v; /* n of `size` bytes */
    size_t n, size;
};

/* Makes room for the GPUs of the batch and takes note of their use. `size` is that of the rule's
 * struct, which begins with a gpu_head. */
void per_gpu_see(struct per_gpu *g, size_t size, const struct sweeps *s);
void *per_gpu_at(const struct per_gpu *g, size_t i);
/* `one` may be NULL. */
void per_gpu_memory(struct per_gpu *g, void (*one)(void *own, enum state_op op), enum state_op op);

bool gpu_was_used(const struct gpu_head *h);

/* ---- ranks ---- */

/* A rule's state for each rank of a node, in order of rank. */

/* The head of a rule's own struct for one rank; what follows begins as zeros. */
struct rank_head {
    struct rank_sight who;
};

struct per_rank {
    void **v; /* n of `size` bytes each */
    size_t n, size;
};

/* The state of that rank, made when it is new. `size` is that of the rule's struct, which begins
 * with a rank_head. A process that says its rank late keeps what it has. */
void *per_rank_see(struct per_rank *r, size_t size, const struct rank_sight *who);
/* `one` may be NULL. */
void per_rank_memory(struct per_rank *r, void (*one)(void *own, enum state_op op),
                     enum state_op op);

#endif
