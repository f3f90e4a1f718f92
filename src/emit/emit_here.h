/* SPDX-License-Identifier: Apache-2.0 */
/* emit_here.h - an event in the caller's own instructions, for what is linked with emit.c into one
 * file, as the Python extension is. fp_enabled() first, as for fp_emit_. */
#ifndef EMIT_HERE_H
#define EMIT_HERE_H

#include "footplate/emit.h"
#include "ring/ring_write.h"

/* initial-exec: part of the thread from its start. The other models allocate it at first use, which
 * may be in a signal handler. */
#define EMIT_OF_THREAD __attribute__((tls_model("initial-exec"))) _Thread_local

extern struct ring_writer fp_writer_;
extern EMIT_OF_THREAD struct ring_thread fp_thread_;

/* For a recorder that a running process starts: events go into its folder until emit_end. Both are
 * called by one thread at a time. 0: it cannot be, or the process is recorded already. */
int emit_begin(const char *dir);
void emit_end(void);

static inline void emit_here(uint64_t event, uint64_t value)
{
    ring_put(&fp_writer_, &fp_thread_, (struct ring_payload){event, value});
}

#endif
