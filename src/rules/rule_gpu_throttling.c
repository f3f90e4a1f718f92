/* SPDX-License-Identifier: Apache-2.0 */
/* GPUThrottling: heat, or a power limit below what the card has by default, hold the clock of a GPU
 * down. A GPU that works at its default limit is what one pays for: that is information. */
#include <math.h>

#include "base/human.h"
#include "base/mem.h"
#include "rules/judging.h"
#include "rules/per_entity.h"
#include "rules/values.h"
#include "rules/windows.h"

enum { THRESHOLD };

static const struct param params[] = {
    [THRESHOLD] = {"threshold", 5, 0, 100, PARAM_PERCENT,
                   "maximum share of the training loop with a reduced clock"},
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
    {0x04, false, "power_cap_pct", "power limit"},
    {0x08, true, "hw_slowdown_pct", "hardware slowdown"},
    {0x20, true, "thermal_pct", "temperature (driver)"},
    {0x40, true, "hw_thermal_pct", "temperature (hardware)"},
    {0x80, false, "power_brake_pct", "external power brake"},
};

enum { REASONS = COUNT_OF(reasons) };
static const uint32_t POWER_CAP = 0x04;

/* What holds a sweep down: the power limit alone, or something harder. */
enum { BY_POWER, BY_FAULT, KINDS };

/* Whether the limit is the card's own is known only in the end, so both kinds are kept apart. */
struct held {
    uint64_t n;
    struct episodes episodes;
    uint64_t clocks, clock_sum; /* readings of the clock; of those, MHz */
};

struct rule_gpu_throttling_gpu {
    struct gpu_head head;
    uint64_t readings, by[REASONS];
    struct held held[KINDS];
    struct episodes any; /* of both kinds */
    float most_clock;    /* MHz */
    float lowest_limit;  /* W; 0: not read */
    float default_limit; /* W, the highest; 0: not read */
};

struct rule_gpu_throttling_state {
    struct per_gpu gpus;
};

static uint32_t all_reasons(void)
{
    uint32_t all = 0;
    for (size_t k = 0; k < REASONS; k++)
        all |= reasons[k].bit;
    return all;
}

static void rule_gpu_throttling_hold(struct rule_gpu_throttling_gpu *g, const struct sweeps *s,
                                     size_t i, uint32_t bits, float clock)
{
    struct held *h = &g->held[bits == POWER_CAP ? BY_POWER : BY_FAULT];
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

static float lower_of(float a, float b)
{
    return a > 0 && (b <= 0 || a < b) ? a : b;
}

static void see_limits(struct rule_gpu_throttling_gpu *g, const struct sweeps *s,
                       const struct gpu_sweeps *x)
{
    const float *limit = x->v[GPU_SIG_POWER_LIMIT];
    for (size_t i = 0; limit && i < s->n; i++)
        g->lowest_limit = lower_of(limit[i], g->lowest_limit);
    g->default_limit = values_highest(x->v[GPU_SIG_POWER_DEFAULT], s->n, g->default_limit);
}

static void rule_gpu_throttling_see(struct rule_gpu_throttling_gpu *g, const struct sweeps *s,
                                    const struct gpu_sweeps *x)
{
    const uint32_t all = all_reasons();
    const float *bits = x->v[GPU_SIG_THROTTLE], *clock = x->v[GPU_SIG_CLOCK];
    see_limits(g, s, x);
    g->most_clock = values_highest(clock, s->n, g->most_clock);
    g->readings += values_read(bits, s->n);
    if (values_highest(bits, s->n, 0) < 1)
        return;
    for (size_t i = 0; i < s->n; i++)
        if (!isnan(bits[i]) && ((uint32_t)bits[i] & all))
            rule_gpu_throttling_hold(g, s, i, (uint32_t)bits[i] & all, clock ? clock[i] : NAN);
}

static void rule_gpu_throttling_sweeps(void *state, const struct rule_view *c,
                                       const struct sweeps *s)
{
    struct rule_gpu_throttling_state *t = state;
    (void)c;
    per_gpu_see(&t->gpus, sizeof(struct rule_gpu_throttling_gpu), s);
    for (size_t i = 0; i < s->n_gpus; i++)
        if (s->gpus[i].v[GPU_SIG_THROTTLE])
            rule_gpu_throttling_see(per_gpu_at(&t->gpus, i), s, &s->gpus[i]);
}

static void rule_gpu_throttling_one_memory(void *own, enum state_op op)
{
    struct rule_gpu_throttling_gpu *g = own;
    for (size_t k = 0; k < KINDS; k++)
        episodes_memory(&g->held[k].episodes, op);
    episodes_memory(&g->any, op);
}

static void rule_gpu_throttling_memory(void *state, enum state_op op)
{
    per_gpu_memory(&((struct rule_gpu_throttling_state *)state)->gpus,
                   rule_gpu_throttling_one_memory, op);
}

/* ---- judging ---- */

static double rule_gpu_throttling_percent(uint64_t n, uint64_t all)
{
    return 100 * (double)n / (double)all;
}

/* Somebody set the power limit below what the card has by default. Limits are read to the watt. */
static bool is_lowered(const struct rule_gpu_throttling_gpu *g)
{
    return g->lowest_limit > 0 && g->default_limit > 0 && g->lowest_limit < g->default_limit - 1;
}

/* What is no property of the card. */
static uint64_t faults(const struct rule_gpu_throttling_gpu *g)
{
    return g->held[BY_FAULT].n + (is_lowered(g) ? g->held[BY_POWER].n : 0);
}

static double mean_clock(const struct held *h)
{
    return h->clocks ? (double)h->clock_sum / (double)h->clocks : NAN;
}

static double held_clock(const struct rule_gpu_throttling_gpu *g)
{
    const struct held *a = &g->held[BY_FAULT], *b = &g->held[BY_POWER];
    if (!is_lowered(g))
        return mean_clock(a);
    return mean_clock(
        &(struct held){.clocks = a->clocks + b->clocks, .clock_sum = a->clock_sum + b->clock_sum});
}

/* What the clock would be: that of a GPU at its default limit where it works at it, since no
 * cooling brings more; else the highest that was seen. */
static double usual_clock(const struct rule_gpu_throttling_gpu *g)
{
    const double capped = mean_clock(&g->held[BY_POWER]);
    if (!is_lowered(g) && !isnan(capped))
        return capped;
    return g->most_clock > 0 ? (double)g->most_clock : NAN;
}

/* Share of the clock that was lost while it was held down; NAN: the clock is not known. */
static double clock_lost(const struct rule_gpu_throttling_gpu *g)
{
    const double usual = usual_clock(g);
    return usual > 0 ? fmax(1 - held_clock(g) / usual, 0) : NAN;
}

static bool rule_gpu_throttling_counts(const struct rule_gpu_throttling_gpu *g, size_t reason)
{
    return g->by[reason] && (reasons[reason].bit != POWER_CAP || is_lowered(g));
}

static const char *reasons_text(struct verdict *v, const struct rule_gpu_throttling_gpu *g)
{
    const char *text = "";
    for (size_t k = 0; k < REASONS; k++)
        if (rule_gpu_throttling_counts(g, k))
            text =
                arena_printf(v->arena, "%s%s%s %.0f %%", text, *text ? ", " : "", reasons[k].words,
                             rule_gpu_throttling_percent(g->by[k], g->readings));
    return text;
}

/* fmax leaves out a NAN, so the clock itself is asked. */
static const char *clock_text(struct verdict *v, const struct rule_gpu_throttling_gpu *g)
{
    return isnan(held_clock(g)) || isnan(usual_clock(g))
               ? "clock not recorded"
               : arena_printf(v->arena, "average clock %.0f MHz, %.0f %% below the usual %.0f MHz",
                              held_clock(g), 100 * clock_lost(g), usual_clock(g));
}

static const char *limit_text(struct verdict *v, const struct rule_gpu_throttling_gpu *g)
{
    return is_lowered(g)
               ? arena_printf(v->arena, "; power limit %.0f W, below the default of %.0f W",
                              (double)g->lowest_limit, (double)g->default_limit)
               : "";
}

static const char *rule_gpu_throttling_advice_for(const struct rule_gpu_throttling_gpu *g)
{
    uint64_t heat = 0, power = 0;
    for (size_t k = 0; k < REASONS; k++)
        if (rule_gpu_throttling_counts(g, k))
            *(reasons[k].heat ? &heat : &power) += g->by[k];
    return heat > power
               ? "Check the cooling: fans, dust, air flow, room temperature, a hot GPU next to it. "
                 "Until that is fixed, a lower power limit gives a steadier clock."
           : is_lowered(g)
               ? "Raise the power limit to the default (nvidia-smi -pl) if the machine allows it, "
                 "or accept the limit."
               : "Check the power supply: the power brake signal comes from outside the GPU.";
}

static void rule_gpu_throttling_add_numbers(struct verdict *v, struct finding *f,
                                            const struct rule_gpu_throttling_gpu *g)
{
    for (size_t k = 0; k < REASONS; k++)
        if (g->by[k])
            finding_number(v, f, reasons[k].number,
                           rule_gpu_throttling_percent(g->by[k], g->readings), "%");
    finding_number(v, f, "power_limit", g->lowest_limit > 0 ? (double)g->lowest_limit : NAN, "W");
    finding_number(v, f, "power_default", g->default_limit > 0 ? (double)g->default_limit : NAN,
                   "W");
}

static void rule_gpu_throttling_find(const struct judge *j, const struct judged_node *node,
                                     const struct rule_gpu_throttling_gpu *g, struct verdict *v)
{
    const struct episodes *when = is_lowered(g) ? &g->any : &g->held[BY_FAULT].episodes;
    const double lost = isnan(held_clock(g)) ? NAN : clock_lost(g);
    struct finding *f = verdict_find(v, node->facts->id, g->head.entity);
    finding_when(v, f, episodes_ranges(when, j->arena), when->n);
    finding_say(v, f,
                "the clock of %s was reduced for %.0f %% of the time (threshold %g %%): %s; %s%s",
                g->head.entity, rule_gpu_throttling_percent(faults(g), g->readings),
                j->p[THRESHOLD].v, reasons_text(v, g), clock_text(v, g), limit_text(v, g));
    f->advice = rule_gpu_throttling_advice_for(g);
    f->refute = "the clock stays at its maximum despite the reported reason";
    finding_number(v, f, "held_pct", rule_gpu_throttling_percent(faults(g), g->readings), "%");
    rule_gpu_throttling_add_numbers(v, f, g);
    finding_number(v, f, "clock_lost_pct", 100 * lost, "%");
    finding_number(v, f, "clock_held", held_clock(g), "MHz");
    finding_number(v, f, "clock_usual", usual_clock(g), "MHz");
    f->lost_gpu_s = (double)episodes_held_ns(when) / 1e9 * lost;
    f->lost_s = f->lost_gpu_s; /* the others wait for it */
    v->triggered += when->n;
    v->violations += faults(g);
    v->last_triggered.ns = MAX_OF(v->last_triggered.ns, f->end.ns);
}

/* " of 700 W (the default)", as far as it is known. */
static const char *default_text(struct verdict *v, const struct rule_gpu_throttling_gpu *g)
{
    return arena_printf(
        v->arena, "%s%s",
        g->lowest_limit > 0 ? arena_printf(v->arena, " of %.0f W", (double)g->lowest_limit) : "",
        g->default_limit > 0 ? " (the default)" : "");
}

/* Information: what the GPU that works at its own limit most does. */
static void tell_limit(const struct judge *j, const struct rule_gpu_throttling_gpu *g,
                       struct verdict *v)
{
    verdict_why(v,
                "%s ran at its power limit%s for %.0f %% of the time; nothing else reduced a clock "
                "for more than %g %%",
                g->head.entity, default_text(v, g),
                rule_gpu_throttling_percent(g->held[BY_POWER].n, g->readings), j->p[THRESHOLD].v);
}

/* At its own limit for longer than the other; NULL is none. */
static bool is_more_limited(const struct rule_gpu_throttling_gpu *g,
                            const struct rule_gpu_throttling_gpu *than)
{
    return !is_lowered(g) &&
           (!than || rule_gpu_throttling_percent(g->held[BY_POWER].n, g->readings) >
                         rule_gpu_throttling_percent(than->held[BY_POWER].n, than->readings));
}

static void rule_gpu_throttling_judge(const struct judge *j, struct verdict *out)
{
    const double limit = j->p[THRESHOLD].v;
    const struct rule_gpu_throttling_gpu *limited = NULL;
    double highest = -1;
    struct plot *bars = verdict_plot(out, PLOT_BARS, "Time with reduced clock", "%");
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct rule_gpu_throttling_state *t = j->nodes[i].state;
        for (size_t k = 0; k < t->gpus.n; k++) {
            const struct rule_gpu_throttling_gpu *g = per_gpu_at(&t->gpus, k);
            if (!gpu_was_used(&g->head) || g->readings < LEAST)
                continue;
            const double held = rule_gpu_throttling_percent(faults(g), g->readings);
            plot_row(out, bars,
                     arena_printf(j->arena, "%s %s", j->nodes[i].facts->id, g->head.entity), &held,
                     1);
            out->datapoints = MAX_OF(out->datapoints, g->readings);
            highest = fmax(highest, held);
            limited = is_more_limited(g, limited) ? g : limited;
            if (held > limit)
                rule_gpu_throttling_find(j, &j->nodes[i], g, out);
        }
    }
    if (highest < 0 && !judge_is_short(j, LEAST, out))
        verdict_not_evaluated(out, "clock throttle reasons were not reported");
    else if (out->state != RULE_CLEAR)
        return;
    else if (limited &&
             rule_gpu_throttling_percent(limited->held[BY_POWER].n, limited->readings) > limit)
        tell_limit(j, limited, out);
    else
        verdict_why(out, "clock reduced for at most %.1f %% of the time (threshold %g %%)", highest,
                    limit);
}

static const struct number_label labels[] = {
    {"held_pct", "Time with reduced clock"},
    {"power_cap_pct", "Time at power limit"},
    {"hw_slowdown_pct", "Time in hardware slowdown"},
    {"thermal_pct", "Time limited by temperature (driver)"},
    {"hw_thermal_pct", "Time limited by temperature (hardware)"},
    {"power_brake_pct", "Time with external power brake"},
    {"power_limit", "Power limit"},
    {"power_default", "Default power limit"},
    {"clock_lost_pct", "Clock reduction"},
    {"clock_held", "Average reduced clock"},
    {"clock_usual", "Usual clock"},
    {0},
};

const struct rule rule_gpu_throttling = {
    .name = "GPUThrottling",
    .title = "GPU throttling",
    .description = "Checks whether heat, a hardware slowdown or a lowered power limit reduces the "
                   "clock of a GPU, by the driver's throttle reasons, and how much clock speed is "
                   "lost. A GPU at its default power limit is reported as information only.",
    .recommendation = "Check cooling and power limits.",
    .params = params,
    .labels = labels,
    .patience = -1,
    .needs = NEEDS_SWEEPS | NEEDS_GPU,
    .state_size = sizeof(struct rule_gpu_throttling_state),
    .sweeps = rule_gpu_throttling_sweeps,
    .memory = rule_gpu_throttling_memory,
    .judge = rule_gpu_throttling_judge,
};
