/* SPDX-License-Identifier: Apache-2.0 */
/* lane.c - see lane.h. */
#include "agent/lane.h"

#include <stddef.h>

#include "base/clock.h"

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
        gate->behind->ops->row(gate->behind, g, t);
    pthread_mutex_unlock(&gate->lock);
}

static void gate_loss(struct sink *s, const struct loss *l)
{
    struct gate_sink *gate = gate_of(s);
    pthread_mutex_lock(&gate->lock);
    if (!gate->closed)
        gate->behind->ops->loss(gate->behind, l);
    pthread_mutex_unlock(&gate->lock);
}

static void gate_mark(struct sink *s, const struct mark *m)
{
    struct gate_sink *gate = gate_of(s);
    pthread_mutex_lock(&gate->lock);
    if (!gate->closed)
        gate->behind->ops->mark(gate->behind, m);
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
        thread_end_tell(l->first_round);
    }
    if (l->set.schedule.n)
        lane_loop(l, first);
    pthread_mutex_lock(&l->lock);
    const bool paused = l->paused;
    pthread_mutex_unlock(&l->lock);
    if (!paused)
        probe_set_end(&l->set);
    probe_set_tell_missed(&l->set, clock_mono());
    probe_set_close(&l->set);
    thread_end_tell(&l->end);
    return NULL;
}

int lane_start(struct lane_thread *l, enum lane lane, const struct lane_begin *b, struct err *e)
{
    *l = (struct lane_thread){
        .lane = lane,
        .sink = {.sink = {&gate_ops}, .behind = b->sink},
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
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
    const bool ended = thread_end_wait(&l->end, STOP_WITHIN_NS);
    if (ended)
        pthread_join(l->thread, NULL);
    pthread_mutex_lock(&l->sink.lock);
    l->sink.closed = true;
    pthread_mutex_unlock(&l->sink.lock);
    l->started = false;
    return ended;
}
