/* SPDX-License-Identifier: Apache-2.0 */
/* lane.h - a thread that reads the probes of one lane, so that a driver call of 20 ms, or one that
 * never returns, delays nothing else. */
#ifndef AGENT_LANE_H
#define AGENT_LANE_H

#include <pthread.h>
#include <stdbool.h>

#include "agent/flusher.h"
#include "base/clock.h"
#include "base/thread.h"
#include "sample/hostinfo.h"
#include "sample/probe.h"

/* ---- which probes are due ---- */

/* Which probes are due, and when to wake next. Pure: time comes in as an argument.
 *
 * All deadlines lie on one grid, origin + k x interval. A probe that must not be read that often
 * gets the next multiple of the interval, so probes that are due together share a wake-up. Points
 * that were passed while the recorder could not run are skipped and counted, never made up for. */

enum { SCHEDULE_MOST = 32 };

#define SCHEDULE_NEVER INT64_MAX

struct schedule_item {
    int64_t min_ns;    /* never more often than this */
    int64_t period_ns; /* a multiple of the interval */
    mono_ns next;
};

/* Zeroed but for the interval it is ready for use. */
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

/* Adds an item that is due at `first`; returns its index. At most SCHEDULE_MOST. */
unsigned schedule_add(struct schedule *s, int64_t min_ns, mono_ns first);
/* What an item's period is at a given interval. */
int64_t schedule_period(int64_t interval_ns, int64_t min_ns);
/* The next deadline; SCHEDULE_NEVER when there is no item. */
mono_ns schedule_next(const struct schedule *s);
/* The items due at `now`; their next deadlines are after it. */
struct schedule_due schedule_take(struct schedule *s, mono_ns now);
/* A new grid that begins now; everything is due one period later. */
void schedule_set_interval(struct schedule *s, mono_ns now, int64_t interval_ns);
/* Everything is due at `now` and the grid begins there: after a pause, which counts nothing missed.
 */
void schedule_restart(struct schedule *s, mono_ns now);

/* ---- a set of probes ---- */

/* The probes of one lane with their schedule. All calls come from the lane's thread. */

struct probe_set {
    const struct probe_env *env;
    struct sink *sink;
    struct schedule schedule;
    const struct probe *probe[SCHEDULE_MOST]; /* by the schedule's index */
    void *state[SCHEDULE_MOST];               /* NULL: could not be opened again */
    int64_t late_ns;                          /* of the latest reading */
    mono_ns last_read;
    uint64_t missed;  /* points skipped and not yet reported */
    mono_ns reported; /* when that was last reported */
};

/* Opens what there is of a lane; a probe that finds nothing becomes a loss. First due at `first`.
 */
void probe_set_open(struct probe_set *p, enum lane lane, const struct probe_env *env,
                    int64_t interval_ns, mono_ns first, struct sink *sink);
/* Reads everything that is due. Returns how many probes that were. */
unsigned probe_set_read(struct probe_set *p, mono_ns now);
/* Reads all of them, due or not, unless they were read less than half a period ago. */
void probe_set_read_last(struct probe_set *p, mono_ns now);
void probe_set_interval(struct probe_set *p, mono_ns now, int64_t interval_ns);
/* After a pause: everything is opened anew, so that no rate spans the pause. */
void probe_set_resume(struct probe_set *p, mono_ns now);
/* Puts the points skipped so far into the record. */
void probe_set_report_missed(struct probe_set *p, mono_ns now);
void probe_set_close(struct probe_set *p);

/* ---- finding the GPUs ---- */

/* Finds the GPUs in a separate thread: a driver that starts up takes seconds, and the
 * job must not wait for it. */

struct gpus {
    const char *sys;
    int ready_fd; /* eventfd that is written to when all below is known */
    pthread_t thread;
    struct thread_end end;
    bool started;
    /* Valid after gpus_join returned true. */
    struct nvml_lib *nvml;
    char absent[512]; /* why there is no NVIDIA GPU; "" when there is one */
    unsigned n;
    struct gpu_info list[GPU_MOST];
};

MUST_CHECK int gpus_start(struct gpus *g, const char *sys, int ready_fd, struct err *e);
/* Waits for the thread; false when it has not ended after `ns`: `g` must then be left alone. */
bool gpus_join(struct gpus *g, int64_t ns);

/* ---- lanes ---- */

/* Forwards to the real sink, which can so be closed while a thread still hangs in a driver. */
struct gate_sink {
    struct sink sink;
    struct sink *next;
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

/* The lane must stay where it is until lane_stop returned true. A lane without probes ends at once.
 */
MUST_CHECK int lane_start(struct lane_thread *l, enum lane lane, const struct lane_begin *b,
                          struct err *e);
void lane_set(struct lane_thread *l, int64_t interval_ns, mono_ns grid, bool paused);
/* False when the thread hangs: its memory and the library it is in must then be left alone. */
bool lane_stop(struct lane_thread *l);

#endif
