/* SPDX-License-Identifier: Apache-2.0 */
/* compare_page.c - see compare_page.h. */
#include "report/compare_page.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "compare/compare.h"
#include "rules/rule.h"
#include "run/run_info.h"
#include "tables/opsview.h"

/* Operators that a document shows; JSON has more. */
enum { OPS_SHOWN = 20 };

static const enum tone tones[COMPARE_VERDICTS] = {
    [COMPARE_FASTER] = TONE_GOOD,
    [COMPARE_SLOWER] = TONE_BAD,
    [COMPARE_SAME] = TONE_INFO,
    [COMPARE_NOT] = TONE_WARNING,
};

struct doing {
    struct doc doc;
    const struct compared *c;
    struct arena *arena;
};

static void compare_page_seconds_cell(struct doing *d, double s)
{
    char text[HUMAN_LEN];
    doc_number(&d->doc, s, step_text(s, text));
}

static void more_cell(struct doing *d, double s)
{
    char text[HUMAN_LEN];
    doc_number(&d->doc, s, step_more_text(s, text));
}

static void compare_page_share_cell(struct doing *d, double share)
{
    char text[HUMAN_LEN];
    doc_number(&d->doc, share, share_text(share, text));
}

/* A share of a whole, as percents. */
static void compare_page_part_cell(struct doing *d, double share)
{
    char text[HUMAN_LEN];
    doc_number(&d->doc, share, human_value(share * 100, "%", text, sizeof text));
}

static void value_cell(struct doing *d, double v, const char *unit)
{
    doc_value(&d->doc, v, unit);
}

/* What is more in B, of something that is a percentage. `v` is as the JSON has it. */
static void points_cell(struct doing *d, double v, double points)
{
    char text[HUMAN_LEN];
    doc_number(&d->doc, v, human_points(points, text, sizeof text));
}

static double compare_page_share_of(const double v[COMPARE_SIDES])
{
    return v[COMPARE_A] > 0 ? v[COMPARE_B] / v[COMPARE_A] - 1 : NAN;
}

/* Why something is missing. */
static void compare_page_put_losses(struct doing *d, const char *what)
{
    for (size_t i = 0; i < d->c->n_losses; i++) {
        const struct compared_loss *l = &d->c->losses[i];
        if (strcmp(l->what, what) == 0)
            doc_text(&d->doc, "%c has no %s: %s.", l->side == COMPARE_A ? 'A' : 'B', what, l->why);
    }
}

/* ---- the two sides ---- */

static void compare_page_put_run(struct doing *d, const char *side, const struct compared_run *r)
{
    char money[HUMAN_LEN];
    doc_cell(&d->doc, side);
    doc_cell(&d->doc, r->run);
    doc_cell(&d->doc, run_status_name(r->status));
    doc_count(&d->doc, r->machines);
    doc_count(&d->doc, r->gpus);
    doc_count(&d->doc, r->steps);
    doc_value(&d->doc, r->duration_s, "s");
    doc_number(&d->doc, r->cost, human_price(r->cost, d->c->currency, money, sizeof money));
}

static void put_sides(struct doing *d)
{
    static const struct page_column columns[] = {
        {"Group", false, false},   {"Run", false, false}, {"Status", false, false},
        {"Nodes", true, false},    {"GPUs", true, false}, {"Steps", true, false},
        {"Duration", true, false}, {"Cost", true, false}, {0},
    };
    static const char *const names[COMPARE_SIDES] = {"A", "B"};
    doc_section(&d->doc, "runs", "Compared runs");
    doc_table(&d->doc, "Runs", columns);
    for (int s = 0; s < COMPARE_SIDES; s++)
        for (size_t i = 0; i < d->c->side[s].n; i++)
            compare_page_put_run(d, names[s], &d->c->side[s].runs[i]);
    doc_table_end(&d->doc);
    for (size_t i = 0; i < d->c->n_hardware; i++)
        doc_note(&d->doc, TONE_INFO, "The hardware differs: %s.", d->c->hardware[i]);
    doc_section_end(&d->doc);
}

/* ---- step time ---- */

static void put_spread(struct doing *d)
{
    static const struct page_column columns[] = {{"Iteration", false, false},
                                                 {"A", true, false},
                                                 {"B", true, false},
                                                 {"Change", true, false},
                                                 {0}};
    const struct step_diff_spread *a = &d->c->side[COMPARE_A].steps,
                                  *b = &d->c->side[COMPARE_B].steps;
    const struct {
        const char *name;
        double v[COMPARE_SIDES];
    } rows[] = {
        {"mean", {a->mean_s, b->mean_s}},  {"median", {a->p50_s, b->p50_s}},
        {"p90", {a->p90_s, b->p90_s}},     {"p95", {a->p95_s, b->p95_s}},
        {"p99", {a->p99_s, b->p99_s}},     {"shortest", {a->min_s, b->min_s}},
        {"longest", {a->max_s, b->max_s}}, {"standard deviation", {a->stddev_s, b->stddev_s}},
    };
    doc_table(&d->doc, "Iteration time (start of a step to the start of the next)", columns);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        doc_cell(&d->doc, rows[i].name);
        compare_page_seconds_cell(d, rows[i].v[COMPARE_A]);
        compare_page_seconds_cell(d, rows[i].v[COMPARE_B]);
        compare_page_share_cell(d, compare_page_share_of(rows[i].v));
    }
    doc_table_end(&d->doc);
}

/* Steady leaves out warm-up, evaluation, checkpoints and detail windows. */
static void compare_page_put_numbers(struct doing *d)
{
    static const struct page_column columns[] = {
        {"Metric", false, false},
        {"A", true, false},
        {"B", true, false},
        {"Change", true, false},
        {0},
    };
    const struct compared *c = d->c;
    if (c->n_numbers == 0)
        return;
    doc_table(&d->doc, "Throughput: samples over wall time of the loop", columns);
    for (size_t i = 0; i < c->n_numbers; i++) {
        const struct compared_number *n = &c->numbers[i];
        doc_cell(&d->doc, n->title);
        value_cell(d, n->v[COMPARE_A], n->unit);
        value_cell(d, n->v[COMPARE_B], n->unit);
        compare_page_share_cell(d, compare_page_share_of(n->v));
    }
    doc_table_end(&d->doc);
    for (size_t i = 0; i < c->n_numbers; i++)
        for (int s = 0; s < COMPARE_SIDES; s++)
            if (c->numbers[i].why[s])
                doc_text(&d->doc, "%s of %c is not known: %s.", c->numbers[i].title, s ? 'B' : 'A',
                         c->numbers[i].why[s]);
}

static void compare_page_put_interval(struct doing *d, const char *name,
                                      const struct diff_interval *v)
{
    char at[HUMAN_LEN], low[HUMAN_LEN], high[HUMAN_LEN];
    if (!isnan(v->low))
        doc_fact(&d->doc, name, v->at,
                 arena_printf(d->arena, "%s, %.3g %% confidence interval %s to %s",
                              share_text(v->at, at), d->c->confidence * 100,
                              share_text(v->low, low), share_text(v->high, high)));
}

static void put_histogram(struct doing *d)
{
    const struct compared_histogram *h = &d->c->histogram;
    struct svg_counts rows[COMPARE_SIDES] = {{"A", NULL}, {"B", NULL}};
    if (h->n == 0)
        return;
    for (int s = 0; s < COMPARE_SIDES; s++) {
        double *v = arena_array(d->arena, double, h->n);
        for (size_t i = 0; i < h->n; i++)
            v[i] = (double)h->counts[s][i];
        rows[s].counts = v;
    }
    doc_figure(
        &d->doc,
        &(struct figure){
            .kind = FIGURE_HISTOGRAM,
            .words =
                {.title = "Iterations of A and B",
                 .desc = "Number of iterations by duration; the last bar includes all longer ones.",
                 .unit = "s",
                 .x = "iteration time"},
            .edges = h->edges_s,
            .n_edges = h->n + 1,
            .counts = rows,
            .n = COMPARE_SIDES,
        });
}

static void compare_page_put_parts(struct doing *d, const char *caption,
                                   const struct compared_part *v, size_t n)
{
    static const struct page_column columns[] = {
        {"Part", false, false},    {"A", true, false},
        {"B", true, false},        {"Change", true, false},
        {"Low", true, false},      {"High", true, false},
        {"Verdict", false, false}, {0},
    };
    if (n == 0)
        return;
    doc_table(&d->doc, caption, columns);
    for (size_t i = 0; i < n; i++) {
        const struct compared_part *p = &v[i];
        doc_cell(&d->doc, p->part);
        compare_page_seconds_cell(d, p->s[COMPARE_A]);
        compare_page_seconds_cell(d, p->s[COMPARE_B]);
        more_cell(d, p->diff_s.at);
        more_cell(d, p->diff_s.low);
        more_cell(d, p->diff_s.high);
        doc_badge(&d->doc, tones[p->verdict], compare_called[p->verdict]);
    }
    doc_table_end(&d->doc);
}

/* GPU time first: where the program runs ahead, host time is that of launching. */
static void compare_page_put_clocks(struct doing *d)
{
    const struct compared *c = d->c;
    const struct compared_side *a = &c->side[COMPARE_A], *b = &c->side[COMPARE_B];
    compare_page_put_parts(
        d,
        arena_printf(d->arena,
                     "Iteration breakdown: GPU time (A: %zu of %zu steps timed, B: %zu of %zu)",
                     a->gpu_timed_steps, a->gpu_steps, b->gpu_timed_steps, b->gpu_steps),
        c->gpu_parts, c->n_gpu_parts);
    compare_page_put_parts(d,
                           c->launch_only ? "Iteration breakdown: host time (launch)"
                                          : "Iteration breakdown: host time",
                           c->parts, c->n_parts);
    compare_page_put_losses(d, "GPU time");
}

static void compare_page_put_steps(struct doing *d)
{
    const struct compared *c = d->c;
    doc_section(&d->doc, "steps", "Step time");
    if (c->side[COMPARE_A].steps.count) {
        put_spread(d);
        doc_facts(&d->doc);
        compare_page_put_interval(d, "Change of mean", &c->diff);
        if (c->spread.reach > 0)
            compare_page_put_interval(d, "These two runs only", &c->steps_diff);
        compare_page_put_interval(d, "Change of median", &c->median);
        doc_facts_end(&d->doc);
        compare_page_put_numbers(d);
        put_histogram(d);
        compare_page_put_clocks(d);
    }
    compare_page_put_losses(d, "steps");
    doc_section_end(&d->doc);
}

/* ---- phases, money, utilization ---- */

static void compare_page_put_phases(struct doing *d)
{
    static const struct page_column columns[] = {
        {"Phase", false, false},     {"A", true, false},      {"B", true, false},
        {"Difference", true, false}, {"Change", true, false}, {0}};
    doc_section(&d->doc, "phases", "Phases");
    doc_table(&d->doc, "Time spent in phases", columns);
    for (size_t i = 0; i < d->c->n_phases; i++) {
        const struct compared_phase *p = &d->c->phases[i];
        const double more = p->s[COMPARE_B] - p->s[COMPARE_A];
        doc_cell(&d->doc, p->phase);
        for (int s = 0; s < COMPARE_SIDES; s++)
            if (isnan(p->s[s]))
                doc_number(&d->doc, NAN, "-");
            else
                doc_value(&d->doc, p->s[s], "s");
        more_cell(d, more);
        compare_page_share_cell(d, compare_page_share_of(p->s));
    }
    doc_table_end(&d->doc);
    doc_section_end(&d->doc);
}

static void compare_page_put_cost(struct doing *d)
{
    const struct compared *c = d->c;
    char a[HUMAN_LEN], b[HUMAN_LEN], saved[HUMAN_LEN], share[HUMAN_LEN];
    doc_section(&d->doc, "cost", "Cost");
    if (isnan(c->saving)) {
        doc_text(&d->doc, "The machine price is not known for %s; set it with --price.",
                 isnan(c->cost[COMPARE_A]) && isnan(c->cost[COMPARE_B]) ? "A and B"
                 : isnan(c->cost[COMPARE_A])                            ? "A"
                                                                        : "B");
    } else {
        const char *s = share_text(fabs(c->saving_share), share);
        doc_text(&d->doc, "A costs %s, B costs %s: B %s %s (%s).",
                 human_price(c->cost[COMPARE_A], c->currency, a, sizeof a),
                 human_price(c->cost[COMPARE_B], c->currency, b, sizeof b),
                 c->saving < 0 ? "costs more by" : "saves",
                 human_price(fabs(c->saving), c->currency, saved, sizeof saved), s + (*s == '+'));
    }
    doc_section_end(&d->doc);
}

static void compare_page_put_use(struct doing *d, const struct compared_use *u)
{
    enum { P50 = 2, P95 = 4 };
    doc_cell(&d->doc, u->title);
    for (int q = P50; q <= P95; q += P95 - P50)
        for (int s = 0; s < COMPARE_SIDES; s++)
            value_cell(d, u->v[s][q], u->unit);
    if (strcmp(u->unit, "%") == 0)
        points_cell(d, u->diff, u->diff);
    else
        value_cell(d, u->diff, u->unit);
}

static void put_unmeasured(struct doing *d, const struct compared_use *u)
{
    const char *a = u->why[COMPARE_A], *b = u->why[COMPARE_B];
    if (a && b && strcmp(a, b) == 0) {
        doc_text(&d->doc, "%s was not measured: %s.", u->title, a);
        return;
    }
    for (int s = 0; s < COMPARE_SIDES; s++)
        if (u->why[s])
            doc_text(&d->doc, "%s of %c was not measured: %s.", u->title, s ? 'B' : 'A', u->why[s]);
}

static void put_uses(struct doing *d)
{
    static const struct page_column columns[] = {
        {"Resource", false, false},
        {"Median A", true, false},
        {"Median B", true, false},
        {"p95 A", true, false},
        {"p95 B", true, false},
        {"Change", true, false},
        {0},
    };
    doc_section(&d->doc, "utilization", "Utilization");
    doc_table(&d->doc, "Utilization, all nodes", columns);
    for (size_t i = 0; i < d->c->n_uses; i++)
        compare_page_put_use(d, &d->c->uses[i]);
    doc_table_end(&d->doc);
    for (size_t i = 0; i < d->c->n_uses; i++)
        put_unmeasured(d, &d->c->uses[i]);
    doc_section_end(&d->doc);
}

/* ---- operators and breakdown ---- */

static void compare_page_put_times(struct doing *d)
{
    static const struct page_column columns[] = {{"Item", false, false},  {"Part", false, false},
                                                 {"A", true, false},      {"B", true, false},
                                                 {"Change", true, false}, {0}};
    doc_table(&d->doc, "Breakdown: step time and shares of device time", columns);
    for (size_t i = 0; i < d->c->n_times; i++) {
        const struct compared_time *t = &d->c->times[i];
        const bool seconds = strcmp(t->unit, "s") == 0;
        const double more = t->v[COMPARE_B] - t->v[COMPARE_A];
        doc_cell(&d->doc, t->of);
        doc_cell(&d->doc, t->what);
        for (int s = 0; s < COMPARE_SIDES; s++)
            if (seconds)
                compare_page_seconds_cell(d, t->v[s]);
            else
                compare_page_part_cell(d, t->v[s]);
        if (seconds)
            more_cell(d, more);
        else
            points_cell(d, more, more * 100);
    }
    doc_table_end(&d->doc);
}

static void compare_page_put_ops(struct doing *d)
{
    static const struct page_column columns[] = {
        {"Operator", false, true}, {"Device", false, false},
        {"Self A", true, false},   {"Self B", true, false},
        {"Change", true, false},   {"Calls A", true, false},
        {"Calls B", true, false},  {0},
    };
    const struct compared *c = d->c;
    doc_table(&d->doc,
              c->ops_per_step ? "Operators per step, largest change first"
                              : "Operators of the run, largest change first",
              columns);
    for (size_t i = 0; i < c->n_ops && i < OPS_SHOWN; i++) {
        const struct compared_op *o = &c->ops[i];
        doc_cell(&d->doc, o->name);
        doc_cell(&d->doc, op_device_names[o->device]);
        compare_page_seconds_cell(d, o->self_s[COMPARE_A]);
        compare_page_seconds_cell(d, o->self_s[COMPARE_B]);
        more_cell(d, compared_op_diff(o));
        for (int s = 0; s < COMPARE_SIDES; s++)
            value_cell(d, o->calls[s], "");
    }
    doc_table_end(&d->doc);
    if (c->n_ops > OPS_SHOWN)
        doc_text(&d->doc, "The %d largest changes; --json lists up to %zu.", OPS_SHOWN, c->n_ops);
}

static void compare_page_put_detail(struct doing *d)
{
    doc_section(&d->doc, "operators", "Operators");
    if (d->c->n_ops) {
        compare_page_put_ops(d);
        compare_page_put_times(d);
    }
    compare_page_put_losses(d, "operators");
    doc_section_end(&d->doc);
}

/* ---- findings ---- */

static void compare_page_put_finding(struct doing *d, const struct compared_finding *f)
{
    static const char *const words[FINDING_CHANGES] = {
        [FINDING_APPEARED] = "new in B",
        [FINDING_WENT] = "resolved in B",
        [FINDING_STAYED] = "in both",
        [FINDING_UNKNOWN] = "skipped in one",
    };
    static const enum tone signs[FINDING_CHANGES] = {
        [FINDING_APPEARED] = TONE_BAD,
        [FINDING_WENT] = TONE_GOOD,
        [FINDING_STAYED] = TONE_WARNING,
        [FINDING_UNKNOWN] = TONE_INFO,
    };
    const char *message = f->message[COMPARE_B] ? f->message[COMPARE_B] : f->message[COMPARE_A];
    doc_cell(&d->doc, f->rule->custom ? f->rule->name : f->rule->title);
    doc_badge(&d->doc, signs[f->change], words[f->change]);
    for (int s = 0; s < COMPARE_SIDES; s++)
        compare_page_part_cell(d, f->lost_share[s]);
    doc_cell(&d->doc, f->change == FINDING_UNKNOWN && f->why ? f->why : message ? message : "");
}

static void compare_page_put_findings(struct doing *d)
{
    static const struct page_column columns[] = {{"Rule", false, false},   {"Change", false, false},
                                                 {"Lost A", true, false},  {"Lost B", true, false},
                                                 {"Finding", false, true}, {0}};
    doc_section(&d->doc, "findings", "Findings");
    if (d->c->n_findings == 0) {
        doc_text(&d->doc, "No issues found in A (%zu rules evaluated) or B (%zu rules evaluated).",
                 d->c->rules_judged[COMPARE_A], d->c->rules_judged[COMPARE_B]);
    } else {
        doc_table(&d->doc, "Findings; lost: share of the training loop", columns);
        for (size_t i = 0; i < d->c->n_findings; i++)
            compare_page_put_finding(d, &d->c->findings[i]);
        doc_table_end(&d->doc);
    }
    doc_section_end(&d->doc);
}

/* ---- the document ---- */

static void put_differences(struct doing *d)
{
    const char *text = NULL;
    for (size_t i = 0; i < d->c->n_differences; i++)
        text = text ? arena_printf(d->arena, "%s; %s", text, d->c->differences[i].text)
                    : d->c->differences[i].text;
    if (text)
        doc_text(&d->doc, "Differences: %s", text);
}

static void put_verdict(struct doing *d)
{
    doc_note(&d->doc, tones[d->c->verdict], "%s", d->c->sentence);
    if (*d->c->why)
        doc_text(&d->doc, "%s", d->c->why);
    put_differences(d);
}

void compare_document(const struct compared *c, enum doc_kind kind, struct arena *a,
                      struct buf *out)
{
    static const struct page_link links[] = {{"runs", "Runs"},
                                             {"steps", "Step time"},
                                             {"phases", "Phases"},
                                             {"cost", "Cost"},
                                             {"utilization", "Utilization"},
                                             {"findings", "Findings"},
                                             {"operators", "Operators"},
                                             {0}};
    struct doing d = {.c = c, .arena = a};
    doc_open(&d.doc, kind, out, a,
             &(struct page_head){.title = compare_title(c),
                                 .product = "Footplate comparison",
                                 .lead = arena_printf(a, "A: %s. B: %s.", c->side[COMPARE_A].name,
                                                      c->side[COMPARE_B].name)});
    put_verdict(&d);
    doc_contents(&d.doc, links);
    put_sides(&d);
    compare_page_put_steps(&d);
    compare_page_put_phases(&d);
    compare_page_put_cost(&d);
    put_uses(&d);
    compare_page_put_findings(&d);
    compare_page_put_detail(&d);
    doc_close(&d.doc, NULL);
}
