/* SPDX-License-Identifier: Apache-2.0 */
/* engine_size.c - verdicts put in order, sized and linked. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/names.h"
#include "rules/engine_own.h"

/* Shares of the training loop from which a finding is more than worth knowing. */
static const double WARNING_SHARE = 0.05, CRITICAL_SHARE = 0.25;
/* Of the time of a finding that another must have held for as well, to explain it. */
static const double EXPLAINED_SHARE = 0.1;

/* ---- order ---- */

static bool stands_before(const struct finding *a, const struct finding *b)
{
    int c = name_compare(a->node, b->node);
    if (c == 0)
        c = name_compare(a->entity, b->entity);
    return c ? c < 0 : a->start.ns < b->start.ns;
}

/* There are few, nearly in order, and what is equal stays as the rule said it. */
static void sort_findings(struct verdict *v)
{
    for (size_t i = 1; i < v->n_findings; i++) {
        const struct finding x = v->findings[i];
        size_t k = i;
        for (; k && stands_before(&x, &v->findings[k - 1]); k--)
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

/* Findings stand by node and entity. Those of one entity follow each other in time, several
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
static double price_of(const struct engine *g, const char *node)
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

static double loop_seconds(const struct run_facts *run)
{
    return run->has_steps ? (double)(run->loop_end.ns - run->loop_start.ns) / 1e9
                          : (double)(run->job_end.ns - run->job_start.ns) / 1e9;
}

static void size_up(struct verdict *v, const struct engine *g, const struct run_facts *run)
{
    const double loop_s = loop_seconds(run);
    for (size_t i = 0, end; i < v->n_findings; i = end) {
        for (end = i; end < v->n_findings; end++) {
            if (strcmp(v->findings[end].node, v->findings[i].node) != 0)
                break;
            add_to(&v->lost_gpu_s, v->findings[end].lost_gpu_s);
        }
        const double lost = lost_on(v, i, end);
        take_more(&v->lost_s, lost);
        add_to(&v->lost_cost, lost / 3600 * price_of(g, v->findings[i].node));
    }
    if (loop_s > 0)
        v->lost_share = v->lost_s > loop_s ? 1 : v->lost_s / loop_s;
}

static enum severity severity_of(const struct verdict *v)
{
    if (isnan(v->lost_share))
        return SEVERITY_WARNING;
    return v->lost_share >= CRITICAL_SHARE  ? SEVERITY_CRITICAL
           : v->lost_share >= WARNING_SHARE ? SEVERITY_WARNING
                                            : SEVERITY_INFO;
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

/* What has no time holds all the time. */
static bool happens_with(const struct finding *f, const struct finding *other)
{
    if (*f->node && *other->node && strcmp(f->node, other->node) != 0)
        return false;
    return f->n_ranges == 0 || other->n_ranges == 0 ||
           shared_ns(f, other) >= EXPLAINED_SHARE * whole_ns(f);
}

static bool explains(const struct verdict *other, const struct finding *f)
{
    for (size_t i = 0; other->state == RULE_ISSUE && i < other->n_findings; i++)
        if (happens_with(f, &other->findings[i]))
            return true;
    return false;
}

static void link_finding(struct verdicts *all, const struct verdict *v, struct finding *f)
{
    const char *const *names = v->rule->explained_by;
    size_t n = 0;
    while (names[n])
        n++;
    f->explained_by = arena_array(v->arena, const char *, n);
    f->n_explained_by = 0;
    for (size_t k = 0; k < RULE_N; k++)
        for (size_t i = 0; i < n; i++)
            if (strcmp(rules[k]->name, names[i]) == 0 && explains(&all->v[k], f))
                f->explained_by[f->n_explained_by++] = rules[k]->name;
}

void verdicts_complete(struct verdicts *all, const struct engine *g, const struct run_facts *run)
{
    for (size_t k = 0; k < RULE_N; k++) {
        struct verdict *v = &all->v[k];
        sort_findings(v);
        size_up(v, g, run);
        v->severity = v->state == RULE_ISSUE ? severity_of(v) : SEVERITY_INFO;
    }
    for (size_t k = 0; k < RULE_N; k++)
        for (size_t i = 0; rules[k]->explained_by && i < all->v[k].n_findings; i++)
            link_finding(all, &all->v[k], &all->v[k].findings[i]);
}
