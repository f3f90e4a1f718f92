/* SPDX-License-Identifier: Apache-2.0 */
/* completion.h - a shell that completion scripts are printed for: one record each. The scripts are
 * made from the command tables; runs are completed by asking `footplate ls --names`. */
#ifndef CMD_COMPLETION_H
#define CMD_COMPLETION_H

#include "base/buf.h"
#include "cmd/cmd.h"

struct shell {
    const char *name;
    void (*script)(struct buf *out);
};

extern const struct shell shell_bash, shell_zsh, shell_fish;

/* The command's i-th positional argument (a repeated one goes on for ever); NULL: none. */
const struct cmd_arg *completion_arg(const struct cmd *c, size_t i);

#endif
