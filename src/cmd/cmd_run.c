/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_run.c - records a command. */
#include "cmd/cmd.h"
#include "cmd/record_options.h"

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
    {"COMMAND", ARG_COMMAND, .repeat = true, .help = "The program to run and its arguments."},
    {0},
};

static int cmd_run_run(const struct cmd_args *a, struct err *e)
{
    struct record_ask ask = {.argv = a->arg};
    return record_with_options(a, &ask, e);
}

static const char *const help[] = {
    "Starts the command and records the machine and the job's processes until the last of them "
    "ends. The command needs no changes; its input, output, signals and exit status are passed "
    "through.",
    "The run is stored as a folder. During the run, all other commands can read it, and 'footplate "
    "set' changes the interval or pauses the recording.",
    "If the run cannot be recorded (full disk, folder not writable, limits), a message gives the "
    "reason and the command runs without recording; --require-recording refuses to start it "
    "instead.",
    "Python child processes load hooks that report steps and phases; --no-hooks disables them. "
    "Detail windows (--detail-steps, --detail-at, --python-profile-steps) record more.",
    "Settings are also read from the environment and from footplate.yaml next to the script or in "
    "the current folder; 'footplate config' shows the effective settings and their source. Invalid "
    "settings are reported and ignored.",
    "Several machines that share a folder of runs record into one run if all use the same --run "
    "ID; each needs its own node name.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate run -- python train.py", "Record a training script."},
    {"footplate run --interval 100ms -- torchrun --nproc-per-node 2 train.py",
     "Take readings ten times per second."},
    {"footplate run --detail-steps 5:2 -- python train.py",
     "Also record every operator of steps 5 and 6."},
    {"footplate run --run $SLURM_JOB_ID --dir /shared/runs -- python train.py",
     "Run on each node of a Slurm job: records one run with all nodes."},
    {0},
};

const struct cmd cmd_run = {
    .name = "run",
    .summary = "run a command and record it",
    .args = args,
    .options = options,
    .help = help,
    .examples = examples,
    .exit_codes =
        "The exit status of the command; 128+n if signal n ended it; 126 or 127 if it cannot be "
        "run; 1 if it was not started because it could not be recorded (--require-recording).",
    .run = cmd_run_run,
};
