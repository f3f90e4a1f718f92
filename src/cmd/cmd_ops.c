/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_ops.c - which operators and kernels the time went to. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/table.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "query/breakdown.h"
#include "query/detail.h"
#include "query/eventsum.h"
#include "query/ops.h"
#include "tables/opsview.h"

enum { O_DEVICE, O_BY, O_LIMIT, O_RANK };

/* Rows of each device that are shown if the user does not set a number. */
enum { LIMIT_TEXT = 20 };

static const struct opt options[] = {
    [O_DEVICE] = {"device", 'd', "DEVICE", OPT_CHOICE, .choices = op_device_names,
                  .help = "Show only this device (default: both)."},
    [O_BY] = {"by", 0, "WHAT", OPT_CHOICE, .choices = ops_by_names, .otherwise = "name",
              .help = "Group rows by operator or kernel name, by module of the model, by Python "
                      "function, or by kernel group."},
    [O_LIMIT] = {"limit", 'n', "N", OPT_INT, .lo = 0, .hi = INT32_MAX,
                 .help =
                     "Show at most N rows per table (default: 20 in tables, all in JSON and CSV)."},
    [O_RANK] = {"rank", 0, "R", OPT_INT, .lo = 0, .hi = INT32_MAX, .help = "Show only this rank."},
    OPT_ROWS_OUTPUT,
};

/* ---- printing ---- */

/* New columns come after these. */
static const char csv_columns[] =
    "device,category,name,full_name,calls,self_s,total_s,mean_s,share,"
    "device_self_s,device_total_s,phase,timer,group";

static void row_cells(struct table *t, const struct op_row *r, bool launched, bool grouped)
{
    table_cell(t, "%s", r->name);
    if (r->calls || !r->phase)
        cell_count(t, r->calls);
    else
        table_cell(t, "-"); /* a sampling profiler counts no calls */
    cell_value(t, ns_to_s(r->self_ns), "s");
    cell_share(t, r->share);
    CELL_VALUES(t, "s", ns_to_s(r->total_ns), op_mean_s(r));
    if (launched) {
        CELL_VALUES(t, "s", ns_to_s(r->device_self_ns), ns_to_s(r->device_total_ns));
    }
    if (grouped)
        table_cell(t, "%s", op_group(r) ? op_group(r) : "-");
}

/* What the seconds of a table are, where they are not those of the clock; NULL: they are. */
static const char *cmd_ops_seconds_of(const struct op_row *r)
{
    if (r->calls == 0 && strcmp(r->timer, "default") == 0)
        return "sampled"; /* a sampling profiler counts no calls */
    return function_timer_is_clock(r->timer) ? NULL : r->timer;
}

/* "CPU", "GPU", "PYTHON", "PYTHON, backward", "PYTHON, backward (cpu_time)", "PYTHON (sampled)" */
static const char *cmd_ops_title_of(const struct op_row *r, struct arena *a)
{
    if (!r->phase)
        return r->device == OP_CPU ? "CPU" : "GPU";
    const char *title =
        *r->phase ? arena_printf(a, "PYTHON, %s", r->phase) : arena_strdup(a, "PYTHON");
    const char *seconds = cmd_ops_seconds_of(r);
    return seconds ? arena_printf(a, "%s (%s)", title, seconds) : title;
}

/* Whether the table is one of operators, and a device did something. */
static bool has_launched(const struct opsview *l, const struct op_row *first)
{
    return first->device == OP_CPU && !first->phase &&
           FIND_ANY(i, l->n, l->v[i].device == OP_GPU || l->v[i].device_total_ns > 0);
}

/* Those that are ranked together with `first`. */
static void cmd_ops_print_table(const struct opsview *l, const struct op_row *first,
                                struct arena *a)
{
    struct table t;
    const bool launched = has_launched(l, first);
    const bool grouped = op_group(first) && strcmp(first->name, op_group(first)) != 0;
    table_init(&t, a,
               grouped    ? "~|>CALLS|>SELF|>SHARE|>TOTAL|>MEAN|GROUP"
               : launched ? "~|>CALLS|>SELF|>SHARE|>TOTAL|>MEAN|>GPU SELF|>GPU TOTAL"
                          : "~|>CALLS|>SELF|>SHARE|>TOTAL|>MEAN");
    t.columns[0].title = cmd_ops_title_of(first, a);
    for (size_t i = 0; i < l->n; i++)
        if (op_same_table(&l->v[i], first))
            row_cells(&t, &l->v[i], launched, grouped);
    output_table(&t);
}

static const struct op_row *cmd_ops_first_of(const struct opsview *l, enum op_device device)
{
    return FIND_ITEM(x, l->v, l->n, x->device == device);
}

static void print_functions(const struct opsview *l, struct arena *a)
{
    for (size_t i = 0; i < l->n; i++) {
        if (i && op_same_table(&l->v[i], &l->v[i - 1]))
            continue;
        if (i)
            putchar('\n');
        cmd_ops_print_table(l, &l->v[i], a);
    }
}

static void cmd_ops_print_text(const struct opsview *l, struct arena *a)
{
    const struct op_row *cpu = cmd_ops_first_of(l, OP_CPU), *gpu = cmd_ops_first_of(l, OP_GPU);
    if (cpu && cpu->phase) {
        print_functions(l, a);
        return;
    }
    if (cpu)
        cmd_ops_print_table(l, cpu, a);
    if (cpu && gpu)
        putchar('\n');
    if (gpu)
        cmd_ops_print_table(l, gpu, a);
}

/* ---- notes ---- */

static const char no_operators[] = "no operator details were recorded; record some with 'footplate "
                                   "run --detail-steps 5:2', or import a trace";
static const char no_functions[] = "no Python functions were profiled; record some steps with "
                                   "'footplate run --python-profile-steps'";

static bool has_operators(const struct opsview *l)
{
    return FIND_ANY(i, l->n, op_row_is_detail(&l->v[i]));
}

/* Why rows are missing, on stderr: the JSON is an array of rows and nothing else. */
static int print_missing(struct run *r, const struct cmd_args *args, const struct opsview *l,
                         struct err *e)
{
    const bool functions = args->opt[O_BY].number == OPS_BY_FUNCTION;
    bool detail = false;
    if (has_operators(l) || (functions && l->n))
        return 0;
    if (!functions)
        TRY(events_have_operators(r, &detail, e));
    if (functions)
        fprintf(stderr, "%s\n", no_functions);
    else if (!detail)
        fprintf(stderr, "%s\n", no_operators);
    else if (l->n == 0)
        fprintf(stderr, "no recorded operation matches\n");
    return 0;
}

static void print_window(const struct window_row *w, bool kernels, struct arena *a)
{
    printf("rank %" PRId64 ", step%s %" PRId64, w->of.rank, w->n_steps == 1 ? "" : "s",
           w->first_step);
    if (w->n_steps > 1)
        printf(" to %" PRId64, w->first_step + (int64_t)w->n_steps - 1);
    printf(": %s per step, usually %s; recording details slows the CPU%s\n",
           value_text(a, w->step_s, "s"), value_text(a, w->usual_step_s, "s"),
           kernels ? ", not the kernels" : "");
}

/* What recording cost the steps that the rows are of, as `breakdown` has it. */
static int print_cost(struct run *r, const struct trace_ask *ask, struct arena *a, struct err *e)
{
    struct detail_range *ranges;
    struct breakdown b;
    size_t n;
    bool first = true;
    TRY(detail_ranges(r, a, &ranges, &n, e));
    if (n == 0)
        return 0;
    TRY(breakdown_read(r, ask, a, &b, e));
    for (size_t i = 0; i < b.n_windows; i++) {
        if (isnan(b.windows[i].step_s) || isnan(b.windows[i].usual_step_s))
            continue;
        if (first)
            putchar('\n');
        first = false;
        print_window(&b.windows[i], b.n_devices > 0, a);
    }
    return 0;
}

static int cmd_ops_on_run(struct run *r, const struct cmd_args *args, struct arena *a,
                          struct err *e)
{
    const struct opt_value *rank = &args->opt[O_RANK], *limit = &args->opt[O_LIMIT],
                           *device = &args->opt[O_DEVICE];
    const struct opsview_ask ask = {
        .ops = {.trace = {.one_rank = rank->given, .rank = rank->number},
                .by = (enum ops_by)args->opt[O_BY].number},
        .device = device->given ? device->number : -1,
        .limit = limit->given                  ? (size_t)limit->number
                 : args->output == OUTPUT_TEXT ? LIMIT_TEXT
                                               : SIZE_MAX,
    };
    struct opsview list = {0};
    TRY(opsview_read(&list, r, &ask, a, e));
    if (args->output == OUTPUT_JSON)
        output_json(&row_Op, list.v, list.n);
    else if (args->output == OUTPUT_CSV)
        output_csv(&row_Op, csv_columns, list.v, list.n, a);
    else
        cmd_ops_print_text(&list, a);
    TRY(print_missing(r, args, &list, e));
    if (args->output == OUTPUT_TEXT && list.n && !list.v[0].phase)
        return print_cost(r, &ask.ops.trace, a, e);
    return 0;
}

const struct cmd cmd_ops = {
    .name = "ops",
    .summary = "show the time spent in operators and kernels",
    .args = cmd_arg_run,
    .options = options,
    .help = CMD_HELP("Self time is the time of an operator without the operators that it called; "
                     "total time includes them and counts nested calls once. Kernels and copies "
                     "are assigned to the operator that launched them (GPU SELF) and to all "
                     "operators around it (GPU TOTAL).",
                     "Kernel names are shortened; --json and --csv also contain the full names. By "
                     "module: kernels launched in the backward pass are assigned to the module of "
                     "the matching forward pass, if the trace links the two.",
                     "By group: kernels by function (matmul, attention, convolution, elementwise, "
                     "reduction, optimizer, copy, communication, other), derived from their "
                     "names.",
                     "By function: the Python functions recorded with --python-profile-steps, for "
                     "the whole windows and for each phase of their steps. Windows with another "
                     "timer (cpu_time, off_cpu_time) are listed separately."),
    .examples = CMD_EXAMPLES(
        {"footplate ops last", "Show where the time went, on the CPU and on the GPUs."},
        {"footplate ops last --device gpu -n 5", "Show the five kernels that took longest."},
        {"footplate ops last --by module --rank 0 --json", "Print the modules of rank 0 as JSON."},
        {"footplate ops last --by group",
         "Show how much GPU time is spent in matrix products, copies and so "
         "on."},
        {"footplate ops last --by function -n 5",
         "Show the hottest Python functions of each phase."}),
    .on_run = cmd_ops_on_run,
};
