/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_breakdown.c - what steps and devices spent their time on. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "query/breakdown.h"
#include "tables/opsview.h"

enum { O_RANK, O_LAST, O_TABLE };

/* Steps that are shown if the user does not set a number. */
enum { LAST_TEXT = 20 };

static const struct opt options[] = {
    [O_RANK] = {"rank", 0, "R", OPT_INT, .lo = 0, .hi = INT32_MAX, .help = "Show only this rank."},
    [O_LAST] = {"last", 'n', "N", OPT_INT, .lo = 0, .hi = 1000000000,
                .help = "Show only the last N steps (default: 20 in tables, all in JSON and CSV)."},
    [O_TABLE] = {"table", 0, "WHAT", OPT_CHOICE, .choices = break_table_names,
                 .help = "Show only this table (default: all; in CSV, the steps)."},
    OPT_ROWS_OUTPUT,
};

/* ---- text ---- */

static void time_cell(struct table *t, int64_t ns)
{
    cell_value(t, (double)ns * 1e-9, "s");
}

/* What only a device does is left out of a run that used none. */
static bool cmd_breakdown_is_shown(const struct breakdown *b, enum role r)
{
    if (r >= ROLE_LOADER || b->n_devices)
        return true;
    return FIND_ANY(i, b->n_steps, b->steps[i].role_ns[r] > 0);
}

static const char *step_columns(const struct breakdown *b, struct arena *a)
{
    static const char *const titles[ROLE_N] = {
        [ROLE_KERNEL] = "KERNEL", [ROLE_MEMCPY] = "MEMCPY",   [ROLE_MEMSET] = "MEMSET",
        [ROLE_COMM] = "COMM",     [ROLE_RUNTIME] = "RUNTIME", [ROLE_LOADER] = "LOADER",
        [ROLE_CPU] = "CPU",       [ROLE_OTHER] = "OTHER"};
    const char *columns = ">RANK|>STEP|>TIME";
    for (enum role r = 0; r < ROLE_N; r++)
        if (cmd_breakdown_is_shown(b, r))
            columns = arena_printf(a, "%s|>%s", columns, titles[r]);
    return columns;
}

static void step_cells(struct table *t, const struct breakdown *b, size_t i)
{
    const struct step_row *s = &b->steps[i];
    cell_int(t, s->of.rank);
    table_cell(t, "%" PRId64, s->step);
    time_cell(t, s->end - s->begin);
    for (enum role r = 0; r < ROLE_N; r++)
        if (cmd_breakdown_is_shown(b, r))
            cell_share(t, time_share(s->role_ns[r], s->end - s->begin));
}

static void device_cells(struct table *t, const struct breakdown *b, size_t i)
{
    const struct device_row *d = &b->devices[i];
    const int64_t span = d->end - d->begin;
    cell_int(t, d->of.rank);
    cell_int(t, d->device);
    time_cell(t, span);
    cell_share(t, time_share(d->busy_ns, span));
    cell_share(t, time_share(d->compute_ns, span));
    cell_share(t, time_share(d->comm_ns, span));
    cell_share(t, d->comm_ns ? time_share(d->comm_overlap_ns, d->comm_ns) : NAN);
    cell_share(t, time_share(d->exposed_comm_ns, span));
    cell_share(t, time_share(d->idle_ns, span));
    cell_share(t, time_share(d->exposed_memcpy_ns, span));
}

static void stream_cells(struct table *t, const struct breakdown *b, size_t i)
{
    const struct stream_row *s = &b->streams[i];
    cell_int(t, s->of.rank);
    cell_int(t, s->device);
    cell_int(t, s->stream);
    cell_count(t, s->ops);
    time_cell(t, s->host_wait_ns);
    time_cell(t, s->kernel_wait_ns);
    time_cell(t, s->other_wait_ns);
    if (s->launches == 0) {
        table_rest(t, "launch times were not recorded");
        return;
    }
    time_cell(t, s->delay_p50_ns);
    cell_count(t, s->short_ops);
    cell_count(t, s->queue_max);
}

static void memory_cells(struct table *t, const struct breakdown *b, size_t i)
{
    const struct memcurve *c = &b->memory[i].curve;
    cell_int(t, b->memory[i].of.rank);
    table_cell(t, "%s", memory_name(c, t->arena));
    table_cell(t, "%s%s", c->exact || c->allocator_peak ? "" : "at least ",
               bytes_text(t->arena, (double)c->peak_bytes));
    cell_int(t, b->memory[i].peak_step);
    table_cell(t, "%s",
               c->reserved_peak_bytes < 0 ? "-"
                                          : bytes_text(t->arena, (double)c->reserved_peak_bytes));
}

static void group_cells(struct table *t, const struct breakdown *b, size_t i)
{
    const struct group_row *g = &b->groups[i];
    cell_int(t, g->of.rank);
    table_cell(t, "%s", kernel_group_names[g->group]);
    cell_count(t, g->ops);
    time_cell(t, g->ns);
    cell_share(t, g->share);
}

static void window_cells(struct table *t, const struct breakdown *b, size_t i)
{
    const struct window_row *w = &b->windows[i];
    cell_int(t, w->of.rank);
    if (w->first_step < 0)
        table_cell(t, "no complete step");
    else if (w->n_steps == 1)
        table_cell(t, "step %" PRId64, w->first_step);
    else
        table_cell(t, "steps %" PRId64 " to %" PRId64, w->first_step,
                   w->first_step + (int64_t)w->n_steps - 1);
    CELL_VALUES(t, "s", w->step_s, w->usual_step_s, w->stall_s, w->busy_s);
    cell_share(t, w->idle_share);
    cell_share(t, w->usual_idle_share);
}

static const struct {
    const char *columns;
    void (*cells)(struct table *t, const struct breakdown *b, size_t i);
} texts[] = {
    [BREAK_STEPS] = {NULL, step_cells},
    [BREAK_DEVICES] = {">RANK|>GPU|>SPAN|>OCCUPIED|>COMPUTE|>COMM|>COMM OVERLAP|>EXPOSED COMM|"
                       ">IDLE|>EXPOSED COPY",
                       device_cells},
    [BREAK_STREAMS] = {">RANK|>GPU|>STREAM|>OPS|>HOST WAIT|>OWN PACE|>OTHER WAIT|>LAUNCH DELAY|"
                       ">SHORT OPS|>QUEUE MAX",
                       stream_cells},
    [BREAK_GROUPS] = {">RANK|KERNELS|>COUNT|>TIME|>SHARE", group_cells},
    [BREAK_MEMORY] = {">RANK|MEMORY|>PEAK|>BY STEP|>RESERVED", memory_cells},
    [BREAK_WINDOWS] = {">RANK|WINDOW|>STEP TIME|>USUAL STEP|>STALL|>BUSY|>IDLE|>USUAL IDLE",
                       window_cells},
};

static void print_sentences(const struct breakdown *b, struct arena *a)
{
    putchar('\n');
    for (size_t i = 0; i < b->n_steps; i++) {
        const struct step_row *s = &b->steps[i];
        if (s->of.rank > 0 ||
            (b->n_steps && b->steps[0].of.rank != b->steps[b->n_steps - 1].of.rank))
            printf("rank %" PRId64 ", ", s->of.rank);
        puts(step_sentence(s, a));
    }
}

static void print_window_notes(const struct breakdown *b, struct arena *a)
{
    for (size_t i = 0; i < b->n_windows; i++) {
        const char *text = window_sentence(&b->windows[i], a);
        if (text && b->n_windows > 1)
            printf("rank %" PRId64 ", window %zu: ", b->windows[i].of.rank, i + 1);
        if (text)
            puts(text);
    }
}

static void cmd_breakdown_print_text(const struct breakdown *b, const struct opt_value *table,
                                     struct arena *a)
{
    bool some = false;
    for (enum break_table t = BREAK_STEPS; t < BREAK_TABLES; t++) {
        struct table out;
        if ((table->given && table->number != (int64_t)t) || breakview_count(b, t) == 0)
            continue;
        if (some)
            putchar('\n');
        some = true;
        table_init(&out, a, t == BREAK_STEPS ? step_columns(b, a) : texts[t].columns);
        for (size_t i = 0; i < breakview_count(b, t); i++)
            texts[t].cells(&out, b, i);
        output_table(&out);
        if (t == BREAK_STEPS)
            print_sentences(b, a);
        if (t == BREAK_WINDOWS)
            print_window_notes(b, a);
    }
}

/* ---- the command ---- */

/* Of each rank the last n. */
static void keep_last(struct breakdown *b, size_t last)
{
    size_t kept = 0;
    for (size_t i = 0, end; i < b->n_steps; i = end) {
        for (end = i; end < b->n_steps && b->steps[end].of.rank == b->steps[i].of.rank;)
            end++;
        for (size_t k = end - i > last ? end - last : i; k < end; k++)
            b->steps[kept++] = b->steps[k];
    }
    b->n_steps = kept;
}

static void print_remarks(const struct breakdown *b)
{
    if (!breakdown_has_detail(b))
        fprintf(stderr,
                "no operator details were recorded%s; record some with 'footplate run "
                "--detail-steps 5:2', or import a trace\n",
                b->n_memory ? ", so only memory is shown" : "");
    if (b->dropped_steps)
        fprintf(stderr,
                "omitted %zu step%s at the end: the profiler stopped before their GPU work had "
                "finished\n",
                b->dropped_steps, b->dropped_steps == 1 ? "" : "s");
}

static int cmd_breakdown_on_run(struct run *r, const struct cmd_args *args, struct arena *a,
                                struct err *e)
{
    const struct opt_value *rank = &args->opt[O_RANK], *last = &args->opt[O_LAST],
                           *table = &args->opt[O_TABLE];
    const enum break_table one = table->given ? (enum break_table)table->number : BREAK_STEPS;
    struct breakdown b = {0};
    TRY(breakdown_read(r, &(struct trace_ask){.one_rank = rank->given, .rank = rank->number}, a, &b,
                       e));
    if (last->given || args->output == OUTPUT_TEXT)
        keep_last(&b, last->given ? (size_t)last->number : LAST_TEXT);
    if (args->output == OUTPUT_JSON) {
        struct output_json o;
        breakview_json(output_begin(&o), &b, table->given ? 1u << one : (1u << BREAK_TABLES) - 1,
                       a);
        output_end(&o);
    } else if (args->output == OUTPUT_TEXT) {
        cmd_breakdown_print_text(&b, table, a);
    } else if (breakview_count(&b, one)) {
        output_csv(break_row_tables[one], "", breakview_rows(&b, one), breakview_count(&b, one), a);
    }
    print_remarks(&b);
    return 0;
}

const struct cmd cmd_breakdown = {
    .name = "breakdown",
    .summary = "show how steps and devices spent their time",
    .args = cmd_arg_run,
    .options = options,
    .help = CMD_HELP("Steps: each moment of a step is assigned to the first of these categories "
                     "that is active: kernel, copy, memset, communication, runtime call, data "
                     "loader wait, CPU operator, other. A step ends when the last device operation "
                     "that it launched ends.",
                     "Devices: how long each device was busy, how much of that was computation, "
                     "how much communication and copying was not hidden by computation, and why "
                     "its streams were idle: waiting for the host to launch work (HOST WAIT), gaps "
                     "between kernels below 30 ns, or other causes.",
                     "Memory: the allocator's peak and the step in which it was reached. Windows: "
                     "the cost of recording. Steps in a detail window are slower, so the device "
                     "looks more idle than it is; USUAL IDLE is the estimate for a normal step."),
    .examples = CMD_EXAMPLES(
        {"footplate breakdown last", "Show the time of each step and each device."},
        {"footplate breakdown last --rank 3 --json", "Print one rank as JSON."},
        {"footplate breakdown last --csv --table devices", "Print only the devices as CSV."}),
    .on_run = cmd_breakdown_on_run,
};
