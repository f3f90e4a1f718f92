/* SPDX-License-Identifier: Apache-2.0 */
/* control_client.h - sends requests to the recorders of a run on this machine; control_protocol.h
 * lists the requests. */
#ifndef CONTROL_CONTROL_CLIENT_H
#define CONTROL_CONTROL_CLIENT_H

#include "base/arena.h"
#include "control/control_protocol.h"
#include "run/run_info.h"

/* One request to the recorder of one node. `owner` is the user whose run it is (root may send to
 * others). ERR_NOT_FOUND when no recorder of it runs here; an "error ..." answer is returned as
 * ERR_USAGE; the text after "ok " goes to `answer`. */
MUST_CHECK int control_send(const char *run_id, const char *node_id, uid_t owner,
                            const char *request, char answer[CONTROL_ANSWER], struct err *e);

struct control_answer {
    const char *node;
    const char *text;
};

struct control_run_request {
    const struct run_info *info;
    const char *node; /* NULL: all on this machine */
    const char *const *requests;
    size_t n;
};

/* Every request to every node that is being recorded, node by node. Nodes of other machines are
 * skipped as long as one here answers. ERR_NOT_FOUND: none does. After a failure `*n` is the number
 * of answers before it. Texts live in the arena, nodes in the info. */
MUST_CHECK int control_run(const struct control_run_request *request, struct arena *a,
                           struct control_answer **out, size_t *n, struct err *e);

#endif
