/* SPDX-License-Identifier: Apache-2.0 */
/* amdgpu.h - AMD GPUs as the kernel's amdgpu driver shows them in sysfs: which there are, and pure
 * parsers of their files (bytes in, number out; the bytes may be anything). */
#ifndef SAMPLE_AMDGPU_H
#define SAMPLE_AMDGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* gpu_metrics, the driver's binary table, revisions 1.1 to 1.3 (discrete cards). */
bool amdgpu_metrics_util(const void *p, size_t n, double *out);     /* % */
bool amdgpu_metrics_mem_util(const void *p, size_t n, double *out); /* % */
bool amdgpu_metrics_watt(const void *p, size_t n, double *out);
bool amdgpu_metrics_edge(const void *p, size_t n, double *out);     /* C */
bool amdgpu_metrics_temp_mem(const void *p, size_t n, double *out); /* C */
bool amdgpu_metrics_gfx_mhz(const void *p, size_t n, double *out);
bool amdgpu_metrics_mem_mhz(const void *p, size_t n, double *out);

#endif
