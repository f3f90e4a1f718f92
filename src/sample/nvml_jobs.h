/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_jobs.h - which of the job's processes are on which NVIDIA GPU, and what memory they hold.
 * The driver's list costs milliseconds and a lock that the job may want, so it is asked rarely. */
#ifndef SAMPLE_NVML_JOBS_H
#define SAMPLE_NVML_JOBS_H

#include "sample/nvml_dev.h"
#include "sample/probe.h"
#include "sample/probe_util.h"

#define NVML_JOBS_PERIOD_NS (10 * NS_PER_S)

enum { NVML_PROCESSES = 256 };

struct nvml_jobs {
    struct group group;
    struct cadence due;
    struct pidset *pids; /* NULL: there is no job */
    bool other_ids;      /* we are in a process-id namespace of our own... */
    bool matched;        /* ...but the driver did name one of the job's processes */
    struct nvml_jobs_gpu {
        struct nvml_try stands;
        slot_id processes, memory;
        bool told_memory;
        unsigned unmatched; /* rounds in which ids could not be trusted */
    } gpu[GPU_MOST];
    struct nvml_process list[NVML_PROCESSES];
    struct nvml_process_v1 list_v1[NVML_PROCESSES];
};

void nvml_jobs_open(struct nvml_jobs *j, const struct probe_env *env, int64_t period_ns);
void nvml_jobs_set_period(struct nvml_jobs *j, int64_t period_ns);
void nvml_jobs_read(struct nvml_jobs *j, const struct nvml_ask *round);
void nvml_jobs_close(struct nvml_jobs *j);

#endif
