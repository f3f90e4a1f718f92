/* SPDX-License-Identifier: Apache-2.0 */
/* OverallSystemUsage: the table of what each node used, and a sentence about it. Never an issue. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "rules/per_entity.h"

enum { LEAST = 2 };
enum { CPU, MEM, IO_WAIT }; /* signals of the node */

/* Above this a resource is used well, below it has room. */
static const double WELL = 70; /* percent */
/* Of the node's CPU time, less than which the job did not use it. */
static const double OF_JOB = 0.5;
/* Fewer readings are no base for a verdict. */
enum { ENOUGH = 5 };

struct usage_gpu {
    struct gpu_head head;
    struct hist util, mem;
};

struct usage_state {
    struct node_state head;
    struct loghist net_in, net_out; /* B/s */
    uint64_t both;                  /* readings of both of: */
    int64_t job_cpu, node_cpu;      /* sums, tenths of a percent of a core, and of the node */
};

static void usage_see_gpu(void *gpu, const struct gpu_batch *c)
{
    struct usage_gpu *g = gpu;
    shared_hist(c->s, c->gpu->v[GPU_SIG_UTIL], &g->util);
    shared_hist(c->s, c->gpu->v[GPU_SIG_MEM], &g->mem);
}

static void usage_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct usage_state *t = state;
    const float *job = s->v[SIG_JOB_CPU], *node = s->v[SIG_CPU];
    (void)c;
    for (size_t i = 0; job && node && i < s->n; i++)
        if (!isnan(job[i]) && !isnan(node[i])) {
            t->both++;
            t->job_cpu += llround((double)job[i] * 10);
            t->node_cpu += llround((double)node[i] * 10);
        }
    if (s->v[SIG_NET_RX])
        loghist_add(&t->net_in, s->v[SIG_NET_RX], s->n);
    if (s->v[SIG_NET_TX])
        loghist_add(&t->net_out, s->v[SIG_NET_TX], s->n);
}

/* ---- judging ---- */

static const char *const columns[] = {"min", "max", "p99", "p95", "p90", "p50"};
static const double quantiles[] = {0, 1, 0.99, 0.95, 0.9, 0.5};

static_assert(COUNT_OF(columns) == COUNT_OF(quantiles), "a name for each column");

static void row(struct verdict *v, struct plot *p, const char *label, const struct hist *h)
{
    double values[COUNT_OF(quantiles)];
    for (size_t i = 0; i < COUNT_OF(quantiles); i++)
        values[i] = hist_quantile(h, quantiles[i]);
    if (h->n)
        plot_row(v, p, label, values, COUNT_OF(values));
}

static void row_log(struct verdict *v, struct plot *p, const char *label, const struct loghist *h)
{
    double values[COUNT_OF(quantiles)];
    for (size_t i = 0; i < COUNT_OF(quantiles); i++)
        values[i] = loghist_quantile(h, quantiles[i]);
    if (h->n)
        plot_row(v, p, label, values, COUNT_OF(values));
}

static struct plot *usage_table(struct verdict *v, const char *title, const char *unit)
{
    struct plot *p = verdict_plot(v, PLOT_TABLE, title, unit);
    p->columns = columns;
    p->n_columns = COUNT_OF(columns);
    return p;
}

/* All GPUs of the node that the job used, as one. */
static size_t pool(const struct usage_state *t, struct hist *util, struct hist *mem)
{
    size_t used = 0;
    for (size_t k = 0; k < t->head.n_gpus; k++) {
        const struct usage_gpu *g = state_gpu(t, k);
        if (!gpu_was_used(&g->head) || g->util.n == 0)
            continue;
        hist_join(util, &g->util);
        hist_join(mem, &g->mem);
        used++;
    }
    return used;
}

/* Tables beside these words are about the whole job. */
static const char *over_what(const struct judge *j)
{
    return j->run->has_steps ? " in the training loop" : "";
}

/* LowGPUUtilization found something on the node: then it is not reported as well used. */
static bool is_low(const struct judge *j, const char *node)
{
    const struct verdict *v = j->others ? &j->others[RULE_low_gpu_utilization] : NULL;
    return v && v->state == RULE_ISSUE &&
           FIND_ANY(i, v->n_findings, strcmp(v->findings[i].node, node) == 0);
}

/* A smaller machine is for a job that nothing slows down. */
static const char *under_used(const struct judge *j)
{
    const char *cause = j->others ? held_back_by(j->others) : NULL;
    return cause ? arena_printf(j->arena, "underused, see \"%s\"", cause)
                 : "underused, consider a smaller machine";
}

static bool is_lost_on(const struct verdict *v, const char *node)
{
    for (size_t i = 0; v->state == RULE_ISSUE && i < v->n_findings; i++)
        if (v->findings[i].n_explained_by == 0 && strcmp(v->findings[i].node, node) == 0)
            return v->lost_share > 0 && v->severity > SEVERITY_INFO;
    return false;
}

/* A GPU may be busy and yet lose much of its time: waits, FP32 on its plain cores. That it is used
 * little, or less than others, is left to the other sentences. */
static const char *busy(const struct judge *j, const char *node)
{
    for (size_t k = 0; j->others && k < RULE_N; k++)
        if (k != RULE_low_gpu_utilization && k != RULE_batch_size && k != RULE_load_balancing &&
            is_lost_on(&j->others[k], node))
            return arena_printf(j->arena, "busy, but see \"%s\"", rules[k]->title);
    return is_low(j, node) ? "GPUs partly used" : "well used";
}

/* A busy CPU is used well only if the job has it. */
static const char *cpu_words(const struct judge *j, const struct judged_node *node, double p95,
                             uint64_t n)
{
    const struct usage_state *t = node->state;
    const double job = t->both ? (double)t->job_cpu / (double)t->both / 1e3 : NAN, /* cores */
        all = t->both ? (double)t->node_cpu / (double)t->both / 1e3 * node->facts->cores : NAN;
    if (n < ENOUGH)
        return "too few readings for a verdict";
    if (p95 < WELL)
        return under_used(j);
    return job < OF_JOB * all
               ? arena_printf(j->arena,
                              "mostly by processes outside of the job, which used %.2g "
                              "of %.0f cores",
                              job, (double)node->facts->cores)
               : "CPU well used";
}

static void say_cpu_only(const struct judge *j, struct verdict *v, const struct judged_node *node,
                         const struct hist *cpu)
{
    const double p95 = hist_quantile(cpu, 0.95);
    if (cpu->n)
        verdict_remark(v, "%s: no GPU in use; CPU p50 %.0f %%, p95 %.0f %%%s: %s", node->facts->id,
                       hist_quantile(cpu, 0.5), p95, over_what(j), cpu_words(j, node, p95, cpu->n));
}

static void usage_say(const struct judge *j, struct verdict *v, const char *node,
                      const struct hist *gpu, const struct hist *cpu)
{
    const double g95 = hist_quantile(gpu, 0.95), c95 = hist_quantile(cpu, 0.95);
    const double g50 = hist_quantile(gpu, 0.5);
    const char *words = g95 < WELL && c95 < WELL    ? under_used(j)
                        : g95 < WELL && c95 >= WELL ? "likely a CPU bottleneck"
                        : g95 < WELL                ? "GPUs underused"
                        : g50 > WELL                ? busy(j, node)
                                                    : "GPUs partly used";
    if (cpu->n)
        verdict_remark(v, "%s: GPU p50 %.0f %%, p95 %.0f %%; CPU p95 %.0f %%%s: %s", node, g50, g95,
                       c95, over_what(j), words);
    else
        verdict_remark(v, "%s: GPU p50 %.0f %%, p95 %.0f %%%s; CPU not measured: %s", node, g50,
                       g95, over_what(j), words);
}

static void usage_judge_node(const struct judge *j, const struct judged_node *node,
                             struct verdict *out)
{
    const struct usage_state *t = node->state;
    const char *id = node->facts->id;
    struct hist *util = xcalloc(1, sizeof *util), *mem = xcalloc(1, sizeof *mem);
    const size_t used = pool(t, util, mem);
    struct plot *p = usage_table(out, arena_printf(j->arena, "Utilization of %s", id), "%");
    row(out, p, "CPU", state_signal(t, CPU));
    row(out, p, "GPU", util);
    row(out, p, "CPU memory", state_signal(t, MEM));
    row(out, p, "GPU memory", mem);
    row(out, p, "I/O wait", state_signal(t, IO_WAIT));
    if (t->net_in.n || t->net_out.n) {
        p = usage_table(out, arena_printf(j->arena, "Network of %s", id), "B/s");
        row_log(out, p, "Network in", &t->net_in);
        row_log(out, p, "Network out", &t->net_out);
    }
    out->uses[out->n_uses++] = (struct node_use){
        .node = arena_strdup(j->arena, id),
        .gpus = used,
        .gpu_p95 = hist_quantile(util, 0.95),
        .gpu_mem_p95 = hist_quantile(mem, 0.95),
        .cpu_p95 = hist_quantile(state_signal(t, CPU), 0.95),
        .mem_p95 = hist_quantile(state_signal(t, MEM), 0.95),
    };
    if (used)
        usage_say(j, out, id, util, state_signal(t, CPU));
    else
        say_cpu_only(j, out, node, state_signal(t, CPU));
    free(util);
    free(mem);
}

static void usage_judge(const struct judge *j, struct verdict *out)
{
    if (judge_is_short(j, LEAST, out))
        return;
    out->uses = arena_array(j->arena, struct node_use, j->n_nodes);
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct usage_state *t = j->nodes[i].state;
        out->datapoints = MAX_OF(out->datapoints, state_signal(t, CPU)->n);
        if (j->nodes[i].sweeps)
            usage_judge_node(j, &j->nodes[i], out);
    }
}

const struct rule rule_overall_system_usage = {
    .name = "OverallSystemUsage",
    .title = "System utilization",
    .description = "Summarizes how much CPU, GPU, memory, I/O and network each node used, and how "
                   "well it was utilized.",
    .recommendation = "Choose a machine that fits the job.",
    .needs = NEEDS_SWEEPS,
    .summary = true,
    RULE_STATE(struct usage_state, .signals = {SIG_CPU, SIG_MEM, SIG_IOWAIT}, .n_signals = 3,
               .gpu_size = sizeof(struct usage_gpu), .gpu = usage_see_gpu, .sweeps = usage_sweeps),
    .judge = usage_judge,
};
