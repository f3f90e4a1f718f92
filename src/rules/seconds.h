/* SPDX-License-Identifier: Apache-2.0 */
/* seconds.h - a set of seconds of wall time: when something held, or was heard of. A day takes at
 * most 11 kB. */
#ifndef RULES_SECONDS_H
#define RULES_SECONDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

/* CHUNKS_MOST: half a year; what is further apart is left out. */
enum { SECONDS_CHUNK = 4096, SECONDS_CHUNKS_MOST = 4096 };

struct seconds_chunk {
    int64_t index; /* of its first second, / SECONDS_CHUNK */
    uint64_t bits[SECONDS_CHUNK / 64];
};

/* Zeroed: empty. */
struct seconds {
    struct seconds_chunk *v; /* in order */
    uint32_t n, cap;
};

/* All seconds that from..from + dur_ns touches. */
void seconds_mark(struct seconds *s, wall_ns from, int64_t dur_ns);
/* How many of those that it touches are in the set; `of`: how many it touches. */
uint64_t seconds_touched(const struct seconds *s, wall_ns from, int64_t dur_ns, uint64_t *of);
bool seconds_has(const struct seconds *s, int64_t second);
/* The first one in the set that is not before `second`; INT64_MAX: there is none. */
int64_t seconds_next(const struct seconds *s, int64_t second);
/* The first one from `second` on that is not in the set: cheap where many stand side by side. */
int64_t seconds_pause(const struct seconds *s, int64_t second);
/* `other` is empty afterwards. */
void seconds_add_all(struct seconds *s, const struct seconds *other);
void seconds_free(struct seconds *s);

#endif
