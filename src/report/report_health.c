/* SPDX-License-Identifier: Apache-2.0 */
/* report_health.c - the section about training health: the verdict, losses and norms by step, what
 * rules found, the most conspicuous tensors, and what was not evaluated. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "report/report_internal.h"

/* ---- reading ---- */

static const struct {
    const char *label, *name;
    enum event_mode mode;
} health_losses[] = {{"loss, training", "loss", MODE_TRAIN},
                     {"loss, evaluation", "loss", MODE_EVAL}},
  health_norms[] = {{"gradient norm", "grad.norm", MODE_TRAIN},
                    {"after clipping", "grad.norm.clipped", MODE_TRAIN}};

static_assert(COUNT_OF(health_losses) <= REPORT_CURVES && COUNT_OF(health_norms) <= REPORT_CURVES,
              "curves have room");

/* A scalar by step; nothing is added where the run has none of it. */
static int health_add_line(struct report *r, struct run *run, const char *label, const char *name,
                           enum event_mode mode, struct svg_line *out, size_t *n, struct err *e)
{
    const struct health_curve_ask ask = {
        .rank = r->health.rank, .name = name, .mode = (int)mode, .points = REPORT_POINTS};
    struct health_curve c;
    TRY(health_curve(run, &ask, r->arena, &c, e));
    double *t = arena_array(r->arena, double, c.n + 1), *v = arena_array(r->arena, double, c.n + 1);
    double *min = arena_array(r->arena, double, c.n + 1);
    double *max = arena_array(r->arena, double, c.n + 1);
    size_t k = 0;
    for (size_t i = 0; i < c.n; i++) {
        if (c.v[i].step < 0 || (k && (double)c.v[i].step <= t[k - 1]))
            continue; /* a run that went back to an earlier step: its first pass is shown */
        t[k] = (double)c.v[i].step;
        v[k] = c.v[i].mean;
        min[k] = c.v[i].min;
        max[k++] = c.v[i].max;
    }
    if (k)
        out[(*n)++] = (struct svg_line){label, t, v, min, max, k};
    return 0;
}

/* Statistics that the table of tensors has. */
static const enum health_id health_shown[] = {HEALTH_GRADIENT_L2,  HEALTH_WEIGHT_L2,
                                              HEALTH_UPDATE_RATIO, HEALTH_GRADIENT_ZEROS,
                                              HEALTH_OUTPUT_DEAD,  HEALTH_OUTPUT_SATURATED};

static bool health_has_shown(const struct health_layer *x)
{
    return x->nonfinite > 0 || FIND_ANY(i, COUNT_OF(health_shown), !isnan(x->v[health_shown[i]]));
}

/* How conspicuous a tensor is: values that are not finite, dead or saturated units, no gradient,
 * then the size of its updates. */
static double health_badness(const struct health_layer *x)
{
    const double update = x->worst[HEALTH_UPDATE_RATIO];
    double bad = x->nonfinite ? 100 : 0;
    bad += x->worst[HEALTH_OUTPUT_DEAD] > 0.5 ? 10 * x->worst[HEALTH_OUTPUT_DEAD] : 0;
    bad += x->worst[HEALTH_OUTPUT_SATURATED] > 0.5 ? 10 * x->worst[HEALTH_OUTPUT_SATURATED] : 0;
    bad += x->v[HEALTH_GRADIENT_ZEROS] >= 1 ? 10 : 0;
    return bad + (isfinite(update) ? fmin(update, 1) : 0);
}

static int health_worse_first(const void *a, const void *b)
{
    const double x = health_badness(a), y = health_badness(b);
    return COMPARE(y, x)
               ?: strcmp(((const struct health_layer *)a)->name,
                         ((const struct health_layer *)b)->name);
}

int report_health_read(struct report *r, struct run *run, struct err *e)
{
    struct report_health *h = &r->health;
    TRY(health_index(run, r->arena, &h->index, e));
    if (h->index.values == 0)
        return 0;
    h->rank = h->index.n_ranks ? h->index.ranks[0].rank : 0;
    for (size_t i = 0; i < COUNT_OF(health_losses); i++)
        TRY(health_add_line(r, run, health_losses[i].label, health_losses[i].name,
                            health_losses[i].mode, h->losses, &h->n_losses, e));
    for (size_t i = 0; i < COUNT_OF(health_norms); i++)
        TRY(health_add_line(r, run, health_norms[i].label, health_norms[i].name,
                            health_norms[i].mode, h->norms, &h->n_norms, e));
    TRY(healthview_layers(run, h->rank, -1, r->arena, &h->layers, e));
    size_t n = 0;
    for (size_t i = 0; i < h->layers.n; i++)
        if (health_has_shown(&h->layers.v[i]))
            h->layers.v[n++] = h->layers.v[i];
    h->layers.n = n;
    SORT(h->layers.v, n, health_worse_first);
    return 0;
}

/* ---- writing ---- */

static const char *health_number_words(const struct report *r, double v)
{
    return isnan(v) ? "-" : arena_printf(r->arena, "%.4g", v);
}

static void health_put_number(const struct report *r, struct doc *d, double v)
{
    doc_number(d, v, health_number_words(r, v));
}

/* The worst finding of a rule about health, or that there is none. */
static void health_put_verdict(const struct report *r, struct doc *d)
{
    const struct verdict *worst = NULL;
    size_t count[RULE_STATE_N] = {0};
    for (size_t i = 0; i < r->n_rules; i++) {
        const struct verdict *v = r->rules[i].v;
        if (!v->rule->health)
            continue;
        count[v->state]++;
        if (v->state == RULE_ISSUE && v->n_findings && (!worst || v->severity > worst->severity))
            worst = v;
    }
    if (worst)
        doc_note(d, severity_tone(worst->severity), "%s: %s", worst->rule->title,
                 sentence(r->arena, worst->findings[0].message));
    else if (count[RULE_CLEAR])
        doc_note(d, TONE_GOOD, "No health issues found.");
    doc_text(d, "%zu health issue%s, %zu passed, %zu skipped.", count[RULE_ISSUE],
             count[RULE_ISSUE] == 1 ? "" : "s", count[RULE_CLEAR], count[RULE_NOT_EVALUATED]);
}

static void health_put_lines(struct doc *d, const char *title, const char *desc,
                             const struct svg_line *v, size_t n)
{
    const struct figure f = {
        .kind = FIGURE_LINES,
        .words = {.title = title, .desc = desc, .unit = "", .x = "step"},
        .lines = {.v = v, .n = n, .axis = SVG_COUNT},
    };
    if (n)
        doc_figure(d, &f);
}

static void health_put_scalars(const struct report *r, struct doc *d)
{
    const struct health_index *x = &r->health.index;
    doc_table(d, "Scalars",
              "Scalar|Mode|>Values|>First|>Smallest|>At step|>Largest|>Last|>Not finite");
    for (size_t i = 0; i < x->n_scalars; i++) {
        const struct health_scalar *s = &x->scalars[i];
        if (s->rank != r->health.rank || health_is_internal(s))
            continue;
        doc_cell(d, s->name);
        doc_cell(d, event_mode_names[s->mode]);
        doc_count(d, s->count);
        health_put_number(r, d, s->first);
        health_put_number(r, d, s->min);
        if (s->min_step >= 0)
            doc_count(d, (uint64_t)s->min_step);
        else
            doc_cell(d, "-");
        health_put_number(r, d, s->max);
        health_put_number(r, d, s->last);
        doc_count(d, s->nonfinite);
    }
    doc_table_end(d);
}

static bool health_put_found(const struct report *r, struct doc *d, const struct verdict *v,
                             bool some)
{
    for (size_t k = 0; k < v->n_findings; k++) {
        const struct finding *f = &v->findings[k];
        if (!some)
            doc_table(d, "Findings about training health", "Rule|Severity|>Step|Module|~Finding");
        some = true;
        doc_cell(d, v->rule->title);
        doc_badge(d, severity_tone(v->severity), severity_names[v->severity]);
        doc_number(d, f->step < 0 ? NAN : (double)f->step,
                   f->step < 0 ? "-" : arena_printf(r->arena, "%lld", (long long)f->step));
        doc_cell(d, f->module ? f->module : "");
        doc_cell(d, sentence(r->arena, f->message));
    }
    return some;
}

/* The worst first. */
static void health_put_findings(const struct report *r, struct doc *d)
{
    bool some = false;
    for (int severity = SEVERITY_N; severity-- > 0;)
        for (size_t i = 0; i < r->n_rules; i++) {
            const struct verdict *v = r->rules[i].v;
            if (v->rule->health && v->state == RULE_ISSUE && (int)v->severity == severity)
                some = health_put_found(r, d, v, some);
        }
    if (some)
        doc_table_end(d);
}

/* The norm of finite elements; of a tensor that has none it is not known. */
static double health_norm_of(const struct health_layer *x, enum health_id stat)
{
    return x->nonfinite && x->v[stat] == 0 ? NAN : x->v[stat];
}

static void health_put_share(const struct report *r, struct doc *d, double v)
{
    doc_number(d, v, isnan(v) ? "-" : value_text(r->arena, 100 * v, "%"));
}

static void health_put_tensors(const struct report *r, struct doc *d)
{
    const struct health_layers *l = &r->health.layers;
    const size_t shown = MIN_OF(l->n, (size_t)REPORT_TENSORS);
    if (shown == 0)
        return;
    doc_table(d, "Worst tensors and modules, newest statistics",
              "Tensor or module|>Step|>Gradient|>Weight|>Update ratio|>Zero gradient|>Dead|"
              ">Saturated|>Not finite");
    for (size_t i = 0; i < shown; i++) {
        const struct health_layer *x = &l->v[i];
        doc_cell(d, x->name);
        doc_number(d, x->step < 0 ? NAN : (double)x->step,
                   x->step < 0 ? "-" : arena_printf(r->arena, "%lld", (long long)x->step));
        health_put_number(r, d, health_norm_of(x, HEALTH_GRADIENT_L2));
        health_put_number(r, d, health_norm_of(x, HEALTH_WEIGHT_L2));
        health_put_number(r, d, x->v[HEALTH_UPDATE_RATIO]);
        health_put_share(r, d, x->v[HEALTH_GRADIENT_ZEROS]);
        health_put_share(r, d, x->v[HEALTH_OUTPUT_DEAD]);
        health_put_share(r, d, x->v[HEALTH_OUTPUT_SATURATED]);
        doc_count(d, x->nonfinite);
    }
    doc_table_end(d);
    if (l->n > shown)
        doc_text(d, "%zu more: footplate health --layers lists all.", l->n - shown);
}

static void health_put_skipped(const struct report *r, struct doc *d)
{
    bool some = false;
    for (size_t i = 0; i < r->n_rules; i++) {
        const struct verdict *v = r->rules[i].v;
        if (!v->rule->health || v->state != RULE_NOT_EVALUATED)
            continue;
        if (!some)
            doc_facts(d);
        some = true;
        doc_fact(d, v->rule->title, NAN, arena_printf(r->arena, "not evaluated: %s", v->why));
    }
    if (some)
        doc_facts_end(d);
}

void report_put_health(const struct report *r, struct doc *d)
{
    const struct report_health *h = &r->health;
    if (h->index.values == 0)
        return;
    doc_section(d, "health", "Training health");
    health_put_verdict(r, d);
    health_put_lines(d, "Loss by step",
                     "Mean of neighboring steps; the band shows the smallest and the largest.",
                     h->losses, h->n_losses);
    health_put_lines(d, "Gradient norm by step",
                     "Mean of neighboring steps; the band shows the smallest and the largest.",
                     h->norms, h->n_norms);
    health_put_findings(r, d);
    health_put_scalars(r, d);
    health_put_tensors(r, d);
    health_put_skipped(r, d);
    doc_section_end(d);
}
