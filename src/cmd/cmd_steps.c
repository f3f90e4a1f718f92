/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_steps.c - how long steps took, and which parts the time was spent in. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/stat.h"
#include "base/table.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "query/run.h"
#include "query/steps.h"
#include "tables/stepsview.h"

/* New columns come after these. */
static const char csv_columns[] = "node,rank,mode,step,start_ns,duration_s,events,samples,cut,"
                                  "between_s,iteration_s,warmup,disturbed";
static const char csv_without_loss[] = "node,rank,mode,step,start_ns,duration_s,events,samples,cut,"
                                       "between_s,iteration_s,warmup,disturbed,-loss";

/* ---- for people ---- */

/* Parts that took any time, or that a hook reported as not visible; the others would only widen the
 * table. */
static size_t cmd_steps_parts_seen(const struct steps_view *v, size_t *parts)
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
    for (size_t i = 0; i < v->n_rows; i++)
        if (v->rows[i].stats.between_s > 0) {
            parts[n++] = step_parts();
            break;
        }
    return n;
}

static const char *cmd_steps_upper(struct arena *a, const char *s)
{
    char *out = arena_strdup(a, s);
    for (char *p = out; *p; p++)
        *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    return out;
}

/* The columns `first`, then one for each part. */
static const char *with_parts(const struct steps_view *v, const char *first, const size_t *parts,
                              size_t n)
{
    for (size_t i = 0; i < n; i++)
        first = arena_printf(v->arena, "%s|>%s", first,
                             cmd_steps_upper(v->arena, parts[i] == step_parts()
                                                           ? "between"
                                                           : step_part_name(parts[i])));
    return first;
}

static void cmd_steps_put_row(struct table *t, const struct steps_row *row)
{
    const struct step_stats *s = &row->stats;
    table_cell(t, "%s", row->rank->node);
    table_cell(t, "%" PRId64, row->rank->rank);
    table_cell(t, "%s", mode_name(s->mode));
    cell_count(t, s->count);
    CELL_VALUES(t, "s", s->iteration_mean_s, s->iteration_p50_s, s->iteration_p95_s,
                s->iteration_max_s);
    CELL_VALUES(t, "", s->throughput_steady, s->throughput_overall);
}

/* ---- what an iteration is spent on ---- */

static void put_shares(struct table *t, const struct steps_view *v, const struct steps_row *row,
                       enum steps_clock clock, const size_t *parts, size_t n)
{
    double s[STEP_PARTS_MOST + 1], pct[STEP_PARTS_MOST + 1], whole = 0;
    for (size_t k = 0; k <= step_parts(); k++) {
        s[k] = steps_iteration_part_s(row, clock, k);
        s[k] = isnan(s[k]) ? 0 : s[k];
        whole += s[k];
    }
    percents_of(s, step_parts() + 1, pct);
    table_cell(t, "%s", row->rank->node);
    table_cell(t, "%" PRId64, row->rank->rank);
    CELL_TEXTS(t, mode_name(row->stats.mode),
               steps_clock_text(&row->stats, row->rank, clock, v->arena));
    for (size_t i = 0; i < n; i++) {
        const bool known = !isnan(steps_iteration_part_s(row, clock, parts[i]));
        table_cell(t, whole > 0 && known ? "%.1f %%" : "-", pct[parts[i]]);
    }
}

static void cmd_steps_put_clocks(const struct steps_view *v, const size_t *parts, size_t n)
{
    struct table t;
    table_init(&t, v->arena, with_parts(v, "NODE|>RANK|MODE|SHARE OF THE ITERATION", parts, n));
    for (size_t i = 0; i < v->n_rows; i++)
        for (enum steps_clock c = CLOCK_GPU; c < CLOCKS; c++)
            if (steps_has_clock(&v->rows[i].stats, c))
                put_shares(&t, v, &v->rows[i], c, parts, n);
    putchar('\n');
    output_table(&t);
}

/* ---- notes ---- */

static void put_left_out(const struct steps_view *v)
{
    size_t warmup = 0, disturbed = 0;
    for (size_t i = 0; i < v->n_rows; i++) {
        warmup += v->rows[i].stats.warmup;
        disturbed += v->rows[i].stats.disturbed;
    }
    if (warmup)
        printf("warm-up: %zu step%s excluded from the statistics above\n", warmup,
               warmup == 1 ? "" : "s");
    if (disturbed)
        printf("detail window: %zu slowed step%s excluded\n", disturbed, disturbed == 1 ? "" : "s");
}

/* Places that are shown; the JSON has all. */
enum { PLACES_SHOWN = 5 };

static void cmd_steps_put_place(struct table *t, const struct steps_view *v, int64_t rank,
                                const struct sync_place *x)
{
    table_cell(t, "%" PRId64, rank);
    CELL_TEXTS(t, text_safe(v->arena, x->where), text_safe(v->arena, *x->op ? x->op : "-"));
    cell_count(t, x->count);
    CELL_VALUES(t, "s", x->seconds, x->count ? x->seconds / (double)x->count : NAN);
}

static void put_places(const struct steps_view *v)
{
    struct table t;
    bool any = false;
    table_init(&t, v->arena, ">RANK|WAITS FOR THE GPU IN|CALL|>COUNT|>TIME|>EACH");
    for (size_t i = 0; i < v->n_rows; i++) {
        const struct steps_row *row = &v->rows[i];
        const bool again = i && v->rows[i - 1].rank == row->rank;
        for (size_t k = 0; !again && k < MIN_OF(row->n_sync, (size_t)PLACES_SHOWN); k++) {
            cmd_steps_put_place(&t, v, row->rank->rank, &row->sync[k]);
            any = true;
        }
    }
    if (!any)
        return;
    putchar('\n');
    output_table(&t);
}

/* ---- single steps ---- */

static const char *note_of(const struct step *s)
{
    return s->cut         ? "cut"
           : s->disturbed ? "detail window"
           : s->warmup    ? "warm-up"
           : s->save_ns   ? "checkpoint"
                          : "";
}

static bool cmd_steps_has_losses(const struct steps_view *v)
{
    return FIND_ANY(i, v->n_items, !isnan(v->items[i].loss));
}

static void cmd_steps_put_item(struct table *t, const struct steps_view *v,
                               const struct steps_item *x, const size_t *parts, size_t n,
                               bool has_loss)
{
    char text[HUMAN_LEN];
    const struct step *s = x->step;
    const double iteration_s = s->between_ns < 0 ? NAN : ns_to_s(step_iteration_ns(s));
    table_cell(t, "%s", x->rank->node);
    table_cell(t, "%" PRId64, x->rank->rank);
    table_cell(t, "%s", mode_name(s->mode));
    table_cell(t, "%s%" PRId64, s->cut ? "!" : "", s->number);
    table_cell(t, "%s", duration_text(ns_to_s(s->start.ns - v->info->start.ns), text, sizeof text));
    CELL_VALUES(t, "s", iteration_s, ns_to_s(s->dur_ns));
    for (size_t i = 0; i < n; i++) {
        const double part_s = parts[i] == step_parts()
                                  ? s->between_ns < 0 ? NAN : ns_to_s(s->between_ns)
                                  : steps_item_part_s(x, parts[i]);
        cell_value(t, part_s, "s");
    }
    if (has_loss)
        cell_value(t, x->loss, "");
    table_cell(t, "%s", note_of(s));
}

static void put_items(const struct steps_view *v, const size_t *parts, size_t n)
{
    struct table t;
    const bool has_loss = cmd_steps_has_losses(v);
    table_init(
        &t, v->arena,
        arena_printf(v->arena, "%s%s|NOTE",
                     with_parts(v, "NODE|>RANK|MODE|>STEP|>AFTER|>ITERATION|>HOST TIME", parts, n),
                     has_loss ? "|>LOSS" : ""));
    for (size_t i = 0; i < v->n_items; i++)
        cmd_steps_put_item(&t, v, &v->items[i], parts, n, has_loss);
    putchar('\n');
    output_table(&t);
}

static void steps_text(const struct steps_view *v)
{
    size_t parts[STEP_PARTS_MOST + 1];
    struct table t;
    if (v->why) {
        puts(text_safe(v->arena, steps_none_text(v->info, v->why, v->arena)));
        return;
    }
    const size_t n = cmd_steps_parts_seen(v, parts);
    table_init(&t, v->arena,
               "NODE|>RANK|MODE|>STEPS|>ITERATION|>P50|>P95|>MAX|>SAMPLES/S|>OVERALL");
    for (size_t i = 0; i < v->n_rows; i++)
        cmd_steps_put_row(&t, &v->rows[i]);
    output_table(&t);
    put_left_out(v);
    cmd_steps_put_clocks(v, parts, n);
    put_places(v);
    if (v->n_items)
        put_items(v, parts, n);
}

/* ---- the command ---- */

enum { O_LAST, O_RANK, O_MODE };

/* Steps of each rank that are shown if the user does not set a number. */
enum { LAST_TEXT = 10 };

static const struct opt options[] = {
    [O_LAST] = {"last", 'n', "N", OPT_INT, .lo = 0, .hi = 1000000000,
                .help = "List only the last N steps of each rank (default: 10 in tables, all in "
                        "JSON and CSV)."},
    [O_RANK] = {"rank", 0, "R", OPT_INT, .lo = 0, .hi = INT32_MAX, .help = "Show only this rank."},
    [O_MODE] = {"mode", 0, "MODE", OPT_CHOICE, .choices = event_mode_names,
                .help = "Show only steps of this mode."},
    OPT_ROWS_OUTPUT,
};

static int cmd_steps_on_run(struct run *r, const struct cmd_args *args, struct arena *a,
                            struct err *e)
{
    const struct opt_value *last = &args->opt[O_LAST], *mode = &args->opt[O_MODE];
    const struct steps_ask ask = {
        .last = last->given                   ? (size_t)last->number
                : args->output == OUTPUT_TEXT ? LAST_TEXT
                                              : SIZE_MAX,
        .rank = args->opt[O_RANK].given ? args->opt[O_RANK].number : -1,
        .modes = mode->given ? 1u << mode->number : STEPS_ALL_MODES,
    };
    struct steps_view view;
    TRY(stepsview_read(&view, r, &ask, a, e));
    if (args->output == OUTPUT_JSON) {
        struct output_json o;
        stepsview_json(output_begin(&o), &view);
        output_end(&o);
    } else if (args->output == OUTPUT_CSV) {
        output_csv(&row_Step, cmd_steps_has_losses(&view) ? csv_columns : csv_without_loss,
                   view.items, view.n_items, a);
    } else {
        steps_text(&view);
    }
    return 0;
}

const struct cmd cmd_steps = {
    .name = "steps",
    .summary = "show step times and their breakdown",
    .args = cmd_arg_run,
    .options = options,
    .help = CMD_HELP("Prints for each rank, separately for training and evaluation: number of "
                     "steps, step time, samples processed per second, and the share of each part "
                     "of a step. Then lists the last steps.",
                     "A training step lasts from the data loader fetch to the end of the optimizer "
                     "step; an evaluation step from the fetch to the end of the forward pass. "
                     "Steps marked '!' are incomplete: the process ended, or the run is still "
                     "running. They are excluded from the statistics."),
    .examples = CMD_EXAMPLES(
        {"footplate steps last", "Show step times and the last ten steps of each rank."},
        {"footplate steps last --rank 0 --mode train --csv",
         "Print every training step of rank 0 as CSV."}),
    .on_run = cmd_steps_on_run,
};
