/* SPDX-License-Identifier: Apache-2.0 */
/* ring_clock.h - turns the CPU's counter into CLOCK_MONOTONIC.
 * The counter is the machine's, so the recorder ties the two itself and believes no file.
 * ring_clock_start once, ring_clock_tick before each round of reading; the rest is arithmetic. The
 * system slews its clock, so each stretch between two ties has a rate of its own. */
#ifndef RING_CLOCK_H
#define RING_CLOCK_H

#include <stdint.h>

#include "base/clock.h"

enum { RING_TIES = 128 };

struct ring_tie {
    uint64_t ticks;
    int64_t ns;
};

struct ring_clock {
    struct ring_tie tie[RING_TIES]; /* oldest first */
    unsigned n;
};

void ring_clock_start(struct ring_clock *c); /* takes 2 ms */
void ring_clock_tick(struct ring_clock *c);
/* Adds a tie; the oldest goes when there is no room. Earlier than the newest is ignored. */
void ring_clock_add(struct ring_clock *c, struct ring_tie tie);
/* Any number has an answer. */
mono_ns ring_clock_at(const struct ring_clock *c, uint64_t ticks);

#endif
