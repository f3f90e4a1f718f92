/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - what a probe of the machine is: one const record and one line in probes.def.
 *
 * A probe opens its files once, reads them when the lane calls it, and commits rows to the sink.
 * The parsing is done by pure functions (procfs.h): bytes in, struct out. A probe never prints,
 * never exits, and after its first reads never allocates. What cannot be read becomes a loss once,
 * never a zero.
 *
 * Order: open; any number of read and set_period; end; close. All calls for one probe come from the
 * thread of its lane. */
#ifndef SAMPLE_PROBE_H
#define SAMPLE_PROBE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "record/group.h"

struct nvml_lib;
struct pidset;

/* Each lane is a thread, so a slow driver call delays only its own kind. */
enum lane {
    LANE_FAST, /* files of the kernel: microseconds */
    LANE_GPU,  /* driver calls that are cached: microseconds, sometimes a lock */
    LANE_SLOW, /* driver calls that take milliseconds */
    LANE_N,
};

/* What probes are given. The folders differ from /proc and /sys only in tests. */
struct probe_env {
    const char *proc;
    const char *sys;
    int root_pid;            /* first process of the job; 0: none */
    int self_pid;            /* the recorder, whose children the job's orphans become */
    int helper_session;      /* of the recorder's helper processes; 0: none */
    bool no_others;          /* programs of others are not read */
    struct pidset *pids;     /* the job's processes, kept up to date by probe_proc */
    struct nvml_lib *nvml;   /* NULL: no NVIDIA driver here */
    const char *nvml_absent; /* then why, in a sentence */
    uint64_t (*bytes_written)(void *ctx); /* of the recorder's own files; may be NULL */
    int64_t (*late_ns)(void *ctx);        /* the recorder's latest wake-up; may be NULL */
    void *ctx;
};

struct probe {
    const char *name;
    const char *title; /* for doctor and the docs */
    enum lane lane;
    int64_t min_period_ns; /* reading faster gives nothing new, or costs the job */
    size_t state_size;
    /* Fills the zeroed state. Failure means: there is nothing to read here; `e` has the reason. */
    int (*open)(void *state, const struct probe_env *env, int64_t period_ns, struct err *e);
    void (*read)(void *state, struct sink *s);
    size_t group; /* offset of the state's group, when that is all that has a period */
    void (*set_period)(void *state, int64_t period_ns); /* NULL: of that group */
    /* When the run ends, before close: a last reading of what is read rarely. NULL: none. */
    void (*end)(void *state, struct sink *s);
    void (*close)(void *state);
};

#define PROBE(id) extern const struct probe probe_##id;
#include "sample/probes.def"
#undef PROBE

/* A new sampling period; the probe's own least period stays. */
void probe_set_period(const struct probe *p, void *state, int64_t period_ns);

extern const struct probe *const probes[]; /* in the order of probes.def; ends with NULL */

/* ---- the process ids of the job ---- */

/* The job's process ids, written by the process probe, read by the GPU lanes.
 * Safe for any number of threads. At most PIDSET_MOST are stored; beyond that `pidset_has` may
 * miss. */

enum { PIDSET_MOST = 4096 };

struct pidset {
    pthread_mutex_t lock;
    size_t n;
    int pid[PIDSET_MOST]; /* sorted */
};

void pidset_init(struct pidset *p);
/* Replaces the set; `pid` need not be sorted. */
void pidset_set(struct pidset *p, const int *pid, size_t n);
bool pidset_has(struct pidset *p, int pid);
void pidset_free(struct pidset *p);

#endif
