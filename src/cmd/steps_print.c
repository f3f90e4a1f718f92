/* SPDX-License-Identifier: Apache-2.0 */
/* steps_print.c - see steps_print.h. */
#include "cmd/steps_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/percents.h"
#include "base/progress.h"
#include "base/table.h"
#include "cmd/output.h"

/* ------------------------------------------------------------------------------------------------
 * JSON and CSV */

void steps_json(const struct steps_view *v)
{
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    stepsview_json(&j, v);
    output_buf(&b);
    buf_free(&b);
}

void steps_csv(const struct steps_view *v)
{
    printf("node,rank,mode,step,start_ns,duration_s");
    for (size_t k = 0; k < step_parts(); k++)
        printf(",%s_s", step_part_name(k));
    puts(",samples,cut");
    for (size_t i = 0; i < v->n_items; i++) {
        const struct steps_item *x = &v->items[i];
        csv_text(stdout, x->rank->node);
        printf(",%" PRId64 ",%s,%" PRId64 ",%" PRId64 ",", x->rank->rank, mode_name(x->step->mode),
               x->step->number, x->step->start.ns);
        csv_number(stdout, ns_to_s(x->step->dur_ns));
        for (size_t k = 0; k < step_parts(); k++) {
            putchar(',');
            csv_number(stdout, steps_item_part_s(v, x, k));
        }
        putchar(',');
        csv_number(stdout, x->step->batch < 0 ? NAN : (double)x->step->batch);
        printf(",%d\n", x->step->cut);
    }
}

/* ------------------------------------------------------------------------------------------------
 * For people */

/* Parts that took any time, or that a hook says it could not see; the others would only widen the
 * table. */
static size_t parts_seen(const struct steps_view *v, size_t *parts)
{
    size_t n = 0;
    for (size_t k = 0; k < step_parts(); k++) {
        bool any = steps_part_lost(v->lost->v, v->lost->n, k);
        for (size_t i = 0; i < v->n_rows && !any; i++)
            any = v->rows[i].part_s[k] > 0;
        for (size_t i = 0; i < v->n_items && !any; i++)
            any = v->items[i].step->part_ns[k] > 0;
        if (any)
            parts[n++] = k;
    }
    return n;
}

static const char *upper(struct arena *a, const char *s)
{
    char *out = arena_strdup(a, s);
    for (char *p = out; *p; p++)
        *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    return out;
}

/* The columns `first`, then one for each part. */
static const struct table_column *with_parts(const struct steps_view *v,
                                             const struct table_column *first, const size_t *parts,
                                             size_t n)
{
    size_t k = 0;
    while (first[k].title)
        k++;
    struct table_column *out = arena_array(v->arena, struct table_column, k + n + 1);
    memcpy(out, first, k * sizeof *first);
    for (size_t i = 0; i < n; i++)
        out[k + i] =
            (struct table_column){upper(v->arena, step_part_name(parts[i])), .right = true};
    return out;
}

static const struct table_column rank_columns[] = {
    {"NODE"},
    {"RANK", .right = true},
    {"MODE"},
    {"STEPS", .right = true},
    {"MEAN", .right = true},
    {"P50", .right = true},
    {"P95", .right = true},
    {"MAX", .right = true},
    {"SAMPLES/S", .right = true},
    {0},
};

static void put_row(struct table *t, const struct steps_row *row, const size_t *parts, size_t n)
{
    const struct step_stats *s = &row->stats;
    const double times[] = {s->mean_s, s->p50_s, s->p95_s, s->max_s};
    char text[HUMAN_LEN];
    double whole_s = 0, pct[STEP_PARTS_MOST];
    table_cell(t, "%s", row->rank->node);
    table_cell(t, "%" PRId64, row->rank->rank);
    table_cell(t, "%s", mode_name(s->mode));
    table_cell(t, "%s", human_count(s->count, text, sizeof text));
    for (size_t i = 0; i < COUNT_OF(times); i++)
        table_cell(t, "%s", human_value(times[i], "s", text, sizeof text));
    table_cell(t, isnan(s->throughput_steady) ? "-" : "%.1f", s->throughput_steady);
    for (size_t k = 0; k < step_parts(); k++)
        whole_s += row->part_s[k];
    percents_of(row->part_s, step_parts(), pct);
    for (size_t i = 0; i < n; i++) {
        const bool told = whole_s > 0 && !isnan(steps_row_part_s(row, parts[i]));
        table_cell(t, told ? "%.1f %%" : "-", pct[parts[i]]);
    }
}

static const struct table_column step_columns[] = {
    {"NODE"},
    {"RANK", .right = true},
    {"MODE"},
    {"STEP", .right = true},
    {"AFTER", .right = true},
    {"TOOK", .right = true},
    {0},
};

static void put_item(struct table *t, const struct steps_view *v, const struct steps_item *x,
                     const size_t *parts, size_t n)
{
    char text[HUMAN_LEN];
    const struct step *s = x->step;
    table_cell(t, "%s", x->rank->node);
    table_cell(t, "%" PRId64, x->rank->rank);
    table_cell(t, "%s", mode_name(s->mode));
    table_cell(t, "%s%" PRId64, s->cut ? "!" : "", s->number);
    table_cell(t, "%s", duration_text(ns_to_s(s->start.ns - v->info->start.ns), text, sizeof text));
    table_cell(t, "%s", human_value(ns_to_s(s->dur_ns), "s", text, sizeof text));
    for (size_t i = 0; i < n; i++)
        table_cell(t, "%s", human_value(steps_item_part_s(v, x, parts[i]), "s", text, sizeof text));
}

void steps_text(const struct steps_view *v)
{
    size_t parts[STEP_PARTS_MOST];
    struct table t;
    if (v->why) {
        printf("no steps seen: %s. %s\n", text_safe(v->arena, v->why), steps_advice);
        return;
    }
    const size_t n = parts_seen(v, parts);
    table_init(&t, v->arena, with_parts(v, rank_columns, parts, n));
    for (size_t i = 0; i < v->n_rows; i++)
        put_row(&t, &v->rows[i], parts, n);
    table_print(&t, stdout, term_width(stdout), term_color(stdout));
    if (v->n_items == 0)
        return;
    putchar('\n');
    table_init(&t, v->arena, with_parts(v, step_columns, parts, n));
    for (size_t i = 0; i < v->n_items; i++)
        put_item(&t, v, &v->items[i], parts, n);
    table_print(&t, stdout, term_width(stdout), term_color(stdout));
}
