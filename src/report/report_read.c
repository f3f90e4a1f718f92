/* SPDX-License-Identifier: Apache-2.0 */
/* report_read.c - gathers what a report says. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cost/pricing.h"
#include "report/report_internal.h"
#include "rules/verdict.h"

/* ---- rules ---- */

static double report_read_cost_of(const struct verdict *v)
{
    return v->state == RULE_ISSUE && !isnan(v->lost_s) ? v->lost_s : -1;
}

/* Where a rule stands in the list when it cost nothing. */
static int report_read_place_of(const struct verdict *v)
{
    static const int places[RULE_STATE_N] = {
        [RULE_ISSUE] = 0, [RULE_CLEAR] = 1, [RULE_NOT_EVALUATED] = 2};
    return places[v->state];
}

/* Costliest first, then by triggers; equal ones stay as rules.def has them. */
static int by_cost(const void *a, const void *b)
{
    const struct report_rule *x = a, *y = b;
    const double p = report_read_cost_of(x->v), q = report_read_cost_of(y->v);
    if (p != q)
        return p < q ? 1 : -1;
    if (x->v->triggered != y->v->triggered)
        return x->v->triggered < y->v->triggered ? 1 : -1;
    if (report_read_place_of(x->v) != report_read_place_of(y->v))
        return report_read_place_of(x->v) - report_read_place_of(y->v);
    return strcmp(x->v->rule->name, y->v->rule->name);
}

static void report_read_take_rules(struct report *r)
{
    const struct report_ask *ask = &r->ask;
    r->rules = arena_array(r->arena, struct report_rule, RULE_N + ask->n_own);
    for (size_t k = 0; k < RULE_N; k++)
        r->rules[r->n_rules++] =
            (struct report_rule){&ask->checked->verdicts.v[k], ask->params->v[k]};
    for (size_t i = 0; i < ask->n_own; i++)
        r->rules[r->n_rules++] = (struct report_rule){&ask->own[i].v, ask->own[i].p};
    qsort(r->rules, r->n_rules, sizeof *r->rules, by_cost);
    for (size_t i = 0; i < r->n_rules; i++)
        if (verdict_counts(r->rules[i].v))
            r->states[r->rules[i].v->state]++;
        else
            r->summaries++;
}

const struct verdict *report_verdict(const struct report *r, const char *rule)
{
    for (size_t i = 0; i < r->n_rules; i++)
        if (strcmp(r->rules[i].v->rule->name, rule) == 0)
            return r->rules[i].v;
    return NULL;
}

/* ---- the job ---- */

double report_since(const struct report *r, wall_ns t)
{
    return (double)(t.ns - r->show.phases.job_start.ns) / (double)NS_PER_S;
}

static double report_read_price_of(const struct report *r, const char *node)
{
    const struct checked *c = r->ask.checked;
    for (size_t i = 0; i < c->n_nodes; i++)
        if (strcmp(c->nodes[i].id, node) == 0)
            return c->nodes[i].price_per_hour;
    return NAN;
}

/* With the prices that the rules were evaluated with; all sessions of a node are paid for. */
static void take_cost(struct report *r)
{
    const struct run_info *info = r->info;
    r->cost = r->price_per_hour = info->n_nodes ? 0 : NAN;
    for (size_t i = 0; i < info->n_nodes; i++) {
        const struct node_info *n = &info->nodes[i];
        const double price = report_read_price_of(r, n->id);
        const bool last = i + 1 == info->n_nodes || strcmp(n->id, info->nodes[i + 1].id) != 0;
        r->cost += node_hours(n) * price;
        r->price_per_hour += last ? price : 0;
    }
    if (isnan(r->cost))
        r->price_per_hour = NAN;
}

/* What `show` shows, with steps that were read once. */
static int take_show(struct report *r, struct run *run, struct err *e)
{
    if (!r->ask.ranks)
        return show_read(&r->show, run, r->arena, e);
    const struct run_steps steps = {r->ask.ranks, r->ask.n_ranks, r->ask.named, r->ask.n_named};
    return show_read_named(&r->show, run, &steps, r->arena, e);
}

/* The same numbers as of the whole job, in the training loop. */
static int take_loop_use(struct report *r, struct run *run, struct err *e)
{
    const struct loop_window *w = &r->show.gpu.x.window;
    const struct series_ask ask = {.from = w->from, .to = w->to};
    struct summary_line *lines;
    size_t n;
    if (!w->known)
        return 0;
    const int rc = summary_read(run, &ask, &r->show.losses, r->arena, &lines, &n, e);
    if (rc == 0) {
        statview_of(&r->loop_use, lines, n, r->arena);
        r->loop_use.window = "loop";
    }
    return rc;
}

int report_gather(struct report **out, struct run *run, const struct report_ask *ask,
                  struct arena *a, struct err *e)
{
    struct report *r = arena_new(a, struct report);
    *r = (struct report){.arena = a, .ask = *ask, .info = run_get_info(run)};
    r->now = ask->now.ns ? ask->now : clock_wall();
    r->live = r->info->status == RUN_RUNNING;
    int rc = take_show(r, run, e);
    if (rc != 0)
        return rc;
    statview_of(&r->use, r->show.lines, r->show.n_lines, a);
    show_percents(&r->show, r->phase_pct);
    rc = take_loop_use(r, run, e);
    if (rc == 0)
        rc = report_charts_read(r, run, e);
    if (rc == 0)
        rc = report_steps_read(r, run, e);
    if (rc == 0)
        rc = report_ops_read(r, run, e);
    if (rc == 0)
        rc = general_read(run, REPORT_GENERAL, a, &r->general, e);
    if (rc == 0)
        *out = r;
    return rc;
}

void report_conclude(struct report *r, const struct report_ask *ask)
{
    r->ask = *ask;
    report_read_take_rules(r);
    take_cost(r);
}

int report_read(struct report **out, struct run *run, const struct report_ask *ask, struct arena *a,
                struct err *e)
{
    const int rc = report_gather(out, run, ask, a, e);
    if (rc == 0)
        report_conclude(*out, ask);
    return rc;
}
