/* SPDX-License-Identifier: Apache-2.0 */
/* opsview.c - see opsview.h. */
#include "tables/opsview.h"

#include <math.h>
#include <string.h>

const char *const op_device_names[] = {[OP_CPU] = "cpu", [OP_GPU] = "gpu", NULL};
const char *const ops_by_names[] = {
    [OPS_BY_NAME] = "name",
    [OPS_BY_MODULE] = "module",
    [OPS_BY_FUNCTION] = "function",
    [OPS_BY_GROUP] = "group",
    NULL,
};

const char *op_group(const struct op_row *r)
{
    const bool kernel = r->category == CAT_KERNEL || r->category == CAT_MEMCPY ||
                        r->category == CAT_MEMSET || r->category == CAT_COMM;
    return r->device == OP_GPU && kernel ? kernel_group_names[r->group] : NULL;
}

double op_mean_s(const struct op_row *r)
{
    return r->calls ? ns_to_s(r->total_ns) / (double)r->calls : r->phase ? NAN : 0;
}

bool op_same_table(const struct op_row *x, const struct op_row *y)
{
    return x->device == y->device &&
           (!x->phase || (strcmp(x->phase, y->phase) == 0 && strcmp(x->timer, y->timer) == 0));
}

/* Keeps the first `limit` rows of each device that is wanted, and of each phase of functions. */
static void cut(struct opsview *l, const struct opsview_ask *ask)
{
    struct op_row before;
    size_t kept = 0, seen[2] = {0, 0};
    for (size_t i = 0; i < l->n; i++) {
        const enum op_device d = l->v[i].device;
        if (l->v[i].phase && (i == 0 || !op_same_table(&l->v[i], &before)))
            seen[d] = 0;
        before = l->v[i];
        if ((ask->device < 0 || ask->device == (int64_t)d) && seen[d]++ < ask->limit)
            l->v[kept++] = l->v[i];
    }
    l->n = kept;
}

int opsview_read(struct opsview *out, struct run *r, const struct opsview_ask *ask, struct arena *a,
                 struct err *e)
{
    TRY(ops_read(r, &ask->ops, a, &out->v, &out->n, e));
    cut(out, ask);
    return 0;
}

#define ROWS_FILE "tables/op_rows.def"
#include "base/row_expand.h"

void opsview_json(struct jw *j, const struct opsview *l)
{
    rows_json(j, NULL, &row_Op, l->v, l->n, NULL);
}
