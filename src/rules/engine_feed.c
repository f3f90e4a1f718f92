/* SPDX-License-Identifier: Apache-2.0 */
/* engine_feed.c - what is seen reaches the states of the rules. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/engine_internal.h"
#include "rules/values.h"

/* ---- parts ---- */

/* Where the rule's sweeps begin to count. Steps say when the loop began; patience is for runs
 * without them, and for users who ask for it. */
static wall_ns counts_from(const struct engine *g, const struct engine_node *n, size_t rule)
{
    const struct rule *r = rules[rule];
    int64_t from = n->facts.first.ns;
    if (r->whole_job)
        return n->facts.first;
    const struct param_value *patience = r->patience >= 0 ? &g->params.v[rule][r->patience] : NULL;
    if (patience && patience->v > 0 && (!g->has_steps || patience->set))
        from += param_ns(patience, n->facts.period_ns);
    return (wall_ns){g->has_steps ? MAX_OF(from, g->loop_start.ns) : from};
}

struct rule_view part_view(const struct engine *g, const struct engine_node *n, size_t rule)
{
    return (struct rule_view){
        .p = g->params.v[rule],
        .spec = rules[rule]->spec,
        .node = &n->facts,
        .from = counts_from(g, n, rule),
    };
}

static void part_fit(const struct rule *r, struct rule_part *p)
{
    if (!p->state)
        p->state = xcalloc(1, MAX_OF(r->state_size, (size_t)1));
}

void part_free(const struct rule *r, struct rule_part *p)
{
    if (p->state && r->free_state)
        r->free_state(p->state);
    free(p->state);
    *p = (struct rule_part){0};
}

void part_join(const struct engine *g, const struct engine_node *n, size_t rule,
               struct rule_part *p, struct rule_part *later)
{
    const struct rule_view c = part_view(g, n, rule);
    p->sweeps += later->sweeps;
    p->before += later->before;
    if (!p->state) {
        p->state = later->state;
        later->state = NULL;
    } else if (later->state) {
        rules[rule]->join(p->state, &c, later->state);
    }
    part_free(rules[rule], later);
}

/* ---- sweeps ---- */

struct sweeps sweeps_cut(const struct sweeps *s, size_t from, size_t to, struct gpu_sweeps *gpus)
{
    struct sweeps out = *s;
    out.n = to - from;
    out.at += from;
    out.gpus = gpus;
    for (size_t k = 0; k < NODE_SIGNAL_N; k++)
        out.v[k] = s->v[k] ? s->v[k] + from : NULL;
    for (size_t g = 0; g < s->n_gpus; g++) {
        gpus[g] = s->gpus[g];
        for (size_t k = 0; k < GPU_SIGNAL_N; k++)
            gpus[g].v[k] = s->gpus[g].v[k] ? s->gpus[g].v[k] + from : NULL;
    }
    return out;
}

static void feed_rule(const struct engine *g, const struct engine_node *n, size_t rule,
                      struct rule_part *p, const struct sweeps *s)
{
    const struct rule *r = rules[rule];
    const struct rule_view c = part_view(g, n, rule);
    struct gpu_sweeps gpus[SIGHT_GPUS_MOST];
    const size_t from = sweeps_from(s->at, s->n, c.from.ns);
    p->before += from;
    if (from == s->n)
        return;
    const struct sweeps seen = sweeps_cut(s, from, s->n, gpus);
    p->sweeps += seen.n;
    if (r->sweeps) {
        part_fit(r, p);
        r->sweeps(p->state, &c, &seen);
    }
}

/* ---- times that do not count ---- */

enum { LEFT_OUT_MOST = 1024 };

void left_out_add(struct left_out *l, struct time_range x)
{
    size_t at = l->n, end;
    while (at > 0 && l->v[at - 1].end.ns >= x.start.ns)
        at--;
    for (end = at; end < l->n && l->v[end].start.ns <= x.end.ns; end++) {
        x.start.ns = MIN_OF(x.start.ns, l->v[end].start.ns);
        x.end.ns = MAX_OF(x.end.ns, l->v[end].end.ns);
    }
    if (end == at && l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 8;
        l->v = xrealloc(l->v, l->cap, sizeof *l->v);
    }
    memmove(&l->v[at + 1], &l->v[end], (l->n - end) * sizeof *l->v);
    l->n = l->n - (end - at) + 1;
    l->v[at] = x;
    if (l->n > LEFT_OUT_MOST) { /* nobody looks at so many windows: the oldest is forgotten */
        l->n--;
        memmove(l->v, l->v + 1, l->n * sizeof *l->v);
    }
}

static void feed_rules(const struct engine *g, const struct engine_node *n, struct rule_part *parts,
                       const struct sweeps *s, bool whole_job)
{
    struct sweeps all = *s;
    all.shared = shared_begin(g->shared, s->n);
    for (size_t k = 0; k < RULE_N && s->n; k++)
        if (rules[k]->whole_job == whole_job)
            feed_rule(g, n, k, &parts[k], &all);
}

void feed_sweeps(const struct engine *g, const struct engine_node *n, struct rule_part *parts,
                 const struct sweeps *s, bool whole_job)
{
    struct gpu_sweeps gpus[SIGHT_GPUS_MOST];
    const struct left_out *l = &n->left_out;
    size_t from = 0;
    for (size_t i = 0; i < l->n && !whole_job && from < s->n; i++) {
        const size_t to = from + sweeps_from(s->at + from, s->n - from, l->v[i].start.ns);
        const size_t next = from + sweeps_from(s->at + from, s->n - from, l->v[i].end.ns);
        if (next == from)
            continue;
        const struct sweeps piece = sweeps_cut(s, from, to, gpus);
        feed_rules(g, n, parts, &piece, whole_job);
        from = next;
    }
    const struct sweeps rest = sweeps_cut(s, from, s->n, gpus);
    feed_rules(g, n, parts, &rest, whole_job);
}

/* ---- steps and events ---- */

void feed_steps(const struct engine *g, const struct engine_node *n, size_t rule,
                struct rule_part *p, const struct rank_sight *r, const struct step *v, size_t n_v)
{
    const struct rule_view c = part_view(g, n, rule);
    if (!rules[rule]->steps)
        return;
    part_fit(rules[rule], p);
    rules[rule]->steps(p->state, &c, r, v, n_v);
}

void feed_told(const struct engine *g, const struct engine_node *n, size_t rule,
               struct rule_part *p, const struct told *v, size_t n_v)
{
    const struct rule_view c = part_view(g, n, rule);
    if (!rules[rule]->told)
        return;
    part_fit(rules[rule], p);
    rules[rule]->told(p->state, &c, v, n_v);
}
