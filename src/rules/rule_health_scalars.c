/* SPDX-License-Identifier: Apache-2.0 */
/* rule_health_scalars.c - rules about the numbers of steps: losses, the norm of the gradient, the
 * scale of the loss, and what is not finite. docs/rules.md explains the thresholds. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "record/event.h"
#include "rules/health_judging.h"

#define NO_LOSS "no training loss was recorded"

/* Training losses of all ranks. */
static uint64_t health_losses(const struct judge *j, uint64_t *most)
{
    uint64_t n = 0;
    const struct book_rank *r;
    *most = 0;
    for (struct health_at at = {0}; (r = next_health_rank(j, &at));) {
        n += r->loss.n;
        *most = MAX_OF(*most, r->loss.n);
    }
    return n;
}

/* ---- NonFinite ---- */

static const char *bad_subject(const struct book_bad *b)
{
    return b->track == HEALTH_GRADIENT_NONFINITE ? "the gradient of"
           : b->track == HEALTH_WEIGHT_NONFINITE ? "the parameter"
           : b->track == HEALTH_OUTPUT_NONFINITE ? "the output of"
                                                 : "";
}

/* The first value that is not finite in a step that was not skipped; NULL: there is none. Of one
 * step: the loss before the rest. */
static const struct book_bad *first_bad(const struct book_rank *r)
{
    const struct book_bad *first = NULL;
    for (size_t k = 0; k < BAD_TRACK_N; k++) {
        const struct book_bads *x = &r->bad[k];
        const struct book_bad *b = FIND_ITEM(y, x->v, x->n, !health_step_skipped(r, y->step));
        if (b && (!first || b->step < first->step))
            first = b;
    }
    return first;
}

/* "module net.2", or between two modules: "between net.2 and net.4". */
static const char *origin_place(const struct judge *j, const char *name)
{
    const char *dots = strstr(name, "..");
    if (!dots)
        return arena_printf(j->arena, "of module %s", name);
    if (dots == name)
        return arena_printf(j->arena, "before %s", dots + 2);
    return arena_printf(j->arena, "between %.*s and %s", (int)(dots - name), name, dots + 2);
}

/* Where it came from: "forward/net.2" is the module net.2, "backward/net.2..net.4" between these.
 * An origin of a later step is that of what followed: the weights are not finite any more. */
static const char *origin_module(const struct judge *j, const struct book_rank *r,
                                 const struct book_bad *b, const char **how)
{
    *how = "";
    if (!r->origin || r->origin_step > b->step)
        return NULL;
    const char *name = r->names[r->origin], *slash = strchr(name, '/');
    if (!slash || !slash[1])
        return NULL;
    const bool backward = strncmp(name, "backward", 8) == 0, output = !strstr(slash, "..");
    const char *when = r->origin_step == b->step
                           ? ""
                           : arena_printf(j->arena, "at step %lld ", (long long)r->origin_step);
    *how = arena_printf(j->arena, "; it began %sin the %s %s", when,
                        backward ? "backward pass"
                        : output ? "output"
                                 : "forward pass",
                        origin_place(j, slash + 1));
    return slash + 1;
}

static void nonfinite_find(const struct judge *j, struct verdict *v, const struct health_hit *h)
{
    const struct book_rank *r = h->rank;
    const struct book_bad *b = first_bad(r);
    const char *how, *module = origin_module(j, r, b, &how);
    const bool loss = b->track == HEALTH_SCALAR;
    const int64_t step = r->origin && r->origin_step < b->step ? r->origin_step : b->step;
    struct finding *f = health_finding(j, v, h, step,
                                       module ? module
                                       : loss ? NULL
                                              : r->names[b->name]);
    health_finding_from(j, v, f, b->at);
    if (loss)
        finding_say(v, f, "the loss was not finite at step %lld%s%s%s", (long long)b->step, how,
                    module ? "" : "; its origin is not known", health_ranks_text(j, h));
    else
        finding_say(v, f, "%s %s had %.0f values that are not finite at step %lld%s%s",
                    bad_subject(b), r->names[b->name], b->count, (long long)b->step, how,
                    health_ranks_text(j, h));
    finding_advise(v, f,
                   "Continue from the last checkpoint before step %lld. Check the batch of that "
                   "step, lower the learning rate, or clip the gradient.",
                   (long long)step);
    FINDING_NUMBERS(v, f, (double)step, (double)r->n_bad);
}

static void nonfinite_judge(const struct judge *j, struct verdict *out)
{
    struct health_hit h = {0};
    uint64_t most, skipped = 0;
    const struct book_rank *r;
    out->datapoints = health_losses(j, &most);
    for (struct health_at at = {0}; (r = next_health_rank(j, &at));) {
        skipped += r->n_bad;
        out->datapoints += r->n_bad;
        if (first_bad(r))
            health_hit_add(&h, &at, r);
    }
    if (h.rank)
        nonfinite_find(j, out, &h);
    else if (out->datapoints == 0)
        verdict_not_evaluated(out, NO_LOSS);
    else
        verdict_why(out, skipped ? "only in steps that loss scaling skipped"
                                 : "all recorded values were finite");
}

const struct rule rule_non_finite = {
    .name = "NonFinite",
    .title = "Non-finite values",
    .description = "Checks losses, gradients, parameters and outputs of modules for NaN and Inf, "
                   "and names the step and the module in which they began. Steps that loss scaling "
                   "skipped do not count.",
    .recommendation = "Continue from a checkpoint before that step.",
    .labels = {{"step", "", "First step"}, {"values", "", "Values recorded that are not finite"}},
    .health = true,
    .severity = SEVERITY_CRITICAL,
    .judge = nonfinite_judge,
};

/* ---- LossNotDecreasing ---- */

enum { FLAT_STEPS, FLAT_PERCENT };

/* Steps that its losses are of; short steps are not all recorded. */
static double loss_steps(const struct book_rank *r)
{
    return r->loss.n ? (double)(r->loss.last_step - r->loss.first_step + 1) : 0;
}

enum { LOSSES_LEAST = 20 };

/* A model may learn all there is within a few steps: its loss has fallen when the first one is
 * above the last ones by so much of it, and by so many of their standard deviations. */
#define FAST_SHARE      0.2
#define FAST_DEVIATIONS 5

/* Losses that vary so much that a decrease by this share of them would not be significant: a mean
 * that is lower all the same is no evidence. */
#define UNCLEAR_SHARE 0.2

struct flat {
    struct curve_part first, last;
    double least; /* what the loss must have fallen by */
    bool unclear; /* it has fallen, but by less than that, which is much */
};

static bool loss_is_flat(const struct judge *j, const struct book_rank *r, struct flat *x)
{
    x->first = book_curve_part(&r->loss.curve, 0, 0.1);
    x->last = book_curve_part(&r->loss.curve, 0.9, 1);
    x->least = fmax(3 * hypot(x->first.error, x->last.error),
                    j->p[FLAT_PERCENT].v / 100 * fabs(x->first.mean));
    const double size = fabs(x->first.mean), down = x->first.mean - x->last.mean;
    x->unclear = down < x->least && down > j->p[FLAT_PERCENT].v / 100 * size &&
                 x->least > UNCLEAR_SHARE * size;
    const double fell = r->loss.first[0] - x->last.mean;
    const double deviation = x->last.error * sqrt((double)x->last.n - 1);
    const bool fast = fell > FAST_SHARE * fabs(r->loss.first[0]) &&
                      fell > FAST_DEVIATIONS * deviation; /* false without a deviation */
    x->unclear = x->unclear && !fast;
    return !fast && !x->unclear && down < x->least;
}

static void flat_find(const struct judge *j, struct verdict *v, const struct health_hit *h)
{
    struct flat x;
    loss_is_flat(j, h->rank, &x);
    struct finding *f = health_finding(j, v, h, -1, NULL);
    finding_say(v, f,
                "the loss did not decrease in %.0f steps: mean %.4g in the first tenth of the "
                "steps, %.4g in the last; a decrease of %.2g would be significant%s",
                loss_steps(h->rank), x.first.mean, x.last.mean, x.least, health_ranks_text(j, h));
    FINDING_NUMBERS(v, f, x.first.mean, x.last.mean, loss_steps(h->rank));
}

static void flat_judge(const struct judge *j, struct verdict *out)
{
    const double least = j->p[FLAT_STEPS].v * (j->run->ended ? 1 : 10);
    struct health_hit h = {0};
    struct flat x, seen = {.least = NAN};
    uint64_t most;
    const char *without = NULL;
    const struct book_rank *r;
    out->datapoints = health_losses(j, &most);
    for (struct health_at at = {0}; (r = next_health_rank(j, &at));) {
        if (loss_steps(r) < least || r->loss.n < LOSSES_LEAST)
            continue;
        const bool flat = loss_is_flat(j, r, &x);
        const char *why = flat || x.unclear ? health_loss_without_level(r) : NULL;
        without = why ? why : without;
        if (flat && !why)
            health_hit_add(&h, &at, r);
        seen = x;
    }
    if (most == 0)
        verdict_not_evaluated(out, NO_LOSS);
    else if (isnan(seen.least))
        verdict_not_evaluated(out, "needs the losses of %.0f steps; %llu losses were recorded",
                              least, (unsigned long long)most);
    else if (h.rank)
        flat_find(j, out, &h);
    else if (without)
        verdict_not_evaluated(out, "%s", without);
    else if (seen.unclear)
        verdict_not_evaluated(out,
                              "the losses vary too much: mean %.4g in the first tenth of the "
                              "steps, %.4g in the last; a decrease of %.2g would be significant",
                              seen.first.mean, seen.last.mean, seen.least);
    else
        verdict_why(out, "the loss fell from %.4g to %.4g", seen.first.mean, seen.last.mean);
}

const struct rule rule_loss_not_decreasing = {
    .name = "LossNotDecreasing",
    .title = "Loss does not decrease",
    .description = "Checks whether the mean training loss of the last tenth of the steps is below "
                   "that of the first tenth by more than chance (three standard errors) and 1 %, "
                   "or a fifth below the first loss. Losses that are trained in turn, as those of "
                   "adversaries, and losses below 0 need not fall.",
    .recommendation = "Check that labels belong to inputs, that the optimizer has the model's "
                      "parameters, and the learning rate; then try to overfit one batch.",
    RULE_PARAMS([FLAT_STEPS] =
                    {"num_steps", 100, 1, 1e9, PARAM_COUNT,
                     "steps that a run that has ended must have; ten times as many while it "
                     "runs"},
                [FLAT_PERCENT] = {"diff_percent", 1, 0, 100, PARAM_PERCENT,
                                  "least decrease from the first to the last tenth of the steps"}),
    .labels = {{"first", "", "Mean loss, first tenth"},
               {"last", "", "Mean loss, last tenth"},
               {"steps", "", "Steps"}},
    .health = true,
    .severity = SEVERITY_WARNING,
    .explained_by =
        (const char *const[]){"NonFinite", "VanishingGradient", "ZeroGradient", "NoGradient",
                              "UpdateTooSmall", "UpdateTooLarge", "LowPrecisionUpdate", "LossScale",
                              "DeadRelu", "SaturatedActivation", "PoorWeightInitialization", NULL},
    .judge = flat_judge,
};

/* ---- LossSpike and GradientSpike ---- */

/* Those that are over, and one that is not. */
static uint64_t spikes_count(const struct book_spikes *s)
{
    return s->n + (s->open && s->sure);
}

static const struct book_spike *spikes_first(const struct book_spikes *s)
{
    return s->n ? &s->v[0] : &s->now;
}

struct spike_family {
    size_t spikes, values; /* offsets in a struct book_rank: struct book_spikes, uint64_t */
    const char *what, *needs;
    bool level; /* it needs one: health_loss_without_level */
};

static const struct spike_family loss_family = {offsetof(struct book_rank, loss.spikes),
                                                offsetof(struct book_rank, loss.n), "loss",
                                                "33 values of the loss", true};
static const struct spike_family gradient_family = {
    offsetof(struct book_rank, grad), offsetof(struct book_rank, grad_norms), "gradient norm",
    "33 values of the gradient norm over 65 steps", false};

static const struct book_spikes *spikes_of(const struct spike_family *family,
                                           const struct book_rank *r)
{
    return (const struct book_spikes *)(const void *)((const char *)r + family->spikes);
}

static const char *spike_end(const struct judge *j, const struct book_spike *s)
{
    return s->back < 0 ? ""
                       : arena_printf(j->arena, "; it was back at step %lld", (long long)s->back);
}

static void spike_find(const struct judge *j, struct verdict *v, const struct health_hit *h,
                       const struct spike_family *family)
{
    const struct book_spikes *s = spikes_of(family, h->rank);
    const struct book_spike *x = spikes_first(s);
    const uint64_t n = spikes_count(s);
    struct finding *f = health_finding(j, v, h, x->step, NULL);
    const char *more =
        n > 1 ? arena_printf(j->arena, "; %llu more followed", (unsigned long long)n - 1) : "";
    finding_say(v, f, "the %s rose to %.4g at step %lld, from %.4g usually%s%s%s", family->what,
                x->value, (long long)x->step, x->usual, spike_end(j, x), more,
                health_ranks_text(j, h));
    FINDING_NUMBERS(v, f, (double)x->step, x->value, x->usual, (double)n);
    const struct time_range when = {x->at, {x->at.ns + 1}};
    finding_when(v, f, &when, 1);
}

static void spike_judge(const struct judge *j, struct verdict *out)
{
    const struct spike_family *family = j->rule->family;
    struct health_hit h = {0};
    uint64_t most = 0;
    bool looked = false;
    const char *without = NULL;
    const struct book_rank *r;
    for (struct health_at at = {0}; (r = next_health_rank(j, &at));) {
        const uint64_t n = *(const uint64_t *)(const void *)((const char *)r + family->values);
        looked |= spikes_of(family, r)->looked;
        const bool spikes = spikes_count(spikes_of(family, r)) > 0;
        const char *why = spikes && family->level ? health_loss_without_level(r) : NULL;
        out->datapoints += n;
        most = MAX_OF(most, n);
        without = why ? why : without;
        if (spikes && !why)
            health_hit_add(&h, &at, r);
    }
    if (h.rank)
        spike_find(j, out, &h, family);
    else if (without)
        verdict_not_evaluated(out, "%s", without);
    else if (!looked)
        verdict_not_evaluated(out, "needs %s, has %llu", family->needs, (unsigned long long)most);
    else
        verdict_why(out, "no spike in %llu values", (unsigned long long)most);
}

#define SPIKE_RULE(spikes)                                                                         \
    .labels = {{"step", "", "Step"},                                                               \
               {"value", "", "Value"},                                                             \
               {"usual", "", "Median before it"},                                                  \
               {"spikes", "", "Spikes"}},                                                          \
    .health = true, .severity = SEVERITY_WARNING, .family = &(spikes), .judge = spike_judge

const struct rule rule_loss_spike = {
    .name = "LossSpike",
    .title = "Loss spike",
    .description =
        "Checks for training losses far above the 128 before them: by 7 standard "
        "deviations, 20 % of the median and 5 % of the first losses, and above twice the first "
        "losses or repeated within 10 steps.",
    .recommendation = "Look at the batch of that step. If the loss does not come back, continue "
                      "from a checkpoint about 100 steps before it and skip some hundred batches.",
    .explained_by = (const char *const[]){"NonFinite", "UpdateTooLarge", NULL},
    SPIKE_RULE(loss_family),
};

const struct rule rule_gradient_spike = {
    .name = "GradientSpike",
    .title = "Gradient spike",
    .description = "Checks for gradient norms (before clipping) that are 3 times the largest of "
                   "the 128 before them and 10 standard deviations above their median.",
    .recommendation = "Clip the gradient, and look at the batch of that step.",
    .explained_by = (const char *const[]){"NonFinite", "UpdateTooLarge", NULL},
    SPIKE_RULE(gradient_family),
};

/* ---- Overfit ---- */

enum { OVERFIT_RATIO, OVERFIT_START };

enum { EVALS_SINCE = 3 };

struct overfit {
    const struct book_eval *best, *last;
    size_t n;
};

static struct overfit overfit_of(const struct judge *j, const struct book_loss *l)
{
    struct overfit x = {0};
    for (size_t i = 0; i < l->n_evals; i++) {
        const struct book_eval *e = &l->evals[i];
        if ((double)e->step < j->p[OVERFIT_START].v)
            continue;
        x.n++;
        x.last = e;
        if (!x.best || e->value < x.best->value)
            x.best = e;
    }
    return x;
}

static bool is_overfit(const struct judge *j, const struct book_rank *r, const struct overfit *x)
{
    const double floor = 0.05 * health_first_loss(r);
    return x->n && x->last - x->best >= EVALS_SINCE &&
           x->last->value - x->best->value >
               fmax(j->p[OVERFIT_RATIO].v * x->best->value, isnan(floor) ? 0 : floor) &&
           x->last->train < x->best->train;
}

static void overfit_find(const struct judge *j, struct verdict *v, const struct health_hit *h)
{
    const struct overfit x = overfit_of(j, &h->rank->loss);
    struct finding *f = health_finding(j, v, h, x.best->step, NULL);
    health_finding_from(j, v, f, x.best->at);
    finding_say(v, f,
                "the evaluation loss was best at step %lld (%.4g) and is %.4g at step %lld, while "
                "the training loss fell from %.4g to %.4g",
                (long long)x.best->step, x.best->value, x.last->value, (long long)x.last->step,
                x.best->train, x.last->train);
    finding_advise(v, f,
                   "Use the checkpoint of step %lld. Stop earlier, use more data or augmentation, "
                   "or regularize more.",
                   (long long)x.best->step);
    FINDING_NUMBERS(v, f, (double)x.best->step, x.best->value, x.last->value, x.last->train);
}

static void overfit_judge(const struct judge *j, struct verdict *out)
{
    struct health_hit h = {0};
    size_t most = 0;
    uint64_t train;
    const struct book_rank *r;
    health_losses(j, &train);
    for (struct health_at at = {0}; (r = next_health_rank(j, &at));) {
        const struct overfit x = overfit_of(j, &r->loss);
        out->datapoints += x.n;
        most = MAX_OF(most, x.n);
        if (is_overfit(j, r, &x))
            health_hit_add(&h, &at, r);
    }
    if (h.rank)
        overfit_find(j, out, &h);
    else if (most <= EVALS_SINCE)
        verdict_not_evaluated(out,
                              most ? "needs %d evaluations with a loss, has %zu"
                                   : "no evaluation loss was recorded",
                              EVALS_SINCE + 1, most);
    else if (train == 0)
        verdict_not_evaluated(out, NO_LOSS);
    else
        verdict_why(out, "the evaluation loss of %zu evaluations did not rise", most);
}

const struct rule rule_overfit = {
    .name = "Overfit",
    .title = "Overfitting",
    .description = "Checks whether the evaluation loss has risen since its best value, for three "
                   "evaluations or more, while the training loss fell.",
    .recommendation = "Use the checkpoint of the best evaluation.",
    RULE_PARAMS([OVERFIT_RATIO] =
                    {"ratio_threshold", 0.1, 0, 100, PARAM_RATIO,
                     "rise of the evaluation loss above its best, as a share of the best"},
                [OVERFIT_START] = {"start_step", 0, 0, 1e12, PARAM_COUNT,
                                   "evaluations before it do not count"}),
    .labels = {{"best_step", "", "Step of the best evaluation"},
               {"best", "", "Best evaluation loss"},
               {"last", "", "Last evaluation loss"},
               {"train", "", "Training loss at the last evaluation"}},
    .health = true,
    .severity = SEVERITY_WARNING,
    .explained_by = (const char *const[]){"DuplicatedData", NULL},
    .judge = overfit_judge,
};

/* ---- LossScale ---- */

enum { SCALE_SKIPPED };

enum { SCALE_RUN = 10 };

static bool scale_is_bad(const struct judge *j, const struct book_rank *r)
{
    const double most = j->p[SCALE_SKIPPED].v / 100 * SCALE_WINDOW;
    return r->scales &&
           (r->scale_least < 1 || (double)r->scale_most > most || r->longest_run >= SCALE_RUN);
}

static void scale_find(const struct judge *j, struct verdict *v, const struct health_hit *h)
{
    const struct book_rank *r = h->rank;
    struct finding *f = health_finding(j, v, h, r->skipped ? r->skips[0].first : -1, NULL);
    finding_say(v, f,
                "loss scaling skipped %llu of %llu steps (up to %u in 200, %llu in a row); the "
                "scale fell from %.4g to %.4g%s",
                (unsigned long long)r->skipped, (unsigned long long)r->scales, r->scale_most,
                (unsigned long long)r->longest_run, r->scale_first, r->scale_least,
                health_ranks_text(j, h));
    FINDING_NUMBERS(v, f, (double)r->skipped, r->scale_least, r->scale_last,
                    (double)r->longest_run);
}

static void scale_judge(const struct judge *j, struct verdict *out)
{
    struct health_hit h = {0};
    uint64_t skipped = 0;
    const struct book_rank *r;
    for (struct health_at at = {0}; (r = next_health_rank(j, &at));) {
        out->datapoints += r->scales;
        skipped += r->skipped;
        if (scale_is_bad(j, r))
            health_hit_add(&h, &at, r);
    }
    if (h.rank)
        scale_find(j, out, &h);
    else if (out->datapoints == 0)
        verdict_not_evaluated(out, "no loss scaling (GradScaler) was recorded");
    else
        verdict_why(out, "%llu of %llu steps were skipped", (unsigned long long)skipped,
                    (unsigned long long)out->datapoints);
}

const struct rule rule_loss_scale = {
    .name = "LossScale",
    .title = "Loss scale collapse",
    .description = "Checks how many steps mixed precision skipped because gradients were not "
                   "finite, and whether the loss scale fell below 1. PyTorch's scaler has no lower "
                   "limit: at 0 the model does not learn any more.",
    .recommendation = "Look for the loss term or module that overflows; use bfloat16, clip the "
                      "gradient after unscaling, or lower the learning rate.",
    RULE_PARAMS([SCALE_SKIPPED] = {"max_skipped_percent", 5, 0, 100, PARAM_PERCENT,
                                   "maximum share of skipped steps in 200 steps"}),
    .labels = {{"skipped", "", "Skipped steps"},
               {"least", "", "Smallest scale"},
               {"last", "", "Last scale"},
               {"longest", "", "Skipped steps in a row"}},
    .health = true,
    .severity = SEVERITY_WARNING,
    .judge = scale_judge,
};

/* ---- NoGradient ---- */

enum { MISSING_RUN };

static void missing_find(const struct judge *j, struct verdict *v, const struct health_hit *h)
{
    const struct book_rank *r = h->rank;
    struct finding *f = health_finding(j, v, h, r->missing_first.step, NULL);
    health_finding_from(j, v, f, r->missing_first.at);
    finding_say(v, f,
                "none of the %.0f parameters of an optimizer had a gradient in %llu recorded "
                "steps, from step %lld on%s",
                r->missing_parameters, (unsigned long long)r->missing,
                (long long)r->missing_first.step, health_ranks_text(j, h));
    FINDING_NUMBERS(v, f, (double)r->missing_first.step, (double)r->missing, r->missing_parameters);
}

static void missing_judge(const struct judge *j, struct verdict *out)
{
    struct health_hit h = {0};
    uint64_t most;
    const struct book_rank *r;
    out->datapoints = health_losses(j, &most);
    for (struct health_at at = {0}; (r = next_health_rank(j, &at));) {
        out->datapoints += r->missing;
        if ((double)r->missing_longest >= j->p[MISSING_RUN].v)
            health_hit_add(&h, &at, r);
    }
    if (h.rank)
        missing_find(j, out, &h);
    else if (out->datapoints == 0)
        verdict_not_evaluated(out, NO_LOSS);
    else
        verdict_why(out, "optimizers had gradients");
}

const struct rule rule_no_gradient = {
    .name = "NoGradient",
    .title = "Optimizer without gradients",
    .description = "Checks whether the parameters of an optimizer get gradients at all.",
    .recommendation = "Make the optimizer after the model was copied, wrapped or moved, from the "
                      "parameters of the model that is trained; look for detach() and no_grad().",
    RULE_PARAMS([MISSING_RUN] = {"num_steps", 10, 1, 1e9, PARAM_COUNT,
                                 "recorded steps in a row without any gradient"}),
    .labels = {{"step", "", "First step"},
               {"steps", "", "Steps without a gradient"},
               {"parameters", "", "Parameters of the optimizer"}},
    .health = true,
    .severity = SEVERITY_CRITICAL,
    .judge = missing_judge,
};

/* ---- DuplicatedData ---- */

enum { DUPLICATE_SHARE };

/* The worst part, with the one that is not over. One batch over and over is training on all of the
 * data at once. */
static bool duplicates_of(const struct judge *j, const struct book_rank *r, uint64_t *batches,
                          uint64_t *distinct, int64_t *step)
{
    struct book_rank copy = *r;
    health_close_hashes(&copy);
    *batches = copy.batches;
    *distinct = copy.distinct;
    *step = copy.batches_step;
    return copy.distinct > 1 &&
           100 * (double)copy.distinct < j->p[DUPLICATE_SHARE].v * (double)copy.batches;
}

static void duplicate_find(const struct judge *j, struct verdict *v, const struct health_hit *h)
{
    uint64_t batches, distinct;
    int64_t step;
    duplicates_of(j, h->rank, &batches, &distinct, &step);
    struct finding *f = health_finding(j, v, h, step, NULL);
    finding_say(v, f, "only %llu of %llu batches of an epoch were different%s",
                (unsigned long long)distinct, (unsigned long long)batches, health_ranks_text(j, h));
    FINDING_NUMBERS(v, f, (double)distinct, (double)batches);
}

/* Steps in which two ranks had a batch, and in which it was the same. */
struct same_batches {
    uint64_t steps, same;
    bool one; /* all of them are one batch, as in benchmarks */
};

enum { SAME_LEAST = 20 };

static struct same_batches same_batches_of(const struct book_rank *a, const struct book_rank *b)
{
    struct same_batches x = {.one = true};
    const struct book_batch *v = a->first_batches, *w = b->first_batches;
    for (uint32_t i = 0, k = 0; i < a->n_first_batches && k < b->n_first_batches;) {
        if (v[i].step != w[k].step) {
            if (v[i].step < w[k].step)
                i++;
            else
                k++;
            continue;
        }
        x.steps++;
        x.same += v[i].hash == w[k].hash;
        x.one = x.one && v[i].hash == v[0].hash;
        i++, k++;
    }
    return x;
}

static bool is_same_data(const struct same_batches *x)
{
    return x->steps >= SAME_LEAST && 2 * x->same > x->steps && !x->one;
}

/* Replicas that train with the same batches: all but one of them work for nothing. */
static bool same_data_find(const struct judge *j, struct verdict *v)
{
    const struct health_hit first = health_reference_rank(j);
    struct health_hit h = {0};
    const struct book_rank *r;
    for (struct health_at at = {0}; first.rank && (r = next_health_rank(j, &at));) {
        const struct same_batches x = same_batches_of(first.rank, r);
        if (health_is_replica(r) && r != first.rank && is_same_data(&x))
            health_hit_add(&h, &at, r);
    }
    if (!h.rank)
        return false;
    const struct same_batches x = same_batches_of(first.rank, h.rank);
    struct finding *f = health_finding(j, v, &h, first.rank->first_batches[0].step, NULL);
    const char *others = h.ranks > 1 ? arena_printf(j->arena, "%zu other ranks", h.ranks)
                                     : arena_printf(j->arena, "rank %lld", (long long)h.rank->rank);
    finding_say(v, f, "rank %lld had the same batch as %s in %llu of %llu steps",
                (long long)first.rank->rank, others, (unsigned long long)x.same,
                (unsigned long long)x.steps);
    finding_advise(v, f,
                   "Give each rank a part of the data: DistributedSampler with set_epoch, or a "
                   "seed that has the rank in it.");
    FINDING_NUMBERS(v, f, (double)(x.steps - x.same), (double)x.steps);
    return true;
}

static void duplicate_judge(const struct judge *j, struct verdict *out)
{
    struct health_hit h = {0};
    const struct book_rank *r;
    for (struct health_at at = {0}; (r = next_health_rank(j, &at));) {
        uint64_t batches, distinct;
        int64_t step;
        if (duplicates_of(j, r, &batches, &distinct, &step))
            health_hit_add(&h, &at, r);
        out->datapoints += batches;
    }
    if (h.rank)
        duplicate_find(j, out, &h);
    else if (same_data_find(j, out))
        return;
    else if (out->datapoints == 0)
        verdict_not_evaluated(out, "needs 20 recorded batches in 50 steps of an epoch");
    else
        verdict_why(out, "batches of an epoch were different");
}

/* Information only: made-up data, as in benchmarks, repeats too. */
const struct rule rule_duplicated_data = {
    .name = "DuplicatedData",
    .title = "Repeated batches",
    .description = "Checks how many of the batches of an epoch (or of 1000 steps) are different, "
                   "by a hash of some of their values.",
    .recommendation = "Check the sampler: shuffle, set_epoch, and a different seed for each "
                      "worker and rank.",
    RULE_PARAMS([DUPLICATE_SHARE] =
                    {"min_distinct_percent", 50, 0, 100, PARAM_PERCENT,
                     "least share of different batches in an epoch, or in 1000 steps"}),
    .labels = {{"distinct", "", "Different batches"}, {"batches", "", "Batches"}},
    .health = true,
    .severity = SEVERITY_INFO,
    .judge = duplicate_judge,
};
