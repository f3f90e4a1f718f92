/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_run.c - records a job: `run` starts it, `attach` joins a process that runs already. */
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "session/session.h"

/* Both take the settings first, then two more rows, then a command's own rows. */
enum {
#define SETTING(id, ...) R_##id,
#define SETTING_JOB(...)
#include "config/settings.def"
    R_QUIET,
    R_SERVE,
    R_OWN
};

#define OPT_ROW_QUIET "quiet", 'q', NULL, OPT_FLAG, .help = "Print only errors."
#define OPT_ROW_SERVE                                                                              \
    "serve", 0, NULL, OPT_FLAG,                                                                    \
        .help = "Serve the dashboard during the run; in a terminal, keep serving until Ctrl-C."

/* Records with the options given; `ask` already names the job. */
static int record_with_options(const struct cmd_args *a, struct record_ask *ask, struct err *e)
{
    const struct session_options o = {
        .table = a->cmd->options,
        .given = a->opt,
        .quiet = a->opt[R_QUIET].given,
        .serve = a->opt[R_SERVE].given,
    };
    return session_run(&o, ask, e);
}

/* ---- run ---- */

static const struct opt options[] = {
#define SETTING     SETTING_AS_OPTION
#define SETTING_JOB SETTING_LEFT_OUT
#include "config/settings.def"
    [R_QUIET] = {OPT_ROW_QUIET},
    [R_SERVE] = {OPT_ROW_SERVE},
#define SETTING     SETTING_LEFT_OUT
#define SETTING_JOB SETTING_AS_OPTION
#include "config/settings.def"
    {0},
};

static int cmd_run_run(const struct cmd_args *a, struct err *e)
{
    struct record_ask ask = {.argv = a->arg};
    return record_with_options(a, &ask, e);
}

const struct cmd cmd_run = {
    .name = "run",
    .summary = "run a command and record it",
    .args = CMD_ARGS(
        {"COMMAND", ARG_COMMAND, .repeat = true, .help = "The program to run and its arguments."}),
    .options = options,
    .help = CMD_HELP("Starts the command and records the machine and the job's processes until the "
                     "last of them ends. The command needs no changes; its input, output, signals "
                     "and exit status are passed through.",
                     "The run is stored as a folder. During the run, all other commands can read "
                     "it, and 'footplate set' changes the interval or pauses the recording.",
                     "If the run cannot be recorded (full disk, folder not writable, limits), a "
                     "message gives the reason and the command runs without recording; "
                     "--require-recording refuses to start it instead.",
                     "Python child processes load hooks that report steps and phases; --no-hooks "
                     "disables them. Detail windows (--detail-steps, --detail-at, "
                     "--python-profile-steps) record more.",
                     "Settings are also read from the environment and from footplate.yaml next to "
                     "the script or in the current folder; 'footplate config' shows the effective "
                     "settings and their source. Invalid settings are reported and ignored.",
                     "Several machines that share a folder of runs record into one run if all use "
                     "the same --run ID; each needs its own node name."),
    .examples = CMD_EXAMPLES({"footplate run -- python train.py", "Record a training script."},
                             {"footplate run --interval 100ms -- torchrun --nproc-per-node 2 "
                              "train.py",
                              "Take readings ten times per second."},
                             {"footplate run --detail-steps 5:2 -- python train.py",
                              "Also record every operator of steps 5 and 6."},
                             {"footplate run --run $SLURM_JOB_ID --dir /shared/runs -- python "
                              "train.py",
                              "Run on each node of a Slurm job: records one run with all nodes."}),
    .exit_codes =
        "The exit status of the command; 128+n if signal n ended it; 126 or 127 if it cannot be "
        "run; 1 if it was not started because it could not be recorded (--require-recording).",
    .run = cmd_run_run,
};

/* ---- attach ---- */

enum { O_PID = R_OWN, O_LINK };

static const struct opt attach_options[] = {
#define SETTING     SETTING_AS_OPTION
#define SETTING_JOB SETTING_LEFT_OUT
#include "config/settings.def"
    [R_QUIET] = {OPT_ROW_QUIET},
    [R_SERVE] = {OPT_ROW_SERVE},
    [O_PID] = {"pid", 'p', "PID", OPT_INT, .lo = 1, .hi = INT_MAX,
               .help = "The root process of the job. Its child processes are recorded too."},
    [O_LINK] = {"link-fd", 0, "FD", OPT_INT, .lo = 3, .hi = INT_MAX,
                .help = "For footplate.start(): record in the background, with the events of the "
                        "process, which holds the other end of this socket."},
    {0},
};

/* The recorder is not a child of the process that it records, which might wait for its children,
 * and does not get the signals of its terminal. The file stays open in this process alone. */
static int attach_in_background(int link_fd, struct err *e)
{
    if (fcntl(link_fd, F_SETFD, FD_CLOEXEC) != 0)
        return err_sys(e, "attach: --link-fd %d", link_fd);
    const pid_t pid = fork();
    if (pid < 0)
        return err_sys(e, "fork");
    if (pid > 0)
        _exit(0);
    setsid();
    return 0;
}

static int cmd_attach_run(const struct cmd_args *a, struct err *e)
{
    if (!a->opt[O_PID].given)
        return err_set(e, ERR_USAGE, "attach: --pid is required");
    struct record_ask ask = {.attach_pid = (int)a->opt[O_PID].number};
    if (a->opt[O_LINK].given) {
        ask.link_fd = (int)a->opt[O_LINK].number;
        if (attach_in_background(ask.link_fd, e) != 0)
            return e->code;
    }
    return record_with_options(a, &ask, e);
}

const struct cmd cmd_attach = {
    .name = "attach",
    .summary = "record a running process",
    .options = attach_options,
    .help = CMD_HELP("Records a process and its children until they end. Ctrl-C ends the "
                     "recording; the job keeps running.",
                     "Metrics of the machine, its GPUs and the processes are recorded. Steps are "
                     "not: hooks must be there when a program starts. 'footplate run' records "
                     "them, and so does footplate.start(), called in a Python process that already "
                     "runs."),
    .examples =
        CMD_EXAMPLES({"footplate attach --pid 4711", "Record process 4711 and its children."}),
    .run = cmd_attach_run,
};
