/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - see schedule.h. */
#include "agent/schedule.h"

#include <assert.h>

#include "base/mem.h"

static_assert(SCHEDULE_MOST <= 32, "schedule_due.mask has 32 bits");

int64_t schedule_period(int64_t interval_ns, int64_t min_ns)
{
    if (min_ns <= interval_ns)
        return interval_ns;
    return (min_ns + interval_ns - 1) / interval_ns * interval_ns;
}

void schedule_init(struct schedule *s, int64_t interval_ns)
{
    *s = (struct schedule){.interval_ns = interval_ns};
}

unsigned schedule_add(struct schedule *s, int64_t min_ns, mono_ns first)
{
    assert(s->n < SCHEDULE_MOST);
    s->item[s->n] = (struct schedule_item){
        .min_ns = min_ns,
        .period_ns = schedule_period(s->interval_ns, min_ns),
        .next = first,
    };
    return s->n++;
}

mono_ns schedule_next(const struct schedule *s)
{
    mono_ns next = {SCHEDULE_NEVER};
    for (unsigned i = 0; i < s->n; i++)
        next.ns = MIN_OF(next.ns, s->item[i].next.ns);
    return next;
}

struct schedule_due schedule_take(struct schedule *s, mono_ns now)
{
    struct schedule_due due = {0};
    for (unsigned i = 0; i < s->n; i++) {
        struct schedule_item *it = &s->item[i];
        const int64_t late = mono_diff(now, it->next);
        if (late < 0)
            continue;
        const int64_t passed = late / it->period_ns;
        due.mask |= UINT32_C(1) << i;
        due.missed = MAX_OF(due.missed, (uint64_t)passed);
        due.late_ns = MAX_OF(due.late_ns, late);
        it->next = mono_add(it->next, (passed + 1) * it->period_ns);
    }
    return due;
}

void schedule_set_interval(struct schedule *s, mono_ns now, int64_t interval_ns)
{
    s->interval_ns = interval_ns;
    for (unsigned i = 0; i < s->n; i++) {
        struct schedule_item *it = &s->item[i];
        it->period_ns = schedule_period(interval_ns, it->min_ns);
        it->next = mono_add(now, it->period_ns);
    }
}

void schedule_restart(struct schedule *s, mono_ns now)
{
    for (unsigned i = 0; i < s->n; i++)
        s->item[i].next = now;
}
