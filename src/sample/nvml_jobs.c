/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_jobs.c - see nvml_jobs.h. */
#include "sample/nvml_jobs.h"

#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "record/group.h"
#include "sample/pidset.h"

/* The kernel's number of the namespace in which it started. Any other has its own process ids, and
 * the driver may use those of the machine or hide processes: there a zero is only believed once the
 * driver has named one of the job's processes. */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

static bool in_other_namespace(const char *proc)
{
    char path[PATH_LEN], link[64];
    snprintf(path, sizeof path, "%s/self/ns/pid", proc);
    const ssize_t n = readlink(path, link, sizeof link - 1);
    if (n < 0)
        return false;
    link[n] = 0;
    return strcmp(link, FIRST_PID_NAMESPACE) != 0;
}

void nvml_jobs_open(struct nvml_jobs *j, const struct probe_env *env, int64_t period_ns)
{
    j->pids = env->pids;
    j->other_ids = in_other_namespace(env->proc);
    group_open(&j->group, "nvml_jobs", MAX_OF(period_ns, NVML_JOBS_PERIOD_NS));
    j->due.period_ns = j->group.period_ns;
    for (unsigned i = 0; j->pids && i < env->nvml->n; i++) {
        j->gpu[i].processes = group_add(&j->group, M_GPU_JOB_PROCESSES, env->nvml->gpu[i].entity);
        j->gpu[i].memory = group_add(&j->group, M_GPU_JOB_MEM, env->nvml->gpu[i].entity);
    }
}

void nvml_jobs_set_period(struct nvml_jobs *j, int64_t period_ns)
{
    group_set_period(&j->group, MAX_OF(period_ns, NVML_JOBS_PERIOD_NS));
    j->due.period_ns = j->group.period_ns;
}

void nvml_jobs_close(struct nvml_jobs *j)
{
    group_close(&j->group);
}

static int list_v1(struct nvml_jobs *j, const struct nvml_ask *a, unsigned *n)
{
    const struct nvml_api *api = &a->lib->api;
    if (!api->processes_v1)
        return NVML_NO_FUNCTION;
    const int rc = api->processes_v1(atomic_load(&a->gpu->dev), n, j->list_v1);
    for (unsigned i = 0; rc == NVML_OK && i < *n && i < NVML_PROCESSES; i++)
        j->list[i] = (struct nvml_process){.pid = j->list_v1[i].pid, .used = j->list_v1[i].used};
    return rc;
}

static int nvml_jobs_list(struct nvml_jobs *j, const struct nvml_ask *a, unsigned *n)
{
    *n = NVML_PROCESSES;
    const int rc = a->lib->api.processes
                       ? a->lib->api.processes(atomic_load(&a->gpu->dev), n, j->list)
                       : list_v1(j, a, n);
    *n = MIN_OF(*n, (unsigned)NVML_PROCESSES);
    return rc;
}

/* A process is listed once for every part of the GPU that it uses. */
static bool seen_before(const struct nvml_process *v, unsigned i)
{
    for (unsigned k = 0; k < i; k++)
        if (v[k].pid == v[i].pid)
            return true;
    return false;
}

struct nvml_jobs_share {
    unsigned processes;
    uint64_t bytes;
    bool unknown; /* the driver does not say how much memory one of them has */
};

static struct nvml_jobs_share nvml_jobs_share_of(const struct nvml_jobs *j, unsigned n)
{
    struct nvml_jobs_share s = {0};
    for (unsigned i = 0; i < n; i++) {
        if (!pidset_has(j->pids, (int)j->list[i].pid))
            continue;
        s.processes += !seen_before(j->list, i);
        s.unknown |= j->list[i].used == NVML_NOT_KNOWN;
        s.bytes += j->list[i].used;
    }
    return s;
}

enum { UNMATCHED_TOLD = 3 }; /* a job takes some time to reach the GPU */

static bool trusted(struct nvml_jobs *j, struct nvml_jobs_gpu *g, const struct nvml_ask *a,
                    unsigned processes)
{
    j->matched |= processes > 0;
    if (j->matched || !j->other_ids)
        return true;
    if (++g->unmatched == UNMATCHED_TOLD)
        nvml_loss(a, LOSS_READ, M_GPU_JOB_PROCESSES,
                  "the driver does not report the job's processes inside this container");
    return false;
}

static void nvml_jobs_put(struct nvml_jobs *j, struct nvml_jobs_gpu *g, const struct nvml_ask *a,
                          unsigned n)
{
    const struct nvml_jobs_share s = nvml_jobs_share_of(j, n);
    if (!trusted(j, g, a, s.processes))
        return;
    group_gauge(&j->group, g->processes, s.processes);
    if (!s.unknown)
        group_gauge(&j->group, g->memory, (double)s.bytes);
    else if (!g->told_memory)
        nvml_loss(a, LOSS_UNSUPPORTED, M_GPU_JOB_MEM,
                  "the driver does not report the memory of processes");
    g->told_memory |= s.unknown;
}

static void nvml_jobs_read_gpu(struct nvml_jobs *j, const struct nvml_ask *a)
{
    const enum metric_id m[] = {M_GPU_JOB_PROCESSES, M_GPU_JOB_MEM};
    struct nvml_jobs_gpu *g = &j->gpu[a->gpu->index];
    unsigned n = 0;
    if (!nvml_try_due(&g->stands, a->now) || !nvml_gpu_ready(a))
        return;
    const int rc = nvml_jobs_list(j, a, &n);
    if (nvml_try_took(&g->stands, a, rc, m, COUNT_OF(m)))
        nvml_jobs_put(j, g, a, n);
    if (!g->stands.off)
        return;
    group_drop(&j->group, g->processes);
    group_drop(&j->group, g->memory);
    g->processes = g->memory = SLOT_NONE;
}

void nvml_jobs_read(struct nvml_jobs *j, const struct nvml_ask *round)
{
    if (!j->pids || !cadence_due(&j->due, round->now, NS_PER_S / 2))
        return;
    for (unsigned i = 0; i < round->lib->n; i++)
        nvml_jobs_read_gpu(
            j, &(struct nvml_ask){round->lib, &round->lib->gpu[i], round->sink, round->now});
    group_commit(&j->group, round->sink, round->now);
}
