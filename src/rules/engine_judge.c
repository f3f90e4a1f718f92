/* SPDX-License-Identifier: Apache-2.0 */
/* engine_judge.c - all rules judge. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "rules/engine_internal.h"

static bool lacks(const struct engine *g, const struct rule *r, const struct run_facts *run,
                  const char **what)
{
    bool sweeps = false, gpu = false;
    for (size_t i = 0; i < g->n_nodes; i++) {
        sweeps |= g->nodes[i].has_sweeps;
        gpu |= g->nodes[i].has_gpu;
    }
    *what = r->needs & NEEDS_SWEEPS && !sweeps          ? "no system metrics were recorded"
            : r->needs & NEEDS_GPU && !gpu              ? "no GPU was recorded"
            : r->needs & NEEDS_STEPS && !run->has_steps ? "no training steps were detected"
                                                        : NULL;
    return *what != NULL;
}

static int engine_judge_by_id(const void *a, const void *b)
{
    const struct judged_node *x = a, *y = b;
    return name_compare(x->facts->id, y->facts->id);
}

static struct judged_node *judged_nodes(struct engine *g, size_t rule, struct arena *a)
{
    struct judged_node *v = arena_array(a, struct judged_node, MAX_OF(g->n_nodes, 1));
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct engine_node *n = &g->nodes[i];
        const struct rule_part *p = &n->stretches[0].part[rule];
        v[i] = (struct judged_node){
            .facts = &n->facts,
            .state =
                p->state ? p->state : arena_alloc(a, MAX_OF(rules[rule]->state_size, (size_t)1), 1),
            .from = part_view(g, n, rule).from,
            .sweeps = p->sweeps,
            .before = p->before,
        };
    }
    qsort(v, g->n_nodes, sizeof *v, engine_judge_by_id);
    return v;
}

static void judge_rule(struct engine *g, size_t rule, const struct run_facts *run,
                       const struct verdicts *others, struct arena *a, struct verdict *out)
{
    const char *what;
    *out = (struct verdict){.rule = rules[rule],
                            .why = "",
                            .lost_s = NAN,
                            .lost_share = NAN,
                            .lost_gpu_s = NAN,
                            .lost_cost = NAN,
                            .arena = a};
    if (lacks(g, rules[rule], run, &what)) {
        verdict_not_evaluated(out, "%s", what);
        return;
    }
    const struct judge j = {
        .rule = rules[rule],
        .p = g->params.v[rule],
        .run = run,
        .nodes = judged_nodes(g, rule, a),
        .n_nodes = g->n_nodes,
        .others = others ? others->v : NULL,
        .arena = a,
    };
    rules[rule]->judge(&j, out);
}

/* Rules that only sum up see what the others found. */
void engine_judge(struct engine *g, const struct run_facts *run, struct arena *a,
                  struct verdicts *out)
{
    struct run_facts facts = *run;
    if (!g->finished && g->has_steps)
        facts.steady_start = g->loop_start;
    for (size_t i = 0; i < g->n_nodes; i++)
        node_fold(g, &g->nodes[i]);
    for (size_t k = 0; k < RULE_N; k++)
        if (!rules[k]->summary)
            judge_rule(g, k, &facts, NULL, a, &out->v[k]);
    verdicts_complete(out, g, &facts);
    for (size_t k = 0; k < RULE_N; k++)
        if (rules[k]->summary)
            judge_rule(g, k, &facts, out, a, &out->v[k]);
}
