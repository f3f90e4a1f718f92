/* SPDX-License-Identifier: Apache-2.0 */
/* ops_threads.c - operators of a thread: one sweep over its spans with a stack. */
#include "base/mem.h"
#include "query/ops_internal.h"

static bool is_call(const struct event *v)
{
    return v->category == CAT_RUNTIME || v->category == CAT_SYNC;
}

/* A phase or wait that hooks recorded; no operator, although it may have the name of one. */
static bool is_of_hooks(const struct event *v, const struct op_name *name)
{
    return name->hook != EV_N && v->category == event_words[name->hook].category;
}

/* Whether the span is one of those that the table is about. */
static bool is_row(const struct ops *o, const struct event *v, const struct op_name *name)
{
    const unsigned sense = name->sense;
    if (v->kind != EVENT_SPAN || sense & NAME_STEP || is_of_hooks(v, name))
        return false;
    if (o->by == OPS_BY_NAME)
        return v->category != CAT_PYTHON && !(sense & NAME_MODULE);
    return v->category == CAT_USER || v->category == CAT_LOADER || sense & NAME_MODULE;
}

static void give(struct ops *o, const struct frame *f, int64_t until)
{
    if (until > o->cursor) {
        o->cpu.v[f->name].self_ns += until - o->cursor;
        o->cursor = until;
    }
}

static void pop(struct ops *o)
{
    const struct frame *f = &o->stack[--o->depth];
    struct stat *s = &o->cpu.v[f->name];
    s->open--;
    if (f->outer)
        s->total_ns += f->end - f->begin;
}

/* Gives out all time up to `t` and takes away what ended by then. One that ended below another
 * that still runs waits for it: it gets no time any more. */
static void ops_threads_settle(struct ops *o, int64_t t)
{
    while (o->depth && o->stack[o->depth - 1].end <= t) {
        give(o, &o->stack[o->depth - 1], o->stack[o->depth - 1].end);
        pop(o);
    }
    if (o->depth)
        give(o, &o->stack[o->depth - 1], t);
    o->cursor = MAX_OF(o->cursor, t);
}

void ops_end_thread(struct ops *o)
{
    while (o->depth)
        ops_threads_settle(o, o->stack[o->depth - 1].end);
}

static void ops_threads_push(struct ops *o, const struct run_event *x, uint32_t name)
{
    struct stat *s = ops_stat(&o->cpu, name);
    const bool outer = s->open == 0;
    if (o->depth == o->cap_stack) {
        o->cap_stack = o->cap_stack ? 2 * o->cap_stack : 256;
        o->stack = xrealloc(o->stack, o->cap_stack, sizeof *o->stack);
    }
    o->stack[o->depth++] = (struct frame){.begin = x->at.ns,
                                          .end = x->at.ns + MAX_OF(0, x->event.dur_ns),
                                          .tie = x->event.parent,
                                          .node = NO_NODE,
                                          .name = name,
                                          .outer = outer,
                                          .call = is_call(&x->event)};
    s->calls++;
    s->open++;
    s->used = true;
    s->category = x->event.category;
}

/* The node of a span that runs; made when it is the first time, with those around it. */
static uint32_t ops_threads_node_of(struct ops *o, size_t frame)
{
    size_t known = frame + 1;
    while (known > 0 && o->stack[known - 1].node == NO_NODE)
        known--;
    uint32_t node = known ? o->stack[known - 1].node : NO_NODE;
    for (; known <= frame; known++) {
        struct frame *f = &o->stack[known];
        node = f->node =
            ops_add_node(o, &(struct node){.parent = node, .name = f->name, .outer = f->outer});
    }
    return node;
}

/* The span that a launch counts for: the one that the launch names as its parent when that one
 * runs, else the innermost that is no call itself, else the call. */
static uint32_t owner_of(struct ops *o, const struct event *v)
{
    enum { LOOK_MOST = 16 };
    const size_t floor = o->depth > LOOK_MOST ? o->depth - LOOK_MOST : 0;
    size_t innermost = o->depth;
    for (size_t i = o->depth; i-- > floor;) {
        const struct frame *f = &o->stack[i];
        if (f->call || f->end < o->cursor)
            continue;
        if (innermost == o->depth)
            innermost = i;
        if (v->parent && f->tie == v->parent)
            return ops_threads_node_of(o, i);
    }
    if (o->depth == 0)
        return NO_NODE;
    return ops_threads_node_of(o, innermost < o->depth ? innermost : o->depth - 1);
}

/* ---- backward ---- */

static void note_operator(struct ops *o, const struct run_event *x)
{
    if (x->at.ns < o->op_end)
        return; /* it is within another */
    o->op_begin = x->at.ns;
    o->op_end = x->at.ns + x->event.dur_ns;
    o->op_arrow = 0;
}

/* The operator that the arrow ends in runs already: of what begins at one moment the longest comes
 * first. */
static void note_arrow(struct ops *o, const struct run_event *x)
{
    if (x->event.value == ARROW_FROM) {
        const struct launch from = {.link = x->event.link, .owner = owner_of(o, &x->event)};
        launches_add(&o->arrows, &from);
    } else if (x->event.value == ARROW_TO && x->at.ns < o->op_end && o->n_backward < BACKWARD) {
        if (o->n_backward >= o->cap_backward) {
            o->cap_backward = o->cap_backward ? 2 * o->cap_backward : 256;
            o->backward = xrealloc(o->backward, o->cap_backward, sizeof *o->backward);
        }
        o->op_arrow = (uint32_t)o->n_backward;
        o->backward[o->n_backward++] = x->event.link;
    }
}

static bool ops_threads_is_arrow(const struct event *v)
{
    return v->kind == EVENT_MARK && v->category == CAT_OP && v->link;
}

/* What only a table of modules needs to know of an event. */
static void note_for_modules(struct ops *o, const struct run_event *x, bool module)
{
    if (x->event.kind == EVENT_SPAN && x->event.category == CAT_OP && !module) {
        note_operator(o, x);
    } else if (ops_threads_is_arrow(&x->event)) {
        ops_threads_settle(o, x->at.ns);
        note_arrow(o, x);
    }
}

/* ---- the sweep ---- */

static void note_launch(struct ops *o, const struct run_event *x)
{
    const bool backward = o->op_arrow && x->at.ns < o->op_end;
    /* Spans around the whole operator, as of a training loop, say less than the arrow. */
    const bool within = o->depth && o->stack[o->depth - 1].begin >= o->op_begin;
    uint32_t owner;
    if (backward && !within)
        owner = BACKWARD | o->op_arrow;
    else
        owner = owner_of(o, &x->event);
    const struct launch one = {x->event.link, x->at.ns, x->at.ns + x->event.dur_ns, owner};
    launches_add(&o->launches, &one);
}

void ops_begin_thread(struct ops *o)
{
    op_names_turn(&o->cpu.names);
    o->depth = 0;
    o->cursor = o->op_begin = o->op_end = INT64_MIN;
    o->op_arrow = 0;
}

void ops_sweep_thread(struct ops *o, const struct run_event *v, size_t n)
{
    struct op_names *names = &o->cpu.names;
    for (size_t i = 0; i < n; i++) {
        const struct event *e = &v[i].event;
        const uint32_t name = op_names_id(names, e->name);
        const bool row = is_row(o, e, &names->v[name]);
        if (o->by == OPS_BY_MODULE)
            note_for_modules(o, &v[i], names->v[name].sense & NAME_MODULE);
        if (!row && !(is_call(e) && e->link))
            continue;
        ops_threads_settle(o, v[i].at.ns);
        if (row)
            ops_threads_push(o, &v[i], name);
        if (is_call(e) && e->link)
            note_launch(o, &v[i]);
    }
}
