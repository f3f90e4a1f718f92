/* SPDX-License-Identifier: Apache-2.0 */
/* ops_stacks.c - sampled stacks of Python (ops.h): spans inside of each other, whose value is their
 * depth, added up in one tree. */
#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "query/ops.h"
#include "query/trace.h"

enum { STACKS_DEEP = 64, STACKS_MOST = 10000 /* frames of the tree; further ones are left out */ };

enum { STACK_NONE = UINT32_MAX };

struct stack_node {
    uint32_t name;
    uint32_t child, sibling; /* STACK_NONE: none */
    int64_t total_ns, below_ns;
};

struct stack_span {
    int64_t at, dur_ns;
    uint32_t name, depth;
};

struct stacks {
    struct op_names names;
    struct stack_node *nodes; /* the first is above all */
    uint32_t n_nodes, cap_nodes;
    struct stack_span *spans; /* of the track at hand */
    size_t n_spans, cap_spans;
    bool wanted;
};

/* ---- the tree ---- */

static uint32_t stacks_add_node(struct stacks *s, uint32_t name)
{
    VEC_ROOM(s->nodes, s->cap_nodes, s->n_nodes + 1);
    s->nodes[s->n_nodes] =
        (struct stack_node){.name = name, .child = STACK_NONE, .sibling = STACK_NONE};
    return s->n_nodes++;
}

/* STACK_NONE: the tree is full. */
static uint32_t stacks_find_child(struct stacks *s, uint32_t parent, uint32_t name)
{
    uint32_t at = s->nodes[parent].child;
    while (at != STACK_NONE && s->nodes[at].name != name)
        at = s->nodes[at].sibling;
    if (at != STACK_NONE || s->n_nodes == STACKS_MOST)
        return at;
    at = stacks_add_node(s, name); /* may move the nodes */
    s->nodes[at].sibling = s->nodes[parent].child;
    s->nodes[parent].child = at;
    return at;
}

static int stacks_by_place(const void *a, const void *b)
{
    const struct stack_span *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

/* A frame whose caller is not there, as in a damaged file, is left out with its callees. */
static void stacks_add_spans(struct stacks *s)
{
    uint32_t path[STACKS_DEEP + 1] = {0}; /* by depth: the node above */
    uint32_t deepest = 0;
    if (s->n_spans)
        qsort(s->spans, s->n_spans, sizeof *s->spans, stacks_by_place);
    for (size_t i = 0; i < s->n_spans; i++) {
        const struct stack_span *x = &s->spans[i];
        if (x->depth > deepest)
            continue;
        const uint32_t node = stacks_find_child(s, path[x->depth], x->name);
        deepest = x->depth;
        if (node == STACK_NONE)
            continue;
        s->nodes[node].total_ns += x->dur_ns;
        s->nodes[path[x->depth]].below_ns += x->dur_ns;
        path[++deepest] = node;
    }
    s->n_spans = 0;
}

/* ---- the sink ---- */

static void stacks_track(void *to, const struct run_track *t)
{
    struct stacks *s = to;
    s->wanted = track_is_stacks(t);
    op_names_turn(&s->names);
}

static void stacks_events(void *to, const struct run_event *v, size_t n)
{
    struct stacks *s = to;
    for (size_t i = 0; i < n && s->wanted; i++) {
        const struct event *x = &v[i].event;
        if (x->category != CAT_PYTHON || x->value < 0 || x->value >= STACKS_DEEP)
            continue;
        VEC_ROOM(s->spans, s->cap_spans, s->n_spans + 1);
        s->spans[s->n_spans++] = (struct stack_span){
            x->at.ns, x->dur_ns, op_names_look(&s->names, x->name), (uint32_t)x->value};
    }
}

static void stacks_track_end(void *to)
{
    stacks_add_spans(to);
}

static const struct trace_sink stacks_sink = {
    .track = stacks_track,
    .events = stacks_events,
    .track_end = stacks_track_end,
    .want = {.value = true},
};

/* ---- rows ---- */

static int stacks_shorter_first(const void *a, const void *b, void *nodes)
{
    const struct stack_node *v = nodes, *x = &v[*(const uint32_t *)a],
                            *y = &v[*(const uint32_t *)b];
    if (x->total_ns != y->total_ns)
        return x->total_ns < y->total_ns ? -1 : 1;
    return (x->name < y->name) - (x->name > y->name);
}

/* The children of a node onto the stack of nodes that are to be written, the longest on top. */
static size_t stacks_push(const struct stacks *s, uint32_t parent, uint32_t *todo, size_t n)
{
    const size_t first = n;
    for (uint32_t c = s->nodes[parent].child; c != STACK_NONE; c = s->nodes[c].sibling)
        todo[n++] = c;
    if (n > first)
        qsort_r(todo + first, n - first, sizeof *todo, stacks_shorter_first, s->nodes);
    return n;
}

static void stacks_put_rows(const struct stacks *s, struct arena *a, struct stack_row *out)
{
    uint32_t *todo = xcalloc(s->n_nodes, sizeof *todo), *depth = xcalloc(s->n_nodes, sizeof *depth);
    size_t n = stacks_push(s, 0, todo, 0), n_out = 0;
    while (n > 0) {
        const uint32_t at = todo[--n];
        const struct stack_node *x = &s->nodes[at];
        out[n_out++] = (struct stack_row){arena_strdup(a, s->names.v[x->name].text), depth[at],
                                          MAX_OF(x->total_ns - x->below_ns, 0), x->total_ns};
        for (uint32_t c = x->child; c != STACK_NONE; c = s->nodes[c].sibling)
            depth[c] = depth[at] + 1;
        n = stacks_push(s, at, todo, n);
    }
    assert(n_out + 1 == s->n_nodes);
    free(todo);
    free(depth);
}

int stacks_read(struct run *r, const struct trace_ask *ask, struct arena *a, struct stack_row **out,
                size_t *n, struct err *e)
{
    struct stacks *s = xcalloc(1, sizeof *s);
    struct trace_ask profiles = *ask;
    profiles.functions = true;
    op_names_open(&s->names);
    stacks_add_node(s, 0);
    const int rc = trace_read(r, &profiles, &stacks_sink, s, e);
    *n = s->n_nodes - 1;
    *out = arena_array(a, struct stack_row, *n + 1);
    stacks_put_rows(s, a, *out);
    op_names_close(&s->names);
    free(s->nodes);
    free(s->spans);
    free(s);
    return rc;
}
