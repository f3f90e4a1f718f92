/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_stats.c - minimum, quantiles and maximum of what was measured. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/table.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/window.h"
#include "query/efficiency.h"
#include "tables/statview.h"

enum { O_JSON, O_CSV, O_ALL, O_WINDOW, O_NODE, O_FROM, O_TO, O_DIR };

/* Both: the loop, where there is one, then the job. */
enum cmd_stats_window { WINDOW_JOB, WINDOW_LOOP, WINDOW_BOTH };
static const char *const windows[] = {"job", "loop", "both", NULL};

static const struct opt options[] = {
    [O_JSON] = {OPT_ROW_JSON},
    [O_CSV] = {OPT_ROW_CSV},
    [O_ALL] = {"all", 'a', NULL, OPT_FLAG,
               .help = "Include every series, not only the summary of each node."},
    [O_WINDOW] = {"window", 0, "WHICH", OPT_CHOICE, .choices = windows,
                  .help = "Show the training loop after its warm-up, the whole job, or both "
                          "(default: both in tables, job with --json and --csv)."},
    [O_NODE] = {"node", 0, "ID", OPT_STRING, .help = "Show only this node."},
    [O_FROM] = {OPT_ROW_FROM},
    [O_TO] = {OPT_ROW_TO},
    [O_DIR] = {OPT_ROW_DIR},
    {0},
};

/* At most the loop and the job, in this order. */
struct stats {
    struct statview v[2];
    size_t n;
};

static int cmd_stats_read_window(struct run *r, const struct cmd_args *args, wall_ns from,
                                 wall_ns to, struct arena *a, struct stats *out, struct err *e)
{
    const struct series_ask ask = {.node = args->opt[O_NODE].text, .from = from, .to = to};
    const int rc = statview_read(&out->v[out->n], r, &ask, args->opt[O_ALL].given, a, e);
    out->n += rc == 0;
    return rc;
}

/* Without training steps there is no loop; if only the loop is requested, that is an error. */
static int read_loop(struct run *r, const struct cmd_args *args, bool only, struct arena *a,
                     struct stats *out, struct err *e)
{
    struct rank_steps *ranks;
    struct loop_window w = {0};
    size_t n;
    TRY(steps_read(r, a, &ranks, &n, e));
    loop_window_of(ranks, n, &w);
    if (!w.known)
        return only ? err_set(e, ERR_NOT_FOUND, "run '%s' has no training steps",
                              run_get_info(r)->name)
                    : 0;
    TRY(cmd_stats_read_window(r, args, w.from, w.to, a, out, e));
    out->v[out->n - 1].window = "loop";
    return 0;
}

static int read_stats(struct run *r, const struct cmd_args *args, struct arena *a,
                      struct stats *out, struct err *e)
{
    const bool given = args->opt[O_FROM].given || args->opt[O_TO].given;
    enum cmd_stats_window which = args->output == OUTPUT_TEXT && !given ? WINDOW_BOTH : WINDOW_JOB;
    wall_ns window[2];
    if (args->opt[O_WINDOW].given && given)
        return err_set(e, ERR_USAGE, "--window cannot be combined with --from or --to");
    if (args->opt[O_WINDOW].given)
        which = (enum cmd_stats_window)args->opt[O_WINDOW].number;
    TRY(window_of(&args->opt[O_FROM], &args->opt[O_TO], run_get_info(r), window, e));
    if (which != WINDOW_JOB)
        TRY(read_loop(r, args, which == WINDOW_LOOP, a, out, e));
    if (which == WINDOW_LOOP)
        return 0;
    return cmd_stats_read_window(r, args, window[0], window[1], a, out, e);
}

/* ---- printing ---- */

/* New columns come after these. */
static const char csv_columns[] = "node,metric,unit,min,p50,p90,p95,p99,max,count,window,-entity";
static const char csv_all_columns[] =
    "node,metric,entity,unit,min,p50,p90,p95,p99,max,count,window";

static void cmd_stats_print_csv(const struct stats *s, struct arena *a)
{
    struct stat_row *rows;
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->v[i].n;
    rows = arena_array(a, struct stat_row, n + 1);
    n = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->v[i].n; k++)
            rows[n++] = (struct stat_row){&s->v[i].v[k], s->v[i].window};
    output_csv(&row_Stat, s->v[0].all ? csv_all_columns : csv_columns, rows, n, a);
}

static void cmd_stats_print_table(const struct statview *lines, struct arena *a)
{
    struct table t;
    table_init(&t, a,
               lines->all ? "NODE|METRIC|ENTITY|>MIN|>P50|>P90|>P95|>P99|>MAX|>SAMPLES"
                          : "NODE|RESOURCE|>MIN|>P50|>P90|>P95|>P99|>MAX|>SAMPLES");
    for (size_t i = 0; i < lines->n; i++) {
        const struct stat_line *l = &lines->v[i];
        CELL_TEXTS(&t, l->node, l->title);
        if (l->entity)
            table_cell(&t, "%s", l->entity);
        if (l->why) {
            table_rest(&t, "not measured: %s", l->why);
            continue;
        }
        CELL_VALUES(&t, l->unit, l->s->min, l->s->p50, l->s->p90, l->s->p95, l->s->p99, l->s->max);
        cell_count(&t, l->s->count);
    }
    output_table(&t);
}

static int cmd_stats_on_run(struct run *r, const struct cmd_args *args, struct arena *a,
                            struct err *e)
{
    struct stats s = {0};
    TRY(read_stats(r, args, a, &s, e));
    if (args->output == OUTPUT_JSON) {
        struct output_json o;
        struct jw *j = output_begin(&o);
        jw_array(j, NULL);
        for (size_t i = 0; i < s.n; i++)
            statview_lines_json(j, &s.v[i]);
        jw_end(j);
        output_end(&o);
    }
    if (args->output == OUTPUT_CSV)
        cmd_stats_print_csv(&s, a);
    for (size_t i = 0; i < s.n && args->output == OUTPUT_TEXT; i++) {
        if (s.n > 1)
            printf("%s%s\n", i ? "\n" : "",
                   strcmp(s.v[i].window, "loop") == 0 ? "training loop" : "whole job");
        cmd_stats_print_table(&s.v[i], a);
    }
    return 0;
}

const struct cmd cmd_stats = {
    .name = "stats",
    .summary = "show minimum, quantiles and maximum of each resource",
    .args = cmd_arg_run,
    .options = options,
    .help = CMD_HELP("Prints one row per node for CPU, GPU, CPU and GPU memory, I/O wait, network "
                     "and GPU activity; the GPUs of a node are combined. Quantiles are exact to "
                     "the stored resolution.",
                     "The training loop is shown first, from the first step after the warm-up to "
                     "the last step, then the whole job.",
                     "For resources that were not measured, the reason is shown."),
    .examples = CMD_EXAMPLES(
        {"footplate stats last", "Show the utilization of each node."},
        {"footplate stats last --all --from -60s", "Show every series for the last minute."}),
    .on_run = cmd_stats_on_run,
};
