/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_show.c - one run on one screen; its contents are in tables/show.h. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/vec.h"
#include "cmd/check.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cost/machines.h"
#include "query/run.h"
#include "query/steps.h"
#include "record/record.h"
#include "run/run_info.h"
#include "sample/probe.h"
#include "tables/runview.h"
#include "tables/show.h"
#include "tables/stepsview.h"
#include "tables/summary.h"

enum { LABEL = 15, MARKS_MOST = 12, LOSSES_MOST = 12 };

/* "label       value", the values under each other. */
__attribute__((format(printf, 3, 4))) static void
show_put_line(const struct show *s, const char *label, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("%-*s%s\n", LABEL, label, text_safe(s->arena, arena_vprintf(s->arena, fmt, ap)));
    va_end(ap);
}

/* The reasons of the nodes' status, each once. */
static const char *why_of(const struct show *s)
{
    const struct run_info *info = s->info;
    for (size_t i = 0; i < info->n_nodes; i++)
        if (info->nodes[i].status == info->status && *info->nodes[i].why)
            return arena_printf(s->arena, ": %s", info->nodes[i].why);
    return "";
}

static void show_put_status(const struct show *s)
{
    const struct run_info *info = s->info;
    const char *exit =
        info->exit_status > 0 ? arena_printf(s->arena, ", exit status %d", info->exit_status) : "";
    show_put_line(s, "status", "%s%s%s", run_status_name(info->status), why_of(s), exit);
}

static void show_put_shipping(const struct show *s)
{
    const struct shipping *x = s->shipping;
    char age[HUMAN_LEN];
    if (!x)
        return;
    const double lag_s = shipping_lag_s(x);
    if (x->state == SHIPPING_DONE)
        show_put_line(s, "sent", "all, to %s (%s)", x->to, bytes_text(s->arena, (double)x->bytes));
    else
        show_put_line(s, "sent", "%s to %s, last %s%s%s", bytes_text(s->arena, (double)x->bytes),
                      x->to, isnan(lag_s) ? "never" : human_age(lag_s, age, sizeof age),
                      *x->error ? ": " : "", x->error);
}

static void show_put_times(const struct show *s)
{
    const struct run_info *info = s->info;
    char start[64], end[64], age[HUMAN_LEN];
    const double ago_s = (double)(clock_wall().ns - info->end.ns) / (double)NS_PER_S;
    show_put_line(s, "started", "%s", wall_text(info->start, start, sizeof start));
    if (info->status == RUN_RUNNING)
        show_put_line(s, "updated", "%s", human_age(ago_s, age, sizeof age));
    else
        show_put_line(s, "ended", "%s", wall_text_beside(info->end, info->start, end, sizeof end));
    show_put_line(s, "duration", "%s", value_text(s->arena, runview_duration_s(info), "s"));
}

/* What the machines cost, when that is known. */
static void put_price(const struct show *s)
{
    const double cost = pricing_cost(s->info), per_hour = pricing_per_hour(s->info);
    const char *machine = pricing_machine(s->info);
    char money[HUMAN_LEN];
    if (!isnan(cost))
        show_put_line(s, "cost", "%s, at %g %s per hour%s%s",
                      human_price(cost, pricing_currency(s->info), money, sizeof money), per_hour,
                      pricing_currency(s->info), *machine ? " for " : "", machine);
}

static void show_put_head(const struct show *s)
{
    const struct run_info *info = s->info;
    show_put_line(s, "run", "%s", info->name);
    show_put_line(s, "folder", "%s", info->path);
    show_put_status(s);
    show_put_line(s, "command", "%s", runview_command(info, s->arena));
    if (info->directory && *info->directory)
        show_put_line(s, "in", "%s%s%s", info->directory,
                      info->git_commit && *info->git_commit ? ", git commit " : "",
                      info->git_commit ? info->git_commit : "");
    if (strcmp(info->name, info->recorded_name) != 0)
        show_put_line(s, "recorded as", "%s", info->recorded_name);
    for (size_t i = 0; i < info->notes.n_tags; i++)
        show_put_line(s, i ? "" : "tags", "%s", info->notes.tags[i]);
    if (*info->notes.text)
        show_put_line(s, "note", "%s", info->notes.text);
    for (size_t i = 0; i < info->n_labels; i++)
        show_put_line(s, i ? "" : "labels", "%s=%s", info->labels[i].key, info->labels[i].value);
    show_put_times(s);
    show_put_shipping(s);
    put_price(s);
}

/* ---- nodes ---- */

/* "2 x NVIDIA H100, 80.0 GiB each", "2 GPUs" when no more is known, or why there is none. */
static const char *gpu_text(const struct show *s, const struct node_info *n)
{
    if (n->n_gpus && !*n->gpus[0].name)
        return arena_printf(s->arena, "%zu GPU%s", n->n_gpus, n->n_gpus == 1 ? "" : "s");
    if (n->n_gpus == 0)
        return n->gpu_absent && *n->gpu_absent
                   ? arena_printf(s->arena, "no GPU found: %s", n->gpu_absent)
                   : "no GPU found";
    return arena_printf(s->arena, "%zu x %s, %s each", n->n_gpus, n->gpus[0].name,
                        bytes_text(s->arena, (double)n->gpus[0].memory_bytes));
}

/* What is known of it: imported traces have little. */
static const char *machine_text(const struct show *s, const struct node_info *n)
{
    const char *t = *n->host ? arena_printf(s->arena, ": host %s", n->host) : "";
    if (n->cores)
        t = arena_printf(s->arena, "%s, %u core%s%s%s%s", t, n->cores, n->cores == 1 ? "" : "s",
                         *n->cpu_model ? " (" : "", n->cpu_model, *n->cpu_model ? ")" : "");
    if (n->memory_bytes > 0)
        t = arena_printf(s->arena, "%s, %s memory", t,
                         bytes_text(s->arena, (double)n->memory_bytes));
    return t;
}

/* ", rank 3 of 8": what is known of it. */
static const char *place_text(const struct show *s, const struct node_info *n)
{
    if (n->rank < 0)
        return "";
    return n->world_size < 0
               ? arena_printf(s->arena, ", rank %" PRId64, n->rank)
               : arena_printf(s->arena, ", rank %" PRId64 " of %" PRId64, n->rank, n->world_size);
}

static void show_put_node(const struct show *s, const struct node_view *v)
{
    const struct node_info *n = v->last;
    char text[HUMAN_LEN];
    show_put_line(s, "node", "%s%s", n->id, machine_text(s, n));
    if (n->gpus_known)
        show_put_line(s, "", "%s", gpu_text(s, n));
    if (n->launcher && *n->launcher)
        show_put_line(s, "", "started by %s%s", n->launcher, place_text(s, n));
    for (size_t i = 0; v->sessions > 1 && i < v->sessions; i++)
        show_put_line(s, "", "session %u: %s%s%s, began %s", v->first[i].session,
                      run_status_name(v->first[i].status), *v->first[i].why ? ", " : "",
                      v->first[i].why,
                      wall_text_beside(v->first[i].start, s->info->start, text, sizeof text));
}

static void show_put_nodes(const struct show *s)
{
    struct node_view *v;
    const size_t n = runview_nodes(s->info, s->arena, &v);
    for (size_t i = 0; i < n; i++)
        show_put_node(s, &v[i]);
}

/* ---- what was recorded and what that cost ---- */

static void put_recorded(const struct show *s)
{
    const double interval_s = (double)runview_interval_ns(s->info) / (double)NS_PER_S;
    const char *every =
        interval_s > 0 ? arena_printf(s->arena, "every %s, ", value_text(s->arena, interval_s, "s"))
                       : "";
    show_put_line(s, "recorded", "%s%s reading%s, %s on disk", every,
                  count_text(s->arena, s->size.samples), s->size.samples == 1 ? "" : "s",
                  bytes_text(s->arena, (double)s->size.file_bytes));
}

static void show_put_cost(const struct show *s)
{
    const double written = runview_bytes_written(s->info);
    show_put_line(s, "overhead", "%s%s%s", runview_cost_text(s->info, s->arena),
                  isnan(written) ? "" : ", disk writes ",
                  isnan(written) ? "" : bytes_text(s->arena, written));
}

/* ---- phases and steps ---- */

/* "412 of 20 000 steps, 2.1 %, 3 h left". */
static void show_put_progress(const struct show *s)
{
    const struct mode_steps x = mode_steps_of(s->ranks, s->n_ranks, MODE_TRAIN, s->arena);
    const double done = (double)x.best.count, planned = (double)s->planned;
    if (x.ranks == 0 || s->planned < 0)
        return;
    const double left_s =
        steps_left_s(s->phases.loop_start, s->info->end, x.best.count, s->planned);
    show_put_line(s, "progress", "%s of %s steps, %.0f %%%s%s", count_text(s->arena, x.best.count),
                  count_text(s->arena, (uint64_t)s->planned), fmin(100 * done / planned, 100),
                  s->info->status == RUN_RUNNING ? ", about " : "",
                  s->info->status == RUN_RUNNING
                      ? arena_printf(s->arena, "%s left", value_text(s->arena, left_s, "s"))
                      : "");
}

/* "1 000 train on each of 2 ranks, p50 12.3 ms, p95 14.1 ms". */
static void show_put_steps(const struct show *s, enum event_mode mode)
{
    const struct mode_steps x = mode_steps_of(s->ranks, s->n_ranks, mode, s->arena);
    if (x.ranks == 0)
        return;
    show_put_line(
        s, "step duration", "%s %s%s, p50 %s, p95 %s%s", count_text(s->arena, x.best.count),
        mode_name(mode),
        x.ranks > 1 ? arena_printf(s->arena, " on each of %zu ranks", x.ranks) : "",
        value_text(s->arena, x.best.p50_s, "s"), value_text(s->arena, x.best.p95_s, "s"),
        mode == MODE_TRAIN || isnan(x.steady)
            ? ""
            : arena_printf(s->arena, ", %s", value_text(s->arena, x.steady, "samples/s")));
}

static void show_put_phases(const struct show *s)
{
    struct table t;
    double pct[PHASE_N];
    output_title("phases");
    if (s->no_steps) {
        puts(text_safe(s->arena, steps_none_text(s->info, s->no_steps, s->arena)));
        return;
    }
    show_percents(s, pct);
    table_init(&t, s->arena, "PHASE|>TIME|>SHARE");
    for (enum phase_kind k = 0; k < PHASE_N; k++) {
        if (s->phases.seconds[k] <= 0)
            continue;
        table_cell(&t, "%s", phase_name(k));
        cell_value(&t, s->phases.seconds[k], "s");
        table_cell(&t, "%.1f %%", pct[k]);
    }
    output_table(&t);
    show_put_progress(s);
    for (enum event_mode m = 0; m < MODE_N; m++)
        show_put_steps(s, m);
}

/* ---- the training loop ---- */

/* What one iteration is spent on, as one clock saw it: "forward 7.69 ms, backward 17.7 ms". */
static void show_put_clock(const struct show *s, const struct step_stats *x, const char *label,
                           const double *part_s, double between_s)
{
    const char *text = "";
    for (size_t k = 0; k <= step_parts(); k++) {
        const double v = k < step_parts() ? part_s[k] : between_s;
        if (!isnan(v) && v > 0 && v >= x->iteration_mean_s / 1000)
            text = arena_printf(s->arena, "%s%s%s %s", text, *text ? ", " : "",
                                k < step_parts() ? step_part_name(k) : "between steps",
                                value_text(s->arena, v, "s"));
    }
    if (*text)
        show_put_line(s, "", "%s: %s", label, text);
}

static void show_put_iteration(const struct show *s, const struct mode_steps *x)
{
    const struct step_stats *b = &x->best;
    if (b->iterations == 0)
        return;
    const char *left_out =
        b->warmup + b->disturbed
            ? arena_printf(s->arena, ", excluding %zu warm-up%s", b->warmup,
                           b->disturbed ? arena_printf(s->arena,
                                                       " and %zu in or right after a detail window",
                                                       b->disturbed)
                                        : "")
            : "";
    show_put_line(
        s, "iteration", "p50 %s, p95 %s, %s%s", value_text(s->arena, b->iteration_p50_s, "s"),
        value_text(s->arena, b->iteration_p95_s, "s"), mode_steps_words(x, s->arena), left_out);
    if (steps_has_clock(b, CLOCK_GPU))
        show_put_clock(s, b, steps_clock_text(b, x->rank, CLOCK_GPU, s->arena), b->gpu_part_s, NAN);
    show_put_clock(s, b, steps_clock_text(b, x->rank, CLOCK_HOST, s->arena), b->host_part_s,
                   b->between_s);
}

static void show_put_gpu(const struct show *s)
{
    const struct gpu_view *g = &s->gpu;
    if (g->x.n_used == 0)
        return;
    show_put_line(s, "GPU", "%s", gpuview_activity(g, g->use));
    show_put_line(s, "compute", "%s", gpuview_compute(g));
    show_put_line(s, "power", "%s", gpuview_power(g));
    show_put_line(s, "clock", "%s", gpuview_clock(g, g->use));
}

static void put_loop(const struct show *s)
{
    const struct mode_steps x = mode_steps_of(s->ranks, s->n_ranks, MODE_TRAIN, s->arena);
    if (x.ranks == 0)
        return;
    const struct loop_window *w = &s->gpu.x.window;
    output_title(arena_printf(
        s->arena, "training loop (%s%s)", value_text(s->arena, wall_span_s(w->from, w->to), "s"),
        w->steady && s->phases.loop_start.ns < w->from.ns ? " after warm-up" : ""));
    show_put_iteration(s, &x);
    if (!isnan(x.steady))
        show_put_line(s, "throughput", "%s", show_throughput(s, &x));
    show_put_gpu(s);
}

/* For runs without a loop, what the loop would show; and what only the whole job has. */
static void put_job(const struct show *s)
{
    const struct gpu_view *g = &s->gpu;
    if (g->x.n_used == 0)
        return;
    output_title("GPUs, whole job");
    if (g->loop)
        show_put_line(s, "GPU", "%s", gpuview_activity(g, &g->x.job));
    else
        show_put_gpu(s);
    if (!isnan(g->x.job.energy_j))
        show_put_line(s, "energy", "%s", joules_text(s->arena, g->x.job.energy_j));
    show_put_line(s, "memory", "%s", gpuview_memory(g));
}

/* ---- utilization ---- */

static bool is_gpu(const char *metric)
{
    const enum metric_id m = metric_find(metric);
    return m < METRIC_N && metrics[m].per == PER_GPU;
}

/* Whether GPUs of the node were searched for and none was found. */
static bool lacks_gpu(const struct run_info *info, const char *node)
{
    bool looked = false;
    for (size_t i = 0; i < info->n_nodes; i++) {
        if (strcmp(info->nodes[i].id, node) != 0)
            continue;
        if (info->nodes[i].n_gpus > 0)
            return false;
        looked |= info->nodes[i].gpus_known;
    }
    return looked;
}

static void put_utilization(const struct show *s)
{
    struct table t;
    table_init(&t, s->arena, "NODE|RESOURCE|>MIN|>P50|>P95|>MAX");
    for (size_t i = 0; i < s->n_lines; i++) {
        const struct summary_line *l = &s->lines[i];
        CELL_TEXTS(&t, l->node, l->row->title);
        if (l->why && is_gpu(l->row->metric) && lacks_gpu(s->info, l->node)) {
            table_rest(&t, "no GPU"); /* the node's line has the reason */
            continue;
        }
        if (l->why) {
            table_rest(&t, "not measured: %s", l->why);
            continue;
        }
        CELL_VALUES(&t, l->unit, l->stats.min, l->stats.p50, l->stats.p95, l->stats.max);
    }
    output_title("utilization, whole job");
    output_table(&t);
}

/* ---- marks and losses ---- */

/* Marks that every healthy run has are not news. */
static bool is_news(enum mark_id id)
{
    static const bool usual[MARK_N] = {[MARK_RECORDER_START] = true,
                                       [MARK_JOB_START] = true,
                                       [MARK_JOB_EXIT] = true,
                                       [MARK_JOB_END] = true,
                                       [MARK_EXEC] = true};
    return !usual[id];
}

static const char *mark_text(const struct show *s, const struct mark *m)
{
    const struct mark_word *w = &marks[m->id];
    if (!*m->text)
        return arena_printf(s->arena, "%s %" PRId64, w->name, m->number);
    if (!*w->number)
        return arena_printf(s->arena, "%s: %s", w->name, m->text);
    return arena_printf(s->arena, "%s: %s (%s %" PRId64 ")", w->name, m->text, w->number,
                        m->number);
}

static void show_put_marks(const struct show *s)
{
    size_t news = 0;
    for (size_t i = 0; i < s->n_marks; i++) {
        const struct run_mark *m = &s->marks[i];
        if (!is_news(m->mark.id) || ++news > MARKS_MOST)
            continue;
        if (news == 1)
            output_title("events");
        const double at_s = (double)(m->at.ns - s->info->start.ns) / (double)NS_PER_S;
        char after[HUMAN_LEN];
        show_put_line(s, arena_printf(s->arena, "+%s", duration_text(at_s, after, sizeof after)),
                      "%s  %s", m->node, mark_text(s, &m->mark));
    }
    if (news > MARKS_MOST)
        printf("and %zu more; use --json to list all\n", news - MARKS_MOST);
}

/* Losses of one kind and reason make one line, whatever they are about. */
struct loss_group {
    const struct loss *first;
    size_t things;
    uint64_t count;
};

/* A missing GPU is printed once, beside the node; a machine without swap has lost nothing. */
static bool show_is_listed(const struct show *s, const struct run_loss *l)
{
    if (loss_is_no_news(&l->loss))
        return true;
    if (l->loss.id != LOSS_ABSENT || !lacks_gpu(s->info, l->node))
        return false;
    for (size_t i = 0; probes[i]; i++)
        if (loss_is_part(&l->loss, probes[i]->name))
            return probes[i]->lane != LANE_FAST;
    return false;
}

static size_t group_losses(const struct show *s, struct loss_group *v)
{
    size_t n = 0;
    for (size_t i = 0; i < s->losses.n; i++) {
        const struct loss *l = &s->losses.v[i].loss;
        if (show_is_listed(s, &s->losses.v[i]))
            continue;
        const size_t k =
            FIND_FIRST(at, n, v[at].first->id == l->id && strcmp(v[at].first->why, l->why) == 0);
        if (k == n)
            v[n++] = (struct loss_group){.first = l};
        v[k].things++;
        v[k].count += l->count;
    }
    return n;
}

static void put_loss(const struct show *s, const struct loss_group *g)
{
    const struct loss *l = g->first;
    const char *more = g->things > 1 ? arena_printf(s->arena, " and %zu more", g->things - 1) : "";
    const char *times =
        g->count > g->things ? arena_printf(s->arena, " (%" PRIu64 " times)", g->count) : "";
    printf("%s%s: %s%s\n", text_safe(s->arena, loss_what_words(l, s->arena)), more,
           text_safe(s->arena, loss_why(l)), times);
}

static void show_put_losses(const struct show *s)
{
    struct loss_group *v = arena_array(s->arena, struct loss_group, s->losses.n + 1);
    const size_t n = group_losses(s, v);
    if (n == 0)
        return;
    output_title("not measured or lost");
    for (size_t i = 0; i < n && i < LOSSES_MOST; i++)
        put_loss(s, &v[i]);
    if (n > LOSSES_MOST)
        printf("and %zu more; use --json to list all\n", n - LOSSES_MOST);
}

static void show_text(const struct show *s)
{
    show_put_head(s);
    show_put_nodes(s);
    put_recorded(s);
    show_put_cost(s);
    put_loop(s);
    show_put_phases(s);
    put_job(s);
    put_utilization(s);
    show_put_marks(s);
    show_put_losses(s);
}

/* ---- the command ---- */

enum { O_JSON, O_DIR };

static const struct opt options[] = {
    [O_JSON] = {OPT_ROW_JSON},
    [O_DIR] = {OPT_ROW_DIR},
    {0},
};

/* The answer first, with the verdicts of the built-in rules. */
static int show_put_summary(const struct show *s, struct run *r, const struct run_steps *steps,
                            const struct cmd_args *args, struct err *e)
{
    struct check *c;
    const char *lines[SUMMARY_LINES];
    TRY(check_open(&c, args, e));
    TRY(rules_check_steps(r, &(struct check_ask){&c->params, &c->pricing, steps}, c->arena,
                          &c->checked, e));
    const size_t n = summary_lines(&(struct summary_ask){.show = s, .checked = &c->checked}, lines);
    for (size_t i = 0; i < n; i++)
        puts(text_safe(s->arena, lines[i]));
    putchar('\n');
    return 0;
}

static int cmd_show_on_run(struct run *r, const struct cmd_args *args, struct arena *a,
                           struct err *e)
{
    struct run_steps steps;
    struct show show;
    TRY(rules_read_steps(r, a, &steps, e));
    TRY(show_read_named(&show, r, &steps, a, e));
    if (args->output == OUTPUT_JSON) {
        struct output_json o;
        struct jw *j = output_begin(&o);
        jw_object(j, NULL);
        show_json(j, &show);
        jw_end(j);
        output_end(&o);
        return 0;
    }
    TRY(show_put_summary(&show, r, &steps, args, e));
    show_text(&show);
    return 0;
}

const struct cmd cmd_show = {
    .name = "show",
    .summary = "show a summary of a run",
    .args = cmd_arg_run,
    .options = options,
    .help = CMD_HELP("Prints the worst finding and what an iteration is spent on; the command, "
                     "nodes, times and status of a run; the time spent in initialization, "
                     "training, evaluation and finalization; the utilization of each node; what "
                     "could not be measured and why; and the overhead of the recording."),
    .examples = CMD_EXAMPLES({"footplate show last", "Show the newest run."},
                             {"footplate show train-2026 --json",
                              "Print a run as JSON, selected by the start of its name."}),
    .on_run = cmd_show_on_run,
};
