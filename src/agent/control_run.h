/* SPDX-License-Identifier: Apache-2.0 */
/* control_run.h - asks the recorders of a run that run on this machine; control.h has what can be
 * asked. */
#ifndef AGENT_CONTROL_RUN_H
#define AGENT_CONTROL_RUN_H

#include "agent/control.h"
#include "base/arena.h"
#include "run/run_info.h"

struct control_said {
    const char *node;
    const char *text;
};

struct control_run_ask {
    const struct run_info *info;
    const char *node; /* NULL: all on this machine */
    const char *const *requests;
    size_t n;
};

/* Every request to every node that is recorded, node by node. Nodes of other machines are passed
 * over as long as one here answers. ERR_NOT_FOUND: none does. `*n` answers came before a failure.
 * Texts live in the arena, nodes in the info. */
MUST_CHECK int control_run(const struct control_run_ask *ask, struct arena *a,
                           struct control_said **out, size_t *n, struct err *e);

#endif
