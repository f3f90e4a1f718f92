/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_dev.c - see nvml_dev.h. */
#include "sample/nvml_dev.h"

#include <stdio.h>

#include "base/mem.h"
#include "sample/probe.h"

static const struct {
    int rc;
    const char *why;
} words[] = {
    {NVML_UNINITIALIZED, "the driver library was not initialized"},
    {NVML_INVALID, "the driver rejected the request"},
    {NVML_NO_PERMISSION, "no permission to read it from the driver"},
    {NVML_NOT_FOUND, "the driver returned no data"},
    {NVML_DRIVER_NOT_LOADED, "the driver is not loaded"},
    {NVML_TIMEOUT, "the driver did not answer in time"},
    {NVML_GPU_LOST, "the GPU has fallen off the bus or cannot be reached"},
    {NVML_VERSION_MISMATCH, "the driver and its library are of different versions"},
    {NVML_STRUCT_VERSION, "the driver is too old to report it"},
};

const char *nvml_why(const struct nvml_lib *n, int rc)
{
    /* The driver's words for these two ("local function not found") help no user. */
    if (rc == NVML_NO_FUNCTION)
        return "this version of the driver library does not support it";
    if (rc == NVML_NOT_SUPPORTED)
        return "not supported by this GPU or its driver";
    const char *own = n->api.error_string ? n->api.error_string(rc) : NULL;
    for (size_t i = 0; !own && i < COUNT_OF(words); i++)
        if (words[i].rc == rc)
            own = words[i].why;
    return own ? own : "unknown error";
}

bool nvml_never(int rc)
{
    return rc == NVML_NOT_SUPPORTED || rc == NVML_NO_FUNCTION;
}

enum loss_id nvml_loss_id(int rc)
{
    if (nvml_never(rc))
        return LOSS_UNSUPPORTED;
    if (rc == NVML_NO_PERMISSION)
        return LOSS_DENIED;
    return rc == NVML_GPU_LOST ? LOSS_GPU_LOST : LOSS_READ;
}

void nvml_loss(const struct nvml_ask *a, enum loss_id id, enum metric_id m, const char *why)
{
    const struct loss_subject of = {.entity = a->gpu->entity, .metric = m};
    sink_loss(a->sink, id, of, "%s", why);
}

/* Tells it once, whichever thread saw it first. */
static void gpu_went(const struct nvml_ask *a, int rc)
{
    struct nvml_gpu *g = a->gpu;
    atomic_store(&g->retry_at, a->now.ns + NVML_RETRY_NS);
    if (atomic_exchange(&g->gone, true))
        return;
    const char *why = nvml_why(a->lib, rc);
    sink_loss(a->sink, nvml_loss_id(rc), LOST_PART(g->entity), "%s", why);
    if (rc == NVML_GPU_LOST)
        sink_mark(a->sink, MARK_GPU_EVENT, rc, "%s is lost: %s", g->entity, why);
}

/* A handle is not enough: it may be given for a GPU that answers nothing. */
static bool is_back(const struct nvml_ask *a)
{
    const struct nvml_api *api = &a->lib->api;
    struct nvml_device *d = NULL;
    struct nvml_memory m;
    if (api->by_index(a->gpu->index, &d) != NVML_OK)
        return false;
    if (api->memory && api->memory(d, &m) == NVML_GPU_LOST)
        return false;
    atomic_store(&a->gpu->dev, d);
    return true;
}

bool nvml_gpu_ready(const struct nvml_ask *a)
{
    struct nvml_gpu *g = a->gpu;
    if (!atomic_load(&g->gone)) {
        if (atomic_load(&g->dev))
            return true;
        gpu_went(a, g->open_rc);
        return false;
    }
    int64_t due = atomic_load(&g->retry_at);
    if (a->now.ns < due ||
        !atomic_compare_exchange_strong(&g->retry_at, &due, a->now.ns + NVML_RETRY_NS))
        return false;
    if (!is_back(a))
        return false;
    atomic_store(&g->gone, false);
    sink_mark(a->sink, MARK_GPU_EVENT, 0, "%s is available again", g->entity);
    return true;
}

bool nvml_try_due(const struct nvml_try *t, mono_ns now)
{
    return !t->off && (!t->told || mono_diff(now, t->again) >= 0);
}

bool nvml_try_took(struct nvml_try *t, const struct nvml_ask *a, int rc, const enum metric_id *m,
                   size_t n)
{
    if (rc == NVML_OK) {
        t->told = 0;
        return true;
    }
    if (rc == NVML_GPU_LOST) {
        gpu_went(a, rc);
        return false;
    }
    const bool told = t->told == rc;
    t->off = nvml_never(rc);
    t->told = rc;
    t->again = mono_add(a->now, NVML_RETRY_NS);
    const char *why = rc == NVML_NOT_SUPPORTED && a->gpu->mig ? "not available while MIG is enabled"
                                                              : nvml_why(a->lib, rc);
    for (size_t i = 0; i < n && !told; i++)
        nvml_loss(a, nvml_loss_id(rc), m[i], why);
    return false;
}

int nvml_of(const struct probe_env *env, struct nvml_lib **out, struct err *e)
{
    if (!env->nvml)
        return err_set(e, ERR_NOT_FOUND, "%s",
                       env->nvml_absent ? env->nvml_absent : "no NVIDIA driver");
    *out = env->nvml;
    return 0;
}
