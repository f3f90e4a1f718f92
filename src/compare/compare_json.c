/* SPDX-License-Identifier: Apache-2.0 */
/* compare_json.c - a comparison as `footplate compare --json`, the server and the Python package
 * give it. Keys may be added here, never renamed. */
#include <math.h>

#include "base/mem.h"
#include "compare/compare.h"
#include "rules/rule.h"

static const char *const sides[COMPARE_SIDES] = {"a", "b"};

/* ---- the sides ---- */

static void run_json(struct jw *j, const struct compared_run *r)
{
    jw_object(j, NULL);
    jw_str(j, "run", r->run);
    jw_str(j, "id", r->id);
    jw_str(j, "name", r->name);
    jw_str(j, "path", r->path);
    jw_str(j, "status", run_status_name(r->status));
    jw_int(j, "start_ns", r->start.ns);
    jw_num(j, "duration_s", r->duration_s);
    jw_num(j, "cost", r->cost);
    jw_int(j, "machines", (int64_t)r->machines);
    jw_int(j, "gpus", (int64_t)r->gpus);
    jw_int(j, "ranks", (int64_t)r->ranks);
    jw_int(j, "steps", (int64_t)r->steps);
    jw_end(j);
}

static void side_json(struct jw *j, const char *key, const struct compared_side *s)
{
    jw_object(j, key);
    jw_array(j, "runs");
    for (size_t i = 0; i < s->n; i++)
        run_json(j, &s->runs[i]);
    jw_end(j);
    jw_str(j, "name", s->name);
    jw_num(j, "machines", s->machines);
    jw_num(j, "price_per_hour", s->price_per_hour);
    jw_num(j, "duration_s", s->duration_s);
    jw_num(j, "cost", s->cost);
    jw_num(j, "batch", s->batch);
    jw_num(j, "samples_per_s", s->throughput_steady);
    jw_object(j, "throughput");
    jw_num(j, "steady", s->throughput_steady);
    jw_num(j, "overall", s->throughput_overall);
    jw_str(j, "unit", "samples/s");
    jw_end(j);
    jw_int(j, "gpu_timed_steps", (int64_t)s->gpu_timed_steps);
    jw_int(j, "gpu_steps", (int64_t)s->gpu_steps);
    jw_end(j);
}

/* ---- step time ---- */

static void spread_json(struct jw *j, const char *key, const struct step_spread *s)
{
    jw_object(j, key);
    jw_int(j, "count", (int64_t)s->count);
    jw_num(j, "mean_s", s->mean_s);
    jw_num(j, "min_s", s->min_s);
    jw_num(j, "p50_s", s->p50_s);
    jw_num(j, "p90_s", s->p90_s);
    jw_num(j, "p95_s", s->p95_s);
    jw_num(j, "p99_s", s->p99_s);
    jw_num(j, "max_s", s->max_s);
    jw_num(j, "stddev_s", s->stddev_s);
    jw_end(j);
}

static void histogram_json(struct jw *j, const struct compared_histogram *h)
{
    jw_object(j, "histogram");
    jw_array(j, "edges_s");
    for (size_t i = 0; h->n && i <= h->n; i++)
        jw_num(j, NULL, h->edges_s[i]);
    jw_end(j);
    for (int s = 0; s < COMPARE_SIDES; s++) {
        jw_array(j, sides[s]);
        for (size_t i = 0; i < h->n; i++)
            jw_int(j, NULL, (int64_t)h->counts[s][i]);
        jw_end(j);
    }
    jw_end(j);
}

/* null: several runs a side show it themselves, or nothing was compared. */
static void run_spread_json(struct jw *j, const struct compared *c)
{
    const struct run_spread *s = &c->spread;
    if (s->reach == 0) {
        jw_null(j, "run_spread");
        return;
    }
    jw_object(j, "run_spread");
    jw_str(j, "source", s->runs ? "runs" : "default");
    jw_int(j, "runs", (int64_t)s->runs);
    jw_num(j, "stddev_share", s->sd);
    jw_num(j, "reach_share", s->reach);
    jw_end(j);
}

static void step_time_json(struct jw *j, const struct compared *c)
{
    static const char *const bases[BASIS_N] = {[BASIS_STEP] = "step", [BASIS_SAMPLE] = "sample"};
    const struct compared_side *a = &c->side[COMPARE_A], *b = &c->side[COMPARE_B];
    jw_object(j, "step_time");
    spread_json(j, "a", &a->steps);
    spread_json(j, "b", &b->steps);
    jw_str(j, "of", "iteration"); /* begin of a step to begin of the next */
    jw_str(j, "basis", bases[c->basis]);
    jw_bool(j, "step_by_step", c->one_by_one);
    jw_num(j, "diff_share", c->diff.at);
    jw_num(j, "ci_low", c->diff.low);
    jw_num(j, "ci_high", c->diff.high);
    jw_num(j, "steps_ci_low", c->steps_diff.low);
    jw_num(j, "steps_ci_high", c->steps_diff.high);
    run_spread_json(j, c);
    jw_num(j, "median_diff_share", c->median.at);
    jw_num(j, "median_ci_low", c->median.low);
    jw_num(j, "median_ci_high", c->median.high);
    jw_num(j, "confidence", c->confidence);
    jw_num(j, "least_share", c->least_share);
    jw_num(j, "detectable_share", c->detectable_share);
    jw_int(j, "warmup_a", (int64_t)a->warmup);
    jw_int(j, "warmup_b", (int64_t)b->warmup);
    jw_int(j, "disturbed_a", (int64_t)a->disturbed);
    jw_int(j, "disturbed_b", (int64_t)b->disturbed);
    jw_num(j, "effective_n_a", a->steps.effective_n);
    jw_num(j, "effective_n_b", b->steps.effective_n);
    histogram_json(j, &c->histogram);
    jw_end(j);
}

/* ---- tables ---- */

/* Both values and what B has more. */
static void pair_json(struct jw *j, const double v[COMPARE_SIDES], const char *const keys[3])
{
    jw_num(j, keys[0], v[COMPARE_A]);
    jw_num(j, keys[1], v[COMPARE_B]);
    jw_num(j, keys[2], v[COMPARE_B] - v[COMPARE_A]);
}

static const char *const seconds_keys[] = {"a_s", "b_s", "diff_s"};

static void phases_json(struct jw *j, const struct compared *c)
{
    jw_array(j, "phases");
    for (size_t i = 0; i < c->n_phases; i++) {
        const double *s = c->phases[i].s;
        jw_object(j, NULL);
        jw_str(j, "phase", c->phases[i].phase);
        pair_json(j, s, seconds_keys);
        jw_num(j, "diff_share", s[COMPARE_A] > 0 ? s[COMPARE_B] / s[COMPARE_A] - 1 : NAN);
        jw_end(j);
    }
    jw_end(j);
}

static void parts_json(struct jw *j, const char *key, const char *clock,
                       const struct compared_part *v, size_t n)
{
    jw_array(j, key);
    for (size_t i = 0; i < n; i++) {
        const struct compared_part *p = &v[i];
        jw_object(j, NULL);
        jw_str(j, "part", p->part);
        jw_str(j, "clock", clock);
        jw_num(j, "a_s", p->s[COMPARE_A]);
        jw_num(j, "b_s", p->s[COMPARE_B]);
        jw_num(j, "diff", p->diff_s.at);
        jw_num(j, "ci_low", p->diff_s.low);
        jw_num(j, "ci_high", p->diff_s.high);
        jw_str(j, "verdict", compare_verdict_names[p->verdict]);
        jw_end(j);
    }
    jw_end(j);
}

static void numbers_json(struct jw *j, const struct compared *c)
{
    jw_array(j, "numbers");
    for (size_t i = 0; i < c->n_numbers; i++) {
        const struct compared_number *n = &c->numbers[i];
        jw_object(j, NULL);
        jw_str(j, "key", n->key);
        jw_str(j, "title", n->title);
        jw_str(j, "unit", n->unit);
        jw_num(j, "a", n->v[COMPARE_A]);
        jw_num(j, "b", n->v[COMPARE_B]);
        jw_num(j, "diff_share", n->v[COMPARE_A] > 0 ? n->v[COMPARE_B] / n->v[COMPARE_A] - 1 : NAN);
        jw_str(j, "why_a", n->why[COMPARE_A]);
        jw_str(j, "why_b", n->why[COMPARE_B]);
        jw_end(j);
    }
    jw_end(j);
}

static void use_json(struct jw *j, const struct compared_use *u)
{
    jw_object(j, NULL);
    jw_str(j, "metric", u->metric);
    jw_str(j, "title", u->title);
    jw_str(j, "unit", u->unit);
    for (int s = 0; s < COMPARE_SIDES; s++) {
        jw_object(j, sides[s]);
        for (size_t q = 0; q < COMPARE_QUANTILES; q++)
            jw_num(j, compare_quantile_names[q], u->v[s][q]);
        jw_end(j);
    }
    jw_num(j, "diff", u->diff);
    jw_str(j, "why_a", u->why[COMPARE_A]);
    jw_str(j, "why_b", u->why[COMPARE_B]);
    jw_end(j);
}

static void uses_json(struct jw *j, const struct compared *c)
{
    jw_array(j, "utilization");
    for (size_t i = 0; i < c->n_uses; i++)
        use_json(j, &c->uses[i]);
    jw_end(j);
}

static void breakdown_json(struct jw *j, const struct compared *c)
{
    static const char *const keys[] = {"a", "b", "diff"};
    jw_array(j, "breakdown");
    for (size_t i = 0; i < c->n_times; i++) {
        jw_object(j, NULL);
        jw_str(j, "of", c->times[i].of);
        jw_str(j, "what", c->times[i].what);
        jw_str(j, "unit", c->times[i].unit);
        pair_json(j, c->times[i].v, keys);
        jw_end(j);
    }
    jw_end(j);
}

static void ops_json(struct jw *j, const struct compared *c)
{
    jw_str(j, "operators_per", c->n_ops == 0 ? NULL : c->ops_per_step ? "step" : "run");
    jw_array(j, "operators");
    for (size_t i = 0; i < c->n_ops; i++) {
        const struct compared_op *o = &c->ops[i];
        jw_object(j, NULL);
        jw_str(j, "device", o->device == OP_GPU ? "gpu" : "cpu");
        jw_str(j, "name", o->name);
        jw_num(j, "a_self_s", o->self_s[COMPARE_A]);
        jw_num(j, "b_self_s", o->self_s[COMPARE_B]);
        jw_num(j, "a_calls", o->calls[COMPARE_A]);
        jw_num(j, "b_calls", o->calls[COMPARE_B]);
        jw_num(j, "diff_s", compared_op_diff(o));
        jw_end(j);
    }
    jw_end(j);
}

/* ---- findings, cost, hardware ---- */

static void finding_json(struct jw *j, const struct compared_finding *f)
{
    jw_object(j, NULL);
    jw_str(j, "rule", f->rule->name);
    jw_str(j, "title", f->rule->title);
    jw_str(j, "severity_a", f->runs[COMPARE_A] ? severity_names[f->severity[COMPARE_A]] : NULL);
    jw_str(j, "severity_b", f->runs[COMPARE_B] ? severity_names[f->severity[COMPARE_B]] : NULL);
    jw_str(j, "message_a", f->message[COMPARE_A]);
    jw_str(j, "message_b", f->message[COMPARE_B]);
    jw_int(j, "runs_a", (int64_t)f->runs[COMPARE_A]);
    jw_int(j, "runs_b", (int64_t)f->runs[COMPARE_B]);
    jw_num(j, "lost_s_a", f->lost_s[COMPARE_A]);
    jw_num(j, "lost_s_b", f->lost_s[COMPARE_B]);
    jw_num(j, "lost_share_a", f->lost_share[COMPARE_A]);
    jw_num(j, "lost_share_b", f->lost_share[COMPARE_B]);
    jw_str(j, "why", f->why);
    jw_end(j);
}

static void findings_json(struct jw *j, const struct compared *c)
{
    jw_object(j, "findings");
    for (enum finding_change k = 0; k < FINDING_CHANGES; k++) {
        jw_array(j, finding_change_names[k]);
        for (size_t i = 0; i < c->n_findings; i++)
            if (c->findings[i].change == k)
                finding_json(j, &c->findings[i]);
        jw_end(j);
    }
    jw_int(j, "rules_judged_a", (int64_t)c->rules_judged[COMPARE_A]);
    jw_int(j, "rules_judged_b", (int64_t)c->rules_judged[COMPARE_B]);
    jw_end(j);
}

static void cost_json(struct jw *j, const struct compared *c)
{
    jw_object(j, "cost");
    jw_num(j, "a", c->cost[COMPARE_A]);
    jw_num(j, "b", c->cost[COMPARE_B]);
    jw_num(j, "saving", c->saving);
    jw_num(j, "saving_share", c->saving_share);
    jw_str(j, "unit", "currency of the prices");
    jw_str(j, "currency", c->currency);
    jw_end(j);
}

static void hardware_json(struct jw *j, const struct compared *c)
{
    jw_object(j, "hardware");
    jw_bool(j, "same", c->same_hardware);
    jw_array(j, "differences");
    for (size_t i = 0; i < c->n_hardware; i++)
        jw_str(j, NULL, c->hardware[i]);
    jw_end(j);
    jw_end(j);
}

static void differences_json(struct jw *j, const struct compared *c)
{
    jw_array(j, "differences");
    for (size_t i = 0; i < c->n_differences; i++) {
        jw_object(j, NULL);
        jw_str(j, "what", c->differences[i].what);
        for (int s = 0; s < COMPARE_SIDES; s++)
            jw_str(j, sides[s], c->differences[i].v[s]);
        jw_end(j);
    }
    jw_end(j);
}

static void losses_json(struct jw *j, const struct compared *c)
{
    jw_array(j, "losses");
    for (size_t i = 0; i < c->n_losses; i++) {
        const struct compared_loss *l = &c->losses[i];
        jw_object(j, NULL);
        jw_str(j, "what", l->what);
        jw_str(j, "why", l->why);
        jw_str(j, "side", l->side < 0 ? "both" : sides[l->side]);
        jw_end(j);
    }
    jw_end(j);
}

void compare_json(struct jw *j, const struct compared *c)
{
    side_json(j, "a", &c->side[COMPARE_A]);
    side_json(j, "b", &c->side[COMPARE_B]);
    jw_str(j, "verdict", compare_verdict_names[c->verdict]);
    jw_bool(j, "may_be_noise", c->may_be_noise);
    jw_str(j, "sentence", c->sentence);
    jw_str(j, "why", c->why);
    jw_bool(j, "same_run", c->same_run);
    differences_json(j, c);
    step_time_json(j, c);
    phases_json(j, c);
    numbers_json(j, c);
    jw_bool(j, "launch_only", c->launch_only);
    parts_json(j, "gpu_parts", "gpu", c->gpu_parts, c->n_gpu_parts);
    parts_json(j, "parts", "host", c->parts, c->n_parts);
    uses_json(j, c);
    breakdown_json(j, c);
    ops_json(j, c);
    findings_json(j, c);
    cost_json(j, c);
    hardware_json(j, c);
    losses_json(j, c);
}
