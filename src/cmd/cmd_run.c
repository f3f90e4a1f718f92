/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_run.c - records a command. */
#include "cmd/cmd.h"
#include "cmd/recording.h"

static const struct opt options[] = {
#define SETTING     SETTING_AS_OPTION
#define SETTING_JOB SETTING_LEFT_OUT
#include "config/settings.def"
#undef SETTING
#undef SETTING_JOB
    [R_QUIET] = OPT_ROW_QUIET,
    [R_SERVE] = OPT_ROW_SERVE,
#define SETTING     SETTING_LEFT_OUT
#define SETTING_JOB SETTING_AS_OPTION
#include "config/settings.def"
#undef SETTING
#undef SETTING_JOB
    {0},
};

static const struct cmd_arg args[] = {
    {"COMMAND", ARG_COMMAND, .repeat = true, .help = "The program to run, with its arguments."},
    {0},
};

static int run(const struct cmd_args *a, struct err *e)
{
    struct record_ask ask = {.argv = a->arg};
    return recording_run(a, &ask, e);
}

static const char *const help[] = {
    "Starts the command and records the machine and the job's processes until the last of them has "
    "ended. The command needs no change. Its input, output and signals are its own, and so is its "
    "exit status.",
    "The run is kept as a folder. While it is written, all other commands can read it, and "
    "'footplate set' changes the interval or pauses it.",
    "When the run cannot be recorded (a full disk, a folder that cannot be written, limits), a "
    "message says why and the command runs without recording; --require-recording refuses to "
    "start it instead.",
    "Python programs below the command load hooks that tell steps and phases; --no-hooks leaves "
    "them alone. Windows (--detail-steps, --detail-at, --python-profile-steps) ask for more.",
    "Settings can also stand in the environment and in a footplate.yaml beside the script or in "
    "the "
    "current folder; 'footplate config' shows which ones count and why. A wrong one is told, and "
    "the run starts without it.",
    "Several machines that share a folder of runs record into one run when all give the same --run "
    "ID; each needs its own node name.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate run -- python train.py", "Records a training script."},
    {"footplate run --interval 100ms -- torchrun --nproc-per-node 2 train.py",
     "Samples ten times a second."},
    {"footplate run --detail-steps 5:2 -- python train.py",
     "Records every operator of steps 5 and 6 as well."},
    {"footplate run --run $SLURM_JOB_ID --dir /shared/runs -- python train.py",
     "On each node of a job: one run with all nodes."},
    {0},
};

const struct cmd cmd_run = {
    .name = "run",
    .summary = "run a command and record it",
    .args = args,
    .options = options,
    .help = help,
    .examples = examples,
    .exit_codes = "That of the command; 128+n when signal n ended it; 126 or 127 when it cannot be "
                  "run; 1 when it was not started because it could not be recorded "
                  "(--require-recording).",
    .run = run,
};
