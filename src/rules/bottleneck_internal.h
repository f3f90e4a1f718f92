/* SPDX-License-Identifier: Apache-2.0 */
/* bottleneck_internal.h - the inside of bottleneck*.c. */
#ifndef RULES_BOTTLENECK_INTERNAL_H
#define RULES_BOTTLENECK_INTERNAL_H

#include "rules/per_gpu.h"

struct bottleneck_gpu {
    struct gpu_head head;
    int64_t waited_ns; /* it was low while the node was hot */
};

#endif
