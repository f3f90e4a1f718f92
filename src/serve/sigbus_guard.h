/* SPDX-License-Identifier: Apache-2.0 */
/* sigbus_guard.h - files that are truncated while they are mapped.
 *
 * Run files only grow, but a user may truncate one, or a network folder may vanish. Reading a page
 * that is gone raises SIGBUS, which would end the server for all other runs too. So the page is
 * replaced by zeros, which no checksum accepts, and counted: a reader that sees another count after
 * its work discards the result. */
#ifndef SERVE_SIGBUS_GUARD_H
#define SERVE_SIGBUS_GUARD_H

#include <stdint.h>

#include "base/err.h"

/* For the whole process, once. */
MUST_CHECK int sigbus_guard_install(struct err *e);
/* For a thread that was started with signals blocked. */
void sigbus_guard_thread(void);
uint64_t sigbus_guard_count(void);

#endif
