/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.h - finds the GPUs in a thread of its own: a driver that starts up takes seconds, and the
 * job must not wait for it. */
#ifndef AGENT_GPUS_H
#define AGENT_GPUS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/thread.h"
#include "sample/hostinfo.h"
#include "sample/nvml.h"

struct gpus {
    const char *sys;
    int ready_fd; /* eventfd that is written to when all below is known */
    pthread_t thread;
    struct thread_end end;
    bool started;
    /* Valid after gpus_join said true. */
    struct nvml_lib *nvml;
    char absent[512]; /* why there is no NVIDIA GPU; "" when there is one */
    unsigned n;
    struct gpu_info list[GPU_MOST];
};

MUST_CHECK int gpus_start(struct gpus *g, const char *sys, int ready_fd, struct err *e);
/* Waits for the thread; false when it has not ended after `ns`: `g` must then be left alone. */
bool gpus_join(struct gpus *g, int64_t ns);

#endif
