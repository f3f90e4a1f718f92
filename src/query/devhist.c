/* SPDX-License-Identifier: Apache-2.0 */
/* devhist.c - see devhist.h. */
#include "query/devhist.h"

#include <stdlib.h>

#include "base/mem.h"
#include "query/reduce.h"
#include "query/series_own.h"
#include "query/tally.h"

static void count_value(void *to, double v, uint64_t count)
{
    struct devhist *h = to;
    const double top = DEVHIST_BINS - 1;
    h->bins[(size_t)(v < 0 ? 0 : v > top ? top : v)] += count;
    h->count += count;
}

int devhist_read(struct run *r, const struct series_ask *ask, struct arena *a, struct devhist **out,
                 size_t *n, struct err *e)
{
    const struct merged **list;
    struct scan scan;
    struct tally *t = xmalloc(sizeof *t);
    (void)e;
    scan_open(&scan);
    tally_open(t);
    *n = series_select(r, ask, 1, &scan.arena, &list);
    *out = arena_array(a, struct devhist, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        (*out)[i].key = series_key_of(list[i], a);
        tally_series(t, &scan, list[i], ask->from, ask->to);
        tally_each(t, count_value, &(*out)[i]);
    }
    tally_free(t);
    free(t);
    scan_close(&scan);
    return 0;
}
