/* SPDX-License-Identifier: Apache-2.0 */
/* details.h - what the hooks leave beside the rings becomes files of the node.
 *
 * A detail window ends as detail-PID-K.json (a trace of the framework's profiler) or
 * python-PID-K.json (a profile of functions) in the folder of the rings. A thread of the lowest
 * priority turns each into trace-PID-K.fp or trace-PID-python-K.fp and removes it. One that cannot
 * be read is a loss, and goes too: nothing is left lying about. */
#ifndef AGENT_DETAILS_H
#define AGENT_DETAILS_H

#include <stdbool.h>

#include "store/writer.h"

struct details;

/* Whether a file in the folder of the rings is one to keep. */
bool details_is_one(const char *name);
/* `folder` is that folder, `w` the node's writer: files lie beside its own, losses go to its sink.
 * Both outlive it. The thread starts with the first file. */
struct details *details_open(const char *folder, struct writer *w);
/* Something new lies in the folder. From any one thread. */
void details_look(struct details *d);
/* Takes what is there still, waits for the thread and frees. NULL is fine. */
void details_close(struct details *d);

#endif
