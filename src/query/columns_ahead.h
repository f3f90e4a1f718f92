/* SPDX-License-Identifier: Apache-2.0 */
/* columns_ahead.h - batches of columns, the next one made by a thread while the caller works on the
 * one it has. It pays for a single node: several are better read by a thread each. */
#ifndef QUERY_COLUMNS_AHEAD_H
#define QUERY_COLUMNS_AHEAD_H

#include "query/columns.h"

struct columns_ahead;

/* `c` stays the caller's, who leaves it alone until the end. Without `pays` each is made when it is
 * asked for. */
struct columns_ahead *columns_ahead_open(struct columns *c, bool pays);
/* As columns_next; good until the next is asked for. */
bool columns_ahead_next(struct columns_ahead *a, struct column_batch *out);
void columns_ahead_close(struct columns_ahead *a); /* at any time; NULL is fine */

#endif
