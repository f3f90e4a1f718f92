/* SPDX-License-Identifier: Apache-2.0 */
/* probe_proc_kit.h - the probe of the job's processes on a real job, and what it saw. */
#ifndef PROBE_PROC_KIT_H
#define PROBE_PROC_KIT_H

#include "capture.h"
#include "job.h"
#include "sample/probe.h"

static struct bench bench;
static struct pidset pids;

static inline void open_on(pid_t root, bool subreaper, int64_t period_ns)
{
    struct err e;
    pidset_init(&pids);
    if (subreaper)
        CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    const struct probe_env env = {.proc = "/proc",
                                  .sys = "/sys",
                                  .root_pid = root,
                                  .self_pid = subreaper ? getpid() : 0,
                                  .pids = &pids};
    OK(bench_open(&bench, &probe_proc, &env, period_ns, &e));
}

static inline void close_all(void)
{
    bench_close(&bench);
    pidset_free(&pids);
}

/* Reads every `step` ms for `ms` ms. */
static inline void watch(long ms, long step)
{
    const mono_ns end = mono_add(clock_mono(), ms * NS_PER_MS);
    while (mono_diff(end, clock_mono()) > 0) {
        bench_read(&bench);
        nap_ms(step);
    }
}

static inline char *entity_of(pid_t pid, const char *comm)
{
    static char entity[ENTITY_LEN];
    snprintf(entity, sizeof entity, "%d:%s", (int)pid, comm);
    return entity;
}

/* CPU seconds that the series add up to. */
static inline double cpu_seconds(const char *entity, enum metric_id m, double *peak)
{
    double sum = 0;
    mono_ns last = {0};
    *peak = 0;
    for (size_t i = 0; i < bench.got->n; i++) {
        const struct captured *v = &bench.got->v[i];
        if (v->metric != m || (entity && strcmp(v->entity, entity) != 0))
            continue;
        CHECK(v->value >= 0);
        if (last.ns) {
            sum += v->value / 100 * (double)mono_diff(v->t, last) / 1e9;
            *peak = v->value > *peak ? v->value : *peak;
        }
        last = v->t;
    }
    return sum;
}

#endif
