/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h - one record, written as a line of CSV, as a JSON object on a line, or as the line of
 * names above a CSV: what a record has is defined once, in one function that is called for all
 * three.
 */
#ifndef EXPORT_FIELDS_H
#define EXPORT_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum fields_as { AS_NAMES, AS_CSV, AS_JSON };

struct fields {
    struct buf *out;
    enum fields_as as;
    bool some; /* of this record something is written */
};

/* `type` is what JSON calls the record; CSV has one kind of record only. */
void fields_begin(struct fields *f, const char *type);
void fields_end(struct fields *f);
void fields_str(struct fields *f, const char *key, const char *v);
void fields_int(struct fields *f, const char *key, int64_t v);
void fields_num(struct fields *f, const char *key, double v); /* NAN: as fields_none */
/* Not there: an empty field, and no key in JSON. */
void fields_none(struct fields *f, const char *key);

#endif
