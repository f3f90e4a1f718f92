/* SPDX-License-Identifier: Apache-2.0 */
/* devhist.c - see devhist.h. */
#include "query/devhist.h"

#include <stdlib.h>

#include "base/mem.h"
#include "query/block_cursor.h"
#include "query/crew.h"
#include "query/tally.h"

static void devhist_count_value(void *to, double v, uint64_t count)
{
    struct devhist *h = to;
    const double top = DEVHIST_BINS - 1;
    h->bins[(size_t)(v < 0 ? 0 : v > top ? top : v)] += count;
    h->count += count;
}

enum { SERIES_EACH = 16 };

/* Shared by the threads of one query. */
struct devhist_batch {
    const struct series_ask *ask;
    const struct merged **list;
    struct devhist *out;
};

static void devhist_work(struct crew *c, struct arena *results)
{
    const struct devhist_batch *b = c->ctx;
    struct scan scan;
    struct tally *t = xmalloc(sizeof *t);
    scan_open(&scan);
    tally_open(t);
    /* From the last on: that of the whole machine, which has no histograms in its blocks and takes
     * longest, is among them. */
    for (size_t k; crew_next(c, &k);) {
        const size_t i = c->n - 1 - k;
        b->out[i].key = series_key_of(b->list[i], results);
        tally_series(t, &scan, b->list[i], b->ask->from, b->ask->to);
        tally_each(t, devhist_count_value, &b->out[i]);
    }
    tally_free(t);
    free(t);
    scan_close(&scan);
}

int devhist_read(struct run *r, const struct series_ask *ask, struct arena *a, struct devhist **out,
                 size_t *n, struct err *e)
{
    (void)e;
    struct arena scratch = {0};
    struct devhist_batch b = {.ask = ask};
    *n = series_select(r, ask, 1, &scratch, &b.list);
    b.out = *out = arena_array(a, struct devhist, *n + 1);
    struct crew crew = {.n = *n, .each = SERIES_EACH, .work = devhist_work, .ctx = &b};
    crew_run(&crew, a);
    arena_free(&scratch);
    return 0;
}
