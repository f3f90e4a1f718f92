/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_derived.c - answers that are kept beside a run: any bytes are an answer or are refused, and
 * an answer has the same bytes again. The first byte says which answer. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "query/derived_ops.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static bool ops_again(struct cur *in, struct arena *a, struct buf *out)
{
    struct op_list l;
    return derived_ops_get(in, a, &l) && derived_ops_put(&l, out);
}

static bool breakdown_again(struct cur *in, struct arena *a, struct buf *out)
{
    struct breakdown b;
    return derived_breakdown_get(in, a, &b) && derived_breakdown_put(&b, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n < 1)
        return 0;
    bool (*again)(struct cur *, struct arena *, struct buf *) =
        p[0] & 1 ? breakdown_again : ops_again;
    struct arena a = {0};
    struct buf once = {0}, twice = {0};
    struct cur in = cur_of(p + 1, n - 1);
    if (again(&in, &a, &once)) {
        in = cur_of(once.p, once.len);
        if (!again(&in, &a, &twice) || once.len != twice.len ||
            memcmp(once.p, twice.p, once.len) != 0)
            abort();
    }
    buf_free(&once);
    buf_free(&twice);
    arena_free(&a);
    return 0;
}
