/* SPDX-License-Identifier: Apache-2.0 */
/* lane.c - see lane.h. */
#include "agent/lane.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "record/record.h"

/* ==== which probes are due ==== */

static_assert(SCHEDULE_MOST <= 32, "schedule_due.mask has 32 bits");

int64_t schedule_period(int64_t interval_ns, int64_t min_ns)
{
    if (min_ns <= interval_ns)
        return interval_ns;
    return (min_ns + interval_ns - 1) / interval_ns * interval_ns;
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

/* ==== a set of probes ==== */

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

static void probeset_report_absent(struct probe_set *p, const struct probe *probe,
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
    *p = (struct probe_set){.env = env, .sink = sink, .reported = first};
    p->schedule.interval_ns = interval_ns;
    for (const struct probe *const *it = probes; *it && p->schedule.n < SCHEDULE_MOST; it++) {
        const struct probe *probe = *it;
        if (probe->lane != lane)
            continue;
        void *state =
            probeset_open_one(p, probe, schedule_period(interval_ns, probe->min_period_ns), &e);
        if (!state) {
            /* Several probes may miss the same thing (a driver): reported once. */
            if (strcmp(e.msg, before.msg) != 0)
                probeset_report_absent(p, probe, &e);
            before = e;
            continue;
        }
        const unsigned i = schedule_add(&p->schedule, probe->min_period_ns, first);
        p->probe[i] = probe;
        p->state[i] = state;
    }
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
    p->missed += due.missed;
    if (mono_diff(now, p->reported) >= NS_PER_S)
        probe_set_report_missed(p, now);
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

/* The last readings of probes that are read rarely, at the end of the run. */
static void probe_set_end(struct probe_set *p)
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
            probeset_report_absent(p, p->probe[i], &e);
    }
    schedule_restart(&p->schedule, now);
}

void probe_set_report_missed(struct probe_set *p, mono_ns now)
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
    p->reported = now;
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

/* ==== threads for slow probes ==== */

enum { STACK = 512 * 1024 }; /* drivers use more than we do; only touched pages count */

#define STOP_WITHIN_NS (2 * NS_PER_S)
#define FIRST_ROUND_NS NS_PER_S

static struct gate_sink *gate_of(struct sink *s)
{
    return (struct gate_sink *)(void *)((char *)s - offsetof(struct gate_sink, sink));
}

static void gate_row(struct sink *s, struct group *g, mono_ns t)
{
    struct gate_sink *gate = gate_of(s);
    pthread_mutex_lock(&gate->lock);
    if (!gate->closed)
        gate->next->ops->row(gate->next, g, t);
    pthread_mutex_unlock(&gate->lock);
}

static void gate_loss(struct sink *s, const struct loss *l)
{
    struct gate_sink *gate = gate_of(s);
    pthread_mutex_lock(&gate->lock);
    if (!gate->closed)
        gate->next->ops->loss(gate->next, l);
    pthread_mutex_unlock(&gate->lock);
}

static void gate_mark(struct sink *s, const struct mark *m)
{
    struct gate_sink *gate = gate_of(s);
    pthread_mutex_lock(&gate->lock);
    if (!gate->closed)
        gate->next->ops->mark(gate->next, m);
    pthread_mutex_unlock(&gate->lock);
}

static const struct sink_ops gate_ops = {.row = gate_row, .loss = gate_loss, .mark = gate_mark};

/* What the thread has last acted on. */
struct acted {
    int64_t interval_ns;
    bool paused;
};

/* Brings the probes to what is wanted now. Called with the lock held; gives it up meanwhile. */
static void lane_follow(struct lane_thread *l, struct acted *done)
{
    const struct acted want = {l->interval_ns, l->paused};
    const mono_ns grid = l->grid;
    pthread_mutex_unlock(&l->lock);
    if (want.interval_ns != done->interval_ns)
        probe_set_interval(&l->set, grid, want.interval_ns);
    if (done->paused && !want.paused)
        probe_set_resume(&l->set, clock_mono());
    *done = want;
    pthread_mutex_lock(&l->lock);
}

static void read_due(struct lane_thread *l)
{
    pthread_mutex_unlock(&l->lock);
    if (probe_set_read(&l->set, clock_mono()))
        flusher_poke(l->flusher, clock_mono());
    pthread_mutex_lock(&l->lock);
}

static void lane_loop(struct lane_thread *l, struct acted done)
{
    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        const mono_ns next = schedule_next(&l->set.schedule);
        if (l->interval_ns != done.interval_ns || l->paused != done.paused)
            lane_follow(l, &done);
        else if (l->paused)
            pthread_cond_wait(&l->changed, &l->lock);
        else if (clock_mono().ns < next.ns)
            thread_wait(&l->changed, &l->lock, next);
        else
            read_due(l);
    }
    pthread_mutex_unlock(&l->lock);
}

static void *lane_main(void *arg)
{
    struct lane_thread *l = arg;
    pthread_mutex_lock(&l->lock);
    const struct acted first = {l->interval_ns, l->paused};
    pthread_mutex_unlock(&l->lock);
    if (l->lane == LANE_SLOW)
        (void)thread_end_wait(l->first_round, FIRST_ROUND_NS);
    probe_set_open(&l->set, l->lane, l->env, first.interval_ns, clock_mono(), &l->sink.sink);
    if (l->lane == LANE_GPU) {
        if (!first.paused && probe_set_read(&l->set, clock_mono()))
            flusher_poke(l->flusher, clock_mono());
        thread_end_set(l->first_round);
    }
    if (l->set.schedule.n)
        lane_loop(l, first);
    pthread_mutex_lock(&l->lock);
    const bool paused = l->paused;
    pthread_mutex_unlock(&l->lock);
    if (!paused)
        probe_set_end(&l->set);
    probe_set_report_missed(&l->set, clock_mono());
    probe_set_close(&l->set);
    thread_end_set(&l->end);
    return NULL;
}

int lane_start(struct lane_thread *l, enum lane lane, const struct lane_begin *b, struct err *e)
{
    *l = (struct lane_thread){
        .lane = lane,
        .sink = {.sink = {&gate_ops}, .next = b->sink},
        .flusher = b->flusher,
        .paused = b->paused,
        .interval_ns = b->interval_ns,
        .grid = b->grid,
        .env = b->env,
        .first_round = b->first_round,
    };
    pthread_mutex_init(&l->sink.lock, NULL);
    pthread_mutex_init(&l->lock, NULL);
    thread_cond_init(&l->changed);
    thread_end_init(&l->end);
    int rc =
        thread_start(&l->thread, STACK, lane_main, l, lane == LANE_GPU ? "fp-gpu" : "fp-slow", e);
    l->started = rc == 0;
    return rc;
}

void lane_set(struct lane_thread *l, int64_t interval_ns, mono_ns grid, bool paused)
{
    if (!l->started)
        return;
    pthread_mutex_lock(&l->lock);
    l->interval_ns = interval_ns;
    l->grid = grid;
    l->paused = paused;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

bool lane_stop(struct lane_thread *l)
{
    if (!l->started)
        return true;
    thread_set_flag(&l->stop, &l->lock, &l->changed);
    const bool ended = thread_end_wait(&l->end, STOP_WITHIN_NS);
    if (ended)
        pthread_join(l->thread, NULL);
    pthread_mutex_lock(&l->sink.lock);
    l->sink.closed = true;
    pthread_mutex_unlock(&l->sink.lock);
    l->started = false;
    return ended;
}

/* ==== finding the GPUs ==== */

enum { FIND_STACK = 512 * 1024 };

static void *gpus_find(void *arg)
{
    struct gpus *g = arg;
    struct err e;
    if (nvml_open(&g->nvml, NULL, &e)) {
        g->nvml = NULL;
        snprintf(g->absent, sizeof g->absent, "%s", e.msg);
    }
    g->n = gpu_list(g->list, g->nvml, g->sys);
    thread_end_set(&g->end);
    const uint64_t one = 1;
    (void)!write(g->ready_fd, &one, sizeof one);
    return NULL;
}

int gpus_start(struct gpus *g, const char *sys, int ready_fd, struct err *e)
{
    g->sys = sys;
    g->ready_fd = ready_fd;
    thread_end_init(&g->end);
    int rc = thread_start(&g->thread, FIND_STACK, gpus_find, g, "fp-gpu-find", e);
    g->started = rc == 0;
    return rc;
}

bool gpus_join(struct gpus *g, int64_t ns)
{
    if (!g->started)
        return true;
    if (!thread_end_wait(&g->end, ns))
        return false;
    pthread_join(g->thread, NULL);
    g->started = false;
    return true;
}
