/* SPDX-License-Identifier: Apache-2.0 */
/* StepOutlier: some iterations take much longer than the others; what coincided with them. An
 * iteration lasts from the begin of a step to the begin of the next. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "query/steps.h"
#include "rules/per_entity.h"
#include "rules/seconds.h"
#include "rules/step_spread.h"

enum { STDDEV, MODE, N_OUTLIERS, LEAST_LOST }; /* parameters */

static const char *const mode_words[] = {"none", "train", "eval", "predict", NULL};

enum { BETWEEN = STEP_PARTS_MOST + 1 }; /* beside the parts of a step */

/* Waits for a core fall on all that a step does. A part that takes less than OWN_USUAL of others,
 * but at least OWN_MORE of what its long steps take more, is long for a reason of its own. */
static const double OWN_USUAL = 0.5, OWN_MORE = 0.85;
enum { STEPS_LEAST = 100, RANGES_MOST = 256, PLOTTED_MOST = 500, DURATION_BINS = 40 };

/* Above these storage delayed a task in a sweep; percent. */
static const float PSI_HIGH = 20;
#define IOWAIT_HIGH 50.0f
/* Reasons for a throttled clock that the user did not choose: power caps and heat. */
static const unsigned THROTTLED = 0xec;

struct outlier_rank {
    struct rank_head head;
    struct step_spread mode[MODE_N];
};

/* What may coincide with a long step. */
enum { BY_CHECKPOINT, BY_IO, BY_THROTTLE, BY_N };

struct outlier_state {
    struct node_state head;
    struct seconds when[BY_N];
};

/* ---- seeing ---- */

static bool is_throttled(const struct sweeps *s, size_t at)
{
    for (size_t g = 0; g < s->n_gpus; g++) {
        const float *v = s->gpus[g].v[GPU_SIG_THROTTLE];
        if (v && v[at] >= 1 && ((unsigned)v[at] & THROTTLED))
            return true;
    }
    return false;
}

/* Whether any of the sweeps may be one that is marked. */
static bool is_worth_a_look(const struct sweeps *s)
{
    float throttle = 0;
    for (size_t g = 0; g < s->n_gpus; g++)
        throttle = values_highest(s->gpus[g].v[GPU_SIG_THROTTLE], s->n, throttle);
    return throttle >= 1 || values_highest(s->v[SIG_PSI_IO], s->n, 0) > PSI_HIGH ||
           values_highest(s->v[SIG_IOWAIT_PEAK], s->n, 0) > IOWAIT_HIGH;
}

static bool is_high(const struct sweeps *s, enum node_signal k, size_t at, float limit)
{
    return s->v[k] && s->v[k][at] > limit; /* a missing one is not */
}

static void outlier_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct outlier_state *t = state;
    (void)c;
    if (!is_worth_a_look(s))
        return;
    for (size_t i = 0; i < s->n; i++) {
        if (is_high(s, SIG_PSI_IO, i, PSI_HIGH) || is_high(s, SIG_IOWAIT_PEAK, i, IOWAIT_HIGH))
            seconds_mark(&t->when[BY_IO], s->at[i], s->period_ns);
        if (is_throttled(s, i))
            seconds_mark(&t->when[BY_THROTTLE], s->at[i], s->period_ns);
    }
}

static void outlier_steps(void *state, const struct rule_view *c, const struct rule_rank *r,
                          const struct step *v, size_t n)
{
    struct outlier_rank *own = state_rank(state, c, r);
    for (size_t i = 0; i < n; i++)
        if (step_is_steady(&v[i]) && v[i].mode < MODE_N)
            step_spread_add(&own->mode[v[i].mode], &v[i]);
}

static void outlier_event(void *state, const struct rule_view *c, const struct rule_event *v)
{
    (void)c;
    if (v->id == EV_CHECKPOINT)
        seconds_mark(&((struct outlier_state *)state)->when[BY_CHECKPOINT], v->at, v->dur_ns);
}

static void outlier_memory_rank(void *rank, enum state_op op)
{
    for (size_t m = 0; m < MODE_N; m++)
        step_spread_memory(&((struct outlier_rank *)rank)->mode[m], op);
}

static void outlier_memory(void *state, enum state_op op)
{
    for (size_t k = 0; k < BY_N; k++)
        seconds_memory(&((struct outlier_state *)state)->when[k], op);
}

/* ---- judging ---- */

/* The long steps of one rank and mode. */
struct outliers {
    const struct judged_node *node;
    const struct outlier_rank *rank;
    enum event_mode mode;
    double mean_s, limit_s;
    double lost_s, lost_share; /* what they took longer than the mean; of the time of all steps */
    struct long_step *v;
    size_t n;
};

static bool outlier_wanted(const struct judge *j, enum event_mode m)
{
    const size_t word = (size_t)j->p[MODE].v;
    return word == 0 || strcmp(mode_words[word], event_mode_names[m]) == 0;
}

static struct outliers outliers_of(const struct judge *j, const struct judged_node *node,
                                   const struct outlier_rank *r, enum event_mode m)
{
    const struct step_spread *x = &r->mode[m];
    struct outliers o = {.node = node, .rank = r, .mode = m, .mean_s = step_spread_mean(x)};
    o.limit_s = o.mean_s + j->p[STDDEV].v * step_spread_sigma(x);
    o.v = longest_over(&x->longest, o.limit_s * 1e9, j->arena, &o.n);
    for (size_t i = 0; i < o.n; i++)
        o.lost_s += (double)o.v[i].dur_ns / 1e9 - o.mean_s;
    o.lost_share = x->sum_us ? o.lost_s * 1e6 / (double)x->sum_us : 0;
    return o;
}

/* Of the outliers, those in whose time it held; 0..1. */
static double share_within(const struct outliers *o, const struct seconds *s)
{
    size_t n = 0;
    uint64_t of;
    for (size_t i = 0; i < o->n; i++)
        n += seconds_touched(s, (wall_ns){o->v[i].start_ns}, o->v[i].dur_ns, &of) > 0;
    return o->n ? (double)n / (double)o->n : 0;
}

/* What a part, or what lies between steps, took of the outliers more than of others, in seconds. */
static double more_of(const struct outliers *o, size_t part)
{
    const struct step_spread *x = &o->rank->mode[o->mode];
    double more = 0;
    for (size_t i = 0; i < o->n; i++)
        more += (double)(part == BETWEEN ? o->v[i].between_us : o->v[i].part_us[part]) / 1e6;
    const uint64_t usual_us = part == BETWEEN ? x->between_us : x->part_us[part];
    return more - (double)o->n * ((double)usual_us / (double)x->n / 1e6);
}

/* A part in which most of the additional time was spent, or BETWEEN; step_parts(): in none. */
static size_t longest_part(const struct outliers *o, double *more_s)
{
    const size_t n = step_parts();
    size_t best = n;
    *more_s = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t k = i + 1 < n ? i : (size_t)BETWEEN; /* instead of "other" */
        const double more = more_of(o, k);
        if (more > o->lost_s / 2 && more > *more_s) {
            best = k;
            *more_s = more;
        }
    }
    *more_s /= (double)MAX_OF(o->n, (size_t)1);
    return best;
}

/* Only parts in which the loop does not wait for other processes. */
static bool is_own_cause(const struct outliers *o, size_t part)
{
    const struct step_spread *x = &o->rank->mode[o->mode];
    if (part != step_part_of(EV_FORWARD) && part != step_part_of(EV_OPTIMIZER) && part != BETWEEN)
        return false;
    double usual_us = (double)(part == BETWEEN ? x->between_us : x->part_us[part]),
           all_us = (double)x->sum_us; /* then of the other steps */
    for (size_t i = 0; i < o->n; i++) {
        usual_us -= (double)(part == BETWEEN ? o->v[i].between_us : o->v[i].part_us[part]);
        all_us -= (double)o->v[i].dur_ns / 1e3;
    }
    return more_of(o, part) >= OWN_MORE * o->lost_s && usual_us < OWN_USUAL * all_us;
}

/* The first is left out where the long steps have a cause of their own. */
static const char *const outlier_explained_by[] = {"SharedMachine",
                                                   "CheckpointStall",
                                                   "IOBottleneck",
                                                   "Dataloader",
                                                   "GPUThrottling",
                                                   "LoaderStart",
                                                   "SlowStorage",
                                                   "ThreadOversubscription",
                                                   "GilContention",
                                                   "MemoryPressure",
                                                   NULL};

static const struct {
    const char *words, *advice;
} causes[BY_N] = {
    [BY_CHECKPOINT] = {"a checkpoint was being saved",
                       "Save checkpoints less often or in the background."},
    [BY_IO] = {"processes on the node waited for storage",
               "Keep the data on a local disk or in memory, and prefetch more of it."},
    [BY_THROTTLE] = {"the clock of a GPU was reduced", "Check the GPU's power limit and cooling."},
};

static const struct {
    enum event_id id;
    const char *advice;
} part_advice[] = {
    {EV_DATA,
     "Check what the loader does at that time: a slow file, a shuffle buffer, new workers."},
    {EV_CHECKPOINT, "Save checkpoints less often or in the background."},
    {EV_COMPILE, "Keep input shapes constant to avoid recompilation."},
    {EV_COMM, "Find the rank that the others wait for."},
};

/* `part`: BETWEEN: what is between steps. */
static const char *outlier_advice_for(const struct judge *j, size_t part)
{
    for (size_t i = 0; i < COUNT_OF(part_advice); i++)
        if (part == step_part_of(part_advice[i].id))
            return part_advice[i].advice;
    return arena_printf(
        j->arena,
        "Check what the program does %s: logging, synchronization, garbage "
        "collection.",
        part == BETWEEN ? "after these steps"
                        : arena_printf(j->arena, "in '%s' of these steps", step_part_name(part)));
}

/* Held in at least half of them, and at least twice as often as in all of the loop: what always
 * holds explains nothing. */
static bool coincides(const struct judge *j, const struct outliers *o, const struct seconds *s)
{
    const double share = share_within(o, s);
    const wall_ns from = judge_loop_start(j);
    uint64_t of;
    const uint64_t n = seconds_touched(s, from, j->run->loop_end.ns - from.ns, &of);
    return share >= 0.5 && share >= 2 * (double)n / (double)MAX_OF(of, (uint64_t)1);
}

/* Outliers of any other rank, of all nodes. */
static void mark_others(const struct outliers *all, size_t n, const struct outliers *but,
                        struct seconds *out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; all[i].rank != but->rank && k < all[i].n; k++)
            seconds_mark(out, (wall_ns){all[i].v[k].start_ns}, all[i].v[k].dur_ns);
}

struct causes_found {
    char words[512];
    const char *advice, *part; /* part: of a step, NULL: in no single one */
    bool other_ranks, own;
};

static void add_cause(struct causes_found *c, const char *words, const char *advice)
{
    const size_t n = strlen(c->words);
    snprintf(c->words + n, sizeof c->words - n, "%s%s", n ? ", and " : "", words);
    c->advice = c->advice ? c->advice : advice;
}

static struct causes_found look_for_causes(const struct judge *j, const struct outliers *o,
                                           const struct outliers *all, size_t n_all)
{
    struct causes_found c = {0};
    const struct outlier_state *t = o->node->state;
    struct seconds others = {0};
    char text[128];
    double more_s;
    const size_t part = longest_part(o, &more_s);
    for (size_t k = 0; k < BY_N; k++)
        if (coincides(j, o, &t->when[k]))
            add_cause(&c, causes[k].words, causes[k].advice);
    if (part != step_parts()) {
        const char *name = part == BETWEEN ? "the time between steps" : step_part_name(part);
        const char *quote = part == BETWEEN ? "" : "'";
        snprintf(text, sizeof text, "%s%s%s took %s longer than usual", quote, name, quote,
                 judge_time(j, more_s));
        add_cause(&c, text, outlier_advice_for(j, part));
        c.own = is_own_cause(o, part);
        c.part = part == BETWEEN ? "between steps" : name;
    }
    mark_others(all, n_all, o, &others);
    c.other_ranks = share_within(o, &others) >= 0.5;
    seconds_memory(&others, STATE_FREE);
    return c;
}

static void set_ranges(const struct judge *j, struct verdict *v, struct finding *f,
                       const struct outliers *o)
{
    const size_t n = MIN_OF(o->n, (size_t)RANGES_MOST);
    struct time_range *r = arena_array(j->arena, struct time_range, n);
    for (size_t i = 0; i < n; i++) {
        const struct long_step *s = &o->v[o->n - n + i]; /* the latest */
        r[i] = (struct time_range){{s->start_ns}, {s->start_ns + s->dur_ns}};
    }
    finding_when(v, f, r, n);
}

static void outlier_find(const struct judge *j, struct verdict *v, const struct outliers *o,
                         const struct causes_found *c)
{
    const struct step_spread *x = &o->rank->mode[o->mode];
    const bool full = o->n == LONGEST_KEPT;
    double longest = 0;
    for (size_t i = 0; i < o->n; i++)
        longest = fmax(longest, (double)o->v[i].dur_ns / 1e9);
    struct finding *f = verdict_find(v, o->node->facts->id, rank_entity(j, o->rank));
    set_ranges(j, v, f, o);
    finding_say(v, f,
                "%s%zu of %llu %s steps of rank %lld took longer than %s (mean %s + %g standard "
                "deviations of %s); longest %s%s%s%s",
                full ? "at least " : "", o->n, (unsigned long long)x->n, event_mode_names[o->mode],
                (long long)o->rank->head.id.rank, judge_time(j, o->limit_s),
                judge_time(j, o->mean_s), j->p[STDDEV].v, judge_time(j, step_spread_sigma(x)),
                judge_time(j, longest), *c->words ? "; at that time " : "", c->words,
                c->other_ranks ? "; other ranks had long steps at the same time" : "");
    if (c->advice)
        finding_advise(v, f, "%s", c->advice);
    f->part = o->mode == MODE_TRAIN ? c->part : NULL;
    f->causes = c->own ? outlier_explained_by + 1 : NULL;
    f->refute = "the data itself causes the long steps, such as longer sequences";
    FINDING_NUMBERS(v, f, (double)o->n, (double)x->n, o->mean_s, step_spread_sigma(x), o->limit_s,
                    longest);
    f->lost_s = o->lost_s;
    f->lost_gpu_s = o->node->facts->n_gpus ? o->lost_s : NAN;
    finding_count(v, f, 1, o->n);
}

static const char *outlier_label_of(const struct judge *j, const struct outliers *o)
{
    return arena_printf(j->arena, "rank %lld %s", (long long)o->rank->head.id.rank,
                        event_mode_names[o->mode]);
}

/* How often steps took how long, on one axis for all of these ranks. */
static void plot_histogram(const struct judge *j, struct verdict *v,
                           const struct outliers *const *o, size_t n)
{
    double lo = INFINITY, hi = 0, counts[DURATION_BINS];
    double *edges = arena_array(j->arena, double, DURATION_BINS + 1);
    for (size_t i = 0; i < n; i++) {
        lo = fmin(lo, step_spread_quantile(&o[i]->rank->mode[o[i]->mode], 0));
        hi = fmax(hi, step_spread_quantile(&o[i]->rank->mode[o[i]->mode], 1));
    }
    for (size_t k = 0; k <= DURATION_BINS; k++)
        edges[k] = lo + (hi - lo) * (double)k / DURATION_BINS;
    struct plot *p = verdict_plot(v, PLOT_HISTOGRAM, "Step time", "s");
    p->edges = edges;
    p->n_edges = DURATION_BINS + 1;
    for (size_t i = 0; i < n; i++) {
        step_spread_counts(&o[i]->rank->mode[o[i]->mode], lo, hi, counts, DURATION_BINS);
        plot_row(v, p, outlier_label_of(j, o[i]), counts, DURATION_BINS);
    }
}

static void plot_boxes(const struct judge *j, struct verdict *v, const struct outliers *const *o,
                       size_t n)
{
    static const double quantiles[] = {0.05, 0.25, 0.5, 0.75, 0.95};
    struct plot *p = verdict_plot(v, PLOT_BOX, "Step time by rank", "s");
    double box[COUNT_OF(quantiles)];
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < COUNT_OF(quantiles); k++)
            box[k] = step_spread_quantile(&o[i]->rank->mode[o[i]->mode], quantiles[k]);
        plot_row(v, p, outlier_label_of(j, o[i]), box, COUNT_OF(box));
    }
}

/* The long steps over time. */
static void plot_long(const struct judge *j, struct verdict *v, const struct outliers *o)
{
    const size_t n = MIN_OF(o->n, (size_t)PLOTTED_MOST);
    double *at = arena_array(j->arena, double, n), *s = arena_array(j->arena, double, n);
    for (size_t i = 0; i < n; i++) {
        at[i] = (double)(o->v[o->n - n + i].start_ns - j->run->job_start.ns) / 1e9;
        s[i] = (double)o->v[o->n - n + i].dur_ns / 1e9;
    }
    struct plot *p = verdict_plot(
        v, PLOT_SERIES, arena_printf(j->arena, "Slow steps, %s", outlier_label_of(j, o)), "s");
    p->edges = at;
    p->n_edges = n;
    plot_row(v, p, outlier_label_of(j, o), s, n);
}

static void outlier_plot(const struct judge *j, struct verdict *v, const struct outliers *const *o,
                         size_t n)
{
    if (n == 0)
        return;
    plot_histogram(j, v, o, n);
    plot_boxes(j, v, o, n);
    for (size_t i = 0; i < n; i++)
        plot_long(j, v, o[i]);
}

/* All ranks of all nodes that have steps enough. */
static size_t outlier_gather(const struct judge *j, struct outliers **out, uint64_t *steps_seen,
                             uint64_t *most)
{
    const struct outlier_rank *r;
    size_t n = 0, cap = 1;
    for (struct entity_at at = {0}; next_rank(j, &at);)
        cap += MODE_N;
    *out = arena_array(j->arena, struct outliers, cap);
    for (struct entity_at at = {0}; (r = next_rank(j, &at));)
        for (enum event_mode m = 0; m < MODE_N; m++) {
            const uint64_t all = r->mode[m].n + r->mode[m].some;
            if (!outlier_wanted(j, m))
                continue;
            *most = MAX_OF(*most, all);
            *steps_seen += all;
            if (all >= STEPS_LEAST)
                (*out)[n++] = outliers_of(j, at.node, r, m);
        }
    return n;
}

static void outlier_judge(const struct judge *j, struct verdict *out)
{
    struct outliers *all;
    uint64_t seen = 0, most = 0;
    const size_t n = outlier_gather(j, &all, &seen, &most);
    const struct outliers *worst = all,
                          **found = arena_array(j->arena, const struct outliers *, n + 1);
    size_t n_found = 0;
    out->datapoints = seen;
    if (n == 0) {
        verdict_not_evaluated(out, "needs %d steps per rank, has %llu", STEPS_LEAST,
                              (unsigned long long)most);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        worst = all[i].n > worst->n ? &all[i] : worst;
        if ((double)all[i].n <= j->p[N_OUTLIERS].v || all[i].lost_share * 100 < j->p[LEAST_LOST].v)
            continue;
        const struct causes_found c = look_for_causes(j, &all[i], all, n);
        outlier_find(j, out, &all[i], &c);
        found[n_found++] = &all[i];
    }
    outlier_plot(j, out, found, n_found);
    if (out->state == RULE_CLEAR && worst->n == 0)
        verdict_why(out, "no slow steps");
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "at most %zu slow step%s per rank (%g allowed), %.1f %% of its step time",
                    worst->n, worst->n == 1 ? "" : "s", j->p[N_OUTLIERS].v,
                    worst->lost_share * 100);
}

const struct rule rule_step_outlier = {
    .name = "StepOutlier",
    .title = "Slow steps",
    .description = "Checks for iterations (start of a step to the start of the next) that take "
                   "much longer than others of the same rank and mode, and for what happened at "
                   "the same time. Warm-up and the first step are excluded. Where the host runs "
                   "ahead of the GPU, a long iteration next to short ones is averaged with them.",
    .recommendation = "Find out what the slow steps have in common: checkpoints, data loading, "
                      "other work on the machine.",
    RULE_PARAMS([STDDEV] = {"stddev", 3, 0.1, 100, PARAM_SIGMAS,
                            "an iteration longer than the mean by more than this is an outlier"},
                [MODE] = {"mode", 0, 0, MODE_N, PARAM_WORD,
                          "check only steps of this mode; none: all modes", mode_words},
                [N_OUTLIERS] = {"n_outliers", 10, 0, 1e6, PARAM_COUNT,
                                "number of outliers that are ignored"},
                /* Of a hundred thousand steps some hundred lie beyond three standard deviations by
                   chance. */
                [LEAST_LOST] =
                    {"min_lost", 0.5, 0, 100, PARAM_PERCENT,
                     "outliers that cost less than this share of the step time are ignored"}),
    .labels = {{"outliers", "", "Slow steps"},
               {"steps", "", "Steps"},
               {"mean", "s", "Mean step time"},
               {"stddev", "s", "Standard deviation"},
               {"threshold", "s", "Threshold"},
               {"longest", "s", "Longest step"}},
    .needs = NEEDS_STEPS,
    .explained_by = outlier_explained_by,
    RULE_STATE(struct outlier_state, .rank_size = sizeof(struct outlier_rank),
               .sweeps = outlier_sweeps, .event = outlier_event, .memory_rank = outlier_memory_rank,
               .memory_own = outlier_memory),
    .steps = outlier_steps,
    .judge = outlier_judge,
};
