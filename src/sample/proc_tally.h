/* SPDX-License-Identifier: Apache-2.0 */
/* proc_tally.h - the job's growth of something that its processes count each for themselves.
 *
 * The kernel adds what a process used to its parent's account when the parent waits for it: CPU
 * time to the parent's times of children, storage traffic to the parent's own. So what a short
 * child used is not lost even when no scan ever saw it, but what a child used while it was watched
 * would be counted twice, and its end alone would be a dip. Hence:
 *
 *   - While a member runs, its own growth counts.
 *   - When it is gone, its nearest living ancestor owes all that it ever used (inherited_owe).
 *   - When the ancestor's account of children is next read, what it grew by, less what is owed,
 *     counts (inherited_growth). The kernel adds to the parent's account before the child's pid
 *     goes away, so an account read after a child was found gone has it, or never will: a parent
 *     that ignores SIGCHLD. Then the child is dropped, and the debt with it.
 *   - An account read just before its child is found gone includes too much. That much (the surplus
 *   of
 *     that one reading) is taken back by the next.
 *   - What is learnt late (from accounts of children, and what a process used before a scan found
 *     it) is given out over about a second, the time in which it was used, so it makes no spike. */
#ifndef SAMPLE_PROC_TALLY_H
#define SAMPLE_PROC_TALLY_H

#include <stdint.h>

#include "base/clock.h"
#include "base/mem.h"

/* What a process took over from its children. */
struct inherited_count {
    double last; /* the account as read last */
    double owed; /* part of its next growth that has been counted already */
    double surplus;
};

static inline void inherited_owe(struct inherited_count *h, double amount)
{
    h->owed += amount;
}

/* What the job's total grows by; negative when the reading before included too much. */
static inline double inherited_growth(struct inherited_count *h, double now)
{
    const double growth = now - h->last - h->owed;
    const double back = MIN_OF(-growth, h->surplus);
    h->last = now;
    h->owed = 0;
    h->surplus = growth > 0 ? growth : 0;
    return growth > 0 ? growth : -back;
}

/* Growth that is given out over about a second. */
struct late {
    double held;
};

/* The growth of an interval of dt_ns: what is known of it, and its part of what came late, as far
 * as both fit into `most`. Never negative; a shortage is subtracted from what follows. */
static inline double late_give(struct late *l, double growth, double most, int64_t dt_ns)
{
    const double share = dt_ns >= NS_PER_S ? l->held : l->held * (double)dt_ns / (double)NS_PER_S;
    const double part = share > 0 ? MIN_OF(share, MAX_OF(most - growth, 0)) : share;
    const double out = growth + part;
    l->held -= part;
    if (out >= 0)
        return out;
    l->held += out;
    return 0;
}

#endif
