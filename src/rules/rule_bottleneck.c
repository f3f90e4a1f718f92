/* SPDX-License-Identifier: Apache-2.0 */
/* rule_bottleneck.c - GPUs that idle while something else of the node is hot: CPUBottleneck and
 * IOBottleneck. What they have in common is in rule_internal.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "rules/rule_internal.h"

/* The parameters of both rules. */
enum { THRESHOLD, GPU, HOT, PATIENCE }; /* parameters */

/* ==== what is seen ==== */

static uint64_t used_of(const struct node_state *t)
{
    uint64_t used = 0;
    for (size_t i = 0; i < MIN_OF(t->n_gpus, (size_t)RULE_GPUS_MOST); i++)
        used |= (uint64_t)gpu_was_used(state_gpu(t, i)) << i;
    return used;
}

/* ---- rows ---- */

static struct bottleneck_row *bottleneck_row_of(struct bottleneck *b, uint64_t low,
                                                enum bottleneck_gpus gpus)
{
    if (gpus == GPUS_LOW)
        low = 0;
    for (size_t i = 0; i < b->n_rows; i++)
        if (b->row[i].low == low && b->row[i].gpus == gpus)
            return &b->row[i];
    if (b->n_rows == BOTTLENECK_ROWS)
        return &b->row[BOTTLENECK_ROWS - 1];
    b->row[b->n_rows] = (struct bottleneck_row){.low = low, .gpus = gpus};
    return &b->row[b->n_rows++];
}

COMPARE_BY(bottleneck_by_start, struct episode, from_ns)

/* Episodes of the same time: in order they merge as if they had been added so. */
static void episodes_mix(struct episodes *e, struct episodes *other)
{
    const uint32_t n = e->n + other->n;
    if (other->n == 0)
        return;
    struct episode *all = xmalloc(n * sizeof *all);
    for (uint32_t i = 0; i < n; i++)
        all[i] = i < e->n ? e->v[i] : other->v[i - e->n];
    SORT(all, n, bottleneck_by_start);
    e->n = 0;
    for (uint32_t i = 0; i < n; i++)
        episodes_put(e, &all[i]);
    free(all);
    episodes_memory(other, STATE_FREE);
}

/* The row's own episodes are freed afterwards. */
static void row_add(struct bottleneck_row *to, struct bottleneck_row *row)
{
    to->cool += row->cool;
    for (size_t k = 0; k < BOTTLENECK_HOTS; k++)
        to->hot[k] += row->hot[k];
    episodes_mix(&to->episodes, &row->episodes);
}

/* These GPUs are in use after all. */
static void bottleneck_settle(struct bottleneck *b, uint64_t used)
{
    struct bottleneck old = *b;
    b->n_rows = 0;
    for (size_t i = 0; i < old.n_rows; i++) {
        struct bottleneck_row *r = &old.row[i];
        row_add(bottleneck_row_of(b, r->low, r->low & used ? GPUS_LOW : r->gpus), r);
    }
}

/* ---- sweeps ---- */

/* GPUs are bits, half of them in a word: as wide as what they are made of, so that the compiler
 * vectorizes. */
enum { CHUNK = 256, HALF = 32, HALVES = RULE_GPUS_MOST / HALF };

/* Which way it was hot is the first that holds: n_hots for not, NOT_READ when nothing of it was
 * read. */
enum { NOT_READ = -1 };

/* Some sweeps, read column by column, which is their order in memory. */
struct bottleneck_chunk {
    size_t from, n;
    int heat[CHUNK];
    uint32_t read[HALVES][CHUNK], low[HALVES][CHUNK];
};

/* What a float is above when it is above the limit. */
static float float_limit(double limit)
{
    const float f = (float)limit;
    return (double)f > limit ? nextafterf(f, -INFINITY) : f;
}

static void add_heat(int *restrict heat, const float *restrict v, size_t n, float limit, int kind,
                     int none)
{
    for (size_t i = 0; i < n; i++) {
        const int cool = heat[i] < 0 ? none : heat[i];
        const int seen = v[i] > limit ? kind : cool;
        heat[i] = v[i] == v[i] ? seen : heat[i];
    }
}

static void see_heat(struct bottleneck_chunk *p, const struct bottleneck_spec *spec,
                     const struct sweeps *s, float limit)
{
    for (size_t i = 0; i < p->n; i++)
        p->heat[i] = NOT_READ;
    for (size_t k = spec->n_hots; k-- > 0;)
        if (s->v[spec->hots[k].signal])
            add_heat(p->heat, s->v[spec->hots[k].signal] + p->from, p->n, limit, (int)k,
                     (int)spec->n_hots);
}

static void bottleneck_see_gpu(uint32_t *restrict read, uint32_t *restrict low,
                               const float *restrict v, size_t n, float limit, uint32_t bit)
{
    for (size_t i = 0; i < n; i++) {
        read[i] |= v[i] == v[i] ? bit : 0;
        low[i] |= v[i] < limit ? bit : 0;
    }
}

static void see_gpus(struct bottleneck_chunk *p, const struct sweeps *s, float limit)
{
    memset(p->read, 0, sizeof p->read);
    memset(p->low, 0, sizeof p->low);
    for (size_t g = 0; g < MIN_OF(s->n_gpus, (size_t)RULE_GPUS_MOST); g++) {
        const float *v = s->gpus[g].v[GPU_SIG_UTIL];
        if (v)
            bottleneck_see_gpu(p->read[g / HALF], p->low[g / HALF], v + p->from, p->n, limit,
                               UINT32_C(1) << g % HALF);
    }
}

static void take_gpus(struct bottleneck *b, uint64_t low, int64_t held_ns)
{
    for (; low; low &= low - 1) {
        struct bottleneck_gpu *g = state_gpu(b, (size_t)__builtin_ctzll(low));
        g->waited_ns += held_ns;
    }
}

/* A snapshot in which GPUs were low, whether they are in use or not. */
static void take_low(struct bottleneck *b, const struct bottleneck_spec *spec,
                     const struct sweeps *s, const struct bottleneck_chunk *p, size_t i,
                     uint64_t used)
{
    const uint64_t read = (uint64_t)p->read[1][i] << HALF | p->read[0][i];
    const uint64_t low = (uint64_t)p->low[1][i] << HALF | p->low[0][i];
    struct bottleneck_row *r = bottleneck_row_of(b, low & ~used,
                                                 low & used    ? GPUS_LOW
                                                 : read & used ? GPUS_FINE
                                                               : GPUS_NOT_READ);
    if ((size_t)p->heat[i] == spec->n_hots) {
        r->cool++;
        return;
    }
    r->hot[p->heat[i]]++;
    episodes_add(&r->episodes, s->at[p->from + i], s->period_ns);
    take_gpus(b, low, s->period_ns);
}

/* Snapshots in which something was read of both but no GPU was low, by whether one in use was read.
 */
static void bottleneck_count_others(const struct bottleneck_chunk *p, uint64_t used,
                                    uint32_t n[BOTTLENECK_GPUS_N])
{
    const uint32_t used_0 = (uint32_t)used, used_1 = (uint32_t)(used >> HALF);
    uint32_t all = 0, fine = 0;
    for (size_t i = 0; i < p->n; i++) {
        const uint32_t read = p->read[0][i] | p->read[1][i], low = p->low[0][i] | p->low[1][i];
        const uint32_t in_use = (p->read[0][i] & used_0) | (p->read[1][i] & used_1);
        const uint32_t counts = (p->heat[i] != NOT_READ) & (read != 0) & (low == 0);
        all += counts;
        fine += counts & (in_use != 0);
    }
    n[GPUS_FINE] = fine;
    n[GPUS_NOT_READ] = all - fine;
}

/* Where no GPU was low none can turn out to have been, so how hot it was is not checked. */
static void bottleneck_add_chunk(struct bottleneck *b, const struct bottleneck_spec *spec,
                                 const struct sweeps *s, const struct bottleneck_chunk *p,
                                 uint64_t used)
{
    uint32_t n[BOTTLENECK_GPUS_N] = {0};
    bottleneck_count_others(p, used, n);
    for (unsigned k = 0; k < BOTTLENECK_GPUS_N; k++)
        if (n[k])
            bottleneck_row_of(b, 0, k)->cool += n[k];
    for (size_t i = 0; i < p->n; i++)
        if (p->low[0][i] | p->low[1][i] && p->heat[i] != NOT_READ)
            take_low(b, spec, s, p, i, used);
}

static void bottleneck_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct bottleneck *b = state;
    const struct bottleneck_spec *spec = c->spec->family;
    const float hot = float_limit(c->p[HOT].v);
    struct bottleneck_chunk p;
    const uint64_t used = used_of(&b->head);
    bottleneck_settle(b, used);
    for (p.from = 0; p.from < s->n; p.from += CHUNK) {
        p.n = MIN_OF(s->n - p.from, (size_t)CHUNK);
        see_gpus(&p, s, (float)c->p[GPU].v);
        see_heat(&p, spec, s, hot);
        bottleneck_add_chunk(b, spec, s, &p, used);
    }
}

static void bottleneck_memory(void *state, enum state_op op)
{
    struct bottleneck *b = state;
    for (size_t i = 0; i < b->n_rows; i++)
        episodes_memory(&b->row[i].episodes, op);
}

#define BOTTLENECK_STATE(kind)                                                                     \
    RULE_STATE(struct bottleneck, .gpu_size = sizeof(struct bottleneck_gpu),                       \
               .sweeps = bottleneck_sweeps, .memory_own = bottleneck_memory, .family = &(kind)),   \
        .judge = bottleneck_judge

/* ==== the verdict ==== */

/* Below this a share of snapshots is not significant. */
enum { LEAST = 10 };

struct counts {
    uint64_t all, low; /* snapshots in which a GPU in use was read; in which one was low */
    uint64_t hot[BOTTLENECK_HOTS], bottleneck;
    const struct episodes *episodes; /* NULL: none was low */
};

static struct counts bottleneck_count(const struct bottleneck *b)
{
    struct counts n = {0};
    for (size_t i = 0; i < b->n_rows; i++) {
        const struct bottleneck_row *r = &b->row[i];
        uint64_t hot = 0;
        for (size_t k = 0; k < BOTTLENECK_HOTS; k++)
            hot += r->hot[k];
        if (r->gpus != GPUS_NOT_READ)
            n.all += r->cool + hot;
        if (r->gpus != GPUS_LOW)
            continue;
        n.low = r->cool + hot;
        n.bottleneck = hot;
        n.episodes = &r->episodes;
        for (size_t k = 0; k < BOTTLENECK_HOTS; k++)
            n.hot[k] = r->hot[k];
    }
    return n;
}

static double percent_of(uint64_t n, uint64_t all)
{
    return all ? 100 * (double)n / (double)all : NAN;
}

static size_t main_kind(const struct counts *n, const struct bottleneck_spec *spec)
{
    size_t most = 0;
    for (size_t k = 1; k < spec->n_hots; k++)
        if (n->hot[k] > n->hot[most])
            most = k;
    return most;
}

static double waited_gpu_s(const struct node_state *t)
{
    int64_t ns = 0;
    for (size_t i = 0; i < t->n_gpus; i++) {
        const struct bottleneck_gpu *g = state_gpu(t, i);
        ns += gpu_was_used(&g->head) ? g->waited_ns : 0;
    }
    return ns_to_s(ns);
}

static void bottleneck_pie(struct verdict *v, const struct bottleneck_spec *spec,
                           const struct judged_node *node, const struct param_value *p,
                           const struct counts *n)
{
    struct plot *plot =
        verdict_plot(v, PLOT_PIE, arena_printf(v->arena, "Readings of %s", node->facts->id), "%");
    plot_row(v, plot, arena_printf(v->arena, "GPUs at %g %% or more", p[GPU].v),
             &(double){percent_of(n->all - n->low, n->all)}, 1);
    plot_row(v, plot, "GPU low, other reasons",
             &(double){percent_of(n->low - n->bottleneck, n->all)}, 1);
    for (size_t k = 0; k < spec->n_hots; k++)
        plot_row(v, plot,
                 arena_printf(v->arena, "GPU low, %s above %g %%", spec->hots[k].words, p[HOT].v),
                 &(double){percent_of(n->hot[k], n->all)}, 1);
}

/* "whole node: 20 %, one core: 51 %": the larger first would reorder the
 * words between runs, so they come in the order of the table. */
static const char *kinds_text(struct verdict *v, const struct bottleneck_spec *spec,
                              const struct counts *n)
{
    const char *text = "";
    for (size_t k = 0; k < spec->n_hots; k++)
        if (n->hot[k])
            text = arena_printf(v->arena, "%s%s%s: %.0f %%", text, *text ? ", " : "",
                                spec->hots[k].words, percent_of(n->hot[k], n->all));
    return text;
}

static void bottleneck_find(const struct judge *j, const struct bottleneck_spec *spec,
                            const struct judged_node *node, const struct counts *n,
                            struct verdict *v)
{
    const struct bottleneck_hot *most = &spec->hots[main_kind(n, spec)];
    double numbers[BOTTLENECK_HOTS + 3] = {percent_of(n->bottleneck, n->all),
                                           percent_of(n->low, n->all)};
    for (size_t k = 0; k < spec->n_hots; k++)
        numbers[2 + k] = percent_of(n->hot[k], n->all);
    numbers[2 + spec->n_hots] = (double)n->all;
    struct finding *f = verdict_find(v, node->facts->id, "");
    finding_in(v, f, n->episodes);
    finding_say(v, f,
                "in %.0f %% of %llu readings (threshold %g %%), a GPU in use was below %g %% while "
                "%s was above %g %% (%s)",
                percent_of(n->bottleneck, n->all), (unsigned long long)n->all, j->p[THRESHOLD].v,
                j->p[GPU].v, spec->resource, j->p[HOT].v, kinds_text(v, spec, n));
    f->advice = node->facts->cores ? arena_printf(v->arena, "%s (this node has %u cores).",
                                                  most->advice, node->facts->cores)
                                   : arena_printf(v->arena, "%s.", most->advice);
    f->refute = spec->refute;
    finding_numbers(v, f, numbers, spec->n_hots + 3);
    f->lost_s = ns_to_s(episodes_held_ns(n->episodes));
    f->lost_gpu_s = waited_gpu_s(node->state);
    finding_count(v, f, n->episodes->n, n->bottleneck);
}

/* Nothing to count: records why. */
static void say_nothing(const struct judge *j, const struct bottleneck_spec *spec, uint64_t most,
                        struct verdict *out)
{
    if (judge_is_short(j, LEAST, out))
        return;
    if (!next_gpu(j, &(struct entity_at){0}))
        verdict_not_evaluated(out, "the job did not use a GPU");
    else
        verdict_not_evaluated(out, "needs %d readings with a GPU in use and %s%s, has %llu", LEAST,
                              spec->resource, judge_time_of(j, LEAST, true),
                              (unsigned long long)most);
}

static void bottleneck_judge(const struct judge *j, struct verdict *out)
{
    const struct bottleneck_spec *spec = j->rule->spec->family;
    double highest = -1;
    uint64_t most = 0;
    const char *where = "";
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct counts n = bottleneck_count(j->nodes[i].state);
        const double share = percent_of(n.bottleneck, n.all);
        out->datapoints += n.all;
        most = MAX_OF(most, n.all);
        if (n.all < LEAST)
            continue;
        bottleneck_pie(out, spec, &j->nodes[i], j->p, &n);
        if (share > highest) {
            highest = share;
            where = j->nodes[i].facts->id;
        }
        if (share > j->p[THRESHOLD].v)
            bottleneck_find(j, spec, &j->nodes[i], &n, out);
    }
    if (most < LEAST)
        say_nothing(j, spec, most, out);
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "at most %.0f %% of the readings of a node (%s; threshold %g %%)", highest,
                    where, j->p[THRESHOLD].v);
}

/* ==== CPUBottleneck ==== */

/* CPUBottleneck: GPUs wait while the CPU, or a single core, is busy. */

static const struct bottleneck_spec cpu_spec = {
    .resource = "CPU utilization",
    .hots = {{SIG_CPU, "whole node",
              "The whole node is busy: use more cores, make preprocessing cheaper, or preprocess "
              "the data in advance"},
             {SIG_CPU_PEAK, "one core",
              "One core is busy while the others are not: a single Python thread limits the GPUs. "
              "Use more data loader workers and prefetching; more cores will not help"}},
    .n_hots = 2,
    .refute = "the GPUs do not wait for the busy core (loader wait is near zero in those steps)",
};

const struct rule rule_cpu_bottleneck = {
    .name = "CPUBottleneck",
    .title = "CPU bottleneck",
    .description = "Checks how often a GPU in use was nearly idle while the CPU was busy (the node "
                   "average or a single core).",
    .recommendation = "Use more data loader workers and prefetching, or move preprocessing off the "
                      "critical path.",
    RULE_PARAMS([THRESHOLD] = {"threshold", 50, 0, 100, PARAM_PERCENT,
                               "maximum share of readings with low GPU utilization and a busy CPU"},
                [GPU] = {"gpu_threshold", 10, 0, 100, PARAM_PERCENT,
                         "GPU utilization below this is low"},
                [HOT] = {"cpu_threshold", 90, 0, 100, PARAM_PERCENT,
                         "the CPU is busy when the node average, or one core, is above this"},
                [PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                              "readings skipped at the start when no steps are known"}),
    .labels = {{"bottleneck_pct", "%", "Readings with low GPU and busy CPU"},
               {"gpu_low_pct", "%", "Readings with low GPU"},
               {"hot_node_pct", "%", "Readings with low GPU and busy node"},
               {"hot_core_pct", "%", "Readings with low GPU and one busy core"},
               {"snapshots", "", "Readings"}},
    .estimates = true,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .by_phase = true,
    .explained_by = (const char *const[]){"Dataloader", "SharedMachine", "ThreadOversubscription",
                                          "GilContention", NULL},
    BOTTLENECK_STATE(cpu_spec),
};

/* ==== IOBottleneck ==== */

/* IOBottleneck: GPUs wait while the node waits for I/O. */

static const struct bottleneck_spec io_spec = {
    .resource = "I/O wait or pressure",
    .hots = {{SIG_IOWAIT, "I/O wait of the whole node",
              "All cores wait for storage: prefetch, store the data in a few large binary files or "
              "shards, and put them on a local disk"},
             {SIG_IOWAIT_PEAK, "I/O wait of one core",
              "Only one process reads at a time: read ahead with more loader workers, and store "
              "the data in a few large binary files or shards"},
             {SIG_PSI_IO, "I/O pressure",
              "Tasks are delayed by I/O that does not show as I/O wait, for example on a network "
              "file system: copy or cache the data on a local disk, or prefetch"}},
    .n_hots = 3,
    .refute = "other processes cause the I/O wait, or the steps at that time show neither loader "
              "wait nor a checkpoint",
};

const struct rule rule_io_bottleneck = {
    .name = "IOBottleneck",
    .title = "I/O bottleneck",
    .description =
        "Checks how often a GPU in use was nearly idle while the node waited for I/O: I/O wait of "
        "the node or its worst core, or I/O pressure (PSI) where the kernel reports it.",
    .recommendation = "Prefetch, use binary or sharded formats, and put the data on a local disk.",
    RULE_PARAMS([THRESHOLD] =
                    {"threshold", 50, 0, 100, PARAM_PERCENT,
                     "maximum share of readings with low GPU utilization and high I/O wait"},
                [GPU] = {"gpu_threshold", 10, 0, 100, PARAM_PERCENT,
                         "GPU utilization below this is low"},
                [HOT] = {"io_threshold", 50, 0, 100, PARAM_PERCENT,
                         "I/O wait of the node or one core, or I/O pressure, above this is high"},
                [PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                              "readings skipped at the start when no steps are known"}),
    .labels = {{"bottleneck_pct", "%", "Readings with low GPU and high I/O wait"},
               {"gpu_low_pct", "%", "Readings with low GPU"},
               {"io_wait_node_pct", "%", "Readings with low GPU and I/O wait of the node"},
               {"io_wait_core_pct", "%", "Readings with low GPU and I/O wait of one core"},
               {"io_pressure_pct", "%", "Readings with low GPU and I/O pressure"},
               {"snapshots", "", "Readings"}},
    .estimates = true,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .by_phase = true,
    .explained_by = (const char *const[]){"CheckpointStall", NULL},
    BOTTLENECK_STATE(io_spec),
};
