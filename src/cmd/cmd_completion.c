/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_completion.c - shell completion, made from the command tables. */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/completion.h"
#include "cmd/output.h"

static const struct shell *const shells[] = {&shell_bash, &shell_zsh, &shell_fish};

static const char *const shell_names[] = {"bash", "zsh", "fish", NULL};

static const struct cmd_arg positional[] = {
    {"SHELL", ARG_WORD, .help = "bash, zsh or fish.", .choices = shell_names},
    {0},
};

const struct cmd_arg *completion_arg(const struct cmd *c, size_t i)
{
    const struct cmd_arg *a = c->args;
    if (!a || !a->name)
        return NULL;
    for (; i > 0 && a[1].name; i--)
        a++;
    return i == 0 || a->repeat ? a : NULL;
}

static int cmd_completion_run(const struct cmd_args *args, struct err *e)
{
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(shells[i]->name, args->arg[0]) != 0)
            continue;
        struct buf out = {0};
        shells[i]->script(&out);
        output_buf(&out);
        buf_free(&out);
        return EXIT_FINE;
    }
    return err_set(e, ERR_USAGE, "completion: '%.100s' is not one of: bash, zsh, fish",
                   args->arg[0]);
}

static const struct cmd_example examples[] = {
    {"source <(footplate completion bash)",
     "Enable completion in this shell; add the line to ~/.bashrc to keep it."},
    {"footplate completion zsh > ~/.zfunc/_footplate", "Install for zsh, with ~/.zfunc in fpath."},
    {"footplate completion fish > ~/.config/fish/completions/footplate.fish", "Install for fish."},
    {0},
};

const struct cmd cmd_completion = {
    .name = "completion",
    .summary = "print a shell completion script",
    .args = positional,
    .examples = examples,
    .run = cmd_completion_run,
};
