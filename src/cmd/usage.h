/* SPDX-License-Identifier: Apache-2.0 */
/* usage.h - what the command tables say, as text on a terminal. */
#ifndef CMD_USAGE_H
#define CMD_USAGE_H

#include <stdio.h>

#include "base/buf.h"
#include "cmd/cmd.h"

/* What the usual exit statuses mean; commands whose own differ say so in their record. */
extern const char *const usage_exit_codes;

/* All commands, one line each. */
void usage_overview(FILE *to);
/* One command: usage, arguments, options, paragraphs, examples. */
void usage_command(FILE *to, const struct cmd *c);

/* The parts, for the man page too. */
/* "footplate show [options] RUN" */
void usage_line(struct buf *out, const struct cmd *c);
/* "-n, --points N" */
void usage_option(struct buf *out, const struct opt *o);
/* The help sentence, then "One of: ...", "From ... to ..." and the default, where there are any. */
void usage_option_help(struct buf *out, const struct opt *o);

#endif
