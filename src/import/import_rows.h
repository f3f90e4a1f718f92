/* SPDX-License-Identifier: Apache-2.0 */
/* import_rows.h - rows of many files as the rows of one group, so that a day of files of one minute
 * each is stored as one series and not as a thousand short ones.
 *
 * rows_begin before each file: groups of the file before may be gone. */
#ifndef IMPORT_IMPORT_ROWS_H
#define IMPORT_IMPORT_ROWS_H

#include "record/group.h"

struct rows_group {
    struct group own;
    struct group *from; /* whose slots `to` stands for; NULL: none yet */
    uint32_t generation;
    slot_id *to;
    uint32_t n;
    mono_ns last; /* of the row told last */
    bool begun;
};

struct import_rows {
    struct sink *sink;
    struct rows_group *groups;
    uint32_t n;
};

void rows_open(struct import_rows *r, struct sink *sink);
void rows_begin(struct import_rows *r);
/* The row of g's cells as read at t. */
void rows_take(struct import_rows *r, struct group *g, mono_ns t);
/* Devices of a kind that were read: cores, GPUs. */
unsigned rows_devices(const struct import_rows *r, enum entity_kind per);
void rows_close(struct import_rows *r);

#endif
