/* SPDX-License-Identifier: Apache-2.0 */
/* query_print.h - series for programs (JSON, CSV) and for people (table, chart). */
#ifndef CMD_QUERY_PRINT_H
#define CMD_QUERY_PRINT_H

#include "cmd/output.h"
#include "tables/query_match.h"

MUST_CHECK int query_print(enum output output, struct run *r, const struct series_ask *ask,
                           const struct keys *all, struct err *e);

#endif
