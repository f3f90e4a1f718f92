/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - how results reach stdout. */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/row_table.h"

enum output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_CSV };

/* What --json and --csv ask for; both at once is ERR_USAGE. csv may be NULL. */
MUST_CHECK int output_choose(enum output *out, const struct opt_value *json,
                             const struct opt_value *csv, struct err *e);
/* Writes the buffer to stdout and empties it. */
void output_buf(struct buf *b);
/* n rows as CSV, with a line of names; `first` as in row_columns_of. */
void output_csv(const struct row_table *t, const char *first, const void *rows, size_t n,
                struct arena *a);

#endif
