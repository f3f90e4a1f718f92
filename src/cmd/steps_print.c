/* SPDX-License-Identifier: Apache-2.0 */
/* steps_print.c - see steps_print.h. Keys of the JSON may be added here, never renamed. */
#include "cmd/steps_print.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/table.h"
#include "cmd/output.h"

static double seconds(int64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

static const struct steps_row *row_of(const struct steps_view *v, const struct steps_item *x)
{
    const struct steps_row *row = v->rows;
    while (row < v->rows + v->n_rows - 1 &&
           (row->rank != x->rank || row->stats.mode != x->step->mode))
        row++;
    return row;
}

/* NAN: not seen. */
static double row_part_s(const struct steps_row *row, size_t k)
{
    return row->unseen >> k & 1 ? NAN : steps_part_s(row->rank, row->stats.mode, k);
}

static double item_part_s(const struct steps_view *v, const struct steps_item *x, size_t k)
{
    return row_of(v, x)->unseen >> k & 1 ? NAN : seconds(x->step->part_ns[k]);
}

/* ------------------------------------------------------------------------------------------------
 * JSON and CSV */

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"mean_s", offsetof(struct step_stats, mean_s)},
    {"min_s", offsetof(struct step_stats, min_s)},
    {"p50_s", offsetof(struct step_stats, p50_s)},
    {"p95_s", offsetof(struct step_stats, p95_s)},
    {"p99_s", offsetof(struct step_stats, p99_s)},
    {"max_s", offsetof(struct step_stats, max_s)},
    {"stddev_s", offsetof(struct step_stats, stddev_s)},
    {"samples_per_s", offsetof(struct step_stats, samples_per_s)},
};

static void rank_json(struct jw *j, const struct rank_steps *r)
{
    jw_str(j, "node", r->node);
    jw_int(j, "rank", r->rank);
    jw_int(j, "session", r->process->session);
    jw_int(j, "pid", r->process->pid);
}

static void row_json(struct jw *j, const struct steps_row *row)
{
    const struct step_stats *s = &row->stats;
    jw_object(j, NULL);
    rank_json(j, row->rank);
    jw_str(j, "mode", mode_name(s->mode));
    jw_int(j, "count", (int64_t)s->count);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        double v;
        memcpy(&v, (const char *)s + numbers[i].offset, sizeof v);
        jw_num(j, numbers[i].name, v);
    }
    jw_array(j, "outliers");
    for (size_t i = 0; i < s->n_outliers; i++)
        jw_int(j, NULL, s->outliers[i]);
    jw_end(j);
    jw_object(j, "events");
    for (size_t i = 0; i < step_parts(); i++)
        jw_num(j, step_part_name(i), row_part_s(row, i));
    jw_end(j);
    jw_end(j);
}

static void item_json(struct jw *j, const struct steps_view *v, const struct steps_item *x)
{
    const struct step *s = x->step;
    jw_object(j, NULL);
    jw_str(j, "node", x->rank->node);
    jw_int(j, "rank", x->rank->rank);
    jw_str(j, "mode", mode_name(s->mode));
    jw_int(j, "step", s->number);
    jw_int(j, "start_ns", s->start.ns);
    jw_num(j, "duration_s", seconds(s->dur_ns));
    if (s->batch < 0)
        jw_null(j, "samples");
    else
        jw_int(j, "samples", s->batch);
    jw_bool(j, "cut", s->cut);
    jw_object(j, "events");
    for (size_t i = 0; i < step_parts(); i++)
        jw_num(j, step_part_name(i), item_part_s(v, x, i));
    jw_end(j);
    jw_end(j);
}

/* Why parts are null. */
static void untold_json(struct jw *j, const struct steps_row *row)
{
    for (size_t k = 0; k < step_parts(); k++) {
        if (!(row->unseen >> k & 1))
            continue;
        jw_object(j, NULL);
        jw_str(j, "what", step_part_name(k));
        jw_str(j, "why", "the steps were marked as a whole, and this part of them was not told");
        jw_str(j, "mode", mode_name(row->stats.mode));
        jw_int(j, "count", (int64_t)row->stats.count);
        jw_end(j);
    }
}

static void losses_json(struct jw *j, const struct steps_view *v)
{
    jw_array(j, "losses");
    if (v->why) {
        jw_object(j, NULL);
        jw_str(j, "what", "steps");
        jw_str(j, "why", v->why);
        jw_int(j, "count", 1);
        jw_end(j);
    }
    for (size_t i = 0; i < v->n_rows; i++)
        untold_json(j, &v->rows[i]);
    for (size_t i = 0; v->lost && i < v->lost->n; i++) {
        const struct loss *l = &v->lost->v[i].loss;
        if (l->id != LOSS_HOOK)
            continue;
        jw_object(j, NULL);
        jw_str(j, "what", l->what);
        jw_str(j, "why", l->why);
        jw_int(j, "count", (int64_t)l->count);
        jw_end(j);
    }
    jw_end(j);
}

void steps_json(const struct steps_view *v)
{
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    jw_object(&j, NULL);
    jw_array(&j, "ranks");
    for (size_t i = 0; i < v->n_rows; i++)
        row_json(&j, &v->rows[i]);
    jw_end(&j);
    jw_array(&j, "steps");
    for (size_t i = 0; i < v->n_items; i++)
        item_json(&j, v, &v->items[i]);
    jw_end(&j);
    losses_json(&j, v);
    jw_end(&j);
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
        csv_number(stdout, seconds(x->step->dur_ns));
        for (size_t k = 0; k < step_parts(); k++) {
            putchar(',');
            csv_number(stdout, item_part_s(v, x, k));
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
            any = steps_part_s(v->rows[i].rank, v->rows[i].stats.mode, k) > 0;
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
    double whole_s = 0;
    table_cell(t, "%s", row->rank->node);
    table_cell(t, "%" PRId64, row->rank->rank);
    table_cell(t, "%s", mode_name(s->mode));
    table_cell(t, "%s", human_count(s->count, text, sizeof text));
    for (size_t i = 0; i < COUNT_OF(times); i++)
        table_cell(t, "%s", human_value(times[i], "s", text, sizeof text));
    table_cell(t, isnan(s->samples_per_s) ? "-" : "%.1f", s->samples_per_s);
    for (size_t k = 0; k < step_parts(); k++)
        whole_s += steps_part_s(row->rank, s->mode, k);
    for (size_t i = 0; i < n; i++) {
        const double share = 100 * row_part_s(row, parts[i]) / whole_s;
        table_cell(t, isfinite(share) ? "%.1f %%" : "-", share);
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
    table_cell(t, "%s", duration_text(seconds(s->start.ns - v->info->start.ns), text, sizeof text));
    table_cell(t, "%s", human_value(seconds(s->dur_ns), "s", text, sizeof text));
    for (size_t i = 0; i < n; i++)
        table_cell(t, "%s", human_value(item_part_s(v, x, parts[i]), "s", text, sizeof text));
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
