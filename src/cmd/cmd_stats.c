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
#include "view/summary.h"

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

/* A line of output, from the summary or from one series. */
struct line {
    const char *node, *metric, *title, *entity, *unit; /* entity NULL: of the whole node */
    const struct series_stats *s;
    const char *why, *what; /* NULL: there are values */
};

struct lines {
    struct line *v;
    size_t n;
    bool all;
};

/* The numbers, in the order in which they are shown; one list for text, JSON and CSV. */
static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"min", offsetof(struct series_stats, min)}, {"p50", offsetof(struct series_stats, p50)},
    {"p90", offsetof(struct series_stats, p90)}, {"p95", offsetof(struct series_stats, p95)},
    {"p99", offsetof(struct series_stats, p99)}, {"max", offsetof(struct series_stats, max)},
};

static double number_of(const struct series_stats *s, size_t i)
{
    double v;
    memcpy(&v, (const char *)s + numbers[i].offset, sizeof v);
    return v;
}

/* ------------------------------------------------------------------------------------------------
 * Reading */

static int read_summary(struct run *r, const struct series_ask *ask, struct arena *a,
                        struct lines *out, struct err *e)
{
    struct loss_list lost;
    struct summary_line *s;
    int rc = loss_list_read(&lost, r, a, e);
    if (rc == 0)
        rc = summary_read(r, ask, &lost, a, &s, &out->n, e);
    if (rc != 0)
        return rc;
    out->v = arena_array(a, struct line, out->n + 1);
    for (size_t i = 0; i < out->n; i++)
        out->v[i] = (struct line){s[i].node, s[i].row->name, s[i].row->title, NULL,
                                  s[i].unit, &s[i].stats,    s[i].why,        s[i].what};
    return 0;
}

static int read_all(struct run *r, const struct series_ask *ask, struct arena *a, struct lines *out,
                    struct err *e)
{
    struct series_stats *s;
    const int rc = series_stats_read(r, ask, a, &s, &out->n, e);
    if (rc != 0)
        return rc;
    out->v = arena_array(a, struct line, out->n + 1);
    for (size_t i = 0; i < out->n; i++) {
        const struct series_key *k = &s[i].key;
        out->v[i] = (struct line){k->node,
                                  k->metric,
                                  k->metric,
                                  k->entity,
                                  k->unit,
                                  &s[i],
                                  s[i].count ? NULL : "no samples in this window",
                                  k->metric};
    }
    return 0;
}

static int check_node(const struct run_info *info, const char *node, struct err *e)
{
    for (size_t i = 0; i < info->n_nodes; i++)
        if (!node || strcmp(info->nodes[i].id, node) == 0)
            return 0;
    return node ? err_set(e, ERR_NOT_FOUND, "run '%s' has no node '%s'", info->name, node) : 0;
}

static int read_lines(struct run *r, const struct cmd_args *args, struct arena *a,
                      struct lines *out, struct err *e)
{
    const struct run_info *info = run_get_info(r);
    struct series_ask ask = {.node = args->opt[O_NODE].text};
    wall_ns window[2];
    int rc = check_node(info, ask.node, e);
    if (rc == 0)
        rc = window_of(&args->opt[O_FROM], &args->opt[O_TO], info->start, info->end, window, e);
    if (rc != 0)
        return rc;
    ask.from = window[0];
    ask.to = window[1];
    out->all = args->opt[O_ALL].given;
    return out->all ? read_all(r, &ask, a, out, e) : read_summary(r, &ask, a, out, e);
}

/* ------------------------------------------------------------------------------------------------
 * Printing */

static void line_json(struct jw *j, const struct line *l)
{
    jw_object(j, NULL);
    jw_str(j, "node", l->node);
    jw_str(j, "metric", l->metric);
    if (l->entity)
        jw_str(j, "entity", l->entity);
    jw_str(j, "unit", l->unit);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        jw_num(j, numbers[i].name, number_of(l->s, i));
    jw_num(j, "mean", l->s->mean);
    jw_int(j, "count", (int64_t)l->s->count);
    jw_array(j, "losses");
    if (l->why) {
        jw_object(j, NULL);
        jw_str(j, "what", l->what);
        jw_str(j, "why", l->why);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

static void print_json(const struct lines *lines)
{
    struct buf b = {0};
    struct jw j = {.out = &b, .indent = 2};
    jw_array(&j, NULL);
    for (size_t i = 0; i < lines->n; i++)
        line_json(&j, &lines->v[i]);
    jw_end(&j);
    output_buf(&b);
    buf_free(&b);
}

static void print_csv(const struct lines *lines)
{
    printf("node,metric,%sunit", lines->all ? "entity," : "");
    for (size_t k = 0; k < COUNT_OF(numbers); k++)
        printf(",%s", numbers[k].name);
    puts(",count");
    for (size_t i = 0; i < lines->n; i++) {
        const struct line *l = &lines->v[i];
        csv_text(stdout, l->node);
        putchar(',');
        csv_text(stdout, l->metric);
        putchar(',');
        if (l->entity)
            csv_text(stdout, l->entity);
        if (lines->all)
            putchar(',');
        csv_text(stdout, l->unit);
        for (size_t k = 0; k < COUNT_OF(numbers); k++) {
            putchar(',');
            csv_number(stdout, number_of(l->s, k));
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
static_assert(COUNT_OF(summary_columns) == COUNT_OF(numbers) + 4, "a column for every number");

static void print_table(const struct lines *lines, struct arena *a)
{
    struct table t;
    char text[HUMAN_LEN];
    table_init(&t, a, lines->all ? all_columns : summary_columns);
    for (size_t i = 0; i < lines->n; i++) {
        const struct line *l = &lines->v[i];
        table_cell(&t, "%s", l->node);
        table_cell(&t, "%s", l->title);
        if (l->entity)
            table_cell(&t, "%s", l->entity);
        if (l->why) {
            table_rest(&t, "not measured: %s", l->why);
            continue;
        }
        for (size_t k = 0; k < COUNT_OF(numbers); k++)
            table_cell(&t, "%s", human_value(number_of(l->s, k), l->unit, text, sizeof text));
        table_cell(&t, "%s", human_count(l->s->count, text, sizeof text));
    }
    table_print(&t, stdout, term_width(stdout), term_color(stdout));
}

static void print(enum output output, const struct lines *lines, struct arena *a)
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
    struct lines lines = {0};
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
