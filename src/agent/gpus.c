/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.c - see gpus.h. */
#include "agent/gpus.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { STACK = 512 * 1024 };

static void *gpus_find(void *arg)
{
    struct gpus *g = arg;
    struct err e;
    if (nvml_open(&g->nvml, NULL, &e)) {
        g->nvml = NULL;
        snprintf(g->absent, sizeof g->absent, "%s", e.msg);
    }
    g->n = gpu_list(g->list, g->nvml, g->sys);
    thread_end_tell(&g->end);
    const uint64_t one = 1;
    (void)!write(g->ready_fd, &one, sizeof one);
    return NULL;
}

int gpus_start(struct gpus *g, const char *sys, int ready_fd, struct err *e)
{
    g->sys = sys;
    g->ready_fd = ready_fd;
    thread_end_init(&g->end);
    int rc = thread_start(&g->thread, STACK, gpus_find, g, "fp-gpu-find", e);
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
