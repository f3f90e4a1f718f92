/* SPDX-License-Identifier: Apache-2.0 */
/* cutfile.h - files that are cut while they are mapped.
 *
 * Run files only ever grow, but somebody may still truncate one, or a network folder may vanish.
 * Reading what is gone raises SIGBUS, which would end the server and with it the pages of all other
 * runs. So the page that is gone is replaced by zeros, which no checksum accepts, and counted: who
 * read while the count changed does not trust what was read. */
#ifndef SERVE_CUTFILE_H
#define SERVE_CUTFILE_H

#include <stdint.h>

#include "base/err.h"

/* For the whole process, once. */
MUST_CHECK int cutfile_guard(struct err *e);
/* For a thread that was started with signals blocked. */
void cutfile_thread(void);
uint64_t cutfile_count(void);

#endif
