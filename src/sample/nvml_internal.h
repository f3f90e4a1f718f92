/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_internal.h - what the NVIDIA probes share: the open library, and the state of each GPU
 * and each reading.
 *
 * A reading that fails is reported once as a loss and then left alone: for good when the driver
 * does not offer it, for NVML_RETRY_NS otherwise. A GPU that is lost is reported once for all
 * probes, none of them reads it any more, and the first one after NVML_RETRY_NS checks whether it
 * is back. The probes run in different threads, so what they share about a GPU is atomic. */
#ifndef SAMPLE_NVML_INTERNAL_H
#define SAMPLE_NVML_INTERNAL_H

#include <stdatomic.h>

#include "record/group.h"
#include "sample/hostinfo.h"
#include "sample/nvml_api.h"

#define NVML_RETRY_NS (30 * NS_PER_S)

struct nvml_gpu {
    unsigned index;
    char entity[16];
    bool mig;    /* split into instances when the library was opened */
    int open_rc; /* why there is no handle */
    _Atomic(struct nvml_device *) dev;
    atomic_bool gone;
    atomic_bool gpm_pcie;     /* GPM measures PCIe here, so no other probe has to */
    _Atomic int64_t retry_at; /* mono ns; for a GPU that is gone */
};

struct nvml_lib {
    void *handle;
    struct nvml_api api;
    char driver[HOST_TEXT];
    unsigned n;
    struct nvml_gpu gpu[GPU_MOST];
};

/* The driver's own sentence for a return code, or ours when it has none. */
const char *nvml_why(const struct nvml_lib *n, int rc);

/* One GPU in one round of readings. */
struct nvml_ask {
    struct nvml_lib *lib;
    struct nvml_gpu *gpu;
    struct sink *sink;
    mono_ns now;
};

/* Whether the GPU can be read at all; reports when it is lost and when it is back. */
bool nvml_gpu_ready(const struct nvml_ask *a);

/* The state of one reading of one GPU; zeroed means: not tried yet. */
struct nvml_try {
    bool off;     /* never again */
    int reported; /* the return code of the loss that was reported */
    mono_ns again;
};

bool nvml_try_due(const struct nvml_try *t, mono_ns now);
/* True when rc is that of a reading that was taken. Otherwise the loss is reported for each of the
 * n metrics that it would have given; or, when the GPU is lost, for the GPU. */
bool nvml_try_took(struct nvml_try *t, const struct nvml_ask *a, int rc, const enum metric_id *m,
                   size_t n);
/* Whether the code means that the driver will never give this reading. */
bool nvml_never(int rc);
/* The kind of loss that a return code other than NVML_OK is. */
enum loss_id nvml_loss_id(int rc);
/* A loss of one metric of one GPU, in our own words. */
void nvml_loss(const struct nvml_ask *a, enum loss_id id, enum metric_id m, const char *why);

/* What every probe does first: the library, or the sentence why there is none. */
struct probe_env;
MUST_CHECK int nvml_of(const struct probe_env *env, struct nvml_lib **out, struct err *e);

#endif
