/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_stats.c - minimum, quantiles and maximum of what was measured. */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/table.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/window.h"
#include "view/statview.h"

enum { O_JSON, O_CSV, O_ALL, O_NODE, O_FROM, O_TO, O_DIR };

static const struct opt options[] = {
    [O_JSON] = OPT_ROW_JSON,
    [O_CSV] = OPT_ROW_CSV,
    [O_ALL] = {"all", 'a', NULL, OPT_FLAG,
               .help = "Every series there is, not only the summary of each node."},
    [O_NODE] = {"node", 0, "ID", OPT_STRING, .help = "Only this node."},
    [O_FROM] = OPT_ROW_FROM,
    [O_TO] = OPT_ROW_TO,
    [O_DIR] = OPT_ROW_DIR,
    {0},
};

static const struct cmd_arg positional[] = {ARG_ROW_RUN, {0}};

static int read_lines(struct run *r, const struct cmd_args *args, struct arena *a,
                      struct statview *out, struct err *e)
{
    const struct run_info *info = run_get_info(r);
    struct series_ask ask = {.node = args->opt[O_NODE].text};
    wall_ns window[2];
    const int rc =
        window_of(&args->opt[O_FROM], &args->opt[O_TO], info->start, info->end, window, e);
    if (rc != 0)
        return rc;
    ask.from = window[0];
    ask.to = window[1];
    return statview_read(out, r, &ask, args->opt[O_ALL].given, a, e);
}

/* ------------------------------------------------------------------------------------------------
 * Printing */

static void print_json(const struct statview *lines)
{
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    statview_json(&j, lines);
    output_buf(&b);
    buf_free(&b);
}

static void print_csv(const struct statview *lines)
{
    printf("node,metric,%sunit", lines->all ? "entity," : "");
    for (size_t k = 0; k < STAT_NUMBERS; k++)
        printf(",%s", stat_number_name(k));
    puts(",count");
    for (size_t i = 0; i < lines->n; i++) {
        const struct stat_line *l = &lines->v[i];
        csv_text(stdout, l->node);
        putchar(',');
        csv_text(stdout, l->metric);
        putchar(',');
        if (l->entity)
            csv_text(stdout, l->entity);
        if (lines->all)
            putchar(',');
        csv_text(stdout, l->unit);
        for (size_t k = 0; k < STAT_NUMBERS; k++) {
            putchar(',');
            csv_number(stdout, stat_number(l->s, k));
        }
        printf(",%llu\n", (unsigned long long)l->s->count);
    }
}

#define NUMBER_COLUMNS                                                                             \
    {"MIN", .right = true}, {"P50", .right = true}, {"P90", .right = true},                        \
        {"P95", .right = true}, {"P99", .right = true}, {"MAX", .right = true},                    \
        {"SAMPLES", .right = true},                                                                \
    {                                                                                              \
        0                                                                                          \
    }
static const struct table_column summary_columns[] = {{"NODE"}, {"RESOURCE"}, NUMBER_COLUMNS};
static const struct table_column all_columns[] = {{"NODE"}, {"METRIC"}, {"ENTITY"}, NUMBER_COLUMNS};
static_assert(COUNT_OF(summary_columns) == STAT_NUMBERS + 4, "a column for every number");

static void print_table(const struct statview *lines, struct arena *a)
{
    struct table t;
    char text[HUMAN_LEN];
    table_init(&t, a, lines->all ? all_columns : summary_columns);
    for (size_t i = 0; i < lines->n; i++) {
        const struct stat_line *l = &lines->v[i];
        table_cell(&t, "%s", l->node);
        table_cell(&t, "%s", l->title);
        if (l->entity)
            table_cell(&t, "%s", l->entity);
        if (l->why) {
            table_rest(&t, "not measured: %s", l->why);
            continue;
        }
        for (size_t k = 0; k < STAT_NUMBERS; k++)
            table_cell(&t, "%s", human_value(stat_number(l->s, k), l->unit, text, sizeof text));
        table_cell(&t, "%s", human_count(l->s->count, text, sizeof text));
    }
    table_print(&t, stdout, term_width(stdout), term_color(stdout));
}

static void print(enum output output, const struct statview *lines, struct arena *a)
{
    if (output == OUTPUT_JSON)
        print_json(lines);
    else if (output == OUTPUT_CSV)
        print_csv(lines);
    else
        print_table(lines, a);
}

static int run(const struct cmd_args *args, struct err *e)
{
    enum output output;
    struct arena a = {0};
    struct statview lines = {0};
    struct run *r = NULL;
    int rc = output_choose(&output, &args->opt[O_JSON], &args->opt[O_CSV], e);
    if (rc == 0)
        rc = runview_open(&r, args->opt[O_DIR].text, args->arg[0], e);
    if (rc == 0)
        rc = read_lines(r, args, &a, &lines, e);
    if (rc == 0)
        print(output, &lines, &a);
    run_close(r);
    arena_free(&a);
    return rc;
}

static const char *const help[] = {
    "One row per node for CPU, GPU, their memory, I/O wait and network; GPUs of a node are taken "
    "together. Quantiles are exact to the stored resolution.",
    "What was not measured says why instead of showing a zero.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate stats last", "How busy each node was."},
    {"footplate stats last --all --from -60s", "Every series, the last minute only."},
    {0},
};

const struct cmd cmd_stats = {
    .name = "stats",
    .summary = "show minimum, quantiles and maximum of each resource",
    .args = positional,
    .options = options,
    .help = help,
    .examples = examples,
    .run = run,
};
