/* SPDX-License-Identifier: Apache-2.0 */
/* bytes_ahead.h - a source that a thread reads ahead, some hundred kilobytes, so that the reader
 * does not wait while bytes are inflated: 10 % of the time of an import. The bytes, and the error
 * after them, are the same as without. */
#ifndef BASE_BYTES_AHEAD_H
#define BASE_BYTES_AHEAD_H

#include "base/bytes_in.h"

struct bytes_ahead;

/* Until it is closed `from` belongs to the thread, and must outlive it. */
struct bytes_ahead *bytes_ahead_open(struct bytes_in *from);
struct bytes_in *bytes_ahead_bytes(struct bytes_ahead *a);
void bytes_ahead_close(struct bytes_ahead *a); /* NULL is fine; also before the end is read */

#endif
