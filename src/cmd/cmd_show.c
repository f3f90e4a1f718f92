/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_show.c - one run on one screen. What it says is in view/show.h. */
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/show_text.h"
#include "query/run.h"

enum { O_JSON, O_DIR };

static const struct opt options[] = {
    [O_JSON] = OPT_ROW_JSON,
    [O_DIR] = OPT_ROW_DIR,
    {0},
};

static const struct cmd_arg positional[] = {ARG_ROW_RUN, {0}};

static void cmd_show_print_json(const struct show *s)
{
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    jw_object(&j, NULL);
    show_json(&j, s);
    jw_end(&j);
    output_buf(&b);
    buf_free(&b);
}

static int cmd_show_run(const struct cmd_args *args, struct err *e)
{
    struct arena a = {0};
    struct run *r = NULL;
    struct show show;
    int rc = runview_open(&r, args->opt[O_DIR].text, args->arg[0], e);
    if (rc == 0)
        rc = show_read(&show, r, &a, e);
    if (rc == 0 && args->opt[O_JSON].given)
        cmd_show_print_json(&show);
    else if (rc == 0)
        show_text(&show);
    run_close(r);
    arena_free(&a);
    return rc;
}

static const char *const help[] = {
    "Prints the command, nodes, times and status of a run; the time spent in initialization, "
    "training, evaluation and finalization; the utilization of each node; what could not be "
    "measured and why; and the overhead of the recording.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate show last", "Show the newest run."},
    {"footplate show train-2026 --json", "Print a run as JSON, selected by the start of its name."},
    {0},
};

const struct cmd cmd_show = {
    .name = "show",
    .summary = "show a summary of a run",
    .args = positional,
    .options = options,
    .help = help,
    .examples = examples,
    .run = cmd_show_run,
};
