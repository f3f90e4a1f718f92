/* SPDX-License-Identifier: Apache-2.0 */
/* compare_steps.c - iterations of both sides, from the same step to the same step; warm-up and what
 * a detail window slowed are left out. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "compare/compare_internal.h"
#include "compare/stepdiff.h"

enum { BINS = 40 };

/* Any number will do; it must not change. */
static const uint64_t SEED = 20261115;

/* Which steps are compared: at[side][run][0..n) are their places among the steps of that run. The
 * k-th of one run is compared with the k-th of the others. */
struct common {
    size_t **at[COMPARE_SIDES];
    size_t n, warmup, disturbed;
};

/* ---- which steps ---- */

/* The requested steps of a run are adjacent. */
static size_t requested_steps(const struct compare_ask *ask, const struct jobsteps *s,
                              size_t *first)
{
    size_t from = 0, to = s->n;
    if (ask->has_range) {
        while (from < s->n && s->number[from] < ask->from)
            from++;
        for (to = from; to < s->n && s->number[to] <= ask->to; to++)
            ;
    }
    *first = from;
    return to - from;
}

/* Whether the k-th step counts in all runs. Steps that a detail window slowed never do; those of
 * the warm-up do where the user chose them. */
static bool step_counts(const struct comparing *c, size_t *const first[COMPARE_SIDES], size_t k)
{
    for (int s = 0; s < COMPARE_SIDES; s++)
        for (size_t i = 0; i < c->side[s].n; i++) {
            const struct jobsteps *j = &c->side[s].v[i].steps;
            const size_t at = first[s][i] + k;
            if (j->disturbed[at] || (j->warmup[at] && !c->ask->has_range))
                return false;
        }
    return true;
}

static struct common common_steps(struct comparing *c)
{
    struct common out = {0};
    size_t *first[COMPARE_SIDES], n = SIZE_MAX;
    for (int s = 0; s < COMPARE_SIDES; s++) {
        first[s] = arena_array(c->scratch, size_t, c->side[s].n);
        for (size_t i = 0; i < c->side[s].n; i++)
            n = MIN_OF(n, requested_steps(c->ask, &c->side[s].v[i].steps, &first[s][i]));
    }
    for (int s = 0; s < COMPARE_SIDES; s++) {
        out.at[s] = (size_t **)arena_array(c->scratch, size_t *, c->side[s].n);
        for (size_t i = 0; i < c->side[s].n; i++)
            out.at[s][i] = arena_array(c->scratch, size_t, n + 1);
    }
    out.warmup = c->ask->has_range ? 0 : stepdiff_warmup(n);
    for (size_t k = out.warmup; k < n; k++) {
        if (!step_counts(c, first, k)) {
            *(out.n ? &out.disturbed : &out.warmup) += 1;
            continue;
        }
        for (int s = 0; s < COMPARE_SIDES; s++)
            for (size_t i = 0; i < c->side[s].n; i++)
                out.at[s][i][out.n] = first[s][i] + k;
        out.n++;
    }
    return out;
}

/* ---- series of it ---- */

/* What one step of a run is worth. */
typedef double value_of(const struct jobsteps *s, size_t step, size_t arg);

static double steps_time_of(const struct jobsteps *s, size_t step, size_t arg)
{
    (void)arg;
    return s->s[step];
}

static double time_per_sample(const struct jobsteps *s, size_t step, size_t arg)
{
    (void)arg;
    return s->s[step] / s->batch[step];
}

static double steps_part_of(const struct jobsteps *s, size_t step, size_t part)
{
    return s->part_s[part] ? s->part_s[part][step] : 0;
}

static struct step_group steps_series_of(struct comparing *c, const struct common *common, int side,
                                         value_of *value, size_t arg)
{
    const struct side_reading *in = &c->side[side];
    const double **runs = arena_array(c->scratch, const double *, in->n);
    for (size_t i = 0; i < in->n; i++) {
        double *v = arena_array(c->scratch, double, common->n + 1);
        for (size_t k = 0; k < common->n; k++)
            v[k] = value(&in->v[i].steps, common->at[side][i][k], arg);
        runs[i] = v;
    }
    return (struct step_group){runs, in->n};
}

static struct stepdiff_ask steps_ask_of(struct comparing *c, const struct common *common,
                                        value_of *value, size_t arg)
{
    return (struct stepdiff_ask){
        .a = steps_series_of(c, common, COMPARE_A, value, arg),
        .b = steps_series_of(c, common, COMPARE_B, value, arg),
        .steps = common->n,
        .confidence = c->out->confidence,
        .seed = SEED,
    };
}

/* ---- how steps are spread ---- */

static void fill_spread(struct comparing *c, const struct step_group *g, size_t steps,
                        struct step_diff_spread *out, double **sorted)
{
    double *all = arena_array(c->scratch, double, g->n *steps + 1);
    for (size_t i = 0; i < g->n; i++)
        memcpy(all + i * steps, g->runs[i], steps * sizeof *all);
    step_spread_of(all, g->n * steps, out);
    *sorted = all;
}

/* A width of 1, 2 or 5 times a power of ten, so that edges can be read. */
static double round_width(double least)
{
    static const double nice[] = {1, 2, 5, 10};
    const double power = pow(10, floor(log10(least)));
    const size_t at = FIND_FIRST(i, COUNT_OF(nice), nice[i] * power >= least * (1 - 1e-9));
    return at < COUNT_OF(nice) ? nice[at] * power : 10 * power;
}

static void count_bins(const struct compared_histogram *h, const double *v, size_t n, uint64_t *out)
{
    const double from = h->edges_s[0], width = (h->edges_s[h->n] - from) / (double)h->n;
    for (size_t i = 0; i < n; i++) {
        const double at = floor((v[i] - from) / width);
        out[(size_t)fmax(0, fmin(at, (double)(h->n - 1)))]++;
    }
}

/* From the shortest step to a bit above the 99th percentile; the longest would leave it empty. */
static void fill_histogram(struct comparing *c, double *const sorted[COMPARE_SIDES])
{
    const struct step_diff_spread *a = &c->out->side[COMPARE_A].steps,
                                  *b = &c->out->side[COMPARE_B].steps;
    struct compared_histogram *h = &c->out->histogram;
    const double low = fmin(a->min_s, b->min_s), high = 1.05 * fmax(a->p99_s, b->p99_s);
    if (a->count + b->count == 0 || !(high > low))
        return;
    const double width = round_width((high - low) / BINS), first = floor(low / width);
    h->n = (size_t)ceil(high / width - first);
    h->edges_s = arena_array(c->arena, double, h->n + 1);
    for (size_t i = 0; i <= h->n; i++)
        h->edges_s[i] = (first + (double)i) * width;
    for (int s = 0; s < COMPARE_SIDES; s++) {
        h->counts[s] = arena_array(c->arena, uint64_t, h->n);
        count_bins(h, sorted[s], c->out->side[s].steps.count, h->counts[s]);
    }
}

/* ---- batches ---- */

static void steps_fill_batches(struct comparing *c, const struct common *common)
{
    for (int s = 0; s < COMPARE_SIDES; s++) {
        const struct side_reading *in = &c->side[s];
        double samples = 0;
        for (size_t i = 0; i < in->n; i++)
            for (size_t k = 0; k < common->n; k++) {
                const struct jobsteps *j = &in->v[i].steps;
                samples += j->batch ? j->batch[common->at[s][i][k]] : NAN;
            }
        const double steps = (double)(in->n * common->n);
        c->out->side[s].batch = steps > 0 ? samples / steps : NAN;
    }
    const double a = c->out->side[COMPARE_A].batch, b = c->out->side[COMPARE_B].batch;
    c->out->basis = fabs(a - b) > 0.005 * fmax(a, b) ? BASIS_SAMPLE : BASIS_STEP; /* NAN: by step */
}

/* ---- parts ---- */

static bool part_seen(const struct comparing *c, int side, size_t part)
{
    return !FIND_ANY(i, c->side[side].n, c->side[side].v[i].unseen >> part & 1);
}

static bool part_there(const struct comparing *c, size_t part)
{
    for (int s = 0; s < COMPARE_SIDES; s++)
        for (size_t i = 0; i < c->side[s].n; i++)
            if (c->side[s].v[i].steps.part_s[part])
                return true;
    return false;
}

static double group_mean(const struct step_group *g, size_t steps)
{
    double sum = 0;
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < steps; k++)
            sum += g->runs[i][k];
    return steps ? sum / (double)(g->n * steps) : NAN;
}

/* By what runs of the same code differ, in seconds; 0: the runs show it themselves. */
static struct diff_interval widened(const struct diff_interval *v, double reach)
{
    return (struct diff_interval){v->at, v->at - hypot(v->at - v->low, reach),
                                  v->at + hypot(v->high - v->at, reach)};
}

/* What a part must change by, as a share of the iteration, to be called faster or slower. */
static const double PART_LEAST = 0.01;

/* An interval wider than the iteration has no information about a part of it; it is omitted. */
static void judge_part(const struct comparing *c, struct compared_part *p)
{
    const double iteration =
        fmax(c->out->side[COMPARE_A].steps.mean_s, c->out->side[COMPARE_B].steps.mean_s);
    p->verdict = compare_call(&p->diff_s);
    if (p->verdict == COMPARE_NOT)
        return;
    if (fabs(p->diff_s.at) < PART_LEAST * iteration)
        p->verdict = COMPARE_SAME;
    if (p->verdict == COMPARE_SAME && p->diff_s.high - p->diff_s.low > iteration)
        p->diff_s.low = p->diff_s.high = NAN;
}

static void fill_part(struct comparing *c, const struct common *common, size_t part)
{
    struct compared_part *out = &c->out->parts[c->out->n_parts++];
    const struct stepdiff_ask ask = steps_ask_of(c, common, steps_part_of, part);
    struct stepdiff d;
    bool seen = true;
    out->part = iteration_part_name(part);
    out->s[COMPARE_A] = group_mean(&ask.a, common->n);
    out->s[COMPARE_B] = group_mean(&ask.b, common->n);
    stepdiff_means(&ask, &d);
    out->diff_s = widened(&d.diff, c->out->spread.reach * fmax(out->s[0], out->s[1]));
    for (int s = 0; s < COMPARE_SIDES; s++)
        if (!part_seen(c, s, part)) {
            seen = false;
            out->s[s] = NAN;
            compare_lose(c, out->part, "not reported separately; included in \"other\"", s);
        }
    if (!seen)
        out->diff_s = (struct diff_interval){NAN, NAN, NAN};
    judge_part(c, out);
}

static void steps_fill_parts(struct comparing *c, const struct common *common)
{
    c->out->parts = arena_array(c->arena, struct compared_part, iteration_parts());
    for (size_t part = 0; part < iteration_parts(); part++)
        if (part_there(c, part))
            fill_part(c, common, part);
}

/* ---- parts by the clock of the GPU ---- */

static double gpu_part_of(const struct compare_reading *r, size_t part)
{
    return r->gpu_part_s[part];
}

/* Means of the runs against each other; one run a side differs as runs of the same code do. */
static struct diff_interval gpu_part_diff(struct comparing *c, const double s[COMPARE_SIDES],
                                          size_t part)
{
    struct run_says *says[COMPARE_SIDES];
    const double at = s[COMPARE_B] - s[COMPARE_A],
                 reach = c->out->spread.reach * fmax(s[COMPARE_A], s[COMPARE_B]);
    if (isnan(at))
        return (struct diff_interval){NAN, NAN, NAN};
    if (c->out->one_by_one)
        return (struct diff_interval){at, at - reach, at + reach};
    for (int k = 0; k < COMPARE_SIDES; k++) {
        says[k] = arena_array(c->scratch, struct run_says, c->side[k].n);
        for (size_t i = 0; i < c->side[k].n; i++)
            says[k][i].at = c->side[k].v[i].gpu_part_s[part];
    }
    return runs_against(says[COMPARE_A], c->side[COMPARE_A].n, says[COMPARE_B],
                        c->side[COMPARE_B].n, c->out->confidence);
}

static void fill_gpu_parts(struct comparing *c)
{
    struct compared *o = c->out;
    for (int s = 0; s < COMPARE_SIDES; s++)
        for (size_t i = 0; i < c->side[s].n; i++) {
            o->side[s].gpu_timed_steps += c->side[s].v[i].gpu_timed_steps;
            o->side[s].gpu_steps += c->side[s].v[i].gpu_steps;
            o->launch_only |= o->side[s].runs[i].gpus > 0;
        }
    const size_t a = o->side[COMPARE_A].gpu_timed_steps, b = o->side[COMPARE_B].gpu_timed_steps;
    if ((a == 0) != (b == 0))
        compare_lose(c, "GPU time", "the phases were not timed on the GPU",
                     a ? COMPARE_B : COMPARE_A);
    if (a == 0 || b == 0)
        return;
    o->launch_only = false;
    o->gpu_parts = arena_array(c->arena, struct compared_part, step_parts());
    for (size_t part = 0; part < step_parts(); part++) {
        struct compared_part *p = &o->gpu_parts[o->n_gpu_parts];
        for (int s = 0; s < COMPARE_SIDES; s++)
            p->s[s] = side_mean(&c->side[s], gpu_part_of, part);
        if (isnan(p->s[COMPARE_A]) && isnan(p->s[COMPARE_B]))
            continue;
        p->part = step_part_name(part);
        p->diff_s = gpu_part_diff(c, p->s, part);
        judge_part(c, p);
        o->n_gpu_parts++;
    }
}

/* ---- all ---- */

static void lose_steps(struct comparing *c)
{
    for (int s = 0; s < COMPARE_SIDES; s++)
        for (size_t i = 0; i < c->side[s].n; i++) {
            const struct compare_reading *r = &c->side[s].v[i];
            if (r->steps.n == 0)
                compare_lose(c, "steps",
                             r->no_steps ? r->no_steps : "the run has no training steps", s);
        }
}

/* Four of five times a difference of this size lies beyond the interval: 0.84 standard errors more
 * than its reach of about two. */
static double detectable(const struct diff_interval *v, double least)
{
    const double half = (log1p(v->high) - log1p(v->low)) / 2,
                 found = expm1((1 + 0.84 / 1.96) * half);
    return isnan(found) ? NAN : fmax(least, found);
}

/* What one run a side cannot show: how much runs of the same code differ. */
static void fill_run_spread(struct comparing *c, const struct stepdiff_ask *by)
{
    const struct spread_ask ask = {
        .a = c->side[COMPARE_A].v[0].info,
        .b = c->side[COMPARE_B].v[0].info,
        .mean = {group_mean(&by->a, by->steps), group_mean(&by->b, by->steps)},
        .per_sample = c->out->basis == BASIS_SAMPLE,
        .confidence = c->out->confidence,
    };
    runspread_learn(&ask, &c->out->spread);
}

static void steps_fill_times(struct comparing *c, const struct common *common)
{
    struct compared *o = c->out;
    const struct stepdiff_ask steps = steps_ask_of(c, common, steps_time_of, 0);
    double *sorted[COMPARE_SIDES];
    struct stepdiff d;
    fill_spread(c, &steps.a, common->n, &o->side[COMPARE_A].steps, &sorted[COMPARE_A]);
    fill_spread(c, &steps.b, common->n, &o->side[COMPARE_B].steps, &sorted[COMPARE_B]);
    fill_histogram(c, sorted);
    steps_fill_batches(c, common);
    const struct stepdiff_ask by =
        o->basis == BASIS_SAMPLE ? steps_ask_of(c, common, time_per_sample, 0) : steps;
    stepdiff_means(&by, &d);
    stepdiff_medians(&by, &o->median);
    o->diff = o->steps_diff = d.share;
    o->one_by_one = by.a.n == 1 && by.b.n == 1;
    if (o->one_by_one && !o->same_run && !isnan(o->diff.low)) {
        fill_run_spread(c, &by);
        o->diff = runspread_widen(o->diff, o->spread.reach);
        o->median = runspread_widen(o->median, o->spread.reach);
    }
    o->least_share = o->spread.reach;
    o->detectable_share = detectable(&o->diff, o->least_share);
    for (int s = 0; s < COMPARE_SIDES; s++) {
        o->side[s].steps.effective_n = d.effective_n[s];
        o->side[s].warmup = common->warmup;
        o->side[s].disturbed = common->disturbed;
    }
}

void compare_steps(struct comparing *c)
{
    const struct common common = common_steps(c);
    steps_fill_times(c, &common);
    steps_fill_parts(c, &common);
    fill_gpu_parts(c);
    lose_steps(c);
}
