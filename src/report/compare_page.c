/* SPDX-License-Identifier: Apache-2.0 */
/* compare_page.c - a comparison as a document; see report.h. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "compare/compare.h"
#include "report/report.h"
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

static void more_cell(struct doc *d, double s)
{
    doc_number(d, s, step_more_text(d->arena, s));
}

static void share_cell(struct doc *d, double share)
{
    doc_number(d, share, share_text(d->arena, share));
}

/* A share of a whole, as percents. */
static void part_cell(struct doc *d, double share)
{
    doc_number(d, share, value_text(d->arena, share * 100, "%"));
}

/* What is more in B, of something that is a percentage. `v` is as the JSON has it. */
static void points_cell(struct doc *d, double v, double points)
{
    char text[HUMAN_LEN];
    doc_number(d, v, human_points(points, text, sizeof text));
}

/* Why something is missing. */
static void compare_page_put_losses(struct doc *d, const struct compared *c, const char *what)
{
    for (size_t i = 0; i < c->n_losses; i++) {
        const struct compared_loss *l = &c->losses[i];
        if (strcmp(l->what, what) == 0)
            doc_text(d, "%c has no %s: %s.", l->side == COMPARE_A ? 'A' : 'B', what, l->why);
    }
}

/* ---- the two sides ---- */

static void compare_page_put_run(struct doc *d, const struct compared *c, const char *side,
                                 const struct compared_run *r)
{
    char money[HUMAN_LEN];
    DOC_CELLS(d, side, r->run, run_status_name(r->status));
    doc_count(d, r->machines);
    doc_count(d, r->gpus);
    doc_count(d, r->steps);
    doc_value(d, r->duration_s, "s");
    doc_number(d, r->cost, human_price(r->cost, c->currency, money, sizeof money));
}

static void put_sides(struct doc *d, const struct compared *c)
{
    static const char *const names[COMPARE_SIDES] = {"A", "B"};
    doc_section(d, "runs", "Compared runs");
    doc_table(d, "Runs", "Group|Run|Status|>Nodes|>GPUs|>Steps|>Duration|>Cost");
    for (int s = 0; s < COMPARE_SIDES; s++)
        for (size_t i = 0; i < c->side[s].n; i++)
            compare_page_put_run(d, c, names[s], &c->side[s].runs[i]);
    doc_table_end(d);
    for (size_t i = 0; i < c->n_hardware; i++)
        doc_note(d, TONE_INFO, "The hardware differs: %s.", c->hardware[i]);
    doc_section_end(d);
}

/* ---- step time ---- */

static void put_spread(struct doc *d, const struct compared *c)
{
    const struct step_diff_spread *a = &c->side[COMPARE_A].steps, *b = &c->side[COMPARE_B].steps;
    const struct {
        const char *name;
        double v[COMPARE_SIDES];
    } rows[] = {
        {"mean", {a->mean_s, b->mean_s}},  {"median", {a->p50_s, b->p50_s}},
        {"p90", {a->p90_s, b->p90_s}},     {"p95", {a->p95_s, b->p95_s}},
        {"p99", {a->p99_s, b->p99_s}},     {"shortest", {a->min_s, b->min_s}},
        {"longest", {a->max_s, b->max_s}}, {"standard deviation", {a->stddev_s, b->stddev_s}},
    };
    doc_table(d, "Iteration time (start of a step to the start of the next)",
              "Iteration|>A|>B|>Change");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        doc_cell(d, rows[i].name);
        doc_values(d, "s", rows[i].v, COMPARE_SIDES);
        share_cell(d, compared_share(rows[i].v));
    }
    doc_table_end(d);
}

/* Steady leaves out warm-up, evaluation, checkpoints and detail windows. */
static void compare_page_put_numbers(struct doc *d, const struct compared *c)
{
    if (c->n_numbers == 0)
        return;
    doc_table(d, "Throughput: samples over wall time of the loop", "Metric|>A|>B|>Change");
    for (size_t i = 0; i < c->n_numbers; i++) {
        const struct compared_number *n = &c->numbers[i];
        doc_cell(d, n->title);
        doc_values(d, n->unit, n->v, COMPARE_SIDES);
        share_cell(d, compared_share(n->v));
    }
    doc_table_end(d);
    for (size_t i = 0; i < c->n_numbers; i++)
        for (int s = 0; s < COMPARE_SIDES; s++)
            if (c->numbers[i].why[s])
                doc_text(d, "%s of %c is not known: %s.", c->numbers[i].title, s ? 'B' : 'A',
                         c->numbers[i].why[s]);
}

static void compare_page_put_interval(struct doc *d, const struct compared *c, const char *name,
                                      const struct diff_interval *v)
{
    if (!isnan(v->low))
        doc_fact(d, name, v->at,
                 arena_printf(d->arena, "%s, %.3g %% confidence interval %s to %s",
                              share_text(d->arena, v->at), c->confidence * 100,
                              share_text(d->arena, v->low), share_text(d->arena, v->high)));
}

static void put_histogram(struct doc *d, const struct compared *c)
{
    const struct compared_histogram *h = &c->histogram;
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
        d,
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

static void compare_page_put_parts(struct doc *d, const char *caption,
                                   const struct compared_part *v, size_t n)
{
    if (n == 0)
        return;
    doc_table(d, caption, "Part|>A|>B|>Change|>Low|>High|Verdict");
    for (size_t i = 0; i < n; i++) {
        const struct compared_part *p = &v[i];
        doc_cell(d, p->part);
        doc_values(d, "s", p->s, COMPARE_SIDES);
        more_cell(d, p->diff_s.at);
        more_cell(d, p->diff_s.low);
        more_cell(d, p->diff_s.high);
        doc_badge(d, tones[p->verdict], compare_called[p->verdict]);
    }
    doc_table_end(d);
}

/* GPU time first: where the program runs ahead, host time is that of launching. */
static void compare_page_put_clocks(struct doc *d, const struct compared *c)
{
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
    compare_page_put_losses(d, c, "GPU time");
}

static void compare_page_put_steps(struct doc *d, const struct compared *c)
{
    doc_section(d, "steps", "Step time");
    if (c->side[COMPARE_A].steps.count) {
        put_spread(d, c);
        doc_facts(d);
        compare_page_put_interval(d, c, "Change of mean", &c->diff);
        if (c->spread.reach > 0)
            compare_page_put_interval(d, c, "These two runs only", &c->steps_diff);
        compare_page_put_interval(d, c, "Change of median", &c->median);
        doc_facts_end(d);
        compare_page_put_numbers(d, c);
        put_histogram(d, c);
        compare_page_put_clocks(d, c);
    }
    compare_page_put_losses(d, c, "steps");
    doc_section_end(d);
}

/* ---- phases, money, utilization ---- */

static void compare_page_put_phases(struct doc *d, const struct compared *c)
{
    doc_section(d, "phases", "Phases");
    doc_table(d, "Time spent in phases", "Phase|>A|>B|>Difference|>Change");
    for (size_t i = 0; i < c->n_phases; i++) {
        const struct compared_phase *p = &c->phases[i];
        doc_cell(d, p->phase);
        doc_values(d, "s", p->s, COMPARE_SIDES);
        more_cell(d, p->s[COMPARE_B] - p->s[COMPARE_A]);
        share_cell(d, compared_share(p->s));
    }
    doc_table_end(d);
    doc_section_end(d);
}

static void compare_page_put_cost(struct doc *d, const struct compared *c)
{
    char a[HUMAN_LEN], b[HUMAN_LEN], saved[HUMAN_LEN];
    doc_section(d, "cost", "Cost");
    if (isnan(c->saving)) {
        doc_text(d, "The machine price is not known for %s; set it with --price.",
                 isnan(c->cost[COMPARE_A]) && isnan(c->cost[COMPARE_B]) ? "A and B"
                 : isnan(c->cost[COMPARE_A])                            ? "A"
                                                                        : "B");
    } else {
        doc_text(d, "A costs %s, B costs %s: B %s %s (%s).",
                 human_price(c->cost[COMPARE_A], c->currency, a, sizeof a),
                 human_price(c->cost[COMPARE_B], c->currency, b, sizeof b),
                 c->saving < 0 ? "costs more by" : "saves",
                 human_price(fabs(c->saving), c->currency, saved, sizeof saved),
                 share_size_text(d->arena, c->saving_share));
    }
    doc_section_end(d);
}

static void compare_page_put_use(struct doc *d, const struct compared_use *u)
{
    enum { P50 = 2, P95 = 4 };
    doc_cell(d, u->title);
    for (int q = P50; q <= P95; q += P95 - P50)
        for (int s = 0; s < COMPARE_SIDES; s++)
            doc_value(d, u->v[s][q], u->unit);
    if (strcmp(u->unit, "%") == 0)
        points_cell(d, u->diff, u->diff);
    else
        doc_value(d, u->diff, u->unit);
}

static void put_unmeasured(struct doc *d, const struct compared_use *u)
{
    const char *a = u->why[COMPARE_A], *b = u->why[COMPARE_B];
    if (a && b && strcmp(a, b) == 0) {
        doc_text(d, "%s was not measured: %s.", u->title, a);
        return;
    }
    for (int s = 0; s < COMPARE_SIDES; s++)
        if (u->why[s])
            doc_text(d, "%s of %c was not measured: %s.", u->title, s ? 'B' : 'A', u->why[s]);
}

static void put_uses(struct doc *d, const struct compared *c)
{
    doc_section(d, "utilization", "Utilization");
    doc_table(d, "Utilization, all nodes", "Resource|>Median A|>Median B|>p95 A|>p95 B|>Change");
    for (size_t i = 0; i < c->n_uses; i++)
        compare_page_put_use(d, &c->uses[i]);
    doc_table_end(d);
    for (size_t i = 0; i < c->n_uses; i++)
        put_unmeasured(d, &c->uses[i]);
    doc_section_end(d);
}

/* ---- operators and breakdown ---- */

static void compare_page_put_times(struct doc *d, const struct compared *c)
{
    doc_table(d, "Breakdown: step time and shares of device time", "Item|Part|>A|>B|>Change");
    for (size_t i = 0; i < c->n_times; i++) {
        const struct compared_time *t = &c->times[i];
        const bool seconds = strcmp(t->unit, "s") == 0;
        const double more = t->v[COMPARE_B] - t->v[COMPARE_A];
        DOC_CELLS(d, t->of, t->what);
        for (int s = 0; s < COMPARE_SIDES; s++)
            if (seconds)
                doc_value(d, t->v[s], "s");
            else
                part_cell(d, t->v[s]);
        if (seconds)
            more_cell(d, more);
        else
            points_cell(d, more, more * 100);
    }
    doc_table_end(d);
}

static void compare_page_put_ops(struct doc *d, const struct compared *c)
{
    doc_table(d,
              c->ops_per_step ? "Operators per step, largest change first"
                              : "Operators of the run, largest change first",
              "~Operator|Device|>Self A|>Self B|>Change|>Calls A|>Calls B");
    for (size_t i = 0; i < c->n_ops && i < OPS_SHOWN; i++) {
        const struct compared_op *o = &c->ops[i];
        DOC_CELLS(d, o->name, op_device_names[o->device]);
        doc_values(d, "s", o->self_s, COMPARE_SIDES);
        more_cell(d, compared_op_diff(o));
        doc_values(d, "", o->calls, COMPARE_SIDES);
    }
    doc_table_end(d);
    if (c->n_ops > OPS_SHOWN)
        doc_text(d, "The %d largest changes; --json lists up to %zu.", OPS_SHOWN, c->n_ops);
}

static void compare_page_put_detail(struct doc *d, const struct compared *c)
{
    doc_section(d, "operators", "Operators");
    if (c->n_ops) {
        compare_page_put_ops(d, c);
        compare_page_put_times(d, c);
    }
    compare_page_put_losses(d, c, "operators");
    doc_section_end(d);
}

/* ---- findings ---- */

static void compare_page_put_finding(struct doc *d, const struct compared_finding *f)
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
    doc_cell(d, f->rule->custom ? f->rule->name : f->rule->title);
    doc_badge(d, signs[f->change], words[f->change]);
    for (int s = 0; s < COMPARE_SIDES; s++)
        part_cell(d, f->lost_share[s]);
    doc_cell(d, f->change == FINDING_UNKNOWN && f->why ? f->why : message ? message : "");
}

static void compare_page_put_findings(struct doc *d, const struct compared *c)
{
    doc_section(d, "findings", "Findings");
    if (c->n_findings == 0) {
        doc_text(d, "No issues found in A (%zu rules evaluated) or B (%zu rules evaluated).",
                 c->rules_judged[COMPARE_A], c->rules_judged[COMPARE_B]);
    } else {
        doc_table(d, "Findings; lost: share of the training loop",
                  "Rule|Change|>Lost A|>Lost B|~Finding");
        for (size_t i = 0; i < c->n_findings; i++)
            compare_page_put_finding(d, &c->findings[i]);
        doc_table_end(d);
    }
    doc_section_end(d);
}

/* ---- training health ---- */

static void compare_page_put_health(struct doc *d, const struct compared *c)
{
    const struct compared_health *h = c->health;
    if (!h)
        return;
    doc_section(d, "health", "Training health");
    doc_text(d, "%s", h->sentence);
    doc_table(d, "Mean loss of equal steps", "Steps|>Loss A|>Loss B|>Change");
    for (size_t i = 0; i < h->n_rows; i++) {
        const struct compared_loss_row *row = &h->rows[i];
        const double v[] = {row->loss[COMPARE_A], row->loss[COMPARE_B],
                            row->loss[COMPARE_B] - row->loss[COMPARE_A]};
        doc_cell(d,
                 arena_printf(d->arena, "%lld to %lld", (long long)row->from, (long long)row->to));
        for (size_t k = 0; k < COUNT_OF(v); k++)
            doc_number(d, v[k],
                       isnan(v[k]) ? "-" : arena_printf(d->arena, k == 2 ? "%+.4g" : "%.4g", v[k]));
    }
    doc_table_end(d);
    doc_section_end(d);
}

/* ---- the document ---- */

static void put_differences(struct doc *d, const struct compared *c)
{
    const char *text = NULL;
    for (size_t i = 0; i < c->n_differences; i++)
        text = text ? arena_printf(d->arena, "%s; %s", text, c->differences[i].text)
                    : c->differences[i].text;
    if (text)
        doc_text(d, "Differences: %s", text);
}

static void put_verdict(struct doc *d, const struct compared *c)
{
    doc_note(d, tones[c->verdict], "%s", c->sentence);
    if (*c->why)
        doc_text(d, "%s", c->why);
    put_differences(d, c);
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
    struct doc d;
    doc_open(&d, kind, out, a,
             &(struct page_head){.title = compare_title(c),
                                 .product = "Footplate comparison",
                                 .lead = arena_printf(a, "A: %s. B: %s.", c->side[COMPARE_A].name,
                                                      c->side[COMPARE_B].name)});
    put_verdict(&d, c);
    doc_contents(&d, links);
    put_sides(&d, c);
    compare_page_put_steps(&d, c);
    compare_page_put_phases(&d, c);
    compare_page_put_cost(&d, c);
    put_uses(&d, c);
    compare_page_put_health(&d, c);
    compare_page_put_findings(&d, c);
    compare_page_put_detail(&d, c);
    doc_close(&d, NULL);
}
