/* SPDX-License-Identifier: Apache-2.0 */
/* hostinfo.h - what machine this is. Read once at the start; empty text and 0 mean not known. */
#ifndef SAMPLE_HOSTINFO_H
#define SAMPLE_HOSTINFO_H

#include <stdint.h>

enum { HOST_TEXT = 128, GPU_MOST = 64 };

struct hostinfo {
    char hostname[HOST_TEXT];
    char kernel[HOST_TEXT]; /* "Linux 6.1.0-18-amd64 x86_64" */
    char cpu_model[HOST_TEXT];
    char boot_id[HOST_TEXT];
    char dmi_vendor[HOST_TEXT];  /* sys_vendor, the cloud's name on cloud machines */
    char dmi_product[HOST_TEXT]; /* product_name */
    unsigned cores;
    uint64_t memory_bytes;
};

/* `proc` and `sys` are "/proc" and "/sys" outside tests. */
void hostinfo_read(struct hostinfo *out, const char *proc, const char *sys);

struct gpu_info {
    char entity[16]; /* "gpu0" */
    char name[HOST_TEXT];
    char uuid[HOST_TEXT];
    char driver[HOST_TEXT];
    uint64_t memory_bytes;
};

struct nvml_lib;

/* NVIDIA GPUs through the library (NULL is fine), then AMD ones through sysfs.
 * Returns how many were filled in. */
unsigned gpu_list(struct gpu_info out[GPU_MOST], struct nvml_lib *nvml, const char *sys);

#endif
