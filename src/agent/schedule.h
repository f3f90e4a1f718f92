/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.h - which probes are due, and when to wake next. Pure: time comes in as an argument.
 *
 * All deadlines lie on one grid, origin + k x interval. A probe that must not be read that often
 * gets the next multiple of the interval, so probes that are due together share a wake-up. Points
 * that were passed while the recorder could not run are skipped and counted, never made up for. */
#ifndef AGENT_SCHEDULE_H
#define AGENT_SCHEDULE_H

#include "base/clock.h"

enum { SCHEDULE_MOST = 32 };

#define SCHEDULE_NEVER INT64_MAX

struct schedule_item {
    int64_t min_ns;    /* never more often than this */
    int64_t period_ns; /* a multiple of the interval */
    mono_ns next;
};

struct schedule {
    int64_t interval_ns;
    unsigned n;
    struct schedule_item item[SCHEDULE_MOST];
};

struct schedule_due {
    uint32_t mask;   /* bit i: item i is to be read now */
    uint64_t missed; /* points of the most frequent item that were skipped */
    int64_t late_ns; /* how long after its deadline the earliest one is read */
};

void schedule_init(struct schedule *s, int64_t interval_ns);
/* Adds an item that is due at `first`; returns its index. At most SCHEDULE_MOST. */
unsigned schedule_add(struct schedule *s, int64_t min_ns, mono_ns first);
/* What an item's period is at a given interval. */
int64_t schedule_period(int64_t interval_ns, int64_t min_ns);
/* The next deadline; SCHEDULE_NEVER when there is no item. */
mono_ns schedule_next(const struct schedule *s);
/* The items due at `now`; their next deadlines are set behind it. */
struct schedule_due schedule_take(struct schedule *s, mono_ns now);
/* A new grid that begins now; everything is due one period of its own later. */
void schedule_set_interval(struct schedule *s, mono_ns now, int64_t interval_ns);
/* Everything is due at `now` and the grid begins there: after a pause, which counts nothing missed.
 */
void schedule_restart(struct schedule *s, mono_ns now);

#endif
