/* SPDX-License-Identifier: Apache-2.0 */
/* columns_ahead.h - batches of columns, the next one made by a thread while the caller works on the
 * one it has. For who reads a single node: several are better read by a thread each. */
#ifndef QUERY_COLUMNS_AHEAD_H
#define QUERY_COLUMNS_AHEAD_H

#include "query/columns.h"

struct columns_ahead;

/* `c` stays the caller's, who leaves it alone until the end. */
struct columns_ahead *columns_ahead_open(struct columns *c);
/* As columns_next; good until the next is asked for. */
bool columns_ahead_next(struct columns_ahead *a, struct column_batch *out);
void columns_ahead_close(struct columns_ahead *a); /* at any time; NULL is fine */

#endif
