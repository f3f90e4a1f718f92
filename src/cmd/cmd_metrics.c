/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_metrics.c - the metric table, for people, programs and the documentation. */
#include <stdio.h>

#include "base/table.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "record/record.h"

enum { O_JSON, O_CSV, O_MARKDOWN };

static const struct opt options[] = {
    [O_JSON] = {OPT_ROW_JSON},
    [O_CSV] = {OPT_ROW_CSV},
    [O_MARKDOWN] = {"markdown", 0, NULL, OPT_FLAG, .help = "Print a Markdown table."},
    {0},
};

/* Counts have no unit of their own. */
static const char *unit_shown(enum unit u)
{
    return u == UNIT_COUNT ? "count" : unit_name(u);
}

static void cmd_metrics_print_markdown(void)
{
    puts("| metric | unit | per | description |\n|---|---|---|---|");
    for (size_t i = 0; i < METRIC_N; i++)
        printf("| `%s` | %s | %s | %s |\n", metrics[i].name, unit_shown(metrics[i].unit),
               metric_per_names[metrics[i].per], metrics[i].title);
}

static void cmd_metrics_print_table(struct arena *a)
{
    struct table t;
    table_init(&t, a, "METRIC|UNIT|PER|~DESCRIPTION");
    for (size_t i = 0; i < METRIC_N; i++) {
        table_cell(&t, "%s", metrics[i].name);
        table_cell(&t, "%s", unit_shown(metrics[i].unit));
        table_cell(&t, "%s", metric_per_names[metrics[i].per]);
        table_cell(&t, "%s", metrics[i].title);
    }
    output_table(&t);
}

static int cmd_metrics_run(const struct cmd_args *args, struct err *e)
{
    if (args->opt[O_MARKDOWN].given && args->output != OUTPUT_TEXT)
        return err_set(e, ERR_USAGE, "--markdown cannot be combined with --json or --csv");
    if (args->output == OUTPUT_JSON)
        output_json(&row_KnownMetric, metrics, METRIC_N);
    else if (args->output == OUTPUT_CSV)
        output_csv(&row_KnownMetric, "metric,unit,kind,per,title", metrics, METRIC_N, args->arena);
    else if (args->opt[O_MARKDOWN].given)
        cmd_metrics_print_markdown();
    else
        cmd_metrics_print_table(args->arena);
    return EXIT_FINE;
}

static const char *const help[] = {
    "Lists every metric with its unit and what it is measured for. 'footplate doctor' shows which "
    "of them are available on this machine.",
    NULL,
};

const struct cmd cmd_metrics = {
    .name = "metrics",
    .summary = "list all metrics and their units",
    .options = options,
    .help = help,
    .run = cmd_metrics_run,
};
