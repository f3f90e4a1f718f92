/* SPDX-License-Identifier: Apache-2.0 */
/* core_sync.h - waits for the GPU: what measures them (core_sync.c) and what keeps where they were
 * (core_sync_places.c), and what the rest of the extension sees of both. */
#ifndef PYTHON_CORE_SYNC_H
#define PYTHON_CORE_SYNC_H

#include <stdbool.h>
#include <time.h>

#include "core.h"

/* 0 until core_sync_places_setup. */
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
 * and the places of waits that have changed. `force`: now. True when it did so. */
bool core_pulse(bool force);
/* What is called then, without arguments. */
void core_pulse_listen(PyObject *second);

static inline uint64_t core_sync_clock(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* The number of an operation's name. */
int core_sync_op(const char *name);

/* The calling thread waited from begin to end (CLOCK_MONOTONIC), and returns into Python. */
void core_sync_note(int op, uint64_t begin, uint64_t end);

/* `describe` is called with a file's path, once for each code object, and returns its name in
 * messages, or "" for a file that is not the program's. -1 with an exception. */
int core_sync_places_setup(PyObject *describe);

/* In the child of a fork: what was counted is the parent's. */
void core_sync_places_reset(void);

#endif
