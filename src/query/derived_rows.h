/* SPDX-License-Identifier: Apache-2.0 */
/* derived_rows.h - arrays of plain structs as bytes and back, column by column.
 *
 * A layout lists the members that are kept; the others are zero when they come back. Doubles are
 * kept by their bits. */
#ifndef QUERY_DERIVED_ROWS_H
#define QUERY_DERIVED_ROWS_H

#include "base/arena.h"
#include "base/buf.h"
#include "store/codec.h"

enum field_kind {
    FIELD_64,   /* int64_t, uint64_t, size_t, double */
    FIELD_32,   /* uint32_t, enums */
    FIELD_BOOL, /* bool */
    FIELD_TEXT, /* const char * */
};

struct field {
    uint32_t at;
    enum field_kind kind;
    uint32_t below; /* FIELD_32: what the value must be below; 0: anything */
};

struct row_layout {
    const struct field *fields;
    size_t n_fields, size;
};

/* False: too many. */
bool derived_rows_put(struct codec *c, const struct row_layout *l, const void *rows, size_t n,
                      struct buf *out);
/* Rows and texts live in the arena. False when the bytes are no such rows. */
bool derived_rows_get(struct codec *c, const struct row_layout *l, struct cur *in, struct arena *a,
                      void **rows, size_t *n);

#endif
