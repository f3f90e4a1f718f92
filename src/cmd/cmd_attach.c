/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_attach.c - records a job that runs already. */
#include <limits.h>

#include "cmd/cmd.h"
#include "cmd/record_options.h"

enum { O_PID = R_OWN };

static const struct opt options[] = {
#define SETTING     SETTING_AS_OPTION
#define SETTING_JOB SETTING_LEFT_OUT
#include "config/settings.def"
#undef SETTING
#undef SETTING_JOB
    [R_QUIET] = OPT_ROW_QUIET,
    [R_SERVE] = OPT_ROW_SERVE,
    [O_PID] = {"pid", 'p', "PID", OPT_INT, .lo = 1, .hi = INT_MAX,
               .help = "The root process of the job. Its child processes are recorded too."},
    {0},
};

static int cmd_attach_run(const struct cmd_args *a, struct err *e)
{
    if (!a->opt[O_PID].given)
        return err_set(e, ERR_USAGE, "attach: --pid is required");
    struct record_ask ask = {.attach_pid = (int)a->opt[O_PID].number};
    return record_with_options(a, &ask, e);
}

static const char *const help[] = {
    "Records a process and its children until they end. Ctrl-C ends the recording; the job keeps "
    "running.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate attach --pid 4711", "Record process 4711 and its children."},
    {0},
};

const struct cmd cmd_attach = {
    .name = "attach",
    .summary = "record a running process",
    .options = options,
    .help = help,
    .examples = examples,
    .run = cmd_attach_run,
};
