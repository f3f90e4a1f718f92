/* SPDX-License-Identifier: Apache-2.0 */
/* event_shift.h - makes events that are sealed already later. The writer's own helper.
 *
 * Inside of a block times are relative to its first one, so only block headers change. */
#ifndef STORE_EVENT_SHIFT_H
#define STORE_EVENT_SHIFT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* The events of all blocks from offset `at` to `end`. ERR_LIMIT, and nothing is changed: they would
 * then have times that no clock shows. */
MUST_CHECK int event_shift(int fd, off_t at, off_t end, int64_t later_us, const char *path,
                           struct err *e);

#endif
