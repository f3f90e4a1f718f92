/* SPDX-License-Identifier: Apache-2.0 */
/* GPUMemoryIncrease: the memory in use of a GPU goes up, in steps or as a steady climb.
 *
 * It is the job's own memory that counts, where that is known: another process that frees memory
 * would hide a leak, and one that takes some is not a leak of the job. The driver reports it, else
 * the allocator of each rank; only without both is the memory in use on the device evaluated. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "rules/gpu_activity.h"
#include "rules/per_entity.h"
#include "rules/trend.h"
#include "rules/windows.h"

enum { INCREASE, PATIENCE, WINDOW }; /* parameters */

static const struct rises_spec spec = {.window = WINDOW, .increase = INCREASE};

/* Findings of one GPU; the rest is one sentence. */
enum { FINDINGS_MOST = 10 };

#define SCALE      10.0f /* of trends: tenths of a percent */
#define NEAR_LIMIT 90    /* percent */

#define MIB 1048576

/* With so many readings of the job's memory, which is read rarely, it is better evidence than that
 * of the device. */
enum { JOB_LEAST = 3 };
/* The least number of readings for a line through them. */
enum { CLIMB_LEAST = 5 };

/* The course of one kind of memory. */
struct course {
    struct rises rises;
    struct trend trend;
    struct hist mem;
};

struct memory_gpu {
    struct gpu_head head;
    struct course course[GPU_MEMORY_N];
    float total; /* bytes; 0: not known */
};

/* Memory of tensors, by the allocator of a rank. The last reading may be that of a process that is
 * about to end and has freed everything: whether the loop was over by then is known only in the
 * end, so it is stored separately. */
struct memory_rank {
    struct rank_head head;
    struct trend mib;
    uint64_t n; /* in `mib` */
    wall_ns last;
    float last_mib;
    bool has_last;
};

/* What is made for this rule alone is shared with none. */
static void see_course(struct course *k, const struct rule_view *c, const struct sweeps *s,
                       const float *mem, bool made)
{
    struct sweeps own = *s;
    own.shared = made ? NULL : s->shared;
    rises_add(&k->rises, &spec, c, &own, mem);
    trend_add(&k->trend, s->at, mem, s->n, SCALE);
    shared_hist(&own, mem, &k->mem);
}

/* Activity only as long as nothing better was read. */
static void memory_see(void *gpu, const struct gpu_batch *c)
{
    struct memory_gpu *g = gpu;
    float *room = xcalloc(c->s->n + 1, sizeof *room);
    g->total = values_highest(c->gpu->v[GPU_SIG_MEM_TOTAL], c->s->n, g->total);
    for (enum gpu_memory k = 0; k < GPU_MEMORY_N; k++) {
        const float *mem = gpu_memory_column(k, c, room);
        if (mem)
            see_course(&g->course[k], c->rule, c->s, mem, mem == room);
        if (k == MEMORY_OF_DEVICE && g->course[k].mem.n)
            break;
    }
    free(room);
}

static void add_last(struct memory_rank *r)
{
    if (!r->has_last)
        return;
    trend_add(&r->mib, &r->last, &r->last_mib, 1, 1);
    r->n++;
    r->has_last = false;
}

static void memory_event(void *state, const struct rule_view *c, const struct rule_event *v)
{
    if (v->id != EV_CUDA_ALLOCATED || v->at.ns < c->from.ns)
        return;
    struct memory_rank *r = state_event_rank(state, c, v);
    add_last(r);
    r->last = v->at;
    r->last_mib = (float)((double)v->value / MIB);
    r->has_last = true;
}

static void course_memory(void *gpu, enum state_op op)
{
    for (size_t k = 0; k < GPU_MEMORY_N; k++)
        rises_memory(&((struct memory_gpu *)gpu)->course[k].rises, op);
}

/* ---- judging ---- */

static const char *const memory_words[GPU_MEMORY_N] = {
    [MEMORY_OF_JOB] = "the job's memory on",
    [MEMORY_OF_DEVICE] = "memory of",
    [MEMORY_ACTIVITY] = "memory controller activity (memory use was not recorded) of",
};

struct memory_steps {
    const struct judge *j;
    const struct judged_node *node;
    const struct memory_gpu *g;
    const struct course *course;
    const char *words; /* "memory of" */
    const struct rises *rises;
    const struct trend_fit *fit;
};

static enum gpu_memory memory_of(const struct memory_gpu *g)
{
    return g->course[MEMORY_OF_JOB].mem.n >= JOB_LEAST ? MEMORY_OF_JOB
           : g->course[MEMORY_OF_DEVICE].mem.n         ? MEMORY_OF_DEVICE
                                                       : MEMORY_ACTIVITY;
}

/* The last block over the first, percentage points. */
static double memory_grown(const struct trend *t)
{
    double first = NAN, last = NAN;
    for (uint32_t i = 0; i < t->n; i++)
        if (t->block[i].n) {
            last = (double)t->block[i].sum / (double)t->block[i].n / (double)SCALE;
            first = isnan(first) ? last : first;
        }
    return last - first;
}

static const char *near_limit(double most)
{
    return most >= NEAR_LIMIT ? " Memory is nearly full: use a smaller batch, activation "
                                "checkpointing or a larger GPU."
                              : "";
}

static void find_step(struct verdict *v, const struct memory_steps *s, const struct rise *r)
{
    const double most = hist_max(&s->course->mem);
    struct finding *f = verdict_find(v, s->node->facts->id, s->g->head.entity);
    finding_when(v, f, &(struct time_range){{r->from_ns}, {r->to_ns}}, 1);
    finding_say(v, f,
                "%s %s jumped from %.1f %% to %.1f %% within %s (threshold %g percentage points), "
                "without a steady rise over the training loop",
                s->words, s->g->head.entity, r->before, r->after,
                judge_time(s->j, ns_to_s(r->to_ns - r->from_ns)), s->j->p[INCREASE].v);
    finding_advise(v, f,
                   "A jump is a new allocation: check what started at that time, such as "
                   "evaluation, a longer batch or a cache.%s",
                   near_limit(most));
    f->refute = "memory falls back to the earlier level soon afterwards";
    FINDING_NUMBERS(v, f, r->before, r->after, r->after - r->before, NUMBER_ABSENT, most,
                    s->fit->per_s * 3600, s->fit->r2);
    finding_count(v, f, r->count, r->count);
}

static void find_steps(struct verdict *v, const struct memory_steps *s)
{
    for (uint32_t i = 0; i < s->rises->n && i < FINDINGS_MOST; i++)
        find_step(v, s, &s->rises->v[i]);
    if (s->rises->n <= FINDINGS_MOST)
        return;
    for (uint32_t i = FINDINGS_MOST; i < s->rises->n; i++) {
        v->triggered += s->rises->v[i].count;
        v->violations += s->rises->v[i].count;
    }
    v->last_triggered.ns = MAX_OF(v->last_triggered.ns, s->rises->v[s->rises->n - 1].to_ns);
    verdict_remark(v, "%s %s on %s jumped %u times; the first %d are listed", s->words,
                   s->g->head.entity, s->node->facts->id, s->rises->n, FINDINGS_MOST);
}

static uint64_t rises_count(const struct rises *r)
{
    return SUM_OF(i, r->n, r->v[i].count);
}

/* A line through the whole loop, of a GPU or of a rank. */
struct climb {
    const struct judged_node *node;
    const char *entity, *words; /* "gpu0", "memory of" */
    const struct trend *trend;
    struct trend_fit fit; /* percent of the GPU's memory */
    double most;
};

static void find_climb(const struct judge *j, struct verdict *v, const struct climb *x,
                       uint64_t count)
{
    const double full_s = (100 - x->fit.to) / x->fit.per_s;
    struct finding *f = verdict_find(v, x->node->facts->id, x->entity);
    finding_over(v, f, x->trend);
    finding_say(
        v, f,
        "%s %s rose steadily, from %.1f %% to %.1f %% in %s (threshold %g percentage points)%s",
        x->words, x->entity, x->fit.from, x->fit.to, judge_time(j, x->fit.seconds),
        j->p[INCREASE].v,
        j->run->ended
            ? ""
            : arena_printf(j->arena, "; at this rate it is full in %s", judge_time(j, full_s)));
    finding_advise(v, f,
                   "A steady rise indicates a leak: look for tensors kept between steps (losses "
                   "summed with their graph, lists of outputs, growing caches).%s",
                   near_limit(x->most));
    f->refute = "memory levels off later in the run";
    FINDING_NUMBERS(v, f, x->fit.from, x->fit.to, x->fit.to - x->fit.from,
                    j->run->ended ? NUMBER_ABSENT : full_s, x->most, x->fit.per_s * 3600,
                    x->fit.r2);
    finding_count(v, f, count, count);
}

static bool climbs(const struct judge *j, const struct trend_fit *fit)
{
    return trend_is_climb(fit) && fit->to - fit->from > j->p[INCREASE].v;
}

/* Of a run that has ended a tenth of a window is enough, but two points at least. */
static uint64_t memory_needed(const struct judge *j)
{
    const int64_t period = MAX_OF(j->nodes[0].facts->period_ns, 1);
    const uint64_t window = (uint64_t)param_points(&j->p[WINDOW], period);
    return j->run->ended ? MAX_OF((window + 9) / 10, (uint64_t)2) : window + (window + 1) / 2;
}

/* Steps up are seen by the course of the device where that of the job is read too rarely for it:
 * but then the job must have grown as well. */
static bool find_rises(const struct judge *j, const struct judged_node *node,
                       const struct memory_gpu *g, const struct trend_fit *fit, struct verdict *out)
{
    const struct rule_view c = {.p = j->p, .node = node->facts, .from = node->from};
    const enum gpu_memory best = memory_of(g);
    enum gpu_memory k = best;
    struct rises r = rises_ended(&g->course[k].rises, &spec, &c, false);
    if (r.compared == 0) {
        k = best == MEMORY_OF_JOB ? MEMORY_OF_DEVICE : best;
        rises_memory(&r, STATE_FREE);
        r = rises_ended(&g->course[k].rises, &spec, &c, j->run->ended);
    }
    const bool judged = r.compared > 0 || (j->run->ended && g->course[k].mem.n >= memory_needed(j));
    if (k == best || memory_grown(&g->course[best].trend) > j->p[INCREASE].v)
        find_steps(out,
                   &(struct memory_steps){j, node, g, &g->course[k], memory_words[k], &r, fit});
    rises_memory(&r, STATE_FREE);
    return judged;
}

/* Returns whether there was something to compare. */
static bool memory_judge_gpu(const struct judge *j, const struct judged_node *node,
                             const struct memory_gpu *g, struct verdict *out)
{
    const struct rule_view c = {.p = j->p, .node = node->facts, .from = node->from};
    const enum gpu_memory k = memory_of(g);
    const struct course *course = &g->course[k];
    const struct trend_fit fit = trend_fit_of(&course->trend, SCALE);
    if (course->mem.n < CLIMB_LEAST || !climbs(j, &fit))
        return find_rises(j, node, g, &fit, out);
    struct rises r = rises_ended(&course->rises, &spec, &c, false);
    find_climb(j, out,
               &(struct climb){node, g->head.entity, memory_words[k], &course->trend, fit,
                               hist_max(&course->mem)},
               MAX_OF(rises_count(&r), (uint64_t)1));
    rises_memory(&r, STATE_FREE);
    return true;
}

/* ---- by the allocators' reports ---- */

/* Bytes of one GPU of the node; 0: not known. */
static double memory_total_of(const struct judged_node *node)
{
    const struct node_state *t = node->state;
    double total = (double)node->facts->gpu_memory_bytes;
    for (size_t k = 0; k < t->n_gpus; k++)
        total = fmax(total, (double)((const struct memory_gpu *)state_gpu(t, k))->total);
    return total;
}

/* Whether the driver reported the job's memory on any GPU of the node. */
static bool job_is_known(const struct node_state *t)
{
    return FIND_ANY(k, t->n_gpus, memory_of(state_gpu(t, k)) == MEMORY_OF_JOB);
}

/* In percent of the GPU's memory instead of MiB. */
static struct trend_fit fit_in_percent(const struct trend *mib, double total)
{
    struct trend_fit fit = trend_fit_of(mib, 1);
    const double by = 100 * MIB / total;
    fit.from *= by;
    fit.to *= by;
    fit.per_s *= by;
    fit.late_per_s *= by;
    return fit;
}

/* Returns whether the allocators of the node's ranks reported enough to judge it by. */
static bool judge_ranks(const struct judge *j, const struct judged_node *node, struct verdict *out)
{
    const struct node_state *t = node->state;
    const double total = memory_total_of(node);
    bool judged = false;
    for (size_t i = 0; total > 0 && i < t->n_ranks; i++) {
        struct memory_rank own = *(const struct memory_rank *)t->ranks[i], *r = &own;
        if (!j->run->has_steps || r->last.ns <= j->run->loop_end.ns)
            add_last(r);
        const struct trend_fit fit = fit_in_percent(&r->mib, total);
        if (fit.blocks < 3 || r->n < CLIMB_LEAST)
            continue;
        judged = true;
        out->datapoints = MAX_OF(out->datapoints, r->n);
        if (climbs(j, &fit))
            find_climb(j, out,
                       &(struct climb){node, rank_entity(j, r), "GPU memory held by tensors of",
                                       &r->mib, fit, fmax(fit.from, fit.to)},
                       1);
    }
    return judged;
}

static void plot_courses(const struct judge *j, struct verdict *out)
{
    const struct memory_gpu *g;
    for (struct entity_at at = {0}; (g = next_gpu(j, &at));) {
        const struct course *c = &g->course[memory_of(g)];
        if (c->mem.n)
            trend_plot(&c->trend, SCALE, j->run->job_start,
                       arena_printf(j->arena, "Memory of %s", judge_gpu_name(j, at.node, g)), "%",
                       out);
    }
}

static bool memory_judge_node(const struct judge *j, const struct judged_node *node,
                              struct plot *box, struct verdict *out)
{
    const struct node_state *t = node->state;
    const bool by_ranks = !job_is_known(t) && judge_ranks(j, node, out);
    bool judged = by_ranks;
    for (size_t k = 0; k < t->n_gpus; k++) {
        const struct memory_gpu *g = state_gpu(t, k);
        const struct course *c = &g->course[memory_of(g)];
        if (!gpu_was_used(&g->head) || c->mem.n == 0)
            continue;
        plot_box(out, box, judge_gpu_name(j, node, g), &c->mem);
        if (!by_ranks)
            judged |= memory_judge_gpu(j, node, g, out);
        out->datapoints = MAX_OF(out->datapoints, c->mem.n);
    }
    return judged;
}

static void memory_judge(const struct judge *j, struct verdict *out)
{
    bool judged = false;
    struct plot *box = verdict_plot(out, PLOT_BOX, "GPU memory in use", "%");
    for (size_t i = 0; i < j->n_nodes; i++)
        judged |= memory_judge_node(j, &j->nodes[i], box, out);
    plot_courses(j, out);
    if (judged)
        return;
    if (!judge_is_short(j, memory_needed(j), out))
        verdict_not_evaluated(out, "GPU memory was not reported");
}

const struct rule rule_gpu_memory_increase = {
    .name = "GPUMemoryIncrease",
    .title = "GPU memory growth",
    .description = "Checks whether the job's GPU memory grows after warm-up. The mean of each "
                   "window is compared with the previous window, and a line is fitted to the whole "
                   "training loop: a steady rise is a leak, a jump is a new allocation. Where the "
                   "job's own memory is not known, the memory of the whole GPU is used.",
    .recommendation = "Look for growing caches and retained graphs. Near the limit, use a smaller "
                      "batch, activation checkpointing or a larger GPU.",
    RULE_PARAMS([INCREASE] = {"increase", 5, 0, 100, PARAM_PERCENT,
                              "minimum increase in percentage points of the GPU's memory"},
                [PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                              "readings skipped at the start when no steps are known"},
                [WINDOW] =
                    {"window", 10, 1, 1e6, PARAM_POINTS,
                     "window length; the mean of each window is compared with the previous one"}),
    .labels = {{"memory_before", "%", "Memory before"},
               {"memory_after", "%", "Memory after"},
               {"increase", "%", "Increase"},
               {"full_in", "s", "Time to full at this rate"},
               {"memory_max", "%", "Highest memory use"},
               {"climb_per_hour", "%/h", "Growth per hour"},
               {"climb_r2", "", ""}},
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    RULE_STATE(struct node_state, .gpu_size = sizeof(struct memory_gpu), .gpu = memory_see,
               .memory_gpu = course_memory, .rank_size = sizeof(struct memory_rank),
               .event = memory_event),
    .judge = memory_judge,
};
