/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.c - finds NVIDIA's library at run time, fills the table of its functions, lists the GPUs.
 * Nothing here is linked against it, so the recorder starts on machines without a driver. */
#include "sample/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sample/nvml_dev.h"

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
    const char *asked = path ? path : getenv("FOOTPLATE_NVML");
    n->handle = dlopen(asked ? asked : DEFAULT_PATH, RTLD_NOW | RTLD_LOCAL);
    if (n->handle)
        return find_symbols(n, e);
    if (asked)
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
