/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_amdgpu.c - the parsers of AMD's sysfs files: any bytes, and a value within reason or none.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "sample/amdgpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static bool (*const parsers[])(const void *p, size_t n, double *out) = {
    amdgpu_number,           amdgpu_dpm_mhz,         amdgpu_metrics_util,
    amdgpu_metrics_mem_util, amdgpu_metrics_watt,    amdgpu_metrics_edge,
    amdgpu_metrics_temp_mem, amdgpu_metrics_gfx_mhz, amdgpu_metrics_mem_mhz,
};

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < COUNT_OF(parsers); i++) {
        double v = -1;
        if (parsers[i](p, n, &v) ? !(v >= 0 && v < 1e20) : v != -1)
            abort();
    }
    return 0;
}
