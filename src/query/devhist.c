/* SPDX-License-Identifier: Apache-2.0 */
/* devhist.c - see devhist.h. */
#include "query/devhist.h"

#include "base/mem.h"
#include "query/reduce.h"

static void count_value(struct devhist *h, struct scale s, int64_t steps, uint64_t count)
{
    const double v = scale_value(s, (double)steps);
    const double top = DEVHIST_BINS - 1;
    h->bins[(size_t)(v < 0 ? 0 : v > top ? top : v)] += count;
    h->count += count;
}

static void count_slice(struct scan *scan, const struct slice *s, struct devhist *h)
{
    const struct scale scale = scale_of(s->column->step);
    struct hist_bin bins[HIST_MOST];
    struct codec_view view;
    if (s->from == 0 && s->to == s->column->count && s->column->n_hist) {
        const uint32_t n = column_hist(s->column, bins);
        for (uint32_t i = 0; i < n; i++)
            count_value(h, scale, bins[i].value, bins[i].count);
        return;
    }
    if (!slice_values(scan, s, &view))
        return;
    for (uint32_t i = s->from; i < s->to; i++)
        count_value(h, scale,
                    view.narrow ? (int64_t)((uint64_t)view.base + view.v8[i]) : view.v64[i], 1);
}

static void count_series(struct scan *scan, const struct merged *m, const struct series_ask *ask,
                         struct devhist *h)
{
    struct slice *slices;
    size_t n;
    slices_of(scan, m, ask->from, ask->to, &slices, &n);
    for (size_t i = 0; i < n; i++)
        count_slice(scan, &slices[i], h);
}

int devhist_read(struct run *r, const struct series_ask *ask, struct arena *a, struct devhist **out,
                 size_t *n, struct err *e)
{
    struct scan scan;
    (void)e;
    *n = 0;
    *out = arena_array(a, struct devhist, r->n_series + 1);
    scan_open(&scan);
    for (size_t i = 0; i < r->n_series; i++) {
        const struct merged *m = &r->series[i];
        const struct series_key key = {m->node, m->metric, m->entity, m->unit};
        if (!series_matches(ask, &key))
            continue;
        struct devhist *h = &(*out)[(*n)++];
        h->key = (struct series_key){arena_strdup(a, m->node), arena_strdup(a, m->metric),
                                     arena_strdup(a, m->entity), arena_strdup(a, m->unit)};
        count_series(&scan, m, ask, h);
    }
    scan_close(&scan);
    return 0;
}
