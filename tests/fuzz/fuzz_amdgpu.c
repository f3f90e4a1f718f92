/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_amdgpu.c - the parsers of AMD's sysfs files: any bytes, and a value within reason or none.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "sample/amdgpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static bool (*const parsers[])(const void *p, size_t n, double *out) = {amdgpu_number,
                                                                        amdgpu_dpm_mhz};

static void check(bool read, double v)
{
    if (read ? !(v >= 0 && v < 1e20) : v != -1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < COUNT_OF(parsers); i++) {
        double v = -1;
        const bool read = parsers[i](p, n, &v);
        check(read, v);
    }
    for (unsigned at = AMDGPU_AT_EDGE; at <= AMDGPU_AT_MEM_MHZ; at += 2) {
        double v = -1;
        const bool read = amdgpu_metric(p, n, at, &v);
        check(read, v);
    }
    return 0;
}
