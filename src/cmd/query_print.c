/* SPDX-License-Identifier: Apache-2.0 */
/* query_print.c - see query_print.h. */
#include "cmd/query_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/table.h"
#include "cmd/query_chart.h"
#include "query/series.h"
#include "tables/seriesview.h"

enum { TABLE_MOST = 50 };

/* ------------------------------------------------------------------------------------------------
 * For programs. Without --points a series may have millions of samples, so the series are read and
 * written one by one. */

typedef void each_series(const struct series *s, void *ctx);

static int for_each_series(struct run *r, const struct series_ask *ask, const struct keys *all,
                           each_series *call, void *ctx, struct err *e)
{
    for (size_t i = 0; i < all->n && !ferror(stdout); i++) {
        if (!query_matches(ask, &all->v[i]))
            continue;
        struct arena a = {0};
        struct series_ask one = *ask;
        struct series *s;
        size_t n;
        one.node = all->v[i].node;
        one.metric = all->v[i].metric;
        one.entity = all->v[i].entity;
        const int rc = series_read(r, &one, &a, &s, &n, e);
        for (size_t k = 0; rc == 0 && k < n; k++)
            call(&s[k], ctx);
        arena_free(&a);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static void query_print_put_series(const struct series *s, void *ctx)
{
    struct jw *j = ctx;
    series_json(j, s, output_buf);
    output_buf(j->out);
}

static int query_print_json(struct run *r, const struct series_ask *ask, const struct keys *all,
                            struct err *e)
{
    struct buf b = {0};
    struct jw j = {.out = &b};
    jw_array(&j, NULL);
    const int rc = for_each_series(r, ask, all, query_print_put_series, &j, e);
    jw_end(&j);
    buf_u8(&b, '\n');
    output_buf(&b);
    buf_free(&b);
    return rc;
}

static void series_csv(const struct series *s, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < s->n; i++) {
        const char *const names[] = {s->key.node, s->key.metric, s->key.entity, s->key.unit};
        const double values[] = {s->v[i], s->min[i], s->max[i]};
        for (size_t k = 0; k < COUNT_OF(names); k++) {
            csv_text(stdout, names[k]);
            putchar(',');
        }
        printf("%" PRId64, s->t[i].ns);
        for (size_t k = 0; k < COUNT_OF(values); k++) {
            putchar(',');
            csv_number(stdout, values[k]);
        }
        putchar('\n');
    }
}

static int query_print_csv(struct run *r, const struct series_ask *ask, const struct keys *all,
                           struct err *e)
{
    puts("node,metric,entity,unit,time_ns,value,min,max");
    return for_each_series(r, ask, all, series_csv, NULL, e);
}

/* ------------------------------------------------------------------------------------------------
 * For people */

static const struct table_column point_columns[] = {
    {"TIME"}, {"VALUE", .right = true}, {"MIN", .right = true}, {"MAX", .right = true}, {0},
};

static void series_table(const struct series *s, void *ctx)
{
    bool *some = ctx;
    struct arena a = {0};
    struct table t;
    char time[64], text[HUMAN_LEN];
    table_init(&t, &a, point_columns);
    for (size_t i = 0; i < s->n; i++) {
        const double values[] = {s->v[i], s->min[i], s->max[i]};
        table_cell(&t, "%s",
                   i ? wall_text_beside(s->t[i], s->t[i - 1], time, sizeof time)
                     : wall_text(s->t[i], time, sizeof time));
        for (size_t k = 0; k < COUNT_OF(values); k++)
            table_cell(&t, "%s", human_value(values[k], s->key.unit, text, sizeof text));
    }
    printf("%s%s %s, node %s\n", *some ? "\n" : "", s->key.metric, text_safe(&a, s->key.entity),
           text_safe(&a, s->key.node));
    table_print(&t, stdout, term_width(stdout), term_color(stdout));
    *some = true;
    arena_free(&a);
}

int query_print(enum output output, struct run *r, const struct series_ask *ask,
                const struct keys *all, struct err *e)
{
    bool some = false;
    if (output == OUTPUT_JSON)
        return query_print_json(r, ask, all, e);
    if (output == OUTPUT_CSV)
        return query_print_csv(r, ask, all, e);
    if (ask->points > 0 && ask->points <= TABLE_MOST)
        return for_each_series(r, ask, all, series_table, &some, e);
    return query_chart(r, ask, all, e);
}
