/* SPDX-License-Identifier: Apache-2.0 */
/* seriesview.c - see seriesview.h. Keys may be added here, never renamed. */
#include "tables/seriesview.h"

enum { FULL_BYTES = 65536 };

static void seriesview_numbers_json(struct jw *j, const char *key, const double *v, size_t n,
                                    void (*full)(struct buf *b))
{
    jw_array(j, key);
    for (size_t i = 0; i < n; i++) {
        jw_num(j, NULL, v[i]);
        if (full && j->out->len > FULL_BYTES)
            full(j->out);
    }
    jw_end(j);
}

void series_json(struct jw *j, const struct series *s, void (*full)(struct buf *b))
{
    jw_object(j, NULL);
    jw_str(j, "node", s->key.node);
    jw_str(j, "metric", s->key.metric);
    jw_str(j, "entity", s->key.entity);
    jw_str(j, "unit", s->key.unit);
    jw_array(j, "t_ns");
    for (size_t i = 0; i < s->n; i++)
        jw_int(j, NULL, s->t[i].ns);
    jw_end(j);
    seriesview_numbers_json(j, "v", s->v, s->n, full);
    seriesview_numbers_json(j, "min", s->min, s->n, full);
    seriesview_numbers_json(j, "max", s->max, s->n, full);
    jw_end(j);
}
