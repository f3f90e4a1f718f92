/* SPDX-License-Identifier: Apache-2.0 */
/* usage.h - what the command tables say, as text on a terminal. */
#ifndef CMD_USAGE_H
#define CMD_USAGE_H

#include <stdio.h>

#include "base/arena.h"
#include "cmd/cmd.h"

/* What the usual exit statuses mean; commands whose own differ say so in their record. */
extern const char *const usage_exit_codes;

/* All commands, one line each. */
void usage_overview(FILE *to);
/* One command: usage, arguments, options, paragraphs, examples. */
void usage_command(FILE *to, const struct cmd *c);

/* The parts, for the man page too. */
/* "footplate show [options] RUN" */
const char *usage_line(const struct cmd *c, struct arena *a);
/* The options that are shown: "-n, --points N", and the help sentence, then "One of: ...", "From
 * ... to ..." and the default, where there are any. */
typedef void usage_item(void *ctx, const char *name, const char *help);
void usage_options(const struct opt *o, usage_item *put, void *ctx, struct arena *a);

#endif
