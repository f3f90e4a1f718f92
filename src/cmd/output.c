/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - see output.h. A write that fails is noticed once, by main at the end. */
#include "cmd/output.h"

#include <stdio.h>

int output_choose(enum output *out, const struct opt_value *json, const struct opt_value *csv,
                  struct err *e)
{
    if (json->given && csv && csv->given)
        return err_set(e, ERR_USAGE, "--json and --csv cannot be combined");
    *out = json->given ? OUTPUT_JSON : csv && csv->given ? OUTPUT_CSV : OUTPUT_TEXT;
    return 0;
}

void output_buf(struct buf *b)
{
    fwrite(b->p, 1, b->len, stdout);
    b->len = 0;
}
