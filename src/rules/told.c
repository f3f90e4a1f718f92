/* SPDX-License-Identifier: Apache-2.0 */
/* told.c - which events reach rules as `struct told`. */
#include "rules/sight.h"

bool rules_are_told(enum event_id id)
{
    switch (id) {
    case EV_HOOKED:
    case EV_CHECKPOINT:
    case EV_CUDA_PEAK: /* the report's */
    case EV_CUDA_RESERVED:
    case EV_CUDA_ALLOCATED:
    case EV_DETAIL:
    case EV_FETCH:
    case EV_LOADER_START:
    case EV_LOADER_WORKERS:
    case EV_LOADER_BATCH:
    case EV_LOADER_PREFETCH:
    case EV_LOADER_PIN:
    case EV_LOADER_PERSISTENT:
    case EV_LOADER_QUEUE:
    case EV_COMPILE:
    case EV_CPU_PROCESS:
        return true;
    default:
        return false;
    }
}
