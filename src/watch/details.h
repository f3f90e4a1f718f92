/* SPDX-License-Identifier: Apache-2.0 */
/* details.h - what the hooks leave beside the rings becomes files of the node.
 *
 * A detail window ends as detail-PID-K.json (a trace of the framework's profiler) or
 * python-PID-K.json (a profile of functions) in the folder of the rings. A thread of the lowest
 * priority turns each into trace-PID-K.fp or trace-PID-python-K.fp and removes it. One that cannot
 * be read is a loss, and goes too: nothing is left lying about. */
#ifndef WATCH_DETAILS_H
#define WATCH_DETAILS_H

#include "store/writer.h"

struct details;

struct details_ask {
    const char *rings;   /* the folder that the windows come to */
    const char *node;    /* the folder of the node, which the files go to */
    unsigned session;    /* of the node's writer */
    struct sink *losses; /* gets what could not be converted */
};

/* What the request points to stays the caller's. The thread starts with the first file. */
struct details *details_open(const struct details_ask *ask);
/* Something new lies in the folder. From any one thread. */
void details_look(struct details *d);
/* Takes what is there still, waits for the thread and frees. NULL is fine. */
void details_close(struct details *d);

#endif
