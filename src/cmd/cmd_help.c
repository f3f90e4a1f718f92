/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_help.c - help on a command, or the list of them. */
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/usage.h"

static const struct cmd_arg positional[] = {
    {"COMMAND", ARG_WORD, .optional = true, .help = "The command to show help for.",
     .choices = cmd_names},
    {0},
};

static int cmd_help_run(const struct cmd_args *args, struct err *e)
{
    if (args->n_args == 0) {
        usage_overview(stdout);
        return EXIT_FINE;
    }
    const struct cmd *c = cmd_find(args->arg[0]);
    if (c) {
        usage_command(stdout, c);
        return EXIT_FINE;
    }
    return cmd_unknown(args->arg[0], e);
}

const struct cmd cmd_help = {
    .name = "help",
    .summary = "show help for a command",
    .args = positional,
    .run = cmd_help_run,
};
