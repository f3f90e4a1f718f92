/* SPDX-License-Identifier: Apache-2.0 */
/* GPUThrottling: heat or power hold the clock of a GPU down. */
#include <math.h>

#include "base/human.h"
#include "base/mem.h"
#include "rules/enough.h"
#include "rules/episodes.h"
#include "rules/per_gpu.h"
#include "rules/values.h"

enum { THRESHOLD };

static const struct param params[] = {
    [THRESHOLD] = {"threshold", 5, 0, 100, PARAM_PERCENT,
                   "held down for more of the training loop than this"},
    {0},
};

enum { LEAST = 20 };

/* Reasons as NVML gives them in bits; those for idling, set clocks and displays are no throttling.
 */
static const struct {
    uint32_t bit;
    bool heat;
    const char *number, *words;
} reasons[] = {
    {0x04, false, "power_cap_pct", "the power limit"},
    {0x08, true, "hw_slowdown_pct", "a hardware slowdown"},
    {0x20, true, "thermal_pct", "heat (driver)"},
    {0x40, true, "hw_thermal_pct", "heat (hardware)"},
    {0x80, false, "power_brake_pct", "an external power brake"},
};

enum { REASONS = COUNT_OF(reasons) };

struct gpu {
    struct gpu_head head;
    uint64_t readings, held, by[REASONS];
    struct episodes episodes;
    float most_clock;   /* MHz */
    uint64_t clocks;    /* readings of the clock while it was held down */
    uint64_t clock_sum; /* of those, MHz */
};

struct state {
    struct per_gpu gpus;
};

static uint32_t all_reasons(void)
{
    uint32_t all = 0;
    for (size_t k = 0; k < REASONS; k++)
        all |= reasons[k].bit;
    return all;
}

static void hold(struct gpu *g, const struct sweeps *s, size_t i, uint32_t bits)
{
    g->held++;
    for (size_t k = 0; k < REASONS; k++)
        g->by[k] += (bits & reasons[k].bit) != 0;
    episodes_add(&g->episodes, s->at[i], s->period_ns);
}

static void see(struct gpu *g, const struct sweeps *s, const float *bits, const float *clock)
{
    const uint32_t all = all_reasons();
    g->most_clock = values_highest(clock, s->n, g->most_clock);
    g->readings += values_read(bits, s->n);
    if (values_highest(bits, s->n, 0) < 1)
        return;
    for (size_t i = 0; i < s->n; i++) {
        if (isnan(bits[i]) || !((uint32_t)bits[i] & all))
            continue;
        hold(g, s, i, (uint32_t)bits[i]);
        if (clock && !isnan(clock[i])) {
            g->clocks++;
            g->clock_sum += (uint64_t)lrintf(clock[i]);
        }
    }
}

static void sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct state *t = state;
    (void)c;
    per_gpu_see(&t->gpus, sizeof(struct gpu), s);
    for (size_t i = 0; i < s->n_gpus; i++)
        if (s->gpus[i].v[GPU_SIG_THROTTLE])
            see(per_gpu_at(&t->gpus, i), s, s->gpus[i].v[GPU_SIG_THROTTLE],
                s->gpus[i].v[GPU_SIG_CLOCK]);
}

static void join_gpu(void *own, const struct rule_view *c, void *its)
{
    struct gpu *a = own, *b = its;
    (void)c;
    a->readings += b->readings;
    a->held += b->held;
    for (size_t k = 0; k < REASONS; k++)
        a->by[k] += b->by[k];
    episodes_join(&a->episodes, &b->episodes);
    a->most_clock = MAX_OF(a->most_clock, b->most_clock);
    a->clocks += b->clocks;
    a->clock_sum += b->clock_sum;
}

static void join(void *state, const struct rule_view *c, void *later)
{
    per_gpu_join(&((struct state *)state)->gpus, &((struct state *)later)->gpus, c, join_gpu);
}

static void free_gpu(void *own)
{
    episodes_free(&((struct gpu *)own)->episodes);
}

static void free_state(void *state)
{
    per_gpu_free(&((struct state *)state)->gpus, free_gpu);
}

/* ---- judging ---- */

static double percent(uint64_t n, uint64_t all)
{
    return 100 * (double)n / (double)all;
}

static double held_clock(const struct gpu *g)
{
    return g->clocks ? (double)g->clock_sum / (double)g->clocks : NAN;
}

/* Share of the clock that was lost while it was held down; NAN: the clock is not known. */
static double clock_lost(const struct gpu *g)
{
    return g->clocks && g->most_clock > 0 ? 1 - held_clock(g) / (double)g->most_clock : NAN;
}

static const char *reasons_text(struct verdict *v, const struct gpu *g)
{
    const char *text = "";
    for (size_t k = 0; k < REASONS; k++)
        if (g->by[k])
            text = arena_printf(v->arena, "%s%s%s %.0f %%", text, *text ? ", " : "",
                                reasons[k].words, percent(g->by[k], g->readings));
    return text;
}

static const char *clock_text(struct verdict *v, const struct gpu *g)
{
    return isnan(clock_lost(g))
               ? "the clock was not recorded"
               : arena_printf(v->arena,
                              "its clock was then %.0f MHz on the mean, %.0f %% below %.0f",
                              held_clock(g), 100 * clock_lost(g), (double)g->most_clock);
}

static const char *advice_for(const struct gpu *g)
{
    uint64_t heat = 0, power = 0;
    for (size_t k = 0; k < REASONS; k++)
        *(reasons[k].heat ? &heat : &power) += g->by[k];
    return heat > power ? "Look at its cooling: fans, dust, air flow, the temperature of the room, "
                          "a hot neighbour. Until then a lower power limit is steadier."
                        : "Raise its power limit (nvidia-smi -pl) where the machine allows it, or "
                          "accept the limit as set; a power brake is for the power supply.";
}

static void find(const struct judge *j, const struct judged_node *node, const struct gpu *g,
                 struct verdict *v)
{
    const double lost = clock_lost(g);
    struct finding *f = verdict_find(v, node->facts->id, g->head.entity);
    finding_when(v, f, episodes_ranges(&g->episodes, j->arena), g->episodes.n);
    finding_say(v, f,
                "the clock of %s was held down for %.0f %% of the time (threshold %g): %s; %s",
                g->head.entity, percent(g->held, g->readings), j->p[THRESHOLD].v,
                reasons_text(v, g), clock_text(v, g));
    f->advice = advice_for(g);
    f->refute = "a clock that stays at its highest while the reason holds";
    finding_number(v, f, "held_pct", percent(g->held, g->readings), "%");
    for (size_t k = 0; k < REASONS; k++)
        if (g->by[k])
            finding_number(v, f, reasons[k].number, percent(g->by[k], g->readings), "%");
    finding_number(v, f, "clock_lost_pct", 100 * lost, "%");
    finding_number(v, f, "clock_held", held_clock(g), "MHz");
    finding_number(v, f, "clock_max", g->most_clock > 0 ? (double)g->most_clock : NAN, "MHz");
    f->lost_gpu_s = (double)episodes_held_ns(&g->episodes) / 1e9 * lost;
    f->lost_s = f->lost_gpu_s; /* the others wait for it */
    v->triggered += g->episodes.n;
    v->violations += g->held;
    v->last_triggered.ns = MAX_OF(v->last_triggered.ns, f->end.ns);
}

static void judge(const struct judge *j, struct verdict *out)
{
    double highest = -1;
    struct plot *bars = verdict_plot(out, PLOT_BARS, "Time with the clock held down", "%");
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct state *t = j->nodes[i].state;
        for (size_t k = 0; k < t->gpus.n; k++) {
            const struct gpu *g = per_gpu_at(&t->gpus, k);
            if (!gpu_was_used(&g->head) || g->readings < LEAST)
                continue;
            const double held = percent(g->held, g->readings);
            plot_row(out, bars,
                     arena_printf(j->arena, "%s %s", j->nodes[i].facts->id, g->head.entity), &held,
                     1);
            out->datapoints = MAX_OF(out->datapoints, g->readings);
            highest = fmax(highest, held);
            if (held > j->p[THRESHOLD].v)
                find(j, &j->nodes[i], g, out);
        }
    }
    if (highest < 0 && !judge_is_short(j, LEAST, out))
        verdict_not_evaluated(out, "no GPU in use told why its clock is held down");
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "held down for at most %.1f %% of the time (threshold %g)", highest,
                    j->p[THRESHOLD].v);
}

const struct rule rule_gpu_throttling = {
    .name = "GPUThrottling",
    .title = "GPU clock held down",
    .description = "Checks whether heat or power hold the clock of a GPU down, by the reasons that "
                   "the driver gives, and how much of the clock that costs.",
    .recommendation = "Look at cooling and power limits.",
    .params = params,
    .patience = -1,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .state_size = sizeof(struct state),
    .sweeps = sweeps,
    .join = join,
    .free_state = free_state,
    .judge = judge,
};
