/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - when to end before all epochs are done: the time is up, or SIGINT or SIGTERM came. The
 * signals are held back, so that the loop can end tidily between two steps; stop_finish then
 * lets the one that came have its usual effect, so that the caller of this program sees it. */
#ifndef STOP_H
#define STOP_H

#include <signal.h>
#include <stdbool.h>

struct stop {
    double deadline_s; /* on the monotonic clock; infinite when there is none */
    sigset_t held;
};

/* Before any thread is started, as threads inherit what is held back. */
void stop_start(struct stop *s, double deadline_s);
bool stop_is_due(const struct stop *s, double now_s);
void stop_finish(const struct stop *s);

#endif
