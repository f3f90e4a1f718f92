/* SPDX-License-Identifier: Apache-2.0 */
/* engine_size.c - verdicts put in order, sized and linked.
 *
 * A finding that another rule explains is a symptom: it reports what was lost, but as information
 * only. The causes are what slows the run down, and their lost shares are those of one loop: the
 * largest counts whole, the next ones at most with what is left of the loop, so that together they
 * are never more than 100 % of it; each finding still reports what it measured. (A run that saves
 * checkpoints for 60 % of the loop and waits for its loader for 50 % of the step has lost all of
 * the loop, not 110 % of it.) */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "rules/engine_internal.h"
#include "rules/feed_run.h"
#include "rules/per_entity.h"

/* Shares of the training loop from which a finding is more than worth knowing. */
static const double WARNING_SHARE = 0.05, CRITICAL_SHARE = 0.25;
/* What rounding makes of a share that is just as large. */
static const double ROUNDING = 1e-9;
/* The share of a finding's time that another one must cover to explain it. */
static const double EXPLAINED_SHARE = 0.1;
/* Of what a finding lost that another must have lost, to explain it. */
static const double EXPLAINED_LOST = 0.1;

/* ---- order ---- */

static bool is_before(const struct finding *a, const struct finding *b)
{
    return (name_compare(a->node, b->node)
                ?: name_compare(a->entity, b->entity) ?: COMPARE(a->start.ns, b->start.ns)) < 0;
}

/* There are few, nearly in order, and equal ones stay in the rule's order. */
static void sort_findings(struct verdict *v)
{
    for (size_t i = 1; i < v->n_findings; i++) {
        const struct finding x = v->findings[i];
        size_t k = i;
        for (; k && is_before(&x, &v->findings[k - 1]); k--)
            v->findings[k] = v->findings[k - 1];
        v->findings[k] = x;
    }
}

/* ---- sizes ---- */

static void add_to(double *sum, double v)
{
    if (!isnan(v))
        *sum = isnan(*sum) ? v : *sum + v;
}

static void take_more(double *most, double v)
{
    if (!isnan(v))
        *most = isnan(*most) ? v : fmax(*most, v);
}

/* Findings are ordered by node and entity. Those of one entity follow each other in time, several
 * entities lose the same time: a node loses what its worst one does. */
static double lost_on(const struct verdict *v, size_t from, size_t to)
{
    double most = NAN, own = NAN;
    for (size_t i = from; i < to; i++) {
        if (i > from && strcmp(v->findings[i].entity, v->findings[i - 1].entity) != 0)
            own = NAN;
        add_to(&own, v->findings[i].lost_s);
        take_more(&most, own);
    }
    return most;
}

/* Per hour; of what concerns the whole job, that of all nodes. NAN: one is not known. */
static double engine_size_price_of(const struct engine *g, const char *node)
{
    double sum = NAN;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct engine_node *n = &g->nodes[i];
        if (!*node && isnan(n->facts.price_per_hour))
            return NAN;
        if (!*node || strcmp(n->id, node) == 0)
            add_to(&sum, n->facts.price_per_hour);
    }
    return sum;
}

/* It is about the loop after its warm-up, as most are. */
static bool is_steady(const struct verdict *v, const struct run_facts *run)
{
    bool steady = run->steady_start.ns > 0 && run->steady_start.ns < run->loop_end.ns;
    for (size_t i = 0; i < v->n_findings; i++)
        steady &= v->findings[i].n_ranges == 0 || v->findings[i].start.ns >= run->steady_start.ns;
    return steady;
}

/* What its shares are of: the loop, without its warm-up where the rule ignores that; the job for
 * what is lost outside of the loop. */
static double loop_seconds(const struct verdict *v, const struct run_facts *run)
{
    const wall_ns from = is_steady(v, run) ? run->steady_start : run->loop_start;
    return run->has_steps && !v->rule->whole_job ? wall_span_s(from, run->loop_end)
                                                 : wall_span_s(run->job_start, run->job_end);
}

static void size_up(struct verdict *v, const struct engine *g, const struct run_facts *run)
{
    const double loop_s = loop_seconds(v, run);
    for (size_t i = 0, end; i < v->n_findings; i = end) {
        for (end = i; end < v->n_findings; end++) {
            if (strcmp(v->findings[end].node, v->findings[i].node) != 0)
                break;
            add_to(&v->lost_gpu_s, v->findings[end].lost_gpu_s);
        }
        const double lost = lost_on(v, i, end);
        take_more(&v->lost_s, lost);
        add_to(&v->lost_cost, lost / 3600 * engine_size_price_of(g, v->findings[i].node));
    }
    v->currency = g->n_nodes ? g->nodes[0].facts.currency : NULL;
    if (loop_s > 0)
        v->lost_share = v->lost_s > loop_s ? 1 : v->lost_s / loop_s;
}

static enum severity engine_size_severity_of(const struct verdict *v, const struct run_facts *run)
{
    if (v->rule->health)
        return verdict_is_cause(v) ? v->rule->severity : SEVERITY_INFO;
    if (!verdict_is_cause(v) || (!isnan(v->lost_s) && !run_is_much(run, v->lost_s)))
        return SEVERITY_INFO;
    if (isnan(v->lost_share))
        return SEVERITY_WARNING;
    const double share = v->lost_share + ROUNDING;
    return share >= CRITICAL_SHARE                     ? SEVERITY_CRITICAL
           : share >= WARNING_SHARE || v->rule->ending ? SEVERITY_WARNING
                                                       : SEVERITY_INFO;
}

/* ---- shares of one loop ---- */

static bool is_in_loop(const struct verdict *v, const struct run_facts *run)
{
    for (size_t i = 0; i < v->n_findings; i++) {
        const struct finding *f = &v->findings[i];
        const bool outside =
            f->n_ranges && (f->end.ns <= run->loop_start.ns || f->start.ns >= run->loop_end.ns);
        if (!outside)
            return true;
    }
    return false;
}

/* What was measured does not change. */
static void shrink(struct verdict *v, double by)
{
    v->lost_s *= by;
    v->lost_share *= by;
    v->lost_cost *= by;
}

/* The cause that lost most of those not counted yet; NULL: there is none. What is lost before or
 * after the loop, or on an unused GPU, is not time of the loop. */
static struct verdict *next_cause(struct verdicts *all, const struct run_facts *run, bool *done)
{
    size_t best = RULE_N;
    for (size_t k = 0; k < RULE_N; k++) {
        const struct verdict *v = &all->v[k];
        if (done[k] || rules[k]->summary || rules[k]->whole_job || !verdict_is_cause(v) ||
            isnan(v->lost_share) || (run->has_steps && !is_in_loop(v, run)))
            continue;
        if (best == RULE_N || v->lost_share > all->v[best].lost_share)
            best = k;
    }
    if (best == RULE_N)
        return NULL;
    done[best] = true;
    return &all->v[best];
}

static void share_the_loop(struct verdicts *all, const struct run_facts *run)
{
    bool done[RULE_N] = {false};
    double left = 1;
    for (struct verdict *v; (v = next_cause(all, run, done)) != NULL;) {
        if (v->lost_share > left)
            shrink(v, left / v->lost_share);
        left = fmax(left - v->lost_share, 0);
    }
}

/* ---- links ---- */

static double shared_ns(const struct finding *a, const struct finding *b)
{
    double sum = 0;
    for (size_t i = 0, k = 0; i < a->n_ranges && k < b->n_ranges;) {
        const struct time_range *x = &a->ranges[i], *y = &b->ranges[k];
        const int64_t from = MAX_OF(x->start.ns, y->start.ns), to = MIN_OF(x->end.ns, y->end.ns);
        sum += to > from ? (double)(to - from) : 0;
        if (x->end.ns < y->end.ns)
            i++;
        else
            k++;
    }
    return sum;
}

static double whole_ns(const struct finding *f)
{
    double sum = 0;
    for (size_t i = 0; i < f->n_ranges; i++)
        sum += (double)(f->ranges[i].end.ns - f->ranges[i].start.ns);
    return sum;
}

/* What has no time applies all the time. */
static bool happens_with(const struct finding *f, const struct finding *other)
{
    if (*f->node && *other->node && strcmp(f->node, other->node) != 0)
        return false;
    return f->n_ranges == 0 || other->n_ranges == 0 ||
           shared_ns(f, other) >= EXPLAINED_SHARE * whole_ns(f);
}

/* What lost next to nothing is not the reason for a large loss. */
static bool is_large_enough(const struct finding *f, const struct finding *other)
{
    return isnan(f->lost_s) || isnan(other->lost_s) || other->lost_s >= EXPLAINED_LOST * f->lost_s;
}

static bool explains(const struct verdict *other, const struct finding *f)
{
    return other->state == RULE_ISSUE && FIND_ANY(i, other->n_findings,
                                                  happens_with(f, &other->findings[i]) &&
                                                      is_large_enough(f, &other->findings[i]));
}

/* What to do about a symptom is to cure its cause. */
static void advise_cause(const struct verdict *v, struct finding *f)
{
    const char *names = "";
    for (size_t i = 0; i < f->n_explained_by; i++)
        names = arena_printf(v->arena, "%s%s\"%s\"", names,
                             i == 0                      ? ""
                             : i + 1 < f->n_explained_by ? ", "
                                                         : " and ",
                             rule_title(f->explained_by[i]));
    if (f->n_explained_by)
        f->advice = arena_printf(v->arena, "Start with %s, which %s this finding.", names,
                                 f->n_explained_by > 1 ? "explain" : "explains");
}

static void link_finding(struct verdicts *all, const struct verdict *v, struct finding *f)
{
    const char *const *names = f->causes ? f->causes : v->rule->explained_by;
    size_t n = 0;
    while (names[n])
        n++;
    f->explained_by = arena_array(v->arena, const char *, n);
    f->n_explained_by = 0;
    for (size_t k = 0; k < RULE_N; k++)
        for (size_t i = 0; i < n; i++)
            if (strcmp(rules[k]->name, names[i]) == 0 && explains(&all->v[k], f))
                f->explained_by[f->n_explained_by++] = rules[k]->name;
    advise_cause(v, f);
}

void verdicts_complete(struct verdicts *all, const struct engine *g, const struct run_facts *run)
{
    for (size_t k = 0; k < RULE_N; k++)
        if (!rules[k]->summary) {
            sort_findings(&all->v[k]);
            size_up(&all->v[k], g, run);
        }
    for (size_t k = 0; k < RULE_N; k++)
        for (size_t i = 0; !rules[k]->summary && rules[k]->explained_by && i < all->v[k].n_findings;
             i++)
            link_finding(all, &all->v[k], &all->v[k].findings[i]);
    for (size_t k = 0; k < RULE_N; k++)
        if (!rules[k]->summary)
            all->v[k].severity = engine_size_severity_of(&all->v[k], run);
    share_the_loop(all, run);
}

/* ==== right-sizing: the advice of cost/rightsize.h ==== */

/* A shorter run does not show what it needs. */
static const double LEAST_S = 60;

static const struct node_facts *rightsize_facts_of(const struct checked *c, const char *node)
{
    return FIND_ITEM(x, c->nodes, c->n_nodes, strcmp(x->id, node) == 0);
}

/* Returns 0 if a node was not measured: the use of the run is then not known. */
static size_t rightsize_used_nodes(const struct checked *c, const struct machines *t,
                                   struct arena *a, struct used_node *out)
{
    const struct verdict *v = &c->verdicts.v[RULE_overall_system_usage];
    size_t n = 0;
    for (size_t i = 0; i < v->n_uses; i++) {
        const struct node_use *u = &v->uses[i];
        const struct node_facts *facts = rightsize_facts_of(c, u->node);
        if (!facts)
            continue;
        const struct node_hardware hardware = {
            .machine = facts->machine,
            .cores = facts->cores,
            .n_gpus = facts->n_gpus,
            .memory_bytes = facts->memory_bytes,
            .gpu = facts->gpu,
            .gpu_memory_bytes = facts->gpu_memory_bytes,
            .price_per_hour = facts->price_per_hour,
        };
        out[n] = (struct used_node){
            .machine = machine_of_node(&hardware, t, a),
            .pct = {[RES_GPU] = u->gpu_p95,
                    [RES_GPU_MEMORY] = u->gpu_mem_p95,
                    [RES_CPU] = u->cpu_p95,
                    [RES_MEMORY] = u->mem_p95},
            .currency = facts->currency,
        };
        out[n++].machine.gpus = (double)u->gpus;
    }
    return n == c->n_nodes ? n : 0;
}

/* Hours of all machines together that cost as much as the run did: nodes may have joined for
 * different times. Without prices, the hours of the job. */
static double rightsize_paid_hours(const struct checked *c)
{
    double cost = 0, price = 0;
    for (size_t i = 0; i < c->n_nodes; i++) {
        cost += c->nodes[i].hours * c->nodes[i].price_per_hour;
        price += c->nodes[i].price_per_hour;
    }
    return cost > 0 ? cost / price : (double)(c->run.job_end.ns - c->run.job_start.ns) / 3600e9;
}

const struct right_size *rightsize_advise(struct checked *c, const struct machines *t,
                                          struct arena *a)
{
    static const enum rule_id advised[] = {RULE_overall_system_usage, RULE_low_gpu_utilization,
                                           RULE_batch_size};
    struct used_node *v = arena_array(a, struct used_node, c->n_nodes + 1);
    const double hours = rightsize_paid_hours(c);
    if (hours * 3600 < LEAST_S)
        return NULL;
    const struct right_size *r = rightsize(t, v, rightsize_used_nodes(c, t, a, v), hours, a);
    for (size_t i = 0; r && i < COUNT_OF(advised); i++) {
        struct verdict *own = &c->verdicts.v[advised[i]];
        if (!own->rule->summary && own->state != RULE_ISSUE)
            continue;
        own->right_size = r;
        if (!own->rule->summary)
            verdict_remark(own, "%s", r->why);
    }
    return r;
}
