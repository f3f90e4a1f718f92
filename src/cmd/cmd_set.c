/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_set.c - changes a recording while it goes on. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cmd/cmd.h"
#include "control/control_client.h"
#include "query/run.h"
#include "run/run_info.h"

enum { O_DIR, O_NODE };

static const struct opt options[] = {
    [O_DIR] = {OPT_ROW_DIR},
    [O_NODE] = {"node", 0, "ID", OPT_STRING,
                .help = "Change only this node (default: all nodes recorded on this machine)."},
    {0},
};

static const char *const settings[] = {"interval=100ms", "interval=500ms", "monitoring=off",
                                       "monitoring=on",  "detail=now:3",   "detail=off",
                                       "stop",           "status",         NULL};

static const struct cmd_arg args[] = {
    {ARG_ROW_RUN},
    {"SETTING", ARG_WORD, .repeat = true, .choices = settings,
     .help = "interval=TIME (10ms to 60s); monitoring=on or off; detail=now:3 (the operators of "
             "three steps), detail=+5s:2s (two seconds, starting in five), detail=100:2 (steps 100 "
             "and 101) or detail=off; stop, which ends the job with SIGTERM and, ten seconds "
             "later, SIGKILL; status, which changes nothing."},
    {0},
};

static int cmd_set_run(const struct cmd_args *a, struct err *e)
{
    char path[PATH_LEN];
    struct run_info info;
    struct control_answer *said;
    size_t n;
    for (size_t i = 1; i < a->n_args; i++)
        TRY(control_parse(a->arg[i], strlen(a->arg[i]), &(struct control_request){0}, e));
    TRY(run_find(a->dir, a->arg[0], path, e));
    TRY(run_info_read(&info, path, a->arena, e));
    const struct control_run_request ask = {&info, a->opt[O_NODE].text, a->arg + 1, a->n_args - 1};
    const int rc = control_run(&ask, a->arena, &said, &n, e);
    for (size_t i = 0; i < n; i++)
        printf("%s: %s\n", said[i].node, said[i].text);
    return rc;
}

static const struct cmd_example examples[] = {
    {"footplate set last interval=100ms", "Take readings ten times per second from now on."},
    {"footplate set last monitoring=off", "Pause the recording; the job keeps running."},
    {"footplate set last detail=now:3", "Record every operator of the next three steps."},
    {"footplate set last stop", "Stop the job."},
    {0},
};

const struct cmd cmd_set = {
    .name = "set",
    .summary = "control a running recording (interval, pause, detail, stop)",
    .args = args,
    .options = options,
    .examples = examples,
    .run = cmd_set_run,
};
