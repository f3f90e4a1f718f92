/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - see ops.h. One sweep over each thread with a stack, one over each device. */
#include "query/ops.h"

#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/mem.h"
#include "query/ops_class.h"
#include "query/ops_launch.h"
#include "query/ops_names.h"

enum { NO_NODE = 0 }; /* node 0 is outside of all spans */

/* What is known of a name on one side. */
struct stat {
    uint64_t calls;
    int64_t self_ns, total_ns;
    int64_t device_self_ns, device_total_ns;
    uint64_t launched; /* device events that count for it itself */
    uint32_t open;     /* spans of this name that run now */
    bool used;
    enum event_category category;
};

struct side {
    struct op_names names;
    struct stat *v; /* by number of the name */
    uint32_t cap;
};

/* A span of a thread, kept while its process is read. A node's parent has the lower number. */
struct node {
    int64_t device_ns;
    uint32_t parent, name;
    bool outer; /* no span of the same name around it */
};

/* A span that runs. */
struct frame {
    int64_t begin, end;
    uint64_t tie; /* the id that launches name as their parent */
    uint32_t node, name;
    bool outer, call;
};

struct ops {
    enum ops_by by;
    struct side cpu, gpu;
    struct node *nodes;
    size_t n_nodes, cap_nodes;
    struct frame *stack;
    size_t depth, cap_stack;
    int64_t cursor; /* time up to here has been given out */
    struct launches launches;
    bool indexed;
    struct stat outside; /* device events that no span counts for */
};

struct ops *ops_open(enum ops_by by)
{
    struct ops *o = xcalloc(1, sizeof *o);
    o->by = by;
    op_names_open(&o->cpu.names);
    op_names_open(&o->gpu.names);
    return o;
}

void ops_close(struct ops *o)
{
    if (!o)
        return;
    op_names_close(&o->cpu.names);
    op_names_close(&o->gpu.names);
    free(o->cpu.v);
    free(o->gpu.v);
    free(o->nodes);
    free(o->stack);
    launches_free(&o->launches);
    free(o);
}

static struct stat *stat_of(struct side *s, uint32_t name)
{
    if (name >= s->cap) {
        const uint32_t cap = MAX_OF(name + 1, s->cap ? 2 * s->cap : 256);
        s->v = xrealloc(s->v, cap, sizeof *s->v);
        memset(s->v + s->cap, 0, (cap - s->cap) * sizeof *s->v);
        s->cap = cap;
    }
    return &s->v[name];
}

static uint32_t add_node(struct ops *o, const struct node *n)
{
    if (o->n_nodes == o->cap_nodes) {
        o->cap_nodes = o->cap_nodes ? 2 * o->cap_nodes : 4096;
        o->nodes = xrealloc(o->nodes, o->cap_nodes, sizeof *o->nodes);
    }
    o->nodes[o->n_nodes] = *n;
    return (uint32_t)o->n_nodes++;
}

void ops_process(struct ops *o)
{
    o->n_nodes = 0;
    o->indexed = false;
    launches_clear(&o->launches);
    add_node(o, &(struct node){.parent = NO_NODE});
}

/* ---- threads ---- */

static bool is_call(const struct event *v)
{
    return v->category == CAT_RUNTIME || v->category == CAT_SYNC;
}

/* Whether the span is one of those that the table is about. */
static bool is_row(const struct ops *o, const struct event *v, unsigned sense)
{
    if (v->kind != EVENT_SPAN || sense & NAME_STEP)
        return false;
    if (o->by == OPS_BY_NAME)
        return v->category != CAT_PYTHON;
    return v->category == CAT_USER || v->category == CAT_LOADER ||
           (v->category == CAT_PYTHON && sense & NAME_MODULE);
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
static void settle(struct ops *o, int64_t t)
{
    while (o->depth && o->stack[o->depth - 1].end <= t) {
        give(o, &o->stack[o->depth - 1], o->stack[o->depth - 1].end);
        pop(o);
    }
    if (o->depth)
        give(o, &o->stack[o->depth - 1], t);
    o->cursor = MAX_OF(o->cursor, t);
}

static void settle_all(struct ops *o)
{
    while (o->depth)
        settle(o, o->stack[o->depth - 1].end);
}

static struct frame *push(struct ops *o, const struct run_event *x, uint32_t name)
{
    struct stat *s = stat_of(&o->cpu, name);
    const uint32_t parent = o->depth ? o->stack[o->depth - 1].node : NO_NODE;
    const bool outer = s->open == 0;
    if (o->depth == o->cap_stack) {
        o->cap_stack = o->cap_stack ? 2 * o->cap_stack : 256;
        o->stack = xrealloc(o->stack, o->cap_stack, sizeof *o->stack);
    }
    struct frame *f = &o->stack[o->depth++];
    *f = (struct frame){.begin = x->at.ns,
                        .end = x->at.ns + MAX_OF(0, x->event.dur_ns),
                        .tie = x->event.parent,
                        .name = name,
                        .outer = outer,
                        .call = is_call(&x->event)};
    f->node = add_node(o, &(struct node){.parent = parent, .name = name, .outer = outer});
    s->calls++;
    s->open++;
    s->used = true;
    s->category = x->event.category;
    return f;
}

/* The span that a launch counts for: the one that the launch names as its parent when that one
 * runs, else the innermost that is no call itself, else the call. */
static uint32_t owner_of(const struct ops *o, const struct event *v)
{
    enum { LOOK_MOST = 16 };
    const size_t floor = o->depth > LOOK_MOST ? o->depth - LOOK_MOST : 0;
    uint32_t innermost = NO_NODE;
    for (size_t i = o->depth; i > floor; i--) {
        const struct frame *f = &o->stack[i - 1];
        if (f->call || f->end < o->cursor)
            continue;
        if (innermost == NO_NODE)
            innermost = f->node;
        if (v->parent && f->tie == v->parent)
            return f->node;
    }
    if (innermost == NO_NODE && o->depth)
        innermost = o->stack[o->depth - 1].node;
    return innermost;
}

static void note_launch(struct ops *o, const struct run_event *x)
{
    const struct launch one = {x->event.link, x->at.ns, x->at.ns + x->event.dur_ns,
                               owner_of(o, &x->event)};
    launches_add(&o->launches, &one);
}

static void sweep_thread(struct ops *o, const struct run_event *v, size_t n)
{
    struct op_names *names = &o->cpu.names;
    op_names_turn(names);
    o->depth = 0;
    o->cursor = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        const struct event *e = &v[i].event;
        const uint32_t name = op_names_id(names, e->name);
        const bool row = is_row(o, e, names->v[name].sense);
        if (!row && !(is_call(e) && e->link))
            continue;
        settle(o, v[i].at.ns);
        if (row)
            push(o, &v[i], name);
        if (is_call(e) && e->link)
            note_launch(o, &v[i]);
    }
    settle_all(o);
}

/* ---- devices ---- */

static void count_kernel(struct ops *o, const struct event *e)
{
    const uint32_t name = op_names_id(&o->gpu.names, e->name);
    struct stat *s = stat_of(&o->gpu, name);
    s->calls++;
    s->self_ns += e->dur_ns;
    s->used = true;
    s->category = e->category;
}

static void sweep_device(struct ops *o, const struct run_event *v, size_t n)
{
    if (!o->indexed)
        launches_index(&o->launches);
    o->indexed = true;
    op_names_turn(&o->gpu.names);
    for (size_t i = 0; i < n; i++) {
        const struct event *e = &v[i].event;
        if (device_role(e, 0) == ROLE_OTHER || e->dur_ns < 0)
            continue;
        const struct launch *l = launches_find(&o->launches, e->link);
        struct node *owner = &o->nodes[l ? l->owner : NO_NODE];
        struct stat *s = owner == o->nodes ? &o->outside : &o->cpu.v[owner->name];
        owner->device_ns += e->dur_ns;
        s->device_self_ns += e->dur_ns;
        s->launched++;
        count_kernel(o, e);
    }
}

void ops_track(struct ops *o, const struct run_track *t, const struct run_event *v, size_t n)
{
    if (t->track.kind == TRACK_THREAD)
        sweep_thread(o, v, n);
    else
        sweep_device(o, v, n);
}

/* Device time goes up the tree: parents have lower numbers than what is in them. */
void ops_process_end(struct ops *o)
{
    for (size_t i = o->n_nodes; i-- > 1;) {
        struct node *n = &o->nodes[i];
        if (n->outer)
            o->cpu.v[n->name].device_total_ns += n->device_ns;
        o->nodes[n->parent].device_ns += n->device_ns;
    }
}

/* ---- rows ---- */

static struct op_row cpu_row(const struct ops *o, uint32_t i, struct arena *a)
{
    const struct stat *s = &o->cpu.v[i];
    const char *full = arena_strdup(a, o->cpu.names.v[i].text);
    return (struct op_row){.device = OP_CPU,
                           .category = s->category,
                           .name = name_of_module(full),
                           .full = full,
                           .calls = s->calls,
                           .self_ns = s->self_ns,
                           .total_ns = s->total_ns,
                           .device_self_ns = s->device_self_ns,
                           .device_total_ns = s->device_total_ns};
}

static struct op_row kernel_row(const struct ops *o, uint32_t i, struct arena *a)
{
    const struct stat *s = &o->gpu.v[i];
    char name[SHORT_NAME_LEN];
    const char *full = arena_strdup(a, o->gpu.names.v[i].text);
    const bool kernel = s->category == CAT_KERNEL || s->category == CAT_COMM;
    if (kernel)
        name_shorten(full, name, sizeof name);
    return (struct op_row){.device = OP_GPU,
                           .category = s->category,
                           .name = kernel ? arena_strdup(a, name) : full,
                           .full = full,
                           .calls = s->calls,
                           .self_ns = s->self_ns,
                           .total_ns = s->self_ns,
                           .device_self_ns = s->self_ns,
                           .device_total_ns = s->self_ns};
}

/* What a module made the device do. */
static struct op_row module_row(const struct op_row *cpu, const struct stat *s)
{
    struct op_row row = *cpu;
    row.device = OP_GPU;
    row.calls = s->launched;
    row.self_ns = s->device_self_ns;
    row.total_ns = s->device_total_ns;
    return row;
}

static size_t module_rows(const struct ops *o, const struct op_row *cpu, uint32_t i,
                          struct op_row *out)
{
    const struct stat *s = &o->cpu.v[i];
    if (s->device_total_ns == 0 && s->launched == 0)
        return 0;
    *out = module_row(cpu, s);
    return 1;
}

static size_t outside_row(const struct ops *o, struct op_row *out)
{
    if (o->outside.launched == 0)
        return 0;
    const struct op_row none = {.name = "(no module)", .full = "(no module)"};
    *out = module_row(&none, &o->outside);
    out->total_ns = out->device_self_ns = out->device_total_ns = out->self_ns;
    return 1;
}

static void fill_shares(struct op_row *v, size_t n)
{
    double sum[2] = {0, 0};
    for (size_t i = 0; i < n; i++)
        sum[v[i].device] += (double)v[i].self_ns;
    for (size_t i = 0; i < n; i++)
        v[i].share = sum[v[i].device] > 0 ? (double)v[i].self_ns / sum[v[i].device] : 0;
}

static int by_self(const void *a, const void *b)
{
    const struct op_row *x = a, *y = b;
    if (x->self_ns != y->self_ns)
        return x->self_ns < y->self_ns ? 1 : -1;
    if (x->total_ns != y->total_ns)
        return x->total_ns < y->total_ns ? 1 : -1;
    return strcmp(x->full, y->full);
}

void ops_rows(const struct ops *o, struct arena *a, struct op_row **out, size_t *n)
{
    const bool modules = o->by == OPS_BY_MODULE;
    const uint32_t cpu = MIN_OF(o->cpu.names.n, o->cpu.cap);
    const uint32_t gpu = MIN_OF(o->gpu.names.n, o->gpu.cap);
    struct op_row *v = arena_array(a, struct op_row, 2 * (size_t)cpu + gpu + 1);
    size_t k = 0;
    for (uint32_t i = 0; i < cpu; i++) {
        if (!o->cpu.v[i].used)
            continue;
        const struct op_row row = v[k++] = cpu_row(o, i, a);
        if (modules)
            k += module_rows(o, &row, i, &v[k]);
    }
    for (uint32_t i = 0; i < gpu && !modules; i++)
        if (o->gpu.v[i].used)
            v[k++] = kernel_row(o, i, a);
    if (modules)
        k += outside_row(o, &v[k]);
    fill_shares(v, k);
    if (k)
        qsort(v, k, sizeof *v, by_self);
    *out = v;
    *n = k;
}

/* ---- of a run ---- */

static void sink_begin(void *to, const struct run_process *p)
{
    (void)p;
    ops_process(to);
}

static void sink_track(void *to, const struct run_track *t, const struct run_event *v, size_t n)
{
    ops_track(to, t, v, n);
}

static void sink_end(void *to)
{
    ops_process_end(to);
}

static const struct trace_sink ops_sink = {sink_begin, sink_track, sink_end};

int ops_read(struct run *r, const struct ops_ask *ask, struct arena *a, struct op_row **out,
             size_t *n, struct err *e)
{
    struct ops *o = ops_open(ask->by);
    const int rc = trace_read(r, &ask->trace, &ops_sink, o, e);
    if (rc == 0)
        ops_rows(o, a, out, n);
    ops_close(o);
    return rc;
}
