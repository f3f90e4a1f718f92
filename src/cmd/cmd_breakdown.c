/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_breakdown.c - what steps and devices spent their time on. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/table.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "query/breakdown.h"
#include "tables/breakview.h"
#include "tables/runview.h"

enum { O_RANK, O_LAST, O_TABLE, O_JSON, O_CSV, O_DIR };

/* Steps that people see when they do not say how many. */
enum { LAST_TEXT = 20 };

static const struct opt options[] = {
    [O_RANK] = {"rank", 0, "R", OPT_INT, .lo = 0, .hi = INT32_MAX, .help = "Show only this rank."},
    [O_LAST] = {"last", 'n', "N", OPT_INT, .lo = 0, .hi = 1000000000,
                .help = "Show only the last N steps (default: 20 in tables, all in JSON and CSV)."},
    [O_TABLE] = {"table", 0, "WHAT", OPT_CHOICE, .choices = break_table_names,
                 .help = "Show only this table (default: all; in CSV, the steps)."},
    [O_JSON] = OPT_ROW_JSON,
    [O_CSV] = OPT_ROW_CSV,
    [O_DIR] = OPT_ROW_DIR,
    {0},
};

static const struct cmd_arg positional[] = {ARG_ROW_RUN, {0}};

/* ---- JSON ---- */

static void cmd_breakdown_print_json(const struct breakdown *b, const struct opt_value *table,
                                     struct arena *a)
{
    struct buf out = {0};
    struct jw j = {.out = &out, .indent = 2};
    breakview_json(&j, b, table->given ? 1u << table->number : (1u << BREAK_TABLES) - 1, a);
    output_buf(&out);
    buf_free(&out);
}

/* ---- CSV ---- */

static void cmd_breakdown_print_csv(const struct breakdown *b, enum break_table t, struct arena *a)
{
    if (breakview_count(b, t))
        output_csv(break_row_tables[t], "", breakview_rows(b, t), breakview_count(b, t), a);
}

/* ---- text ---- */

static void of_cells(struct table *t, const struct breakdown_of *of)
{
    if (of->rank >= 0)
        table_cell(t, "%" PRId64, of->rank);
    else
        table_cell(t, "-");
}

static void time_cell(struct table *t, int64_t ns)
{
    cell_value(t, (double)ns * 1e-9, "s");
}

static void cmd_breakdown_share_cell(struct table *t, int64_t ns, int64_t of)
{
    table_cell(t, "%.1f %%", 100 * time_share(ns, of));
}

#define RIGHT(title)                                                                               \
    {                                                                                              \
        title, .right = true                                                                       \
    }

static const struct table_column step_columns[] = {
    RIGHT("RANK"),   RIGHT("STEP"),   RIGHT("TIME"),  RIGHT("KERNEL"),
    RIGHT("MEMCPY"), RIGHT("MEMSET"), RIGHT("COMM"),  RIGHT("RUNTIME"),
    RIGHT("LOADER"), RIGHT("CPU"),    RIGHT("OTHER"), {0},
};
enum { ROLES_FROM = 3 };
static const struct table_column device_columns[] = {
    RIGHT("RANK"),
    RIGHT("GPU"),
    RIGHT("SPAN"),
    RIGHT("OCCUPIED"),
    RIGHT("COMPUTE"),
    RIGHT("COMM"),
    RIGHT("COMM OVERLAP"),
    RIGHT("EXPOSED COMM"),
    RIGHT("IDLE"),
    RIGHT("EXPOSED COPY"),
    {0},
};
static const struct table_column stream_columns[] = {
    RIGHT("RANK"),
    RIGHT("GPU"),
    RIGHT("STREAM"),
    RIGHT("OPS"),
    RIGHT("HOST WAIT"),
    RIGHT("OWN PACE"),
    RIGHT("OTHER WAIT"),
    RIGHT("LAUNCH DELAY"),
    RIGHT("SHORT OPS"),
    RIGHT("QUEUE MAX"),
    {0},
};
static const struct table_column group_columns[] = {
    RIGHT("RANK"), {"KERNELS"}, RIGHT("COUNT"), RIGHT("TIME"), RIGHT("SHARE"), {0},
};
static const struct table_column memory_columns[] = {
    RIGHT("RANK"), {"MEMORY"}, RIGHT("PEAK"), RIGHT("BY STEP"), RIGHT("RESERVED"), {0},
};
static const struct table_column window_columns[] = {
    RIGHT("RANK"),       {"WINDOW"},          RIGHT("STEP TIME"),
    RIGHT("USUAL STEP"), RIGHT("STALL"),      RIGHT("BUSY"),
    RIGHT("IDLE"),       RIGHT("USUAL IDLE"), {0},
};

/* What only a device does is left out of a run that used none. */
static bool cmd_breakdown_is_shown(const struct breakdown *b, enum role r)
{
    if (r >= ROLE_LOADER || b->n_devices)
        return true;
    for (size_t i = 0; i < b->n_steps; i++)
        if (b->steps[i].role_ns[r] > 0)
            return true;
    return false;
}

static const struct table_column *shown_columns(const struct breakdown *b, struct arena *a)
{
    struct table_column *out = arena_array(a, struct table_column, COUNT_OF(step_columns));
    size_t n = 0;
    for (size_t i = 0; step_columns[i].title; i++)
        if (i < ROLES_FROM || cmd_breakdown_is_shown(b, (enum role)(i - ROLES_FROM)))
            out[n++] = step_columns[i];
    return out;
}

static void step_cells(struct table *t, const struct breakdown *b, size_t i)
{
    const struct step_row *s = &b->steps[i];
    of_cells(t, &s->of);
    table_cell(t, "%" PRId64, s->step);
    time_cell(t, s->end - s->begin);
    for (enum role r = 0; r < ROLE_N; r++)
        if (cmd_breakdown_is_shown(b, r))
            cmd_breakdown_share_cell(t, s->role_ns[r], s->end - s->begin);
}

static void device_cells(struct table *t, const struct breakdown *b, size_t i)
{
    const struct device_row *d = &b->devices[i];
    const int64_t span = d->end - d->begin;
    of_cells(t, &d->of);
    table_cell(t, "%" PRIu32, d->device);
    time_cell(t, span);
    cmd_breakdown_share_cell(t, d->busy_ns, span);
    cmd_breakdown_share_cell(t, d->compute_ns, span);
    cmd_breakdown_share_cell(t, d->comm_ns, span);
    if (d->comm_ns)
        cmd_breakdown_share_cell(t, d->comm_overlap_ns, d->comm_ns);
    else
        table_cell(t, "-");
    cmd_breakdown_share_cell(t, d->exposed_comm_ns, span);
    cmd_breakdown_share_cell(t, d->idle_ns, span);
    cmd_breakdown_share_cell(t, d->exposed_memcpy_ns, span);
}

static void stream_cells(struct table *t, const struct breakdown *b, size_t i)
{
    const struct stream_row *s = &b->streams[i];
    char text[HUMAN_LEN];
    of_cells(t, &s->of);
    table_cell(t, "%" PRIu32, s->device);
    table_cell(t, "%" PRIu32, s->stream);
    table_cell(t, "%s", human_count(s->ops, text, sizeof text));
    time_cell(t, s->host_wait_ns);
    time_cell(t, s->kernel_wait_ns);
    time_cell(t, s->other_wait_ns);
    if (s->launches == 0) {
        table_rest(t, "launch times were not recorded");
        return;
    }
    time_cell(t, s->delay_p50_ns);
    table_cell(t, "%s", human_count(s->short_ops, text, sizeof text));
    table_cell(t, "%s", human_count(s->queue_max, text, sizeof text));
}

static void memory_cells(struct table *t, const struct breakdown *b, size_t i)
{
    const struct memcurve *c = &b->memory[i].curve;
    char text[HUMAN_LEN];
    of_cells(t, &b->memory[i].of);
    table_cell(t, "%s", memory_name(c, t->arena));
    table_cell(t, "%s%s", c->exact || c->allocator_peak ? "" : "at least ",
               human_bytes((double)c->peak_bytes, text, sizeof text));
    if (b->memory[i].peak_step >= 0)
        table_cell(t, "%" PRId64, b->memory[i].peak_step);
    else
        table_cell(t, "-");
    table_cell(t, "%s",
               c->reserved_peak_bytes < 0
                   ? "-"
                   : human_bytes((double)c->reserved_peak_bytes, text, sizeof text));
}

static void group_cells(struct table *t, const struct breakdown *b, size_t i)
{
    const struct group_row *g = &b->groups[i];
    char text[HUMAN_LEN];
    of_cells(t, &g->of);
    table_cell(t, "%s", kernel_group_names[g->group]);
    table_cell(t, "%s", human_count(g->ops, text, sizeof text));
    time_cell(t, g->ns);
    table_cell(t, "%.1f %%", 100 * g->share);
}

static void cmd_breakdown_seconds_cell(struct table *t, double s)
{
    cell_value(t, s, "s");
}

static void cmd_breakdown_part_cell(struct table *t, double share)
{
    if (isnan(share))
        table_cell(t, "-");
    else
        table_cell(t, "%.1f %%", 100 * share);
}

static void window_cells(struct table *t, const struct breakdown *b, size_t i)
{
    const struct window_row *w = &b->windows[i];
    of_cells(t, &w->of);
    if (w->first_step < 0)
        table_cell(t, "no complete step");
    else if (w->n_steps == 1)
        table_cell(t, "step %" PRId64, w->first_step);
    else
        table_cell(t, "steps %" PRId64 " to %" PRId64, w->first_step,
                   w->first_step + (int64_t)w->n_steps - 1);
    cmd_breakdown_seconds_cell(t, w->step_s);
    cmd_breakdown_seconds_cell(t, w->usual_step_s);
    cmd_breakdown_seconds_cell(t, w->stall_s);
    cmd_breakdown_seconds_cell(t, w->busy_s);
    cmd_breakdown_part_cell(t, w->idle_share);
    cmd_breakdown_part_cell(t, w->usual_idle_share);
}

static const struct {
    const struct table_column *columns;
    void (*cells)(struct table *t, const struct breakdown *b, size_t i);
} texts[] = {
    [BREAK_STEPS] = {step_columns, step_cells},
    [BREAK_DEVICES] = {device_columns, device_cells},
    [BREAK_STREAMS] = {stream_columns, stream_cells},
    [BREAK_GROUPS] = {group_columns, group_cells},
    [BREAK_MEMORY] = {memory_columns, memory_cells},
    [BREAK_WINDOWS] = {window_columns, window_cells},
};

static bool has_ranks(const struct breakdown *b)
{
    return b->n_steps && b->steps[0].of.rank != b->steps[b->n_steps - 1].of.rank;
}

static void print_sentences(const struct breakdown *b, struct arena *a)
{
    putchar('\n');
    for (size_t i = 0; i < b->n_steps; i++) {
        const struct step_row *s = &b->steps[i];
        if (s->of.rank > 0 || has_ranks(b))
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
        table_init(&out, a, t == BREAK_STEPS ? shown_columns(b, a) : texts[t].columns);
        for (size_t i = 0; i < breakview_count(b, t); i++)
            texts[t].cells(&out, b, i);
        table_print(&out, stdout, term_width(stdout), term_color(stdout));
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

static int cmd_breakdown_read_all(struct run *r, const struct cmd_args *args, struct arena *a,
                                  struct breakdown *out, struct err *e)
{
    const struct opt_value *rank = &args->opt[O_RANK], *last = &args->opt[O_LAST];
    const struct trace_ask ask = {.one_rank = rank->given, .rank = rank->number};
    const int rc = breakdown_read(r, &ask, a, out, e);
    if (rc == 0 && (last->given || args->output == OUTPUT_TEXT))
        keep_last(out, last->given ? (size_t)last->number : LAST_TEXT);
    return rc;
}

static void cmd_breakdown_print(enum output output, const struct breakdown *b,
                                const struct opt_value *table, struct arena *a)
{
    if (output == OUTPUT_JSON)
        cmd_breakdown_print_json(b, table, a);
    else if (output == OUTPUT_CSV)
        cmd_breakdown_print_csv(b, table->given ? (enum break_table)table->number : BREAK_STEPS, a);
    else
        cmd_breakdown_print_text(b, table, a);
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
    struct breakdown b = {0};
    const int rc = cmd_breakdown_read_all(r, args, a, &b, e);
    if (rc != 0)
        return rc;
    cmd_breakdown_print(args->output, &b, &args->opt[O_TABLE], a);
    print_remarks(&b);
    return 0;
}

static const char *const help[] = {
    "Steps: each moment of a step is assigned to the first of these categories that is active: "
    "kernel, copy, memset, communication, runtime call, data loader wait, CPU operator, other. A "
    "step ends when the last device operation that it launched ends.",
    "Devices: how long each device was busy, how much of that was computation, how much "
    "communication and copying was not hidden by computation, and why its streams were idle: "
    "waiting for the host to launch work (HOST WAIT), gaps between kernels below 30 ns, or other "
    "causes.",
    "Memory: the allocator's peak and the step in which it was reached. Windows: the cost of "
    "recording. Steps in a detail window are slower, so the device looks more idle than it is; "
    "USUAL IDLE is the estimate for a normal step.",
    NULL,
};

static const struct cmd_example examples[] = {
    {"footplate breakdown last", "Show the time of each step and each device."},
    {"footplate breakdown last --rank 3 --json", "Print one rank as JSON."},
    {"footplate breakdown last --csv --table devices", "Print only the devices as CSV."},
    {0},
};

const struct cmd cmd_breakdown = {
    .name = "breakdown",
    .summary = "show how steps and devices spent their time",
    .args = positional,
    .options = options,
    .help = help,
    .examples = examples,
    .on_run = cmd_breakdown_on_run,
};
