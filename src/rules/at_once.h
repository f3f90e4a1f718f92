/* SPDX-License-Identifier: Apache-2.0 */
/* at_once.h - how many of several workers were at work at once, from spans that come in any order.
 * Time is cut into pieces of ten seconds; in each the work of all of them is summed, so a day takes
 * 35 kB. */
#ifndef RULES_AT_ONCE_H
#define RULES_AT_ONCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

/* CHUNKS_MOST: about a year. */
enum { AT_ONCE_CHUNK = 256, AT_ONCE_CHUNKS_MOST = 12288, AT_ONCE_PIECE_S = 10 };

struct at_once_chunk {
    int64_t index;
    uint32_t busy[AT_ONCE_CHUNK]; /* in tens of microseconds */
};

/* Zeroed: empty. */
struct at_once {
    struct at_once_chunk *v; /* in order */
    uint32_t n, cap;
};

void at_once_add(struct at_once *x, wall_ns from, int64_t dur_ns);
/* `other` is empty afterwards. */
void at_once_free(struct at_once *x);
/* The median over the pieces from the first work to the last; 0 when there was none. */
double at_once_median(const struct at_once *x);

#endif
