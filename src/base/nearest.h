/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.h - "did you mean": the candidate that is the fewest typing mistakes away.
 * `struct nearest n = nearest_to(typed);`, nearest_offer for every candidate, then n.best, which is
 * NULL when nothing is near enough to be what was meant. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *word;
    const char *best;
    size_t distance; /* of best; at first one more than what is near enough */
};

struct nearest nearest_to(const char *word);
void nearest_offer(struct nearest *n, const char *candidate);

#endif
