/* SPDX-License-Identifier: Apache-2.0 */
/* probe_util.h - what several probes need: cadence, losses reported once, growth of a counter. */
#ifndef SAMPLE_PROBE_UTIL_H
#define SAMPLE_PROBE_UTIL_H

#include <string.h>

#include "base/mem.h"
#include "record/group.h"

/* True the first time for this cause (0-31). */
static inline bool report_once(uint32_t *reported, unsigned cause)
{
    const bool first = !(*reported >> cause & 1);
    *reported |= 1U << cause;
    return first;
}

/* Resets are moments, so each is reported, but a counter that is broken must not fill the run. */
enum { RESETS_REPORTED = 16 };

static inline void lose_reset(struct sink *s, unsigned *reported, struct loss_subject of)
{
    const char *name = of.part ? of.part : metrics[of.metric].name;
    if ((*reported)++ < RESETS_REPORTED)
        sink_loss(s, LOSS_RESET, of, "a counter of %s went backwards", name);
}

static inline void lose_read(struct sink *s, uint32_t *reported, unsigned cause,
                             struct loss_subject of, int sys)
{
    if (report_once(reported, cause))
        sink_loss(s, LOSS_READ, of, "%s", strerror(sys));
}

/* What is not read any more. */
static inline void slot_end(struct group *g, slot_id *slot)
{
    group_drop(g, *slot);
    *slot = SLOT_NONE;
}

/* Something that is read less often than its probe. */
struct cadence {
    int64_t period_ns;
    mono_ns next;
};

/* Whether it is due. `slack_ns`: half the probe's period, so that a wake-up that came a little
 * early does not put it off by a whole one. */
static inline bool cadence_due(struct cadence *c, mono_ns now, int64_t slack_ns)
{
    if (mono_diff(now, c->next) < -slack_ns)
        return false;
    c->next = mono_add(c->next, c->period_ns);
    if (mono_diff(c->next, now) < 0 || mono_diff(c->next, now) > c->period_ns + slack_ns)
        c->next = mono_add(now, c->period_ns);
    return true;
}

/* group_counter that also hands out the growth; 0 unless it is COUNTER_OK. */
static inline enum counter_step counter_read(struct group *g, slot_id slot, struct counter *c,
                                             uint64_t now, unsigned bits, mono_ns t, double *growth)
{
    const uint64_t last = c->last;
    const enum counter_step step = group_counter(g, slot, c, now, bits, t);
    const uint64_t grown = now >= last ? now - last : (uint32_t)(now - last);
    *growth = step == COUNTER_OK ? (double)grown : 0;
    return step;
}

#endif
