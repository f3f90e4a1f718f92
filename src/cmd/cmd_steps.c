/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_steps.c - how long steps took and what on. The printing is in steps_print.c. */
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/steps_print.h"
#include "query/run.h"

enum { O_LAST, O_RANK, O_MODE, O_JSON, O_CSV, O_DIR };

/* Steps of each rank that people see when they do not say how many. */
enum { LAST_TEXT = 10 };

static const struct opt options[] = {
    [O_LAST] = {"last", 'n', "N", OPT_INT, .lo = 0, .hi = 1000000000,
                .help = "List only the last N steps of each rank (default: 10 in tables, all in "
                        "JSON and CSV)."},
    [O_RANK] = {"rank", 0, "R", OPT_INT, .lo = 0, .hi = INT32_MAX, .help = "Show only this rank."},
    [O_MODE] = {"mode", 0, "MODE", OPT_CHOICE, .choices = event_mode_names,
                .help = "Show only steps of this mode."},
    [O_JSON] = OPT_ROW_JSON,
    [O_CSV] = OPT_ROW_CSV,
    [O_DIR] = OPT_ROW_DIR,
    {0},
};

static const struct cmd_arg positional[] = {ARG_ROW_RUN, {0}};

static struct steps_ask cmd_steps_ask_of(const struct cmd_args *args, enum output output)
{
    const struct opt_value *last = &args->opt[O_LAST], *mode = &args->opt[O_MODE];
    return (struct steps_ask){
        .last = last->given             ? (size_t)last->number
                : output == OUTPUT_TEXT ? LAST_TEXT
                                        : SIZE_MAX,
        .rank = args->opt[O_RANK].given ? args->opt[O_RANK].number : -1,
        .modes = mode->given ? 1u << mode->number : STEPS_ALL_MODES,
    };
}

static void cmd_steps_print(enum output output, const struct steps_view *v)
{
    if (output == OUTPUT_JSON)
        steps_json(v);
    else if (output == OUTPUT_CSV)
        steps_csv(v);
    else
        steps_text(v);
}

static int cmd_steps_run(const struct cmd_args *args, struct err *e)
{
    enum output output;
    struct arena a = {0};
    struct run *r = NULL;
    struct steps_view view;
    int rc = output_choose(&output, &args->opt[O_JSON], &args->opt[O_CSV], e);
    if (rc == 0)
        rc = runview_open(&r, args->opt[O_DIR].text, args->arg[0], e);
    if (rc == 0) {
        const struct steps_ask ask = cmd_steps_ask_of(args, output);
        rc = stepsview_read(&view, r, &ask, &a, e);
    }
    if (rc == 0)
        cmd_steps_print(output, &view);
    run_close(r);
    arena_free(&a);
    return rc;
}

static const char *const help[] = {
    "Prints for each rank, separately for training and evaluation: number of steps, step time, "
    "samples processed per second, and the share of each part of a step. Then lists the last "
    "steps.",
    "A training step lasts from the data loader fetch to the end of the optimizer step; an "
    "evaluation step from the fetch to the end of the forward pass. Steps marked '!' are "
    "incomplete: the process ended, or the run is still running. They are excluded from the "
    "statistics.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate steps last", "Show step times and the last ten steps of each rank."},
    {"footplate steps last --rank 0 --mode train --csv",
     "Print every training step of rank 0 as CSV."},
    {0},
};

const struct cmd cmd_steps = {
    .name = "steps",
    .summary = "show step times and their breakdown",
    .args = positional,
    .options = options,
    .help = help,
    .examples = examples,
    .run = cmd_steps_run,
};
