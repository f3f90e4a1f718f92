/* SPDX-License-Identifier: Apache-2.0 */
/* hostinfo.h - what machine this is, read once at the start, and the library that its GPUs are read
 * through. */
#ifndef SAMPLE_HOSTINFO_H
#define SAMPLE_HOSTINFO_H

#include "base/err.h"
#include "record/machine.h"

/* `proc` and `sys` are "/proc" and "/sys" outside tests. */
void hostinfo_read(struct hostinfo *out, const char *proc, const char *sys);

struct nvml_lib;

/* NVIDIA GPUs through the library (NULL is fine), then AMD ones through sysfs.
 * Returns how many were filled in. */
unsigned gpu_list(struct gpu_info out[GPU_MOST], struct nvml_lib *nvml, const char *sys);

/* ---- NVIDIA's management library, found at run time, with our own declarations ---- */

/* nvml_open, any number of probes that use it, nvml_close after the last of them. The library is
 * thread-safe, so the lanes share one. */

/* `path` NULL: the FOOTPLATE_NVML environment variable, else libnvidia-ml.so.1. ERR_NOT_FOUND with
 * a sentence when there is no library, no driver or no GPU. */
MUST_CHECK int nvml_open(struct nvml_lib **out, const char *path, struct err *e);
void nvml_close(struct nvml_lib *n); /* NULL is fine */

#endif
