/* SPDX-License-Identifier: Apache-2.0 */
/* bytes_ahead.h - a source that a thread of its own reads ahead, some hundred kilobytes: what
 * making the bytes costs (inflating) is then not waited for. What comes, and which failure after
 * it, is the same as without. */
#ifndef BASE_BYTES_AHEAD_H
#define BASE_BYTES_AHEAD_H

#include "base/bytes_in.h"

struct bytes_ahead;

/* NULL: no thread could be had. Until it is closed `from` is the thread's, and must outlive it. */
struct bytes_ahead *bytes_ahead_open(struct bytes_in *from);
struct bytes_in *bytes_ahead_bytes(struct bytes_ahead *a);
void bytes_ahead_close(struct bytes_ahead *a); /* NULL is fine, and not to have read all of it */

#endif
