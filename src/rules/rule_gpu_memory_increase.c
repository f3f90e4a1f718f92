/* SPDX-License-Identifier: Apache-2.0 */
/* GPUMemoryIncrease: the memory in use of a GPU goes up, in steps or as a steady climb. */
#include <math.h>

#include "base/mem.h"
#include "rules/boxes.h"
#include "rules/enough.h"
#include "rules/per_gpu.h"
#include "rules/rises.h"
#include "rules/shared.h"
#include "rules/trend.h"

enum { INCREASE, PATIENCE, WINDOW };

static const struct param params[] = {
    [INCREASE] = {"increase", 5, 0, 100, PARAM_PERCENT,
                  "more percentage points of the GPU's memory than this are an increase"},
    [PATIENCE] = {"patience", 1000, 0, 1e7, PARAM_POINTS,
                  "what is left out at the start of a run without steps"},
    [WINDOW] = {"window", 10, 1, 1e6, PARAM_POINTS,
                "its mean is compared with that of the window before"},
    {0},
};

static const struct rises_spec spec = {.window = WINDOW, .increase = INCREASE};

/* Findings of one GPU; what is more is told in one sentence. */
enum { FINDINGS_MOST = 10 };

#define SCALE      10.0f /* of trends: tenths of a percent */
#define NEAR_LIMIT 90    /* percent */

struct gpu {
    struct gpu_head head;
    struct rises rises;
    struct trend trend;
    struct hist mem;
};

struct state {
    struct per_gpu gpus;
};

static void sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct state *t = state;
    per_gpu_see(&t->gpus, sizeof(struct gpu), s);
    for (size_t i = 0; i < s->n_gpus; i++) {
        struct gpu *g = per_gpu_at(&t->gpus, i);
        const float *mem = s->gpus[i].v[GPU_SIG_MEM];
        if (!mem)
            continue;
        rises_add(&g->rises, &spec, c, s, mem);
        trend_add(&g->trend, s->at, mem, s->n, SCALE);
        shared_hist(s, mem, &g->mem);
    }
}

static void join_gpu(void *own, const struct rule_view *c, void *its)
{
    struct gpu *a = own, *b = its;
    rises_join(&a->rises, &spec, c, &b->rises);
    trend_join(&a->trend, &b->trend);
    hist_join(&a->mem, &b->mem);
}

static void join(void *state, const struct rule_view *c, void *later)
{
    per_gpu_join(&((struct state *)state)->gpus, &((struct state *)later)->gpus, c, join_gpu);
}

static void free_gpu(void *own)
{
    rises_free(&((struct gpu *)own)->rises);
}

static void free_state(void *state)
{
    per_gpu_free(&((struct state *)state)->gpus, free_gpu);
}

/* ---- judging ---- */

struct seen {
    const struct judge *j;
    const struct judged_node *node;
    const struct gpu *g;
    const struct rises *rises;
    const struct trend_fit *fit;
};

static const char *near_limit(const struct gpu *g)
{
    return hist_max(&g->mem) >= NEAR_LIMIT
               ? " It is near its limit: use a smaller batch, activation checkpointing or a larger "
                 "GPU."
               : "";
}

static void finish(struct verdict *v, struct finding *f, const struct seen *s, uint64_t count)
{
    finding_number(v, f, "memory_max", hist_max(&s->g->mem), "%");
    finding_number(v, f, "climb_per_hour", s->fit->per_s * 3600, "%/h");
    finding_number(v, f, "climb_r2", s->fit->r2, "");
    v->triggered += count;
    v->violations += count;
    v->last_triggered.ns = MAX_OF(v->last_triggered.ns, f->end.ns);
}

static void find_step(struct verdict *v, const struct seen *s, const struct rise *r)
{
    char when[48];
    struct finding *f = verdict_find(v, s->node->facts->id, s->g->head.entity);
    finding_when(v, f, &(struct time_range){{r->from_ns}, {r->to_ns}}, 1);
    finding_say(v, f,
                "memory of %s stepped up from %.1f %% to %.1f %% within %s (threshold %g points); "
                "over the loop it does not climb steadily",
                s->g->head.entity, r->before, r->after,
                duration_text((double)(r->to_ns - r->from_ns) / 1e9, when, sizeof when),
                s->j->p[INCREASE].v);
    finding_advise(v, f,
                   "A step is a new allocation: look at what began then, such as evaluation, a "
                   "longer batch or a cache.%s",
                   near_limit(s->g));
    f->refute = "memory that falls back by as much soon afterwards";
    finding_number(v, f, "memory_before", r->before, "%");
    finding_number(v, f, "memory_after", r->after, "%");
    finding_number(v, f, "increase", r->after - r->before, "%");
    finish(v, f, s, r->count);
}

static void find_steps(struct verdict *v, const struct seen *s)
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
    verdict_remark(v, "memory of %s on %s stepped up %u times; the first %d are told",
                   s->g->head.entity, s->node->facts->id, s->rises->n, FINDINGS_MOST);
}

static uint64_t rises_count(const struct rises *r)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < r->n; i++)
        n += r->v[i].count;
    return n;
}

static void find_climb(struct verdict *v, const struct seen *s)
{
    char when[48], left[48];
    const struct trend *t = &s->g->trend;
    const double full_s = (100 - s->fit->to) / s->fit->per_s;
    struct finding *f = verdict_find(v, s->node->facts->id, s->g->head.entity);
    finding_when(
        v, f, &(struct time_range){{t->first * t->length_ns}, {(t->first + t->n) * t->length_ns}},
        1);
    finding_say(v, f,
                "memory of %s climbs steadily, from %.1f %% to %.1f %% in %s (threshold %g "
                "points); at this pace it is full in another %s",
                s->g->head.entity, s->fit->from, s->fit->to,
                duration_text(s->fit->seconds, when, sizeof when), s->j->p[INCREASE].v,
                duration_text(full_s, left, sizeof left));
    finding_advise(v, f,
                   "A steady climb is a leak: look for tensors kept between steps (losses summed "
                   "with their graph, lists of outputs, growing caches).%s",
                   near_limit(s->g));
    f->refute = "a plateau when the run is longer";
    finding_number(v, f, "memory_before", s->fit->from, "%");
    finding_number(v, f, "memory_after", s->fit->to, "%");
    finding_number(v, f, "increase", s->fit->to - s->fit->from, "%");
    finding_number(v, f, "full_in", full_s, "s");
    finish(v, f, s, MAX_OF(rises_count(s->rises), (uint64_t)1));
}

/* Returns whether there was something to compare. */
static bool judge_gpu(const struct judge *j, const struct judged_node *node, const struct gpu *g,
                      struct verdict *out)
{
    const struct rule_view c = {.p = j->p, .node = node->facts, .from = node->from};
    struct rises r = rises_ended(&g->rises, &spec, &c);
    const struct trend_fit fit = trend_fit_of(&g->trend, SCALE);
    const struct seen s = {j, node, g, &r, &fit};
    const bool judged = r.compared > 0;
    if (judged && trend_is_climb(&fit) && fit.to - fit.from > j->p[INCREASE].v)
        find_climb(out, &s);
    else
        find_steps(out, &s);
    rises_free(&r);
    return judged;
}

static void plot_gpu(const struct judge *j, const struct judged_node *node, const struct gpu *g,
                     struct plot *box, struct verdict *out)
{
    plot_box(out, box, arena_printf(j->arena, "%s %s", node->facts->id, g->head.entity), &g->mem);
}

static void plot_courses(const struct judge *j, struct verdict *out)
{
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct state *t = j->nodes[i].state;
        for (size_t k = 0; k < t->gpus.n; k++) {
            const struct gpu *g = per_gpu_at(&t->gpus, k);
            if (gpu_was_used(&g->head) && g->mem.n)
                trend_plot(&g->trend, SCALE, j->run->job_start,
                           arena_printf(j->arena, "Memory of %s %s", j->nodes[i].facts->id,
                                        g->head.entity),
                           "%", out);
        }
    }
}

static void judge(const struct judge *j, struct verdict *out)
{
    bool judged = false;
    struct plot *box = verdict_plot(out, PLOT_BOX, "GPU memory in use", "%");
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct state *t = j->nodes[i].state;
        for (size_t k = 0; k < t->gpus.n; k++) {
            const struct gpu *g = per_gpu_at(&t->gpus, k);
            if (!gpu_was_used(&g->head) || g->mem.n == 0)
                continue;
            plot_gpu(j, &j->nodes[i], g, box, out);
            judged |= judge_gpu(j, &j->nodes[i], g, out);
            out->datapoints = MAX_OF(out->datapoints, g->mem.n);
        }
    }
    plot_courses(j, out);
    if (judged)
        return;
    const int64_t window = param_points(&j->p[WINDOW], MAX_OF(j->nodes[0].facts->period_ns, 1));
    if (!judge_is_short(j, 2 * (uint64_t)window, out))
        verdict_not_evaluated(out, "no GPU in use told its memory");
}

const struct rule rule_gpu_memory_increase = {
    .name = "GPUMemoryIncrease",
    .title = "GPU memory grows",
    .description =
        "Checks whether the GPU memory in use goes up: the mean of a window over that of "
        "the window before it, and a line through the whole training loop, which tells "
        "a steady climb (a leak) from steps (new allocations).",
    .recommendation = "Look for growing caches and graphs that are kept; near the limit use a "
                      "smaller batch, activation checkpointing or a larger GPU.",
    .params = params,
    .patience = PATIENCE,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .state_size = sizeof(struct state),
    .sweeps = sweeps,
    .join = join,
    .free_state = free_state,
    .judge = judge,
};
