/* SPDX-License-Identifier: Apache-2.0 */
/* control_run.c - see control_run.h. */
#include "agent/control_run.h"

#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "run/run_info.h"

static int ask_node(const struct control_run_ask *ask, const char *node, uid_t owner,
                    struct arena *a, struct control_said *out, size_t *n, struct err *e)
{
    char answer[CONTROL_ANSWER];
    for (size_t i = 0; i < ask->n; i++) {
        const int rc = control_ask(ask->info->id, node, owner, ask->requests[i], answer, e);
        if (rc != 0)
            return rc;
        out[(*n)++] = (struct control_said){node, arena_strdup(a, answer)};
    }
    return 0;
}

static int nobody(const struct run_info *info, size_t running, struct err *e)
{
    if (running == 0)
        return err_set(e, ERR_NOT_FOUND, "run '%s' is not being recorded (status: %s)", info->name,
                       run_status_name(info->status));
    return err_set(e, ERR_NOT_FOUND, "no recorder of run '%s' is running on this machine",
                   info->name);
}

int control_run(const struct control_run_ask *ask, struct arena *a, struct control_said **out,
                size_t *n, struct err *e)
{
    const struct run_info *info = ask->info;
    size_t done = 0, running = 0;
    struct stat st;
    *n = 0;
    *out = arena_array(a, struct control_said, info->n_nodes * ask->n + 1);
    if (stat(info->path, &st) < 0)
        return err_sys(e, "'%s'", info->path);
    for (size_t i = 0; i < info->n_nodes; i++) {
        const struct node_info *node = &info->nodes[i];
        if (node->status != RUN_RUNNING || (ask->node && strcmp(ask->node, node->id) != 0))
            continue;
        running++;
        const int rc = ask_node(ask, node->id, st.st_uid, a, *out, n, e);
        if (rc != 0 && rc != ERR_NOT_FOUND)
            return rc;
        done += rc == 0;
    }
    return done > 0 ? 0 : nobody(info, running, e);
}
