/* SPDX-License-Identifier: Apache-2.0 */
/* hostinfo.h - what machine this is. Read once at the start. */
#ifndef SAMPLE_HOSTINFO_H
#define SAMPLE_HOSTINFO_H

#include "record/machine.h"

/* `proc` and `sys` are "/proc" and "/sys" outside tests. */
void hostinfo_read(struct hostinfo *out, const char *proc, const char *sys);

struct nvml_lib;

/* NVIDIA GPUs through the library (NULL is fine), then AMD ones through sysfs.
 * Returns how many were filled in. */
unsigned gpu_list(struct gpu_info out[GPU_MOST], struct nvml_lib *nvml, const char *sys);

#endif
