/* SPDX-License-Identifier: Apache-2.0 */
/* header.c - the public header as a user's compiler sees it, C99 and C++98, with every function
 * used. Compiled by a test, with warnings as errors. */
#include <footplate/emit.h>
/* Twice does no harm. */
#include <footplate/emit.h>

int use_all(void);

int use_all(void)
{
    const fp_name n = fp_intern("x");
    fp_step_begin(1, FP_TRAIN);
    fp_span_begin(n);
    fp_mark(n);
    fp_counter(n, -1);
    fp_counter_real(n, 0.5);
    fp_span_end(n);
    fp_step_end(1, FP_PREDICT);
    return fp_enabled();
}
