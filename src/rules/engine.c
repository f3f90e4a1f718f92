/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - see engine.h. Here: nodes, what is handed in, and merging. */
#include "rules/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/engine_internal.h"
#include "rules/values.h"

struct engine *engine_open(const struct rule_params *params)
{
    struct engine *g = xcalloc(1, sizeof *g);
    g->shared = shared_open();
    rule_params_init(&g->params, &g->arena);
    if (params)
        memcpy(g->params.v, params->v, RULE_N * sizeof *params->v);
    return g;
}

/* ---- stretches ---- */

static void stretch_room(struct engine_node *n, size_t more)
{
    n->stretches = xrealloc(n->stretches, n->n_stretches + more, sizeof *n->stretches);
}

struct stretch *stretch_now(struct engine_node *n)
{
    if (n->n_stretches == 0) {
        stretch_room(n, 1);
        n->stretches[n->n_stretches++] = (struct stretch){.first_ns = INT64_MAX};
    }
    return &n->stretches[n->n_stretches - 1];
}

static void saw(struct engine_node *n, wall_ns t)
{
    struct stretch *s = stretch_now(n);
    s->first_ns = MIN_OF(s->first_ns, t.ns);
}

/* ---- nodes ---- */

static void take_facts(struct engine_node *n, const struct node_facts *facts)
{
    n->facts = *facts;
    snprintf(n->id, sizeof n->id, "%s", facts->id);
    snprintf(n->machine, sizeof n->machine, "%s", facts->machine ? facts->machine : "");
}

/* The list of nodes may have moved. */
static void tie_texts(struct engine *g)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        g->nodes[i].facts.id = g->nodes[i].id;
        g->nodes[i].facts.machine = g->nodes[i].machine;
    }
}

static struct engine_node *node_add(struct engine *g)
{
    if (g->n_nodes == g->cap_nodes) {
        g->cap_nodes = g->cap_nodes ? 2 * g->cap_nodes : 4;
        g->nodes = xrealloc(g->nodes, g->cap_nodes, sizeof *g->nodes);
    }
    struct engine_node *n = &g->nodes[g->n_nodes++];
    *n = (struct engine_node){.after_ns = INT64_MIN};
    return n;
}

static size_t node_find(const struct engine *g, const char *id)
{
    size_t i = 0;
    while (i < g->n_nodes && strcmp(g->nodes[i].id, id) != 0)
        i++;
    return i;
}

size_t engine_node(struct engine *g, const struct node_facts *facts)
{
    const size_t i = node_find(g, facts->id);
    if (i == g->n_nodes) {
        take_facts(node_add(g), facts);
        tie_texts(g);
    }
    return i;
}

static void node_free(struct engine_node *n)
{
    for (size_t i = 0; i < n->n_stretches; i++)
        for (size_t k = 0; k < RULE_N; k++)
            part_free(rules[k], &n->stretches[i].part[k]);
    for (size_t k = 0; k < RULE_N; k++)
        part_free(rules[k], &n->after[k]);
    free(n->stretches);
    free(n->left_out.v);
    early_free(&n->early);
    hold_free(&n->hold);
}

void engine_close(struct engine *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n_nodes; i++)
        node_free(&g->nodes[i]);
    free(g->nodes);
    shared_close(g->shared);
    arena_free(&g->arena);
    free(g);
}

/* ---- what is handed in ---- */

void engine_window(struct engine *g, wall_ns steady_start, wall_ns loop_end)
{
    g->finished = true;
    g->has_steps = steady_start.ns != 0;
    g->loop_start = steady_start;
    g->loop_end = (wall_ns){loop_end.ns ? loop_end.ns : INT64_MAX};
}

void engine_leave_out(struct engine *g, size_t node, const struct time_range *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        left_out_add(&g->nodes[node].left_out, v[i]);
}

static void window_sweeps(const struct engine *g, struct engine_node *n, const struct sweeps *s)
{
    struct gpu_sweeps gpus[SIGHT_GPUS_MOST];
    const size_t to = g->has_steps ? sweeps_from(s->at, s->n, g->loop_end.ns) : s->n;
    const struct sweeps seen = sweeps_cut(s, 0, to, gpus);
    feed_sweeps(g, n, stretch_now(n)->part, &seen, false);
}

void engine_sweeps(struct engine *g, size_t node, const struct sweeps *s)
{
    struct engine_node *n = &g->nodes[node];
    if (s->n == 0)
        return;
    n->has_sweeps = true;
    n->seen += s->n;
    for (size_t i = 0; i < s->n_gpus; i++)
        n->has_gpu |= s->gpus[i].v[GPU_SIG_UTIL] != NULL;
    saw(n, s->at[0]);
    feed_sweeps(g, n, stretch_now(n)->part, s, true);
    if (g->finished)
        window_sweeps(g, n, s);
    else
        live_sweeps(g, n, s);
}

static void leave_out_disturbed(struct engine_node *d, const struct step *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].disturbed)
            left_out_add(&d->left_out, step_time(&v[i]));
}

static void engine_leave_out_windows(struct engine_node *d, const struct told *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].id == EV_DETAIL)
            left_out_add(&d->left_out, (struct time_range){v[i].at, {v[i].at.ns + v[i].dur_ns}});
}

void engine_steps(struct engine *g, size_t node, const struct rank_sight *r, const struct step *v,
                  size_t n)
{
    struct engine_node *d = &g->nodes[node];
    if (n == 0)
        return;
    if (!g->finished) {
        leave_out_disturbed(d, v, n);
        live_steps(g, v, n);
    }
    saw(d, v[0].start);
    for (size_t k = 0; k < RULE_N; k++)
        feed_steps(g, d, k, &stretch_now(d)->part[k], r, v, n);
    if (!g->finished && !g->settled)
        live_keep(g, early_add_steps(&d->early, r, v, n));
}

void engine_told(struct engine *g, size_t node, const struct told *v, size_t n)
{
    struct engine_node *d = &g->nodes[node];
    if (n == 0)
        return;
    if (!g->finished)
        engine_leave_out_windows(d, v, n);
    saw(d, v[0].at);
    for (size_t k = 0; k < RULE_N; k++)
        feed_told(g, d, k, &stretch_now(d)->part[k], v, n);
    if (!g->finished && !g->settled)
        live_keep(g, early_add_told(&d->early, v, n));
}

void engine_sure(struct engine *g, wall_ns t)
{
    g->sure.ns = MAX_OF(g->sure.ns, t.ns);
    if (g->has_steps && !g->finished)
        live_sure(g);
}

/* ---- merging ---- */

/* Own stretches stay last, so that feeding goes on where it was. */
static void node_merge(struct engine_node *n, struct engine_node *from)
{
    n->has_gpu |= from->has_gpu;
    n->has_sweeps |= from->has_sweeps;
    n->seen += from->seen;
    if (from->n_stretches == 0)
        return;
    stretch_now(n);
    stretch_room(n, from->n_stretches);
    memmove(n->stretches + from->n_stretches, n->stretches, n->n_stretches * sizeof *n->stretches);
    memcpy(n->stretches, from->stretches, from->n_stretches * sizeof *n->stretches);
    n->n_stretches += from->n_stretches;
    free(from->stretches);
    from->stretches = NULL;
    from->n_stretches = 0;
}

void engine_merge(struct engine *g, struct engine *from)
{
    for (size_t i = 0; i < from->n_nodes; i++) {
        const size_t k = engine_node(g, &from->nodes[i].facts); /* may move the list */
        node_merge(&g->nodes[k], &from->nodes[i]);
    }
}

static int engine_by_time(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

void node_fold(struct engine *g, struct engine_node *n)
{
    stretch_now(n);
    qsort(n->stretches, n->n_stretches, sizeof *n->stretches, engine_by_time);
    for (size_t i = 1; i < n->n_stretches; i++)
        for (size_t k = 0; k < RULE_N; k++)
            part_join(g, n, k, &n->stretches[0].part[k], &n->stretches[i].part[k]);
    n->n_stretches = 1;
}
