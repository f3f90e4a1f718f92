/* SPDX-License-Identifier: Apache-2.0 */
/* core_sync.h - waits for the GPU, as the rest of the extension sees them: core_sync.c. */
#ifndef PYTHON_CORE_SYNC_H
#define PYTHON_CORE_SYNC_H

#include <stdbool.h>

#include "core.h"

/* Name ids that are interned once; 0 until SyncGate.setup or the first pulse. */
extern fp_name core_sync_short_name;

/* Time in waits of this thread that were too short for a span and are not emitted yet. */
extern _Thread_local uint64_t core_sync_short_ns __attribute__((tls_model("initial-exec")));

/* Emits that sum. Called just before a phase begins or ends, so that the sum falls into the phase
 * that contained the waits. */
static inline void core_sync_emit_short(void)
{
    if (__builtin_expect(core_sync_short_ns != 0, 0)) {
        if (fp_enabled())
            emit_here(fp_said_(FP_COUNT_INT_, core_sync_short_name), core_sync_short_ns);
        core_sync_short_ns = 0;
    }
}

/* At the end of a step: about once a second, the CPU time of the process and of its main thread,
 * and the places of waits that have changed. `force`: now. */
void core_pulse(bool force);

#endif
