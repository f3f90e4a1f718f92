/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - see engine.h. From top to bottom: the parts of rules, nodes, what is fed, and the
 * evaluation. engine_size.c completes the verdicts. */
#include "rules/engine.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "query/health_book.h"
#include "rules/engine_internal.h"
#include "rules/hist.h"

struct engine *engine_open(const struct rule_params *params)
{
    struct engine *g = xcalloc(1, sizeof *g);
    g->shared = shared_open();
    g->loop_end.ns = INT64_MAX;
    rule_params_init(&g->params, &g->arena);
    if (params)
        memcpy(g->params.v, params->v, RULE_N * sizeof *params->v);
    return g;
}

/* ---- parts ---- */

/* Where the rule's sweeps begin to count. Steps show when the loop began; patience is for runs
 * without them, and for users who set it. */
static wall_ns engine_counts_from(const struct engine *g, const struct engine_node *n, size_t rule)
{
    const struct rule *r = rules[rule];
    int64_t from = n->facts.first.ns;
    if (r->whole_job)
        return n->facts.first;
    const struct param_value *patience = rule_patience(r, g->params.v[rule]);
    if (patience && patience->v > 0 && (!g->has_steps || patience->set))
        from += param_ns(patience, n->facts.period_ns);
    return (wall_ns){g->has_steps ? MAX_OF(from, g->loop_start.ns) : from};
}

static struct rule_view part_view(const struct engine *g, const struct engine_node *n, size_t rule)
{
    return (struct rule_view){
        .p = g->params.v[rule],
        .spec = rules[rule]->spec,
        .node = &n->facts,
        .from = engine_counts_from(g, n, rule),
    };
}

static void part_fit(const struct rule *r, struct rule_part *p)
{
    if (!p->state)
        p->state = xcalloc(1, MAX_OF(r->state_size, (size_t)1));
}

static void part_free(const struct rule *r, struct rule_part *p)
{
    if (p->state && r->memory)
        r->memory(p->state, STATE_FREE);
    free(p->state);
    *p = (struct rule_part){0};
}

/* ---- nodes ---- */

static void engine_take_facts(struct engine_node *n, const struct node_facts *facts)
{
    n->facts = *facts;
    snprintf(n->id, sizeof n->id, "%s", facts->id);
    snprintf(n->machine, sizeof n->machine, "%s", facts->machine ? facts->machine : "");
}

/* The list of nodes may have moved. */
static void engine_tie_texts(struct engine *g)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        g->nodes[i].facts.id = g->nodes[i].id;
        g->nodes[i].facts.machine = g->nodes[i].machine;
    }
}

static struct engine_node *engine_node_add(struct engine *g)
{
    struct engine_node *n = VEC_ADD(g->nodes, g->n_nodes, g->cap_nodes);
    *n = (struct engine_node){0};
    return n;
}

static size_t engine_node_find(const struct engine *g, const char *id)
{
    const size_t i = FIND_FIRST(k, g->n_nodes, strcmp(g->nodes[k].id, id) == 0);
    return i;
}

size_t engine_node(struct engine *g, const struct node_facts *facts)
{
    const size_t i = engine_node_find(g, facts->id);
    if (i == g->n_nodes) {
        engine_take_facts(engine_node_add(g), facts);
        engine_tie_texts(g);
    }
    return i;
}

static void engine_node_free(struct engine_node *n)
{
    for (size_t k = 0; k < RULE_N; k++)
        part_free(rules[k], &n->part[k]);
    free(n->left_out.v);
    health_book_close(n->health);
}

void engine_close(struct engine *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n_nodes; i++)
        engine_node_free(&g->nodes[i]);
    free(g->nodes);
    shared_close(g->shared);
    arena_free(&g->arena);
    free(g);
}

/* ---- sweeps ---- */

static struct sweeps sweeps_cut(const struct sweeps *s, size_t from, size_t to,
                                struct gpu_sweeps *gpus)
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
    struct gpu_sweeps gpus[RULE_GPUS_MOST];
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

static void left_out_add(struct left_out *l, struct time_range x)
{
    size_t at = l->n, end;
    while (at > 0 && l->v[at - 1].end.ns >= x.start.ns)
        at--;
    for (end = at; end < l->n && l->v[end].start.ns <= x.end.ns; end++) {
        x.start.ns = MIN_OF(x.start.ns, l->v[end].start.ns);
        x.end.ns = MAX_OF(x.end.ns, l->v[end].end.ns);
    }
    VEC_ROOM(l->v, l->cap, l->n + 1);
    memmove(&l->v[at + 1], &l->v[end], (l->n - end) * sizeof *l->v);
    l->n = l->n - (end - at) + 1;
    l->v[at] = x;
    if (l->n > LEFT_OUT_MOST) { /* too many windows: the oldest is dropped */
        l->n--;
        memmove(l->v, l->v + 1, l->n * sizeof *l->v);
    }
}

static void feed_rules(const struct engine *g, struct engine_node *n, const struct sweeps *s,
                       bool whole_job)
{
    struct sweeps all = *s;
    all.shared = shared_begin(g->shared, s->n);
    for (size_t k = 0; k < RULE_N && s->n; k++)
        if (rules[k]->whole_job == whole_job)
            feed_rule(g, n, k, &n->part[k], &all);
}

static void feed_sweeps(const struct engine *g, struct engine_node *n, const struct sweeps *s,
                        bool whole_job)
{
    struct gpu_sweeps gpus[RULE_GPUS_MOST];
    const struct left_out *l = &n->left_out;
    size_t from = 0;
    for (size_t i = 0; i < l->n && !whole_job && from < s->n; i++) {
        const size_t to = from + sweeps_from(s->at + from, s->n - from, l->v[i].start.ns);
        const size_t next = from + sweeps_from(s->at + from, s->n - from, l->v[i].end.ns);
        if (next == from)
            continue;
        const struct sweeps part = sweeps_cut(s, from, to, gpus);
        feed_rules(g, n, &part, whole_job);
        from = next;
    }
    const struct sweeps rest = sweeps_cut(s, from, s->n, gpus);
    feed_rules(g, n, &rest, whole_job);
}

/* ---- steps and events ---- */

static void feed_steps(const struct engine *g, struct engine_node *n, size_t rule,
                       const struct rule_rank *r, const struct step *v, size_t n_v)
{
    const struct rule_view c = part_view(g, n, rule);
    if (!rules[rule]->steps)
        return;
    part_fit(rules[rule], &n->part[rule]);
    rules[rule]->steps(n->part[rule].state, &c, r, v, n_v);
}

static void feed_events(const struct engine *g, struct engine_node *n, size_t rule,
                        const struct rule_event *v, size_t n_v)
{
    const struct rule_view c = part_view(g, n, rule);
    if (!rules[rule]->events)
        return;
    part_fit(rules[rule], &n->part[rule]);
    rules[rule]->events(n->part[rule].state, &c, v, n_v);
}

/* ---- what is handed in ---- */

void engine_window(struct engine *g, wall_ns steady_start, wall_ns loop_end)
{
    g->has_steps = steady_start.ns != 0;
    g->loop_start = steady_start;
    g->loop_end = (wall_ns){loop_end.ns ? loop_end.ns : INT64_MAX};
}

void engine_leave_out(struct engine *g, size_t node, const struct time_range *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        left_out_add(&g->nodes[node].left_out, v[i]);
}

void engine_sweeps(struct engine *g, size_t node, const struct sweeps *s)
{
    struct engine_node *n = &g->nodes[node];
    struct gpu_sweeps gpus[RULE_GPUS_MOST];
    if (s->n == 0)
        return;
    n->has_sweeps = true;
    for (size_t i = 0; i < s->n_gpus; i++)
        n->has_gpu |= s->gpus[i].v[GPU_SIG_UTIL] != NULL;
    feed_sweeps(g, n, s, true);
    const size_t to = g->has_steps ? sweeps_from(s->at, s->n, g->loop_end.ns) : s->n;
    const struct sweeps seen = sweeps_cut(s, 0, to, gpus);
    feed_sweeps(g, n, &seen, false);
}

void engine_steps(struct engine *g, size_t node, const struct rule_rank *r, const struct step *v,
                  size_t n)
{
    for (size_t k = 0; n && k < RULE_N; k++)
        feed_steps(g, &g->nodes[node], k, r, v, n);
}

void engine_events(struct engine *g, size_t node, const struct rule_event *v, size_t n)
{
    for (size_t k = 0; n && k < RULE_N; k++)
        feed_events(g, &g->nodes[node], k, v, n);
}

void engine_health(struct engine *g, size_t node, struct health_book *b)
{
    health_book_close(g->nodes[node].health);
    g->nodes[node].health = b;
}

void engine_merge(struct engine *g, struct engine *from)
{
    for (size_t i = 0; i < from->n_nodes; i++) {
        assert(engine_node_find(g, from->nodes[i].id) == g->n_nodes);
        *engine_node_add(g) = from->nodes[i];
    }
    engine_tie_texts(g);
    from->n_nodes = 0;
}

/* ---- what was fed before ----
 *
 * Which rules a sweep reaches depends on its time, on where the rule begins to count
 * (engine_counts_from: the first sweep, the period, the parameters, the begin of the loop), on the
 * end of the loop and on the times left out. engine_agrees compares all of these. What a rule does
 * with a sweep also depends on the node's hardware, so that is compared too; prices and hours are
 * used when it is judged. */

static bool left_out_agrees(const struct left_out *a, const struct left_out *b, int64_t until)
{
    for (size_t i = 0;; i++) {
        const bool in_a = i < a->n && a->v[i].start.ns < until;
        const bool in_b = i < b->n && b->v[i].start.ns < until;
        if (!in_a || !in_b)
            return in_a == in_b;
        if (a->v[i].start.ns != b->v[i].start.ns ||
            MIN_OF(a->v[i].end.ns, until) != MIN_OF(b->v[i].end.ns, until))
            return false;
    }
}

static bool node_facts_agree(const struct node_facts *a, const struct node_facts *b)
{
    return a->cores == b->cores && a->n_gpus == b->n_gpus && a->memory_bytes == b->memory_bytes &&
           a->gpu_memory_bytes == b->gpu_memory_bytes && a->first.ns == b->first.ns &&
           a->period_ns == b->period_ns;
}

static bool rule_params_agree(const struct rule_params *a, const struct rule_params *b)
{
    for (size_t k = 0; k < RULE_N; k++)
        for (size_t i = 0; i < RULE_PARAMS_MOST; i++)
            if (a->v[k][i].v != b->v[k][i].v || a->v[k][i].set != b->v[k][i].set ||
                a->v[k][i].is_duration != b->v[k][i].is_duration)
                return false;
    return true;
}

bool engine_agrees(const struct engine *p, const struct engine *g, wall_ns until)
{
    assert(p->n_nodes == 1 && g->n_nodes == 1);
    return rule_params_agree(&p->params, &g->params) && p->has_steps == g->has_steps &&
           p->loop_start.ns == g->loop_start.ns && (!g->has_steps || g->loop_end.ns >= until.ns) &&
           node_facts_agree(&p->nodes[0].facts, &g->nodes[0].facts) &&
           left_out_agrees(&p->nodes[0].left_out, &g->nodes[0].left_out, until.ns);
}

void engine_align(struct engine *p, const struct engine *g)
{
    if (p->n_nodes == 0)
        engine_node(p, &g->nodes[0].facts);
    struct engine_node *to = &p->nodes[0];
    const struct engine_node *from = &g->nodes[0];
    assert(p->n_nodes == 1 && g->n_nodes == 1 && strcmp(to->id, from->id) == 0);
    p->has_steps = g->has_steps;
    p->loop_start = g->loop_start;
    p->loop_end = g->loop_end;
    engine_take_facts(to, &from->facts);
    /* For judging; they may be freed before `p`. */
    to->facts.gpu = to->facts.currency = NULL;
    to->facts.others = NULL;
    to->facts.n_others = 0;
    engine_tie_texts(p);
    to->left_out.n = 0;
    VEC_ROOM(to->left_out.v, to->left_out.cap, from->left_out.n);
    for (size_t i = 0; i < from->left_out.n; i++)
        to->left_out.v[to->left_out.n++] = from->left_out.v[i];
}

void engine_copy_states(struct engine *g, const struct engine *p)
{
    struct engine_node *to = &g->nodes[0];
    const struct engine_node *from = &p->nodes[0];
    assert(p->n_nodes == 1 && g->n_nodes == 1 && !to->has_sweeps);
    to->has_gpu = from->has_gpu;
    to->has_sweeps = from->has_sweeps;
    for (size_t k = 0; k < RULE_N; k++) {
        assert(!to->part[k].state);
        to->part[k] = from->part[k];
        state_memory(STATE_COPY, &to->part[k].state, MAX_OF(rules[k]->state_size, (size_t)1));
        if (to->part[k].state && rules[k]->memory)
            rules[k]->memory(to->part[k].state, STATE_COPY);
    }
}

/* ---- evaluation ---- */

static bool engine_lacks(const struct engine *g, const struct rule *r, const struct run_facts *run,
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
        const struct rule_part *p = &n->part[rule];
        v[i] = (struct judged_node){
            .facts = &n->facts,
            .state =
                p->state ? p->state : arena_alloc(a, MAX_OF(rules[rule]->state_size, (size_t)1), 1),
            .from = part_view(g, n, rule).from,
            .sweeps = p->sweeps,
            .before = p->before,
            .health = n->health,
        };
    }
    SORT(v, g->n_nodes, engine_judge_by_id);
    return v;
}

static void judge_rule(struct engine *g, size_t rule, const struct run_facts *run,
                       const struct verdicts *others, struct arena *a, struct verdict *out)
{
    const char *what;
    *out = verdict_new(rules[rule], a);
    if (engine_lacks(g, rules[rule], run, &what)) {
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
    for (size_t k = 0; k < RULE_N; k++)
        if (!rules[k]->summary)
            judge_rule(g, k, run, NULL, a, &out->v[k]);
    verdicts_complete(out, g, run);
    for (size_t k = 0; k < RULE_N; k++)
        if (rules[k]->summary)
            judge_rule(g, k, run, out, a, &out->v[k]);
}
