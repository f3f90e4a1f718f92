/* SPDX-License-Identifier: Apache-2.0 */
/* interrupted.h - Ctrl-C for a command that has something to take back before it ends. */
#ifndef CMD_INTERRUPTED_H
#define CMD_INTERRUPTED_H

#include "base/err.h"

/* From here on the first SIGINT, SIGTERM or SIGHUP is only noted; the second one ends the program
 * at once. What is ignored stays so. */
void interrupted_watch(void);
/* Fails once one was noted. */
MUST_CHECK int interrupted_check(struct err *e);
/* When all is taken back: ends the program by the signal that was noted, so that its caller sees
 * why. Returns when there was none. */
void interrupted_end(void);

#endif
