/* SPDX-License-Identifier: Apache-2.0 */
/* derived_ops.h - operators and breakdown of a whole run, as they are kept (derived.h). */
#ifndef QUERY_DERIVED_OPS_H
#define QUERY_DERIVED_OPS_H

#include "query/breakdown.h"
#include "query/derived.h"
#include "query/ops.h"

struct op_list {
    struct op_row *v;
    size_t n;
};

/* False: none is kept that can be believed, and `out` is as it was. */
bool derived_ops_read(struct run *r, enum ops_by by, struct arena *a, struct op_list *out);
bool derived_breakdown_read(struct run *r, struct arena *a, struct breakdown *out);

void derived_ops_keep(struct run *r, enum ops_by by, const struct op_list *l);
void derived_breakdown_keep(struct run *r, const struct breakdown *b);

/* The bytes of an answer. False: too much to keep, and no such bytes. */
bool derived_ops_put(const struct op_list *l, struct buf *out);
bool derived_ops_get(struct cur *in, struct arena *a, struct op_list *out);
bool derived_breakdown_put(const struct breakdown *b, struct buf *out);
bool derived_breakdown_get(struct cur *in, struct arena *a, struct breakdown *out);

#endif
