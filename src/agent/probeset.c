/* SPDX-License-Identifier: Apache-2.0 */
/* probeset.c - see probeset.h. */
#include "agent/probeset.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/record.h"

#define LAST_LEAST_NS (100 * NS_PER_MS)

static const char *const lane_names[] = {
    [LANE_FAST] = "sampling", [LANE_GPU] = "gpu sampling", [LANE_SLOW] = "slow gpu sampling"};
static_assert(COUNT_OF(lane_names) == LANE_N, "a name for each lane");

static void *probeset_open_one(struct probe_set *p, const struct probe *probe, int64_t period_ns,
                               struct err *e)
{
    void *state = xcalloc(1, MAX_OF(probe->state_size, 1));
    *e = (struct err){0};
    if (probe->open(state, p->env, period_ns, e) == 0)
        return state;
    free(state);
    return NULL;
}

static void probeset_tell_absent(struct probe_set *p, const struct probe *probe,
                                 const struct err *e)
{
    const bool denied = e->code == ERR_SYS && (e->sys == EACCES || e->sys == EPERM);
    sink_loss(p->sink, denied ? LOSS_DENIED : LOSS_ABSENT, LOST_PART(probe->name), "%.150s",
              e->msg);
}

void probe_set_open(struct probe_set *p, enum lane lane, const struct probe_env *env,
                    int64_t interval_ns, mono_ns first, struct sink *sink)
{
    struct err e, before = {0};
    *p = (struct probe_set){.env = env, .sink = sink, .told = first};
    schedule_init(&p->schedule, interval_ns);
    for (const struct probe *const *it = probes; *it && p->schedule.n < SCHEDULE_MOST; it++) {
        const struct probe *probe = *it;
        if (probe->lane != lane)
            continue;
        void *state =
            probeset_open_one(p, probe, schedule_period(interval_ns, probe->min_period_ns), &e);
        if (!state) {
            /* Several probes may miss the same thing (a driver): said once. */
            if (strcmp(e.msg, before.msg) != 0)
                probeset_tell_absent(p, probe, &e);
            before = e;
            continue;
        }
        const unsigned i = schedule_add(&p->schedule, probe->min_period_ns, first);
        p->probe[i] = probe;
        p->state[i] = state;
    }
}

static void note_missed(struct probe_set *p, const struct schedule_due *due, mono_ns now)
{
    p->missed += due->missed;
    if (p->missed && mono_diff(now, p->told) >= NS_PER_S)
        probe_set_tell_missed(p, now);
}

unsigned probe_set_read(struct probe_set *p, mono_ns now)
{
    const struct schedule_due due = schedule_take(&p->schedule, now);
    unsigned n = 0;
    if (!due.mask)
        return 0;
    p->late_ns = due.late_ns;
    p->last_read = now;
    for (unsigned i = 0; i < p->schedule.n; i++) {
        if (!(due.mask >> i & 1) || !p->state[i])
            continue;
        p->probe[i]->read(p->state[i], p->sink);
        n++;
    }
    note_missed(p, &due, now);
    return n;
}

/* Rates over a sliver of time are noise: a 10 ms tick in 1 ms reads as ten cores. Half a period is
 * enough, and so is a tenth of a second: with a long interval the end of the job would be lost. */
static bool is_worth_reading(int64_t elapsed_ns, int64_t period_ns)
{
    return elapsed_ns >= MIN_OF(period_ns / 2, LAST_LEAST_NS);
}

void probe_set_read_last(struct probe_set *p, mono_ns now)
{
    if (!is_worth_reading(mono_diff(now, p->last_read), p->schedule.interval_ns))
        return;
    for (unsigned i = 0; i < p->schedule.n; i++) {
        const struct schedule_item *it = &p->schedule.item[i];
        const int64_t elapsed_ns = it->period_ns - mono_diff(it->next, now);
        if (p->state[i] && is_worth_reading(elapsed_ns, it->period_ns))
            p->probe[i]->read(p->state[i], p->sink);
    }
}

void probe_set_end(struct probe_set *p)
{
    for (unsigned i = 0; i < p->schedule.n; i++)
        if (p->state[i] && p->probe[i]->end)
            p->probe[i]->end(p->state[i], p->sink);
}

void probe_set_interval(struct probe_set *p, mono_ns now, int64_t interval_ns)
{
    schedule_set_interval(&p->schedule, now, interval_ns);
    for (unsigned i = 0; i < p->schedule.n; i++)
        if (p->state[i])
            probe_set_period(p->probe[i], p->state[i], p->schedule.item[i].period_ns);
}

void probe_set_resume(struct probe_set *p, mono_ns now)
{
    struct err e;
    for (unsigned i = 0; i < p->schedule.n; i++) {
        if (!p->state[i])
            continue;
        p->probe[i]->close(p->state[i]);
        free(p->state[i]);
        p->state[i] = probeset_open_one(p, p->probe[i], p->schedule.item[i].period_ns, &e);
        if (!p->state[i])
            probeset_tell_absent(p, p->probe[i], &e);
    }
    schedule_restart(&p->schedule, now);
}

void probe_set_tell_missed(struct probe_set *p, mono_ns now)
{
    if (!p->missed)
        return;
    const enum lane lane = p->schedule.n ? p->probe[0]->lane : LANE_FAST;
    /* The same words each time, so that they add up; how late it was is in self.late. */
    struct loss l = loss_of(LOSS_LATE, LOST_PART(lane_names[lane]),
                            "the recorder was not scheduled in time, so readings were skipped");
    l.count = p->missed;
    l.at = now;
    p->sink->ops->loss(p->sink, &l);
    p->missed = 0;
    p->told = now;
}

void probe_set_close(struct probe_set *p)
{
    for (unsigned i = 0; i < p->schedule.n; i++) {
        if (!p->state[i])
            continue;
        p->probe[i]->close(p->state[i]);
        free(p->state[i]);
        p->state[i] = NULL;
    }
    p->schedule.n = 0;
}
