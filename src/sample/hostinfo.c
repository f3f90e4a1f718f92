/* SPDX-License-Identifier: Apache-2.0 */
/* hostinfo.c - what machine this is; see hostinfo.h. What cannot be read stays empty. */
#include "sample/hostinfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/file.h"
#include "base/mem.h"
#include "sample/amdgpu.h"
#include "sample/nvml_internal.h"
#include "sample/procfs.h"
#include "sample/source.h"
#include "sample/textscan.h"

static size_t hostinfo_peek(char *text, size_t size, const char *folder, const char *file)
{
    char path[PATH_LEN];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    const long n = file_peek(path, text, size);
    return n > 0 ? (size_t)n : 0;
}

/* The first line of a file, empty when there is none. */
static void hostinfo_line(char *out, size_t size, const char *folder, const char *file)
{
    char text[HOST_TEXT];
    const size_t n = hostinfo_peek(text, sizeof text, folder, file);
    const char *end = memchr(text, '\n', n);
    end = end ? end : text + n;
    while (end > text && end[-1] == ' ')
        end--;
    scan_copy(out, size, text, (size_t)(end - text));
}

static void read_uname(struct hostinfo *out)
{
    struct utsname u;
    if (uname(&u) != 0)
        return;
    snprintf(out->hostname, sizeof out->hostname, "%s", u.nodename);
    snprintf(out->kernel, sizeof out->kernel, "%.40s %.60s %.20s", u.sysname, u.release, u.machine);
}

static void read_cores(struct hostinfo *out, const char *text, size_t n)
{
    struct lines l = lines_of(text, n);
    struct cpu_line c;
    while (procfs_cpu_next(&l, &c))
        out->cores += c.core != CPU_ALL;
}

void hostinfo_read(struct hostinfo *out, const char *proc, const char *sys)
{
    enum { TEXT_SIZE = 256 * 1024 }; /* cpuinfo's first core, and the cpu lines of 2000 cores */
    *out = (struct hostinfo){0};
    read_uname(out);
    hostinfo_line(out->boot_id, sizeof out->boot_id, proc, "sys/kernel/random/boot_id");
    hostinfo_line(out->dmi_vendor, sizeof out->dmi_vendor, sys, "class/dmi/id/sys_vendor");
    hostinfo_line(out->dmi_product, sizeof out->dmi_product, sys, "class/dmi/id/product_name");
    char *text = xmalloc(TEXT_SIZE);
    struct meminfo m;
    size_t n = hostinfo_peek(text, TEXT_SIZE, proc, "cpuinfo");
    procfs_cpu_model(text, n, out->cpu_model, sizeof out->cpu_model);
    n = hostinfo_peek(text, TEXT_SIZE, proc, "stat");
    read_cores(out, text, n);
    n = hostinfo_peek(text, TEXT_SIZE, proc, "meminfo");
    if (procfs_meminfo(text, n, &m))
        out->memory_bytes = m.kb[MEM_TOTAL] * 1024;
    free(text);
}

/* ------------------------------------------------------------------------------------------------
 * Which GPUs the machine has */

static void nvidia_texts(const struct nvml_api *api, struct nvml_device *d, struct gpu_info *out)
{
    if (!api->name || api->name(d, out->name, sizeof out->name) != NVML_OK)
        snprintf(out->name, sizeof out->name, "NVIDIA GPU");
    if (!api->uuid || api->uuid(d, out->uuid, sizeof out->uuid) != NVML_OK)
        out->uuid[0] = 0;
}

static void nvidia(struct nvml_lib *lib, unsigned i, struct gpu_info *out)
{
    const struct nvml_gpu *g = &lib->gpu[i];
    struct nvml_device *d = atomic_load(&g->dev);
    struct nvml_memory m = {0};
    *out = (struct gpu_info){0};
    snprintf(out->entity, sizeof out->entity, "%s", g->entity);
    snprintf(out->driver, sizeof out->driver, "%s", lib->driver);
    if (!d)
        return;
    nvidia_texts(&lib->api, d, out);
    if (lib->api.memory && lib->api.memory(d, &m) == NVML_OK)
        out->memory_bytes = m.total;
}

static void amd(const struct amdgpu_card *c, unsigned index, const char *sys, struct gpu_info *out)
{
    char text[HOST_TEXT], module[AMDGPU_PATH];
    double bytes = 0;
    *out = (struct gpu_info){0};
    snprintf(out->entity, sizeof out->entity, "gpu%u", index);
    hostinfo_line(out->name, sizeof out->name, c->device, "product_name");
    hostinfo_line(text, sizeof text, c->device, "device");
    if (!out->name[0])
        snprintf(out->name, sizeof out->name, "AMD GPU %.16s", text);
    hostinfo_line(out->uuid, sizeof out->uuid, c->device, "unique_id");
    snprintf(module, sizeof module, "%.256s/module/amdgpu", sys);
    hostinfo_line(out->driver, sizeof out->driver, module, "version");
    hostinfo_line(text, sizeof text, c->device, "mem_info_vram_total");
    if (amdgpu_number(text, strlen(text), &bytes))
        out->memory_bytes = (uint64_t)bytes;
}

unsigned gpu_list(struct gpu_info out[GPU_MOST], struct nvml_lib *nvml, const char *sys)
{
    struct amdgpu_card *found = xcalloc(AMDGPU_MOST, sizeof *found);
    const unsigned cards = amdgpu_find(found, sys);
    unsigned n = 0;
    for (; nvml && n < nvml->n; n++)
        nvidia(nvml, n, &out[n]);
    for (unsigned i = 0; i < cards && n < GPU_MOST; i++, n++)
        amd(&found[i], n, sys, &out[n]);
    free(found);
    return n;
}
