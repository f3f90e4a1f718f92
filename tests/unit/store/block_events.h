/* SPDX-License-Identifier: Apache-2.0 */
/* block_events.h - all events of a block at once, for tests and fuzz targets: the program reads the
 * columns that it needs (store/event_columns.h). */
#ifndef TESTS_BLOCK_EVENTS_H
#define TESTS_BLOCK_EVENTS_H

#include <string.h>

#include "store/event_columns.h"

/* Into out[rows]; their texts live in `a`. False: damaged. */
static inline bool block_events(struct codec *c, const struct events_block *b, struct arena *a,
                                struct event *out)
{
    struct event_columns columns = {0};
    const bool good = event_columns_read(&columns, c, b, &EVENT_WANT_ALL, a);
    for (uint32_t i = 0; i < b->rows && good; i++) {
        memset(&out[i], 0xff, sizeof out[i]); /* every field is to be set */
        event_columns_row(&columns, i, &out[i]);
    }
    event_columns_free(&columns);
    return good;
}

#endif
