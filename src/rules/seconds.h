/* SPDX-License-Identifier: Apache-2.0 */
/* seconds.h - a set of seconds of wall time: when something held, or was reported. A day takes at
 * most 11 kB. */
#ifndef RULES_SECONDS_H
#define RULES_SECONDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "rules/state.h"

/* CHUNKS_MOST: half a year; what is further apart is left out. */
enum { SECONDS_CHUNK = 4096, SECONDS_CHUNKS_MOST = 4096 };

struct seconds_chunk {
    int64_t index; /* of its first second, / SECONDS_CHUNK */
    uint64_t bits[SECONDS_CHUNK / 64];
};

/* Chunks in order of their index, which is their first member; made where something is put. */
struct chunks {
    char *v;
    uint32_t n, cap;
};

/* Zeroed: empty. */
struct seconds {
    struct chunks chunks;
};

/* All seconds that from..from + dur_ns touches. */
void seconds_mark(struct seconds *s, wall_ns from, int64_t dur_ns);
/* How many of those that it touches are in the set; `of`: how many it touches. */
uint64_t seconds_touched(const struct seconds *s, wall_ns from, int64_t dur_ns, uint64_t *of);
/* The first one in the set that is not before `second`; INT64_MAX: there is none. */
int64_t seconds_next(const struct seconds *s, int64_t second);
/* The first one from `second` on that is not in the set: cheap where many are adjacent. */
int64_t seconds_pause(const struct seconds *s, int64_t second);
void seconds_add_all(struct seconds *s, const struct seconds *other);
void seconds_memory(struct seconds *s, enum state_op op);

/* ---- how many at once ---- */

/* How many of several workers were at work at once, from spans that come in any order.
 * Time is cut into slots of ten seconds; in each the work of all of them is summed, so a day takes
 * 35 kB. */

/* CHUNKS_MOST: about a year. */
enum { AT_ONCE_CHUNK = 256, AT_ONCE_CHUNKS_MOST = 12288, AT_ONCE_PIECE_S = 10 };

struct at_once_chunk {
    int64_t index;
    uint32_t busy[AT_ONCE_CHUNK]; /* in tens of microseconds */
};

/* Zeroed: empty. */
struct at_once {
    struct chunks chunks;
};

void at_once_add(struct at_once *x, wall_ns from, int64_t dur_ns);
void at_once_memory(struct at_once *x, enum state_op op);
/* The median over the slots from the first work to the last; 0 when there was none. */
double at_once_median(const struct at_once *x);

#endif
