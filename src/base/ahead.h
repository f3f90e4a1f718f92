/* SPDX-License-Identifier: Apache-2.0 */
/* ahead.h - items that a thread makes before they are needed.
 *
 * The caller has room for `slots` items, at least 2. `make` makes the next item in a slot; false:
 * there was none, and it is not called again. ahead_next returns the items in the order in which
 * they were made. An item stays valid until the next call of ahead_next or ahead_close; until then
 * the thread works on the other slots. `ctx` belongs to the thread, apart from the valid item. */
#ifndef BASE_AHEAD_H
#define BASE_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

typedef bool ahead_make(void *ctx, size_t slot);

struct ahead;

/* Without `threaded`, or when no thread can be created, ahead_next makes each item itself. */
struct ahead *ahead_open(ahead_make *make, void *ctx, size_t slots, bool threaded);
/* False: there are no more items, and `ctx` belongs to the caller again. */
bool ahead_next(struct ahead *a, size_t *slot);
/* At any time. Waits for an item that is being made. NULL is fine. */
void ahead_close(struct ahead *a);

#endif
