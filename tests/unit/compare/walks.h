/* SPDX-License-Identifier: Apache-2.0 */
/* walks.h - step times as runs have them, drawn from a seed: independent, hanging together, with
 * heavy tails, drifting. */
#ifndef TESTS_WALKS_H
#define TESTS_WALKS_H

#include <stddef.h>
#include <stdint.h>

enum walk {
    WALK_PLAIN, /* independent, normal */
    WALK_AR5,   /* each hangs together with the one before: 0.5 */
    WALK_AR9,   /* the same, 0.9 */
    WALK_LOGNORMAL,
    WALK_PARETO, /* a tail so heavy that its variance hardly exists */
    WALK_DRIFT,  /* 10 % longer at the end than at the beginning */
    WALK_STALLS, /* one in a hundred takes far longer */
    WALK_AR8_HEAVY,
    WALK_BURSTS, /* the host runs ahead of a GPU: short ones, then one that waits for all of them */
    WALKS
};

extern const char *const walk_names[WALKS];

double walk_uniform(uint64_t *state); /* 0..1, both excluded */
double walk_normal(uint64_t *state);

/* n step times around 1, their spread about `spread` (a share). */
void walk_fill(enum walk kind, double spread, double *v, size_t n, uint64_t *state);

#endif
