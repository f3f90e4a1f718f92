/* SPDX-License-Identifier: Apache-2.0 */
/* GPUThrottling: heat, or a power limit below the card's default, lowers the clock of a GPU. A GPU
 * that works at its default limit is what one pays for: that is information. */
#include <math.h>

#include "base/human.h"
#include "base/mem.h"
#include "rules/per_entity.h"
#include "rules/windows.h"

enum { THRESHOLD }; /* parameters */

enum { LEAST = 20 };

/* Reasons as NVML gives them in bits; those for idling, set clocks and displays are no throttling.
 */
static const struct {
    uint32_t bit;
    bool heat;
    const char *words;
} reasons[] = {
    {0x04, false, "power limit"},          {0x08, true, "hardware slowdown"},
    {0x20, true, "temperature (driver)"},  {0x40, true, "temperature (hardware)"},
    {0x80, false, "external power brake"},
};

enum { REASONS = COUNT_OF(reasons) };
static const uint32_t POWER_CAP = 0x04;

/* What throttles a sweep: the power limit alone, or something harder. */
enum { BY_POWER, BY_FAULT, KINDS };

/* Whether the limit is the card's own is known only in the end, so both kinds are counted
 * separately. */
struct reduced_clock {
    uint64_t n;
    struct episodes episodes;
    uint64_t clocks, clock_sum; /* readings of the clock; of those, MHz */
};

struct throttled_gpu {
    struct gpu_head head;
    uint64_t readings, by[REASONS];
    struct reduced_clock reduced[KINDS];
    struct episodes any; /* of both kinds */
    float most_clock;    /* MHz */
    float lowest_limit;  /* W; 0: not read */
    float default_limit; /* W, the highest; 0: not read */
};

static uint32_t all_reasons(void)
{
    uint32_t all = 0;
    for (size_t k = 0; k < REASONS; k++)
        all |= reasons[k].bit;
    return all;
}

static void throttle_hold(struct throttled_gpu *g, const struct sweeps *s, size_t i, uint32_t bits,
                          float clock)
{
    struct reduced_clock *h = &g->reduced[bits == POWER_CAP ? BY_POWER : BY_FAULT];
    h->n++;
    for (size_t k = 0; k < REASONS; k++)
        g->by[k] += (bits & reasons[k].bit) != 0;
    episodes_add(&h->episodes, s->at[i], s->period_ns);
    episodes_add(&g->any, s->at[i], s->period_ns);
    if (!isnan(clock)) {
        h->clocks++;
        h->clock_sum += (uint64_t)lrintf(clock);
    }
}

static void throttle_see(void *gpu, const struct gpu_batch *c)
{
    struct throttled_gpu *g = gpu;
    const struct sweeps *s = c->s;
    const uint32_t all = all_reasons();
    const float *bits = c->gpu->v[GPU_SIG_THROTTLE], *clock = c->gpu->v[GPU_SIG_CLOCK],
                *limit = c->gpu->v[GPU_SIG_POWER_LIMIT];
    if (!bits)
        return;
    for (size_t i = 0; limit && i < s->n; i++)
        if (limit[i] > 0 && (g->lowest_limit <= 0 || limit[i] < g->lowest_limit))
            g->lowest_limit = limit[i];
    g->default_limit = values_highest(c->gpu->v[GPU_SIG_POWER_DEFAULT], s->n, g->default_limit);
    g->most_clock = values_highest(clock, s->n, g->most_clock);
    g->readings += values_read(bits, s->n);
    if (values_highest(bits, s->n, 0) < 1)
        return;
    for (size_t i = 0; i < s->n; i++)
        if (!isnan(bits[i]) && ((uint32_t)bits[i] & all))
            throttle_hold(g, s, i, (uint32_t)bits[i] & all, clock ? clock[i] : NAN);
}

static void throttle_memory(void *gpu, enum state_op op)
{
    struct throttled_gpu *g = gpu;
    for (size_t k = 0; k < KINDS; k++)
        episodes_memory(&g->reduced[k].episodes, op);
    episodes_memory(&g->any, op);
}

/* ---- judging ---- */

/* Percent of the readings. */
static double throttle_percent(const struct throttled_gpu *g, uint64_t n)
{
    return 100 * (double)n / (double)g->readings;
}

/* The power limit was set below what the card has by default. Limits are read to the watt. */
static bool is_lowered(const struct throttled_gpu *g)
{
    return g->lowest_limit > 0 && g->default_limit > 0 && g->lowest_limit < g->default_limit - 1;
}

/* What is no property of the card. */
static uint64_t faults(const struct throttled_gpu *g)
{
    return g->reduced[BY_FAULT].n + (is_lowered(g) ? g->reduced[BY_POWER].n : 0);
}

static double mean_clock(const struct reduced_clock *h)
{
    return h->clocks ? (double)h->clock_sum / (double)h->clocks : NAN;
}

static double reduced_clock_mean(const struct throttled_gpu *g)
{
    const struct reduced_clock *a = &g->reduced[BY_FAULT], *b = &g->reduced[BY_POWER];
    if (!is_lowered(g))
        return mean_clock(a);
    return mean_clock(&(struct reduced_clock){.clocks = a->clocks + b->clocks,
                                              .clock_sum = a->clock_sum + b->clock_sum});
}

/* What the clock would be: that of a GPU at its default limit where it works at it, since no
 * cooling brings more; else the highest that was seen. */
static double usual_clock(const struct throttled_gpu *g)
{
    const double capped = mean_clock(&g->reduced[BY_POWER]);
    if (!is_lowered(g) && !isnan(capped))
        return capped;
    return g->most_clock > 0 ? (double)g->most_clock : NAN;
}

/* Share of the clock that was lost while it was throttled; NAN: the clock is not known. */
static double clock_lost(const struct throttled_gpu *g)
{
    const double usual = usual_clock(g);
    return usual > 0 ? fmax(1 - reduced_clock_mean(g) / usual, 0) : NAN;
}

static bool throttle_counts(const struct throttled_gpu *g, size_t reason)
{
    return g->by[reason] && (reasons[reason].bit != POWER_CAP || is_lowered(g));
}

static const char *reasons_text(struct verdict *v, const struct throttled_gpu *g)
{
    const char *text = "";
    for (size_t k = 0; k < REASONS; k++)
        if (throttle_counts(g, k))
            text = arena_printf(v->arena, "%s%s%s %.0f %%", text, *text ? ", " : "",
                                reasons[k].words, throttle_percent(g, g->by[k]));
    return text;
}

/* fmax leaves out a NAN, so the clock itself is checked. */
static const char *clock_text(struct verdict *v, const struct throttled_gpu *g)
{
    return isnan(reduced_clock_mean(g)) || isnan(usual_clock(g))
               ? "clock not recorded"
               : arena_printf(v->arena, "average clock %.0f MHz, %.0f %% below the usual %.0f MHz",
                              reduced_clock_mean(g), 100 * clock_lost(g), usual_clock(g));
}

static const char *throttle_advice_for(const struct throttled_gpu *g)
{
    uint64_t heat = 0, power = 0;
    for (size_t k = 0; k < REASONS; k++)
        if (throttle_counts(g, k))
            *(reasons[k].heat ? &heat : &power) += g->by[k];
    return heat > power
               ? "Check the cooling: fans, dust, air flow, room temperature, a hot GPU next to it. "
                 "Until that is fixed, a lower power limit gives a steadier clock."
           : is_lowered(g)
               ? "Raise the power limit to the default (nvidia-smi -pl) if the machine allows it, "
                 "or accept the limit."
               : "Check the power supply: the power brake signal comes from outside the GPU.";
}

static void throttle_find(const struct judge *j, const struct judged_node *node,
                          const struct throttled_gpu *g, struct verdict *v)
{
    const struct episodes *when = is_lowered(g) ? &g->any : &g->reduced[BY_FAULT].episodes;
    const double lost = isnan(reduced_clock_mean(g)) ? NAN : clock_lost(g),
                 reduced = throttle_percent(g, faults(g));
    double by[REASONS];
    for (size_t k = 0; k < REASONS; k++)
        by[k] = g->by[k] ? throttle_percent(g, g->by[k]) : NUMBER_ABSENT;
    struct finding *f = verdict_find(v, node->facts->id, g->head.entity);
    finding_in(v, f, when);
    const char *limit =
        is_lowered(g) ? arena_printf(v->arena, "; power limit %.0f W, below the default of %.0f W",
                                     (double)g->lowest_limit, (double)g->default_limit)
                      : "";
    finding_say(
        v, f, "the clock of %s was reduced for %.0f %% of the time (threshold %g %%): %s; %s%s",
        g->head.entity, reduced, j->p[THRESHOLD].v, reasons_text(v, g), clock_text(v, g), limit);
    f->advice = throttle_advice_for(g);
    f->refute = "the clock stays at its maximum despite the reported reason";
    FINDING_NUMBERS(v, f, reduced, by[0], by[1], by[2], by[3], by[4],
                    g->lowest_limit > 0 ? (double)g->lowest_limit : NAN,
                    g->default_limit > 0 ? (double)g->default_limit : NAN, 100 * lost,
                    reduced_clock_mean(g), usual_clock(g));
    f->lost_s = f->lost_gpu_s = ns_to_s(episodes_held_ns(when)) * lost; /* the others wait for it */
    finding_count(v, f, when->n, faults(g));
}

/* Information: what the GPU that works at its own limit most does. */
static void throttle_find_limit(const struct judge *j, const struct throttled_gpu *g,
                                struct verdict *v)
{
    const char *limit =
        g->lowest_limit > 0 ? arena_printf(v->arena, " of %.0f W", (double)g->lowest_limit) : "";
    verdict_why(v,
                "%s ran at its power limit%s%s for %.0f %% of the time; nothing else reduced a "
                "clock for more than %g %%",
                g->head.entity, limit, g->default_limit > 0 ? " (the default)" : "",
                throttle_percent(g, g->reduced[BY_POWER].n), j->p[THRESHOLD].v);
}

static void throttle_judge(const struct judge *j, struct verdict *out)
{
    const double limit = j->p[THRESHOLD].v;
    const struct throttled_gpu *limited = NULL, *g; /* limited: at its own limit for longest */
    double highest = -1, longest = -1;
    struct plot *bars = verdict_plot(out, PLOT_BARS, "Time with reduced clock", "%");
    for (struct entity_at at = {0}; (g = next_gpu(j, &at));) {
        if (g->readings < LEAST)
            continue;
        const double reduced = throttle_percent(g, faults(g)),
                     own = is_lowered(g) ? -1 : throttle_percent(g, g->reduced[BY_POWER].n);
        plot_row(out, bars, judge_gpu_name(j, at.node, g), &reduced, 1);
        out->datapoints = MAX_OF(out->datapoints, g->readings);
        highest = fmax(highest, reduced);
        limited = own > longest ? g : limited;
        longest = fmax(longest, own);
        if (reduced > limit)
            throttle_find(j, at.node, g, out);
    }
    if (highest < 0 && !judge_is_short(j, LEAST, out))
        verdict_not_evaluated(out, "clock throttle reasons were not reported");
    else if (out->state != RULE_CLEAR)
        return;
    else if (longest > limit)
        throttle_find_limit(j, limited, out);
    else
        verdict_why(out, "clock reduced for at most %.1f %% of the time (threshold %g %%)", highest,
                    limit);
}

const struct rule rule_gpu_throttling = {
    .name = "GPUThrottling",
    .title = "GPU throttling",
    .description = "Checks whether heat, a hardware slowdown or a lowered power limit reduces the "
                   "clock of a GPU, by the driver's throttle reasons, and how much clock speed is "
                   "lost. A GPU at its default power limit is reported as information only.",
    .recommendation = "Check cooling and power limits.",
    RULE_PARAMS([THRESHOLD] = {"threshold", 5, 0, 100, PARAM_PERCENT,
                               "maximum share of the training loop with a reduced clock"}),
    .labels = {{"held_pct", "%", "Time with reduced clock"},
               {"power_cap_pct", "%", "Time at power limit"},
               {"hw_slowdown_pct", "%", "Time in hardware slowdown"},
               {"thermal_pct", "%", "Time limited by temperature (driver)"},
               {"hw_thermal_pct", "%", "Time limited by temperature (hardware)"},
               {"power_brake_pct", "%", "Time with external power brake"},
               {"power_limit", "W", "Power limit"},
               {"power_default", "W", "Default power limit"},
               {"clock_lost_pct", "%", "Clock reduction"},
               {"clock_held", "MHz", "Average reduced clock"},
               {"clock_usual", "MHz", "Usual clock"}},
    .estimates = true,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    RULE_STATE(struct node_state, .gpu_size = sizeof(struct throttled_gpu), .gpu = throttle_see,
               .memory_gpu = throttle_memory),
    .judge = throttle_judge,
};
