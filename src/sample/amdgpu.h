/* SPDX-License-Identifier: Apache-2.0 */
/* amdgpu.h - AMD GPUs as the kernel's amdgpu driver shows them in sysfs: which there are, and pure
 * parsers of their files (bytes in, number out; the bytes may be anything). */
#ifndef SAMPLE_AMDGPU_H
#define SAMPLE_AMDGPU_H

#include <stdbool.h>
#include <stddef.h>

enum { AMDGPU_MOST = 64, AMDGPU_PATH = 512, AMDGPU_METRICS_MOST = 4096 };

struct amdgpu_card {
    unsigned number;          /* N of /sys/class/drm/cardN */
    char device[AMDGPU_PATH]; /* .../cardN/device */
    char hwmon[AMDGPU_PATH];  /* .../hwmon/hwmonM; empty when there is none */
};

/* The AMD cards, by their number. Returns how many; 0 when there are none or no such folder. */
unsigned amdgpu_find(struct amdgpu_card out[AMDGPU_MOST], const char *sys);

/* A file with one decimal number. */
bool amdgpu_number(const void *text, size_t n, double *out);
/* pp_dpm_sclk, pp_dpm_mclk: the level in use, in MHz ("1: 1000Mhz *"). */
bool amdgpu_dpm_mhz(const void *text, size_t n, double *out);

/* Where the numbers lie in gpu_metrics, the driver's binary table, revisions 1.1 to 1.3 (discrete
 * cards): C, %, W, MHz, 16 bits each. */
enum amdgpu_at {
    AMDGPU_AT_EDGE = 4,
    AMDGPU_AT_TEMP_MEM = 8,
    AMDGPU_AT_UTIL = 16,
    AMDGPU_AT_MEM_UTIL = 18,
    AMDGPU_AT_WATT = 22,
    AMDGPU_AT_GFX_MHZ = 54,
    AMDGPU_AT_MEM_MHZ = 58,
};

bool amdgpu_metric(const void *p, size_t n, enum amdgpu_at at, double *out);

#endif
