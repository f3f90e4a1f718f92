/* SPDX-License-Identifier: Apache-2.0 */
/* lane.h - a thread that reads the probes of one lane, so that a driver call of 20 ms, or one that
 * never returns, delays nothing else. */
#ifndef AGENT_LANE_H
#define AGENT_LANE_H

#include <pthread.h>
#include <stdbool.h>

#include "agent/flusher.h"
#include "agent/probeset.h"
#include "base/thread.h"

/* Stands before the real sink, which can so be closed while a thread still hangs in a driver. */
struct gate_sink {
    struct sink sink;
    struct sink *behind;
    pthread_mutex_t lock;
    bool closed;
};

struct lane_thread {
    enum lane lane;
    struct gate_sink sink;
    struct flusher *flusher;
    struct probe_set set; /* the thread's own */
    pthread_t thread;
    struct thread_end end;
    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t changed;
    bool started, stop, paused;
    int64_t interval_ns;
    mono_ns grid; /* where the grid of that interval begins */
    const struct probe_env *env;
    struct thread_end *first_round;
};

/* How a lane starts. `first_round` is shared: the slow lane waits, for a second at most, until the
 * GPU lane has opened and read its probes once. Two threads that call NVML for the first time at
 * the same moment sometimes leave it (driver 580) in a state where a reading takes 6 ms of CPU
 * instead of 0.3 ms until the process ends. */
struct lane_begin {
    const struct probe_env *env;
    int64_t interval_ns;
    mono_ns grid;
    bool paused;
    struct sink *sink;
    struct flusher *flusher;
    struct thread_end *first_round;
};

/* The lane must stay where it is until lane_stop said true. A lane without probes ends by itself.
 */
MUST_CHECK int lane_start(struct lane_thread *l, enum lane lane, const struct lane_begin *b,
                          struct err *e);
void lane_set(struct lane_thread *l, int64_t interval_ns, mono_ns grid, bool paused);
/* False when the thread hangs: its memory and the library it is in must then be left alone. */
bool lane_stop(struct lane_thread *l);

#endif
