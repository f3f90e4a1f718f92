/* SPDX-License-Identifier: Apache-2.0 */
/* rule_health_tensors.c - rules about parameters and modules at sampled steps: gradients, updates,
 * activations, and copies of the same parameter on several ranks. docs/rules.md explains the
 * thresholds.
 *
 * Most of them are one idea: each tensor gets a number over its samples, tensors beyond a limit are
 * listed, and the rule is an issue if there are enough of them. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "rules/health_judging.h"

enum { SAMPLES_LEAST = 3 };

/* How bad a tensor is: NAN if that is not known, 0 or less if it is fine, else larger is worse.
 */
typedef double tensor_badness(const struct judge *j, const struct book_rank *r, uint32_t name);
/* Whether one sample of it is beyond the limit. */
typedef bool sample_is_bad(const struct judge *j, double v);

struct tensor_rule {
    enum book_tables table; /* that must have samples */
    tensor_badness *badness;
    sample_is_bad *sample;
    const char *missing; /* why it cannot be evaluated */
    const char *says;    /* "%s: ...": the tensors */
    double share;        /* of the tensors that must be bad; 0: one is enough */
    bool matrices;       /* only parameters with two or more dimensions */
    int64_t from;        /* the first step that counts */
};

static struct health_worsts tensors_of(const struct judge *j, const struct book_rank *r,
                                       const struct tensor_rule *t)
{
    struct health_worsts w = {0};
    for (uint32_t name = 1; name < r->n_names; name++) {
        if (t->matrices && !health_is_matrix(r, name))
            continue;
        const double bad = t->badness(j, r, name);
        w.of += isnan(bad) ? 0 : 1;
        if (bad > 0)
            health_worst_add(&w, j->arena, name, bad);
    }
    health_worst_sort(&w);
    return w;
}

/* What the tensors of a table are called: those of outputs have the name of their module. */
static const char *tensor_noun(enum book_tables table)
{
    return table == TABLE_OUTPUT_DEAD || table == TABLE_OUTPUT_SATURATED ? "modules" : "parameters";
}

/* The first step at which a sample of the tensor was bad. */
static int64_t first_bad_step(const struct judge *j, const struct book_table *table, uint32_t name,
                              const struct tensor_rule *t)
{
    const struct table_row *v = table->rows;
    const size_t i =
        FIND_FIRST(k, table->n, v[k].step >= t->from && t->sample(j, table_cell(&v[k], name)));
    return v[i < table->n ? i : 0].step;
}

static void tensor_find(const struct judge *j, struct verdict *v, const struct health_hit *h,
                        const struct tensor_rule *t)
{
    const struct book_rank *r = h->rank;
    const struct book_table *table = &r->tables[t->table];
    const struct health_worsts w = tensors_of(j, r, t);
    const int64_t step = first_bad_step(j, table, w.v[0].name, t);
    struct finding *f = health_finding(j, v, h, step, r->names[w.v[0].name]);
    finding_say(v, f, "%s in %zu of %zu %s: %s%s", t->says, w.n, w.of, tensor_noun(t->table),
                health_worst_text(j, r, &w), health_ranks_text(j, h));
    FINDING_NUMBERS(v, f, (double)w.n, (double)w.of, (double)table->samples);
}

static void tensor_judge(const struct judge *j, struct verdict *out)
{
    const struct tensor_rule *t = j->rule->family;
    struct health_hit h = {0};
    const struct book_rank *r;
    uint64_t samples = 0;
    size_t looked = 0;
    for (struct health_at at = {0}; (r = next_health_rank(j, &at));) {
        samples = MAX_OF(samples, r->tables[t->table].samples);
        if (r->tables[t->table].n < SAMPLES_LEAST)
            continue;
        const struct health_worsts w = tensors_of(j, r, t);
        looked += w.of;
        if (w.n && (double)w.n >= t->share * (double)w.of)
            health_hit_add(&h, &at, r);
    }
    out->datapoints = samples;
    if (h.rank)
        tensor_find(j, out, &h, t);
    else if (samples == 0 || (samples >= SAMPLES_LEAST && looked == 0))
        verdict_not_evaluated(out, "%s", t->missing);
    else if (samples < SAMPLES_LEAST)
        verdict_not_evaluated(out, "needs %d sampled steps, has %llu", SAMPLES_LEAST,
                              (unsigned long long)samples);
    else
        verdict_why(out, "nothing found in %zu tensor%s at %llu sampled steps", looked,
                    looked == 1 ? "" : "s", (unsigned long long)samples);
}

#define TENSOR_LABELS                                                                              \
    .labels = {{"tensors", "", "Tensors"},                                                         \
               {"of", "", "Tensors looked at"},                                                    \
               {"samples", "", "Sampled steps"}}

#define TENSOR_RULE(rule)                                                                          \
    TENSOR_LABELS, .health = true, .severity = SEVERITY_WARNING, .family = &(rule),                \
                   .judge = tensor_judge

/* Median of the cells of a tensor from row `from` on; NAN: fewer than SAMPLES_LEAST. */
static double cells_median(const struct judge *j, const struct book_table *t, size_t from,
                           uint32_t name)
{
    size_t n;
    double *v = health_cells(t, from, name, j->arena, &n);
    return n < SAMPLES_LEAST ? (double)NAN : health_median(v, n);
}

/* ---- VanishingGradient ---- */

enum { VANISH_THRESHOLD, VANISH_RELATIVE };

/* Gradient over weight of the upper quarter of the matrices in a sample: its median. */
static double upper_quarter(const struct judge *j, const struct book_rank *r,
                            const struct table_row *g, const struct table_row *w)
{
    double *v = arena_array(j->arena, double, r->n_names + 1);
    size_t n = 0;
    for (uint32_t name = 1; name < r->n_names; name++) {
        const double x = table_cell(g, name) / table_cell(w, name);
        if (health_is_matrix(r, name) && isfinite(x) && x > 0)
            v[n++] = x;
    }
    health_median(v, n); /* sorts */
    const size_t upper = n - n / 4 - (n % 4 != 0);
    return n ? health_median(v + upper, n - upper) : (double)NAN;
}

/* One number per sample, which all tensors are compared with. */
struct vanish_limits {
    const struct book_rank *rank;
    double *v; /* by row of the gradients; NAN: not known */
};

static struct vanish_limits vanish_limits_of(const struct judge *j, const struct book_rank *r)
{
    const struct book_table *g = &r->tables[TABLE_GRADIENT_L2];
    struct vanish_limits x = {r, arena_array(j->arena, double, g->n + 1)};
    for (size_t i = 0; i < g->n; i++)
        x.v[i] = j->p[VANISH_RELATIVE].v *
                 upper_quarter(j, r, &g->rows[i],
                               health_table_row(&r->tables[TABLE_WEIGHT_L2], g->rows[i].step));
    return x;
}

/* 1: the gradient has vanished in the sample; 0: not; NAN: not measured. */
static double vanished_sample(const struct judge *j, const struct vanish_limits *x, size_t i,
                              uint32_t name)
{
    const struct table_row *g = &x->rank->tables[TABLE_GRADIENT_L2].rows[i];
    const struct table_row *w = health_table_row(&x->rank->tables[TABLE_WEIGHT_L2], g->step);
    const double norm = table_cell(g, name), ratio = norm / table_cell(w, name);
    if (!isfinite(ratio))
        return NAN;
    return norm > 0 && (ratio < x->v[i] || norm < j->p[VANISH_THRESHOLD].v);
}

/* Share of the samples after the first quarter in which the gradient has vanished. */
static double vanished_share(const struct judge *j, const struct vanish_limits *x, uint32_t name)
{
    const struct book_table *g = &x->rank->tables[TABLE_GRADIENT_L2];
    size_t n = 0, below = 0;
    for (size_t i = g->n / 4; i < g->n; i++) {
        const double v = vanished_sample(j, x, i, name);
        n += isnan(v) ? 0 : 1;
        below += v > 0;
    }
    return n < SAMPLES_LEAST ? (double)NAN : (double)below / (double)n;
}

/* The first step at which it had. */
static int64_t vanished_step(const struct judge *j, const struct book_rank *r, uint32_t name)
{
    const struct vanish_limits x = vanish_limits_of(j, r);
    const struct book_table *g = &r->tables[TABLE_GRADIENT_L2];
    const size_t i = FIND_FIRST(k, g->n, vanished_sample(j, &x, k, name) > 0);
    return i < g->n ? g->rows[i].step : -1;
}

static struct health_worsts vanished_of(const struct judge *j, const struct book_rank *r)
{
    const struct vanish_limits x = vanish_limits_of(j, r);
    struct health_worsts w = {0};
    for (uint32_t name = 1; name < r->n_names; name++) {
        const double share = health_is_matrix(r, name) ? vanished_share(j, &x, name) : (double)NAN;
        w.of += isnan(share) ? 0 : 1;
        if (share >= 0.5)
            health_worst_add(&w, j->arena, name, share);
    }
    health_worst_sort(&w);
    return w;
}

static void vanish_judge(const struct judge *j, struct verdict *out)
{
    struct health_hit h = {0};
    struct health_worsts w = {0};
    const struct book_rank *r;
    size_t looked = 0;
    for (struct health_at at = {0}; (r = next_health_rank(j, &at));) {
        const struct health_worsts x = vanished_of(j, r);
        out->datapoints = MAX_OF(out->datapoints, r->tables[TABLE_GRADIENT_L2].samples);
        looked += x.of;
        if (x.n) {
            health_hit_add(&h, &at, r);
            w = h.rank == r ? x : w;
        }
    }
    if (h.rank) {
        struct finding *f = health_finding(j, out, &h, vanished_step(j, h.rank, w.v[0].name),
                                           h.rank->names[w.v[0].name]);
        finding_say(out, f,
                    "the gradients of %zu of %zu parameters are below %g of those of the others, "
                    "relative to the weights: %s%s",
                    w.n, w.of, j->p[VANISH_RELATIVE].v, health_worst_text(j, h.rank, &w),
                    health_ranks_text(j, &h));
        FINDING_NUMBERS(out, f, (double)w.n, (double)w.of, (double)out->datapoints);
    } else if (looked == 0)
        verdict_not_evaluated(out, "needs gradients of %d sampled steps", SAMPLES_LEAST);
    else
        verdict_why(out, "gradients of %zu parameter%s at %llu sampled steps", looked,
                    looked == 1 ? "" : "s", (unsigned long long)out->datapoints);
}

const struct rule rule_vanishing_gradient = {
    .name = "VanishingGradient",
    .title = "Vanishing gradient",
    .description = "Checks the norm of each gradient over the norm of its parameter, relative to "
                   "the upper quarter of all parameters, in samples after the first quarter.",
    .recommendation = "Use residual connections, normalization layers, ReLU-like activations or "
                      "another initialization.",
    RULE_PARAMS([VANISH_THRESHOLD] = {"threshold", 0, 0, 1, PARAM_RATIO,
                                      "norm below which a gradient has vanished; 0: only relative "
                                      "to the others"},
                [VANISH_RELATIVE] =
                    {"relative", 1e-6, 0, 1, PARAM_RATIO,
                     "gradient over weight, relative to the upper quarter of the parameters"}),
    TENSOR_LABELS,
    .health = true,
    .severity = SEVERITY_WARNING,
    .explained_by = (const char *const[]){"NonFinite", "PoorWeightInitialization", "DeadRelu",
                                          "SaturatedActivation", NULL},
    .judge = vanish_judge,
};

/* ---- ZeroGradient ---- */

enum { ZERO_THRESHOLD };

static bool zero_sample(const struct judge *j, double v)
{
    return 100 * v >= j->p[ZERO_THRESHOLD].v;
}

static double zero_badness(const struct judge *j, const struct book_rank *r, uint32_t name)
{
    size_t n, zero = 0;
    const double *v = health_cells(&r->tables[TABLE_GRADIENT_ZEROS], 0, name, j->arena, &n);
    for (size_t i = 0; i < n; i++)
        zero += zero_sample(j, v[i]);
    if (n < SAMPLES_LEAST)
        return NAN;
    return 2 * zero >= n ? (double)zero / (double)n : 0;
}

static const struct tensor_rule zero_rule = {
    TABLE_GRADIENT_ZEROS,
    zero_badness,
    zero_sample,
    "no gradients were recorded",
    "the gradient is all 0 in half of the samples or more",
    0,
    true,
};

const struct rule rule_zero_gradient = {
    .name = "ZeroGradient",
    .title = "Zero gradient",
    .description = "Checks for parameters whose gradient is exactly 0 in half of the samples.",
    .recommendation = "Look for units that are never active, for detach(), and for parts of the "
                      "model that do not reach the loss.",
    RULE_PARAMS([ZERO_THRESHOLD] = {"threshold", 100, 0, 100, PARAM_PERCENT,
                                    "share of a gradient that is exactly 0"}),
    .explained_by = (const char *const[]){"NonFinite", "DeadRelu", "SaturatedActivation",
                                          "PoorWeightInitialization", NULL},
    TENSOR_RULE(zero_rule),
};

/* ---- UpdateTooLarge, UpdateTooSmall ---- */

enum { UPDATE_LIMIT };

#define LR_LEAST 0.1 /* of its peak */

/* Parameters that begin as zeros change much in the first steps. */
enum { UPDATES_FROM = 20 };

static size_t rows_from_step(const struct book_table *t, int64_t step)
{
    const size_t i = FIND_FIRST(k, t->n, t->rows[k].step >= step);
    return i;
}

static bool large_sample(const struct judge *j, double v)
{
    return v > j->p[UPDATE_LIMIT].v;
}

static bool small_sample(const struct judge *j, double v)
{
    return v < j->p[UPDATE_LIMIT].v;
}

static double large_badness(const struct judge *j, const struct book_rank *r, uint32_t name)
{
    const struct book_table *t = &r->tables[TABLE_UPDATE_RATIO];
    const double u = cells_median(j, t, rows_from_step(t, UPDATES_FROM), name);
    return isnan(u) ? u : large_sample(j, u) ? u : 0;
}

/* Of samples with a learning rate that is not near the begin of a warm-up or the end of a decay. */
static double small_median(const struct judge *j, const struct book_rank *r, uint32_t name)
{
    const struct book_table *t = &r->tables[TABLE_UPDATE_RATIO];
    double *v = arena_array(j->arena, double, t->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        const double x = table_cell(&t->rows[i], name);
        if (!isnan(x) && !(health_lr_share(r, t->rows[i].step) < LR_LEAST))
            v[n++] = x;
    }
    return n < SAMPLES_LEAST ? (double)NAN : health_median(v, n);
}

/* A model that has learned its task may not change any more. */
static double small_badness(const struct judge *j, const struct book_rank *r, uint32_t name)
{
    const double u = small_median(j, r, name);
    const bool learnt = r->loss.n && r->loss.last < 0.05 * health_first_loss(r);
    return isnan(u) ? u : small_sample(j, u) && !learnt ? 1 / (u + 1e-300) : 0;
}

#define NO_UPDATES "no updates of parameters were recorded"

static const struct tensor_rule large_rule = {
    TABLE_UPDATE_RATIO,
    large_badness,
    large_sample,
    NO_UPDATES,
    "one step changes the parameter by more than 10 % in the median sample",
    0.25,
    true,
    UPDATES_FROM,
};

static const struct tensor_rule small_rule = {
    TABLE_UPDATE_RATIO,
    small_badness,
    small_sample,
    NO_UPDATES,
    "one step hardly changes the parameter in the median sample",
    0.5,
    true,
};

const struct rule rule_update_too_large = {
    .name = "UpdateTooLarge",
    .title = "Updates too large",
    .description = "Checks the change of each parameter by one optimizer step over its norm, from "
                   "step 20 on, in a quarter of the parameters; healthy runs have 0.00001 to 0.01.",
    .recommendation = "Lower the learning rate, or warm it up.",
    RULE_PARAMS([UPDATE_LIMIT] = {"large_threshold", 0.1, 0, 1e6, PARAM_RATIO,
                                  "change of a parameter by one step over its norm"}),
    .explained_by = (const char *const[]){"NonFinite", NULL},
    TENSOR_RULE(large_rule),
};

const struct rule rule_update_too_small = {
    .name = "UpdateTooSmall",
    .title = "Updates too small",
    .description =
        "Checks the change of each parameter by one optimizer step over its norm. Half "
        "of the parameters must be below the limit, and the loss above 5 % of the first.",
    .recommendation = "Raise the learning rate.",
    RULE_PARAMS([UPDATE_LIMIT] = {"small_threshold", 1e-7, 0, 1, PARAM_RATIO,
                                  "change of a parameter by one step over its norm"}),
    .explained_by =
        (const char *const[]){"NonFinite", "PoorWeightInitialization", "VanishingGradient",
                              "ZeroGradient", "DeadRelu", "SaturatedActivation", "LossScale",
                              "LowPrecisionUpdate", NULL},
    TENSOR_RULE(small_rule),
};

/* ---- LowPrecisionUpdate ---- */

static bool precision_sample(const struct judge *j, double v)
{
    (void)j;
    return v > 0.5;
}

static double precision_badness(const struct judge *j, const struct book_rank *r, uint32_t name)
{
    const double u = cells_median(j, &r->tables[TABLE_UPDATE_UNCHANGED], 0, name);
    return isnan(u) ? u : precision_sample(j, u) ? u : 0;
}

static const struct tensor_rule precision_rule = {
    TABLE_UPDATE_UNCHANGED,
    precision_badness,
    precision_sample,
    "no parameters of 16 bits were recorded",
    "most elements that have a gradient stay as they are, because 16 bits round the update "
    "away",
    0.5,
    false,
};

const struct rule rule_low_precision_update = {
    .name = "LowPrecisionUpdate",
    .title = "Updates lost to rounding",
    .description = "Checks which share of the elements of 16-bit parameters with a gradient an "
                   "optimizer step leaves unchanged.",
    .recommendation = "Keep parameters in float32 for the optimizer (autocast, master weights), "
                      "round stochastically, or raise the learning rate.",
    .explained_by = (const char *const[]){"NonFinite", NULL},
    TENSOR_RULE(precision_rule),
};

/* ---- DeadRelu, SaturatedActivation ---- */

enum { LAYER_SHARE };

static const struct param layer_params[] = {
    [LAYER_SHARE] = {"threshold_layer", 50, 0, 100, PARAM_PERCENT, "maximum share of a layer"},
    {0},
};

static bool layer_sample(const struct judge *j, double v)
{
    return 100 * v > j->p[LAYER_SHARE].v;
}

/* The first row of the newer half, or of the last three samples. */
static size_t newer_rows(const struct book_table *t)
{
    return MIN_OF(t->n / 2, t->n - MIN_OF(t->n, (size_t)SAMPLES_LEAST));
}

/* Dead in three of the newer samples. */
static double dead_badness(const struct judge *j, const struct book_rank *r, uint32_t name)
{
    const struct book_table *t = &r->tables[TABLE_OUTPUT_DEAD];
    size_t n, dead = 0;
    double sum = 0;
    const double *v = health_cells(t, newer_rows(t), name, j->arena, &n);
    for (size_t i = 0; i < n; i++) {
        dead += layer_sample(j, v[i]);
        sum += v[i];
    }
    if (n < SAMPLES_LEAST)
        return NAN;
    return dead >= SAMPLES_LEAST && 2 * dead >= n ? sum / (double)n : 0;
}

static double saturated_badness(const struct judge *j, const struct book_rank *r, uint32_t name)
{
    const struct book_table *t = &r->tables[TABLE_OUTPUT_SATURATED];
    const double u = cells_median(j, t, newer_rows(t), name);
    return isnan(u) ? u : layer_sample(j, u) ? u : 0;
}

static const struct tensor_rule dead_rule = {
    TABLE_OUTPUT_DEAD,
    dead_badness,
    layer_sample,
    "no output of a ReLU module was recorded",
    "most units of the ReLU are never active",
    0,
    false,
};

static const struct tensor_rule saturated_rule = {
    TABLE_OUTPUT_SATURATED,
    saturated_badness,
    layer_sample,
    "no output of a Tanh or Sigmoid module was recorded",
    "most values of the activation are saturated",
    0,
    false,
};

const struct rule rule_dead_relu = {
    .name = "DeadRelu",
    .title = "Dead ReLUs",
    .description = "Checks which share of the units of a ReLU is never active in the batch, in the "
                   "newer half of the samples.",
    .recommendation = "Lower the learning rate, start with other biases, or use a leaky ReLU.",
    .params = layer_params,
    .explained_by = (const char *const[]){"NonFinite", "PoorWeightInitialization", NULL},
    TENSOR_RULE(dead_rule),
};

const struct rule rule_saturated_activation = {
    .name = "SaturatedActivation",
    .title = "Saturated activations",
    .description = "Checks which share of the values of a Tanh or Sigmoid is where its slope is "
                   "below 2 % of the largest, in the newer half of the samples.",
    .recommendation = "Start with smaller weights, normalize the inputs of the layer, or lower the "
                      "learning rate.",
    .params = layer_params,
    .explained_by = (const char *const[]){"NonFinite", NULL},
    TENSOR_RULE(saturated_rule),
};

/* ---- PoorWeightInitialization ---- */

enum { INIT_SPREAD };

struct init_spread {
    double low, high;
    uint32_t low_name, high_name;
    size_t n;
    int64_t step;
};

/* Of the first sample: later ones show what the updates made of the weights. */
static struct init_spread init_spread_of(const struct book_rank *r)
{
    const struct book_table *t = &r->tables[TABLE_INPUT_STD];
    struct init_spread x = {.low = INFINITY, .high = -1};
    for (uint32_t name = 1; t->n && name < t->rows[0].n; name++) {
        const double v = t->rows[0].v[name];
        if (!(v > 0)) /* not measured, or what comes before it is dead */
            continue;
        x.n++;
        x.low_name = v < x.low ? name : x.low_name;
        x.high_name = v > x.high ? name : x.high_name;
        x.low = fmin(x.low, v);
        x.high = fmax(x.high, v);
    }
    x.step = t->n ? t->rows[0].step : -1;
    return x;
}

static void init_find(const struct judge *j, struct verdict *v, const struct health_hit *h)
{
    const struct init_spread x = init_spread_of(h->rank);
    const char *low = h->rank->names[x.low_name], *high = h->rank->names[x.high_name];
    struct finding *f = health_finding(j, v, h, x.step, low);
    finding_say(v, f,
                "the inputs of activations differ much at step %lld: standard deviation %.3g in "
                "%s, %.3g in %s%s",
                (long long)x.step, x.high, high, x.low, low, health_ranks_text(j, h));
    FINDING_NUMBERS(v, f, x.high, x.low, (double)x.n);
}

static void init_judge(const struct judge *j, struct verdict *out)
{
    struct health_hit h = {0};
    struct init_spread seen = {0};
    const struct book_rank *r;
    for (struct health_at at = {0}; (r = next_health_rank(j, &at));) {
        const struct init_spread x = init_spread_of(r);
        out->datapoints += x.n > 1 ? x.n : 0;
        seen = x.n > 1 ? x : seen;
        if (x.n > 1 && x.high > j->p[INIT_SPREAD].v * x.low)
            health_hit_add(&h, &at, r);
    }
    if (h.rank)
        init_find(j, out, &h);
    else if (!seen.n)
        verdict_not_evaluated(out, "inputs of two activation modules in the first three steps were "
                                   "not recorded");
    else
        verdict_why(out, "standard deviations of the inputs of activations are %.3g to %.3g",
                    seen.low, seen.high);
}

const struct rule rule_poor_weight_initialization = {
    .name = "PoorWeightInitialization",
    .title = "Poor weight initialization",
    .description = "Checks the spread of the inputs of activation modules in the first sampled "
                   "step: signals that grow or fade from layer to layer.",
    .recommendation = "Initialize weights by the size of the layer and its activation (Kaiming for "
                      "ReLU, Xavier for tanh), or use normalization layers.",
    RULE_PARAMS([INIT_SPREAD] =
                    {"threshold", 100, 1, 1e12, PARAM_RATIO,
                     "largest over smallest standard deviation of the inputs of activations"}),
    .labels = {{"highest", "", "Largest standard deviation"},
               {"lowest", "", "Smallest standard deviation"},
               {"modules", "", "Activation modules"}},
    .health = true,
    .severity = SEVERITY_WARNING,
    .judge = init_judge,
};

/* ---- RankDivergence ---- */

struct divergence {
    struct health_hit a, b; /* ranks whose parameters differ */
    int64_t step;           /* -1: none differ */
    wall_ns at;
    uint32_t name; /* of rank a */
    size_t compared;
};

static uint32_t name_in(const struct book_rank *r, const char *name, uint32_t near)
{
    if (near < r->n_names && strcmp(r->names[near], name) == 0)
        return near; /* ranks see their parameters in the same order */
    for (uint32_t i = 1; i < r->n_names; i++)
        if (strcmp(r->names[i], name) == 0)
            return i;
    return 0;
}

static bool words_differ(double a, double b)
{
    int64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x != y;
}

/* The first tensor of a sample whose sums differ; 0: none. */
static uint32_t row_divergence(const struct book_rank *a, const struct table_row *x,
                               const struct book_rank *b, const struct table_row *y,
                               size_t *compared)
{
    const double none = (double)NAN;
    for (uint32_t i = 1; i < x->n; i++) {
        const uint32_t k = name_in(b, a->names[i], i);
        if (k == 0 || k >= y->n || !words_differ(x->v[i], none) || !words_differ(y->v[k], none))
            continue;
        ++*compared;
        if (words_differ(x->v[i], y->v[k]))
            return i;
    }
    return 0;
}

static void compare_ranks(struct divergence *d, const struct health_hit *a,
                          const struct health_hit *b)
{
    const struct book_table *x = &a->rank->tables[TABLE_WEIGHT_SUM],
                            *y = &b->rank->tables[TABLE_WEIGHT_SUM];
    for (size_t i = 0; i < x->n && (d->step < 0 || x->rows[i].step < d->step); i++) {
        const struct table_row *row = health_table_row(y, x->rows[i].step);
        const uint32_t name =
            row ? row_divergence(a->rank, &x->rows[i], b->rank, row, &d->compared) : 0;
        if (name) {
            d->a = *a;
            d->b = *b;
            d->step = x->rows[i].step;
            d->at = x->rows[i].at;
            d->name = name;
            return;
        }
    }
}

static struct divergence divergence_of(const struct judge *j)
{
    struct divergence d = {.step = -1};
    const struct health_hit first = health_reference_rank(j);
    const struct book_rank *r;
    for (struct health_at at = {0}; (r = next_health_rank(j, &at));) {
        const struct health_hit this = {at.node, r, 1};
        if (r != first.rank && r->tables[TABLE_WEIGHT_SUM].n && health_is_replica(r))
            compare_ranks(&d, &first, &this);
    }
    return d;
}

/* The sum of the words of the parameter at the step; NAN: not measured. */
static double sum_at(const struct book_rank *r, const char *name, const struct divergence *d)
{
    const struct table_row *row = health_table_row(&r->tables[TABLE_WEIGHT_SUM], d->step);
    return table_cell(row, r->n_names ? name_in(r, name, d->name) : 0);
}

/* Of three ranks and more, the one that all others differ from becomes `b`. The number of the
 * others; 0: it is not known which rank is wrong. */
static size_t divergence_odd(const struct judge *j, struct divergence *d)
{
    const struct book_rank *a = d->a.rank, *b = d->b.rank, *r;
    const char *name = a->names[d->name];
    const double of_a = sum_at(a, name, d), of_b = sum_at(b, name, d);
    size_t as_a = 0, as_b = 0, n = 0;
    for (struct health_at at = {0}; (r = next_health_rank(j, &at));) {
        const double sum = r == a || health_is_replica(r) ? sum_at(r, name, d) : (double)NAN;
        n += words_differ(sum, (double)NAN);
        as_a += !words_differ(sum, of_a);
        as_b += !words_differ(sum, of_b);
    }
    if (as_a == 1 && as_b > 1) {
        const struct health_hit a_hit = d->a;
        d->a = d->b;
        d->b = a_hit;
    }
    return n > 2 && as_a + as_b == n && MIN_OF(as_a, as_b) == 1 ? n - 1 : 0;
}

static void divergence_find(const struct judge *j, struct verdict *v, struct divergence *d)
{
    const char *name = d->a.rank->names[d->name];
    const size_t others = divergence_odd(j, d);
    const long long step = d->step, a = d->a.rank->rank, b = d->b.rank->rank;
    struct finding *f = health_finding(j, v, &d->b, d->step, name);
    health_finding_from(j, v, f, d->at);
    if (others)
        finding_say(v, f,
                    "parameter %s of rank %lld is not that of the other %zu ranks from step %lld "
                    "on, although each rank has a copy of it",
                    name, b, others, step);
    else
        finding_say(v, f,
                    "parameter %s is not the same on rank %lld and rank %lld from step %lld on, "
                    "although each rank has a copy of it",
                    name, a, b, step);
    finding_advise(v, f,
                   "Continue from a checkpoint before step %lld. Look for parameters that are "
                   "changed outside of the optimizer, for gradients that are not reduced, and "
                   "for a faulty GPU or memory of %s.",
                   step, others ? arena_printf(j->arena, "rank %lld", b) : "one of the ranks");
    FINDING_NUMBERS(v, f, (double)d->step, (double)d->compared);
}

static void divergence_judge(const struct judge *j, struct verdict *out)
{
    struct divergence d = divergence_of(j);
    out->datapoints = d.compared;
    if (d.step >= 0)
        divergence_find(j, out, &d);
    else if (d.compared == 0)
        verdict_not_evaluated(out, "no copies of a parameter on several ranks were recorded");
    else
        verdict_why(out, "%zu copies of parameters were the same on all ranks", d.compared);
}

const struct rule rule_rank_divergence = {
    .name = "RankDivergence",
    .title = "Ranks diverged",
    .description = "Checks whether replicated parameters have the same bits on all ranks, by exact "
                   "sums of their words at the same steps.",
    .recommendation = "Continue from a checkpoint before that step.",
    .labels = {{"step", "", "First step"}, {"compared", "", "Copies compared"}},
    .health = true,
    .severity = SEVERITY_CRITICAL,
    .judge = divergence_judge,
};
