/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.c - finds NVIDIA's library at run time, fills the table of its functions, lists the GPUs.
 * Nothing here is linked against it, so the recorder starts on machines without a driver. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sample/nvml_internal.h"
#include "sample/probe.h"

/* ------------------------------------------------------------------------------------------------
 * What the probes share: how each GPU and each reading is */

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

/* Reports it once, whichever thread saw it first. */
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
    return !t->off && (!t->reported || mono_diff(now, t->again) >= 0);
}

bool nvml_try_took(struct nvml_try *t, const struct nvml_ask *a, int rc, const enum metric_id *m,
                   size_t n)
{
    if (rc == NVML_OK) {
        t->reported = 0;
        return true;
    }
    if (rc == NVML_GPU_LOST) {
        gpu_went(a, rc);
        return false;
    }
    const bool reported = t->reported == rc;
    t->off = nvml_never(rc);
    t->reported = rc;
    t->again = mono_add(a->now, NVML_RETRY_NS);
    const char *why = rc == NVML_NOT_SUPPORTED && a->gpu->mig ? "not available while MIG is enabled"
                                                              : nvml_why(a->lib, rc);
    for (size_t i = 0; i < n && !reported; i++)
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

/* ------------------------------------------------------------------------------------------------
 * The library */

#define DEFAULT_PATH "libnvidia-ml.so.1" /* the name without .1 is only in development packages */

#define NVML_CALL(slot, needed, result, args, ...)                                                 \
    {offsetof(struct nvml_api, slot), needed, {__VA_ARGS__}},
static const struct nvml_symbol symbols[] = {
#include "sample/nvml_calls.def"
};
#undef NVML_CALL

static int find_symbols(struct nvml_lib *n, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(symbols); i++) {
        const struct nvml_symbol *s = &symbols[i];
        void *f = NULL;
        for (size_t k = 0; !f && k < NVML_NAMES && s->names[k]; k++)
            f = dlsym(n->handle, s->names[k]);
        if (!f && s->needed)
            return err_set(e, ERR_NOT_FOUND, "not the NVIDIA library: it has no %s", s->names[0]);
        memcpy((char *)&n->api + s->slot, &f, sizeof f);
    }
    return 0;
}

static int nvml_load(struct nvml_lib *n, const char *path, struct err *e)
{
    const char *given = path ? path : getenv("FOOTPLATE_NVML");
    n->handle = dlopen(given ? given : DEFAULT_PATH, RTLD_NOW | RTLD_LOCAL);
    if (n->handle)
        return find_symbols(n, e);
    if (given)
        return err_set(e, ERR_NOT_FOUND, "no NVIDIA driver: %s", dlerror());
    return err_set(e, ERR_NOT_FOUND, "no NVIDIA driver (" DEFAULT_PATH " not found)");
}

static const struct {
    int rc;
    const char *why;
} start_words[] = {
    {NVML_DRIVER_NOT_LOADED, "the NVIDIA library was found, but the driver is not loaded"},
    {NVML_VERSION_MISMATCH,
     "the NVIDIA library and the loaded driver have different versions; restart the machine"},
    {NVML_NO_PERMISSION, "no permission to use the NVIDIA driver"},
};

static int start_failed(const struct nvml_lib *n, int rc, struct err *e)
{
    for (size_t i = 0; i < COUNT_OF(start_words); i++)
        if (start_words[i].rc == rc)
            return err_set(e, ERR_NOT_FOUND, "%s", start_words[i].why);
    return err_set(e, ERR_NOT_FOUND, "the NVIDIA driver could not be initialized: %s",
                   nvml_why(n, rc));
}

static void nvml_find_gpu(struct nvml_lib *n, unsigned i)
{
    struct nvml_gpu *g = &n->gpu[i];
    struct nvml_device *d = NULL;
    unsigned mig = 0, later = 0;
    g->index = i;
    snprintf(g->entity, sizeof g->entity, "gpu%u", i);
    g->open_rc = n->api.by_index(i, &d);
    if (g->open_rc != NVML_OK)
        return;
    atomic_store(&g->dev, d);
    if (n->api.mig_mode && n->api.mig_mode(d, &mig, &later) == NVML_OK)
        g->mig = mig == 1;
}

static int list_gpus(struct nvml_lib *n, struct err *e)
{
    unsigned count = 0;
    const int rc = n->api.count(&count);
    if (rc != NVML_OK)
        return start_failed(n, rc, e);
    if (count == 0)
        return err_set(e, ERR_NOT_FOUND, "no GPU found: the NVIDIA driver lists none");
    n->n = MIN_OF(count, (unsigned)GPU_MOST);
    for (unsigned i = 0; i < n->n; i++)
        nvml_find_gpu(n, i);
    if (!n->api.driver_version || n->api.driver_version(n->driver, sizeof n->driver) != NVML_OK)
        n->driver[0] = 0;
    return 0;
}

static int nvml_start(struct nvml_lib *n, struct err *e)
{
    int rc = n->api.init_with_flags ? n->api.init_with_flags(NVML_INIT_NO_GPUS_OK) : n->api.init();
    if (rc != NVML_OK)
        return start_failed(n, rc, e);
    rc = list_gpus(n, e);
    if (rc != 0)
        n->api.shutdown();
    return rc;
}

int nvml_open(struct nvml_lib **out, const char *path, struct err *e)
{
    struct nvml_lib *n = xcalloc(1, sizeof *n);
    int rc = nvml_load(n, path, e);
    if (rc == 0)
        rc = nvml_start(n, e);
    if (rc == 0) {
        *out = n;
        return 0;
    }
    if (n->handle)
        dlclose(n->handle);
    free(n);
    return rc;
}

void nvml_close(struct nvml_lib *n)
{
    if (!n)
        return;
    n->api.shutdown();
    dlclose(n->handle);
    free(n);
}
