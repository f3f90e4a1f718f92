/* SPDX-License-Identifier: Apache-2.0 */
/* ops_python.c - functions of Python where they were profiled, and sampled stacks (ops.h). A window
 * and its functions begin together on a track, in any order; windows of one track have different
 * begins. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "query/ops.h"
#include "query/steps.h"
#include "query/trace.h"

enum { TIMER_LEN = 32 };

/* Between phase, timer and function, as they are looked up together. */
#define PART "\x1f"

struct sum {
    uint64_t calls;
    int64_t self_ns, total_ns;
};

/* Of the current window; the name stays until the track's end. */
struct functions_pending {
    const char *name;
    struct sum sum;
};

struct functions {
    struct op_names names;
    struct sum *sums; /* by number of the name */
    uint32_t cap_sums;
    char phase[TRACK_NAME_LEN], timer[TIMER_LEN];
    int64_t at;  /* of the window */
    bool stacks; /* the track has those, which are not functions */
    struct functions_pending *pending;
    size_t n_pending, cap_pending;
};

/* ---- arguments: "key=value" lines ---- */

static const char *arg_find(const char *args, const char *key)
{
    const size_t len = strlen(key);
    for (const char *at = args; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
        if (strncmp(at, key, len) == 0 && at[len] == '=')
            return at + len + 1;
    return "";
}

static void arg_copy(const char *args, const char *key, char *out, size_t size)
{
    const char *at = arg_find(args, key);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
}

/* ---- windows ---- */

static void functions_end_window(void *to)
{
    struct functions *f = to;
    for (size_t i = 0; i < f->n_pending; i++) {
        char key[TRACK_NAME_LEN + TIMER_LEN + EVENT_NAME_MOST + 2];
        snprintf(key, sizeof key, "%s" PART "%s" PART "%s", f->phase, f->timer, f->pending[i].name);
        const uint32_t name = op_names_look(&f->names, key);
        OP_NAMES_ROOM(f->sums, f->cap_sums, name);
        struct sum *s = &f->sums[name];
        s->calls += f->pending[i].sum.calls;
        s->self_ns += f->pending[i].sum.self_ns;
        s->total_ns += f->pending[i].sum.total_ns;
    }
    f->n_pending = 0;
    f->timer[0] = '\0';
}

static void functions_add(struct functions *f, const struct event *v)
{
    const char *args = v->args ? v->args : "";
    const double total_s = strtod(arg_find(args, "total_s"), NULL);
    VEC_ROOM(f->pending, f->cap_pending, f->n_pending + 1);
    const bool fits = total_s > 0 && total_s < 1e9;
    f->pending[f->n_pending++] = (struct functions_pending){
        v->name,
        {(uint64_t)MAX_OF(v->value, 0), v->dur_ns,
         fits ? MAX_OF((int64_t)(total_s * 1e9), v->dur_ns) : v->dur_ns},
    };
}

/* ---- the sink ---- */

static void functions_track(void *to, const struct run_track *t)
{
    struct functions *f = to;
    const char *phase = t->track.name + strlen(PROFILE_TRACK_NAME);
    snprintf(f->phase, sizeof f->phase, "%s", text_starts(phase, ": ") ? phase + 2 : "");
    f->at = INT64_MIN;
    f->stacks = track_is_stacks(t);
}

static void functions_events(void *to, const struct run_event *v, size_t n)
{
    struct functions *f = to;
    for (size_t i = 0; i < n && !f->stacks; i++) {
        const struct event *x = &v[i].event;
        if (x->at.ns != f->at)
            functions_end_window(f);
        f->at = x->at.ns;
        if (x->category == CAT_PYTHON)
            functions_add(f, x);
        else if (x->args)
            arg_copy(x->args, "timer", f->timer, sizeof f->timer);
    }
}

static const struct trace_sink sink = {
    .track = functions_track,
    .events = functions_events,
    .track_end = functions_end_window,
    .want = {.value = true, .args_of = UINT64_MAX},
};

/* ---- rows ---- */

/* Key is "phase PART timer PART function"; the row owns it. */
static struct op_row functions_row_of(char *key, const struct sum *s)
{
    char *timer = strstr(key, PART), *name = strstr(timer + 1, PART);
    *timer = *name = '\0';
    return (struct op_row){.device = OP_CPU,
                           .category = CAT_PYTHON,
                           .name = name + 1,
                           .full = name + 1,
                           .phase = key,
                           .timer = timer + 1,
                           .calls = s->calls,
                           .self_ns = s->self_ns,
                           .total_ns = s->total_ns};
}

/* The whole window first, then phases as they come in a step. */
static size_t functions_place_of(const char *phase)
{
    const size_t i = FIND_FIRST(k, step_parts(), strcmp(step_part_name(k), phase) == 0);
    return *phase ? i + 1 : 0;
}

bool function_timer_is_clock(const char *timer)
{
    return !*timer || strcmp(timer, "total_time") == 0 || strcmp(timer, "default") == 0;
}

static int by_group(const struct op_row *x, const struct op_row *y)
{
    const size_t a = functions_place_of(x->phase), b = functions_place_of(y->phase);
    if (a != b)
        return a < b ? -1 : 1;
    const int c = strcmp(x->phase, y->phase),
              d = function_timer_is_clock(y->timer) - function_timer_is_clock(x->timer);
    return c ? c : d ? d : strcmp(x->timer, y->timer);
}

static int by_place(const void *a, const void *b)
{
    const struct op_row *x = a, *y = b;
    return by_group(x, y) ?: COMPARE(y->self_ns, x->self_ns) ?: strcmp(x->name, y->name);
}

static void functions_fill_shares(struct op_row *v, size_t n)
{
    for (size_t i = 0, end; i < n; i = end) {
        double sum = 0;
        for (end = i; end < n && by_group(&v[end], &v[i]) == 0; end++)
            sum += (double)v[end].self_ns;
        for (size_t k = i; k < end; k++)
            v[k].share = sum > 0 ? (double)v[k].self_ns / sum : 0;
    }
}

int functions_read(struct run *r, const struct trace_ask *ask, struct arena *a, struct op_row **out,
                   size_t *n, struct err *e)
{
    struct functions *f = xcalloc(1, sizeof *f);
    struct trace_ask profiles = *ask;
    profiles.functions = true;
    op_names_open(&f->names);
    const int rc = trace_read(r, &profiles, &sink, f, e);
    *n = f->names.n;
    *out = arena_array(a, struct op_row, *n);
    for (uint32_t i = 0; i < f->names.n; i++)
        (*out)[i] = functions_row_of(arena_strdup(a, f->names.v[i].text), &f->sums[i]);
    SORT(*out, *n, by_place);
    functions_fill_shares(*out, *n);
    op_names_close(&f->names);
    free(f->sums);
    free(f->pending);
    free(f);
    return rc;
}

/* ==== sampled stacks ==== */

/* Spans inside of each other, whose value is their depth, added up in one tree. */

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
    struct stack_span *spans; /* of the current track */
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
    return COMPARE(x->at, y->at) ?: COMPARE(x->depth, y->depth);
}

/* A frame whose caller is not there, as in a damaged file, is left out with its callees. */
static void stacks_add_spans(struct stacks *s)
{
    uint32_t path[STACKS_DEEP + 1] = {0}; /* by depth: the node above */
    uint32_t deepest = 0;
    SORT(s->spans, s->n_spans, stacks_by_place);
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
    return COMPARE(x->total_ns, y->total_ns) ?: COMPARE(y->name, x->name);
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
