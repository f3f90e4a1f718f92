/* SPDX-License-Identifier: Apache-2.0 */
/* per_rank.h - a rule's state for each rank of a node, in order of rank. */
#ifndef RULES_PER_RANK_H
#define RULES_PER_RANK_H

#include "rules/rule.h"

/* The head of a rule's own struct for one rank; what follows begins as zeros. */
struct rank_head {
    struct rank_sight who;
};

struct per_rank {
    void **v;
    size_t n;
};

/* The state of that rank, made when it is new. `size` is that of the rule's struct, which begins
 * with a rank_head. A process that says its rank late keeps what it has. */
void *per_rank_see(struct per_rank *r, size_t size, const struct rank_sight *who);
/* free_one may be NULL. */
void per_rank_free(struct per_rank *r, void (*free_one)(void *own));

#endif
