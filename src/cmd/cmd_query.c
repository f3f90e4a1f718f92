/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_query.c - readings over time: JSON and CSV for programs, a table or a chart for people. */
#include "cmd/cmd.h"
#include "cmd/query_print.h"
#include "cmd/window.h"
#include "query/run.h"
#include "tables/runview.h"

enum { O_METRIC, O_ENTITY, O_NODE, O_FROM, O_TO, O_POINTS, O_JSON, O_CSV, O_DIR };

static const struct opt options[] = {
    [O_METRIC] = {"metric", 'm', "METRIC", OPT_STRING, .choices = metric_names,
                  .help = "The metric; a trailing dot, as in 'cpu.', selects a family. 'footplate "
                          "metrics' lists all metrics."},
    [O_ENTITY] = {"entity", 'e', "ENTITY", OPT_STRING,
                  .help = "Show only this entity: a core, a GPU, a disk, 'total'."},
    [O_NODE] = {"node", 0, "ID", OPT_STRING, .help = "Show only this node."},
    [O_FROM] = OPT_ROW_FROM,
    [O_TO] = OPT_ROW_TO,
    [O_POINTS] = {"points", 'n', "N", OPT_INT, .lo = 1, .hi = 1000000,
                  .help =
                      "Reduce each series to at most N points; each keeps the minimum and maximum "
                      "of its interval. Without this option, JSON and CSV contain every reading."},
    [O_JSON] = OPT_ROW_JSON,
    [O_CSV] = OPT_ROW_CSV,
    [O_DIR] = OPT_ROW_DIR,
    {0},
};

static const struct cmd_arg positional[] = {ARG_ROW_RUN, {0}};

static int make_ask(struct run *r, const struct cmd_args *args, struct series_ask *out,
                    struct err *e)
{
    const struct run_info *info = run_get_info(r);
    wall_ns window[2];
    const int rc =
        window_of(&args->opt[O_FROM], &args->opt[O_TO], info->start, info->end, window, e);
    if (rc != 0)
        return rc;
    *out = (struct series_ask){
        .node = args->opt[O_NODE].text,
        .metric = args->opt[O_METRIC].text,
        .entity = args->opt[O_ENTITY].text,
        .from = window[0],
        .to = window[1],
        .points = args->opt[O_POINTS].given ? (size_t)args->opt[O_POINTS].number : 0,
    };
    return 0;
}

static int query(struct run *r, const struct cmd_args *args, enum output output, struct err *e)
{
    struct arena a = {0};
    struct series_ask ask;
    struct keys all;
    int rc = make_ask(r, args, &ask, e);
    if (rc == 0)
        rc = series_list(r, &a, &all.v, &all.n, e);
    if (rc == 0)
        rc = query_check(r, &ask, &all, e);
    if (rc == 0)
        rc = query_print(output, r, &ask, &all, e);
    arena_free(&a);
    return rc;
}

static int cmd_query_run(const struct cmd_args *args, struct err *e)
{
    enum output output;
    struct run *r = NULL;
    int rc = output_choose(&output, &args->opt[O_JSON], &args->opt[O_CSV], e);
    if (rc == 0 && !args->opt[O_METRIC].given)
        rc = err_set(e, ERR_USAGE,
                     "query: --metric is required; 'footplate metrics' lists all metrics");
    if (rc == 0)
        rc = runview_open(&r, args->opt[O_DIR].text, args->arg[0], e);
    if (rc == 0)
        rc = query(r, args, output, e);
    run_close(r);
    return rc;
}

static const char *const help[] = {
    "Up to 50 points are printed as a table, more as a chart. The height of a column in the first "
    "line is the maximum of its interval, in the second line the minimum, so neither spikes nor "
    "dips are averaged away. With more than 8 series, only the first line is printed. An empty "
    "column means there was no reading.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate query last --metric cpu.util --entity total", "Plot CPU utilization."},
    {"footplate query last -m gpu.util -n 20 --from -60s", "Print the last minute in 20 points."},
    {"footplate query last -m net. --points 200 --json", "Print all network series as JSON."},
    {0},
};

const struct cmd cmd_query = {
    .name = "query",
    .summary = "print or plot a metric over time",
    .args = positional,
    .options = options,
    .help = help,
    .examples = examples,
    .run = cmd_query_run,
};
