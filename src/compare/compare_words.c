/* SPDX-License-Identifier: Apache-2.0 */
/* compare_words.c - the verdict and its sentences. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "compare/compare.h"
#include "compare/compare_internal.h"

const char *const compare_verdict_names[COMPARE_VERDICTS] = {
    [COMPARE_FASTER] = "faster",
    [COMPARE_SLOWER] = "slower",
    [COMPARE_SAME] = "no_difference",
    [COMPARE_NOT] = "not_comparable",
};

enum compare_verdict compare_call(const struct diff_interval *v)
{
    if (isnan(v->low))
        return COMPARE_NOT;
    return v->high < 0 ? COMPARE_FASTER : v->low > 0 ? COMPARE_SLOWER : COMPARE_SAME;
}

const char *compare_title(const struct compared *c)
{
    static const char *const titles[COMPARE_VERDICTS] = {
        [COMPARE_FASTER] = "B is faster",
        [COMPARE_SLOWER] = "B is slower",
        [COMPARE_SAME] = "No measurable difference",
        [COMPARE_NOT] = "Step times cannot be compared",
    };
    return c->may_be_noise ? "Possibly noise" : titles[c->verdict];
}

const char *const compare_called[COMPARE_VERDICTS] = {
    [COMPARE_FASTER] = "faster",
    [COMPARE_SLOWER] = "slower",
    [COMPARE_SAME] = "no difference",
    [COMPARE_NOT] = "not known",
};

/* ---- numbers ---- */

enum { SHARE_MOST = 10000 }; /* percent: a larger one only shows that it is not known */

double compared_share(const double v[COMPARE_SIDES])
{
    return v[COMPARE_A] > 0 ? v[COMPARE_B] / v[COMPARE_A] - 1 : NAN;
}

const char *share_text(struct arena *a, double share)
{
    const double v = fabs(share) * 100;
    const int places = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
    char text[HUMAN_LEN], with_sign[HUMAN_LEN];
    if (isnan(share))
        return value_text(a, NAN, "%");
    if (v >= SHARE_MOST)
        return arena_printf(a, "over %s%d %%", share < 0 ? "-" : "+", SHARE_MOST);
    snprintf(text, sizeof text, "%.*f %%", places, v);
    return arena_strdup(a, human_signed(share, text, with_sign, sizeof with_sign));
}

const char *share_size_text(struct arena *a, double share)
{
    const char *text = share_text(a, fabs(share));
    return text + (*text == '+');
}

const char *step_more_text(struct arena *a, double s)
{
    char text[HUMAN_LEN];
    return arena_strdup(a, human_signed(s, value_text(a, fabs(s), "s"), text, sizeof text));
}

/* ---- the sentence ---- */

static const char *compare_range(struct comparing *c)
{
    const struct diff_interval *d = &c->out->diff;
    return arena_printf(c->arena, "%.3g %% confidence interval %s to %s", c->out->confidence * 100,
                        share_text(c->arena, d->low), share_text(c->arena, d->high));
}

static const char *compare_called_text(struct comparing *c)
{
    const struct compared *o = c->out;
    const struct compared_side *a = &o->side[COMPARE_A], *b = &o->side[COMPARE_B];
    const bool less = o->verdict == COMPARE_FASTER;
    if (o->basis == BASIS_SAMPLE)
        return arena_printf(
            c->arena, "B is %s: a sample takes %s %s time (%s).", compare_verdict_names[o->verdict],
            share_size_text(c->arena, o->diff.at), less ? "less" : "more", compare_range(c));
    return arena_printf(
        c->arena, "B is %s: an iteration takes %s instead of %s, %s %s (%s).",
        compare_verdict_names[o->verdict], value_text(c->arena, b->steps.mean_s, "s"),
        value_text(c->arena, a->steps.mean_s, "s"), share_size_text(c->arena, o->diff.at),
        less ? "less" : "more", compare_range(c));
}

enum { DETECTABLE_MOST = 10 }; /* times as long: to name it would promise something */

/* What one run a side shows beyond doubt of these runs, but not of their code. */
static const char *noise(struct comparing *c)
{
    const struct compared *o = c->out;
    return arena_printf(
        c->arena,
        "Possibly noise: %s takes %s %s time in B, but two runs of the same code may differ by %s.",
        o->basis == BASIS_SAMPLE ? "a sample" : "an iteration",
        share_size_text(c->arena, o->diff.at), o->diff.at < 0 ? "less" : "more",
        share_size_text(c->arena, o->spread.reach));
}

static bool no_time(double share)
{
    return fabs(share) < 0.00005; /* it would be shown as 0.00 % */
}

static const char *compare_took(struct comparing *c)
{
    const struct compared *o = c->out;
    const char *side = o->basis == BASIS_SAMPLE ? "a sample of B" : "B";
    if (no_time(o->diff.at))
        return arena_printf(c->arena, "%s took the same time", side);
    return arena_printf(c->arena, "%s took %s %s", side, share_size_text(c->arena, o->diff.at),
                        o->diff.at < 0 ? "less time" : "longer");
}

/* Why that is no difference. */
static const char *but(const struct compared *o)
{
    if (!o->one_by_one)
        return ", but runs of the same group differ this much";
    return fabs(log1p(o->diff.at)) <= o->spread.reach
               ? ", but runs of the same code can differ this much"
               : ", but iterations vary too much to be certain";
}

static const char *not_called(struct comparing *c)
{
    const struct compared *o = c->out;
    if (o->same_run)
        return "A and B are the same run.";
    if (o->may_be_noise)
        return noise(c);
    if (o->detectable_share > DETECTABLE_MOST)
        return arena_printf(
            c->arena,
            "No measurable difference: %s, but there are too few runs per group, or "
            "they vary too much, to detect a difference.",
            compare_took(c));
    return arena_printf(c->arena,
                        "No measurable difference: %s%s (%s). A difference of %s would be detected "
                        "with 80 %% probability.",
                        compare_took(c), no_time(o->diff.at) ? "" : but(o), compare_range(c),
                        share_size_text(c->arena, o->detectable_share));
}

static size_t fewest(const struct compared_side *s)
{
    size_t n = s->runs[0].steps;
    for (size_t i = 1; i < s->n; i++)
        n = s->runs[i].steps < n ? s->runs[i].steps : n;
    return n;
}

/* The side without steps; of a group, a run of it. */
static const char *stepless(const struct compared_side *a, const struct compared_side *b)
{
    const bool groups = a->n > 1 || b->n > 1;
    if (fewest(a) == 0 && fewest(b) == 0)
        return groups ? "runs of both groups have no" : "neither run has";
    if (fewest(a) == 0)
        return a->n > 1 ? "a run of A has no" : "A has no";
    return b->n > 1 ? "a run of B has no" : "B has no";
}

static const char *missing(struct comparing *c)
{
    const struct compared *o = c->out;
    const struct compared_side *first = &o->side[COMPARE_A], *other = &o->side[COMPARE_B];
    const size_t a = fewest(first), b = fewest(other);
    if (a == 0 || b == 0)
        return arena_printf(
            c->arena, "Step times cannot be compared: %s training steps. Other comparisons follow.",
            stepless(first, other));
    return arena_printf(c->arena,
                        "Step times cannot be compared: at least %d common steps after warm-up are "
                        "needed, but there %s %zu (steps in total: A %zu, B %zu). Other "
                        "comparisons follow.",
                        STEPDIFF_LEAST, first->steps.count == first->n ? "is" : "are",
                        first->steps.count / first->n, a, b);
}

/* ---- what it rests on ---- */

/* Appends a sentence. */
__attribute__((format(printf, 3, 4))) static void
compare_add(struct comparing *c, const char **text, const char *fmt, ...)
{
    char more[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(more, sizeof more, fmt, ap);
    va_end(ap);
    *text = **text ? arena_printf(c->arena, "%s %s", *text, more) : arena_strdup(c->arena, more);
}

/* One run a side. */
static void why_spread(struct comparing *c, const char **text)
{
    const struct run_spread *s = &c->out->spread;
    if (s->runs)
        compare_add(c, text,
                    "The variation between runs of the same code was estimated from %zu runs "
                    "in the same folder: standard deviation %s.",
                    s->runs, share_size_text(c->arena, s->sd));
    else
        compare_add(
            c, text,
            "The variation between runs of the same code is not known; up to %s is assumed. "
            "Three runs per group would measure it: footplate compare A1,A2,A3 B1,B2,B3.",
            share_size_text(c->arena, s->reach));
}

static void why_steps(struct comparing *c, const char **text)
{
    const struct compared *o = c->out;
    const struct compared_side *a = &o->side[COMPARE_A], *b = &o->side[COMPARE_B];
    const size_t n = a->steps.count / a->n;
    compare_add(c, text, "%s iterations of each run are compared%s; %s.", count_text(c->arena, n),
                o->one_by_one ? ", step by step" : "",
                a->warmup
                    ? arena_printf(c->arena, "the first %zu are excluded as warm-up", a->warmup)
                    : "no warm-up is excluded because --steps is set");
    if (a->disturbed)
        compare_add(c, text, "%zu more are excluded because a detail window slowed them.",
                    a->disturbed);
    if (!o->one_by_one)
        compare_add(c, text,
                    "The interval is based on the variation between the runs of each group "
                    "(%zu and %zu runs).",
                    a->n, b->n);
    else if (!o->same_run)
        why_spread(c, text);
}

static const char *compare_hardware_text(struct comparing *c)
{
    const char *text = "";
    for (size_t i = 0; i < c->out->n_hardware; i++)
        text = arena_printf(c->arena, "%s%s%s", text, i ? "; " : "", c->out->hardware[i]);
    return text;
}

static void why_not_like(struct comparing *c, const char **text)
{
    const struct compared *o = c->out;
    const struct compared_side *a = &o->side[COMPARE_A], *b = &o->side[COMPARE_B];
    if (o->basis == BASIS_SAMPLE)
        compare_add(
            c, text,
            "A step has %.4g samples in A and %.4g in B, so the time per sample is compared.",
            a->batch, b->batch);
    else if (a->runs[0].ranks != b->runs[0].ranks && isnan(a->batch + b->batch))
        compare_add(c, text,
                    "The numbers of ranks differ (%zu and %zu) and the batch sizes are not "
                    "known: steps may not be comparable.",
                    a->runs[0].ranks, b->runs[0].ranks);
    if (!o->same_hardware)
        compare_add(c, text, "The hardware differs: %s.", compare_hardware_text(c));
}

void compare_conclude(struct comparing *c)
{
    struct compared *o = c->out;
    const char *why = "";
    o->verdict = compare_call(&o->diff);
    if (o->same_run && o->verdict != COMPARE_NOT)
        o->verdict = COMPARE_SAME;
    o->may_be_noise = o->verdict == COMPARE_SAME && !o->same_run && o->one_by_one &&
                      (o->steps_diff.low > 0 || o->steps_diff.high < 0);
    o->sentence = o->verdict == COMPARE_NOT    ? missing(c)
                  : o->verdict == COMPARE_SAME ? not_called(c)
                                               : compare_called_text(c);
    if (o->verdict != COMPARE_NOT)
        why_steps(c, &why);
    why_not_like(c, &why);
    o->why = why;
}
