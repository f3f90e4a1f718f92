/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_run.c - records a command. */
#include "cmd/recording.h"

static const struct opt options[] = {
    RECORDING_ROWS,
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
    "Several machines that share a folder of runs record into one run when all give the same --run "
    "ID; each needs its own node name.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate run -- python train.py", "Records a training script."},
    {"footplate run --interval 100ms -- torchrun --nproc-per-node 2 train.py",
     "Samples ten times a second."},
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
                  "run; 1 when nothing could be recorded, and then the command was not started.",
    .run = run,
};
