/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h - NVIDIA's management library, found at run time, with our own declarations.
 * nvml_open, any number of probes that use it, nvml_close after the last of them. The library is
 * thread-safe, so the lanes share one. */
#ifndef SAMPLE_NVML_H
#define SAMPLE_NVML_H

#include "base/err.h"

struct nvml_lib;

/* `path` NULL: the FOOTPLATE_NVML environment variable, else libnvidia-ml.so.1. ERR_NOT_FOUND with
 * a sentence when there is no library, no driver or no GPU. */
MUST_CHECK int nvml_open(struct nvml_lib **out, const char *path, struct err *e);
void nvml_close(struct nvml_lib *n); /* NULL is fine */

#endif
