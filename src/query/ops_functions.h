/* SPDX-License-Identifier: Apache-2.0 */
/* ops_functions.h - Python functions of profiled windows: which ones the time went to, in the whole
 * window and in each phase of its steps.
 *
 * Windows of all processes are added up, but for those that were timed by different clocks: a
 * second of CPU time and a second of waiting are no two seconds of anything. */
#ifndef QUERY_OPS_FUNCTIONS_H
#define QUERY_OPS_FUNCTIONS_H

#include "query/ops.h"

/* Rows with `phase` and `timer`: by phase, then by timer, then the longest own time first. `share`
 * is of their phase and timer. */
MUST_CHECK int functions_read(struct run *r, const struct trace_ask *ask, struct arena *a,
                              struct op_row **out, size_t *n, struct err *e);
/* Whether it is the time that passed, as when no timer was named and as samples have it. */
bool function_timer_is_clock(const char *timer);

#endif
