/* SPDX-License-Identifier: Apache-2.0 */
/* interrupted.h - Ctrl-C during a conversion that must remove its files before the program ends. */
#ifndef CONVERT_INTERRUPTED_H
#define CONVERT_INTERRUPTED_H

#include "base/err.h"

/* From now on the first SIGINT, SIGTERM or SIGHUP is only noted; the second one ends the program at
 * once. Ignored signals stay ignored. */
void interrupted_watch(void);
/* Fails once one was noted. */
MUST_CHECK int interrupted_check(struct err *e);
/* After the clean-up: ends the program by the noted signal, so that its caller sees the reason.
 * Returns when there was none. */
void interrupted_end(void);

#endif
