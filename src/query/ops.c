/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - see ops.h.
 *
 *     threads  one sweep over the spans with a stack: self and total times, and a tree of the spans
 *              that something was launched in
 *     devices  the time of each operation goes to the node of the call that launched it
 *     rows     both sides by name, the longest self time first */
#include "query/ops.h"

#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/mem.h"
#include "base/vec.h"
#include "query/trace.h"
#include "record/event.h"

/* ---- threads ---- */

enum { NO_NODE = 0 }; /* node 0 is outside of all spans */

/* In place of a node's number: that of a backward operator, whose node is known only when all
 * threads have been seen. */
#define BACKWARD ((uint32_t)1 << 31)

/* A profiler ties an operator to the one that runs backward for it by two marks with one link, one
 * where each begins. Their values: */
enum { ARROW_FROM = 1, ARROW_TO = 3 };

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

/* A span of a thread that something was launched in, in memory while its process is read. A node's
 * parent has the lower number. */
struct node {
    int64_t device_ns;
    uint32_t parent, name;
    bool outer; /* no span of the same name around it */
};

/* A span that runs. */
struct frame {
    int64_t begin, end;
    uint64_t tie;  /* the id that launches name as their parent */
    uint32_t node; /* NO_NODE as long as nothing was launched in it */
    uint32_t name;
    bool outer, call;
};

struct ops {
    enum ops_by by;
    bool thread; /* that is what the track is */
    struct side cpu, gpu;
    struct node *nodes;
    size_t n_nodes, cap_nodes;
    struct frame *stack;
    size_t depth, cap_stack;
    int64_t cursor; /* time up to here has been given out */
    struct launches launches;
    /* By module: the forward ends of arrows and the nodes they are in; the links of backward ends.
     */
    struct launches arrows;
    uint64_t *backward;
    size_t n_backward, cap_backward;
    /* The outermost operator that runs on this thread, and the arrow that ends in it: the number
     * after BACKWARD, 0 when there is none. */
    int64_t op_begin, op_end;
    uint32_t op_arrow;
    bool indexed;
    struct stat outside; /* device events that no span counts for */
};

/* Of a side, by the number of the name; may move the others. */
static struct stat *ops_stat(struct side *s, uint32_t name)
{
    OP_NAMES_ROOM(s->v, s->cap, name);
    return &s->v[name];
}

static uint32_t ops_add_node(struct ops *o, const struct node *n)
{
    *VEC_ADD(o->nodes, o->n_nodes, o->cap_nodes) = *n;
    return (uint32_t)o->n_nodes - 1;
}

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

static void frame_give(struct ops *o, const struct frame *f, int64_t until)
{
    if (until > o->cursor) {
        o->cpu.v[f->name].self_ns += until - o->cursor;
        o->cursor = until;
    }
}

static void frame_pop(struct ops *o)
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
        frame_give(o, &o->stack[o->depth - 1], o->stack[o->depth - 1].end);
        frame_pop(o);
    }
    if (o->depth)
        frame_give(o, &o->stack[o->depth - 1], t);
    o->cursor = MAX_OF(o->cursor, t);
}

static void ops_threads_push(struct ops *o, const struct run_event *x, uint32_t name)
{
    struct stat *s = ops_stat(&o->cpu, name);
    const bool outer = s->open == 0;
    *VEC_ADD(o->stack, o->depth, o->cap_stack) =
        (struct frame){.begin = x->at.ns,
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
        o->op_arrow = (uint32_t)o->n_backward;
        *VEC_ADD(o->backward, o->n_backward, o->cap_backward) = x->event.link;
    }
}

/* What only a table of modules needs to know of an event. */
static void note_for_modules(struct ops *o, const struct run_event *x, bool module)
{
    if (x->event.kind == EVENT_SPAN && x->event.category == CAT_OP && !module) {
        note_operator(o, x);
    } else if (x->event.kind == EVENT_MARK && x->event.category == CAT_OP && x->event.link) {
        ops_threads_settle(o, x->at.ns);
        note_arrow(o, x);
    }
}

/* ---- the sweep ---- */

static void note_launch(struct ops *o, const struct run_event *x)
{
    const bool backward = o->op_arrow && x->at.ns < o->op_end;
    /* Spans around the whole operator, as of a training loop, are less precise than the arrow. */
    const bool within = o->depth && o->stack[o->depth - 1].begin >= o->op_begin;
    uint32_t owner;
    if (backward && !within)
        owner = BACKWARD | o->op_arrow;
    else
        owner = owner_of(o, &x->event);
    const struct launch one = {x->event.link, x->at.ns, x->at.ns + x->event.dur_ns, owner};
    launches_add(&o->launches, &one);
}

static void ops_begin_thread(struct ops *o)
{
    op_names_turn(&o->cpu.names);
    o->depth = 0;
    o->cursor = o->op_begin = o->op_end = INT64_MIN;
    o->op_arrow = 0;
}

static void ops_sweep_thread(struct ops *o, const struct run_event *v, size_t n)
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

/* ---- devices ---- */

static void count_kernel(struct ops *o, const struct event *e)
{
    const uint32_t name = op_names_id(&o->gpu.names, e->name);
    struct stat *s = ops_stat(&o->gpu, name);
    s->calls++;
    s->self_ns += e->dur_ns;
    s->used = true;
    s->category = e->category;
}

/* What was launched backward counts for where the forward operator was called. */
static uint32_t ops_devices_node_of(struct ops *o, uint32_t owner)
{
    if (!(owner & BACKWARD))
        return owner;
    const struct launch *from = launches_find(&o->arrows, o->backward[owner & ~BACKWARD]);
    return from ? from->owner : NO_NODE;
}

static void ops_begin_device(struct ops *o)
{
    if (!o->indexed) {
        launches_index(&o->launches);
        launches_index(&o->arrows);
    }
    o->indexed = true;
    op_names_turn(&o->gpu.names);
}

static void ops_sweep_device(struct ops *o, const struct run_event *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct event *e = &v[i].event;
        if (device_role(e, 0) == ROLE_OTHER || e->dur_ns < 0)
            continue;
        const struct launch *l = launches_find(&o->launches, e->link);
        struct node *owner = &o->nodes[l ? ops_devices_node_of(o, l->owner) : NO_NODE];
        struct stat *s = owner == o->nodes ? &o->outside : &o->cpu.v[owner->name];
        owner->device_ns += e->dur_ns;
        s->device_self_ns += e->dur_ns;
        s->launched++;
        count_kernel(o, e);
    }
}

/* Device time goes up the tree: parents have lower numbers than what is in them. */
void ops_process_end(void *ops)
{
    struct ops *o = ops;
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
    char graph[SHORT_NAME_LEN];
    const bool is_graph = name_shorten_graph(full, graph, sizeof graph);
    return (struct op_row){.device = OP_CPU,
                           .category = s->category,
                           .group = GROUP_OTHER,
                           .name = is_graph ? arena_strdup(a, graph) : name_of_module(full),
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
                           .group = kernel_group_of(full, s->category),
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
    const struct op_row none = {.group = GROUP_OTHER, .name = "(no module)", .full = "(no module)"};
    *out = module_row(&none, &o->outside);
    out->total_ns = out->device_self_ns = out->device_total_ns = out->self_ns;
    return 1;
}

static void ops_rows_fill_shares(struct op_row *v, size_t n)
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
    return COMPARE(y->self_ns, x->self_ns)
               ?: COMPARE(y->total_ns, x->total_ns) ?: strcmp(x->full, y->full);
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
    ops_rows_fill_shares(v, k);
    SORT(v, k, by_self);
    *out = v;
    *n = k;
}

bool op_row_is_detail(const struct op_row *r)
{
    return r->device == OP_GPU || r->category == CAT_OP || r->category == CAT_RUNTIME ||
           r->category == CAT_SYNC || r->category == CAT_PYTHON;
}

/* Kernels of one group become one row, in place; operators go. Returns how many rows are left. */
static size_t ops_fold_groups(struct op_row *v, size_t n)
{
    struct op_row sum[GROUP_N] = {0};
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i].device != OP_GPU)
            continue;
        struct op_row *to = &sum[v[i].group];
        if (to->calls == 0)
            *to = (struct op_row){.device = OP_GPU,
                                  .category = v[i].category,
                                  .group = v[i].group,
                                  .name = kernel_group_names[v[i].group],
                                  .full = kernel_group_names[v[i].group]};
        to->calls += v[i].calls;
        to->self_ns += v[i].self_ns;
        to->total_ns += v[i].total_ns;
        to->device_self_ns += v[i].device_self_ns;
        to->device_total_ns += v[i].device_total_ns;
        to->share += v[i].share;
    }
    for (enum kernel_group g = 0; g < GROUP_N; g++)
        if (sum[g].calls)
            v[k++] = sum[g];
    SORT(v, k, by_self);
    return k;
}

/* ---- one process after the other ---- */

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
    launches_free(&o->arrows);
    free(o->backward);
    free(o);
}

void ops_process(void *ops, const struct run_process *p)
{
    struct ops *o = ops;
    (void)p;
    o->n_nodes = 0;
    o->indexed = false;
    o->n_backward = 1; /* number 0 is none */
    launches_clear(&o->launches);
    launches_clear(&o->arrows);
    ops_add_node(o, &(struct node){.parent = NO_NODE});
}

void ops_track_begin(void *ops, const struct run_track *t)
{
    struct ops *o = ops;
    o->thread = t->track.kind == TRACK_THREAD;
    if (o->thread)
        ops_begin_thread(o);
    else
        ops_begin_device(o);
}

void ops_events(void *ops, const struct run_event *v, size_t n)
{
    struct ops *o = ops;
    if (o->thread)
        ops_sweep_thread(o, v, n);
    else
        ops_sweep_device(o, v, n);
}

void ops_track_end(void *ops)
{
    struct ops *o = ops;
    while (o->thread && o->depth)
        ops_threads_settle(o, o->stack[o->depth - 1].end);
}

void ops_track(struct ops *o, const struct run_track *t, const struct run_event *v, size_t n)
{
    ops_track_begin(o, t);
    ops_events(o, v, n);
    ops_track_end(o);
}

/* ---- of a run ---- */

/* Only modules use values: those of arrows. */
static const struct trace_sink sinks[] = {
    [OPS_BY_NAME] = {ops_process, ops_track_begin, ops_events, ops_track_end, ops_process_end,
                     .want = {.link = true, .parent = true}},
    [OPS_BY_MODULE] = {ops_process, ops_track_begin, ops_events, ops_track_end, ops_process_end,
                       .want = {.value = true, .link = true, .parent = true}},
};

int ops_read(struct run *r, const struct ops_ask *ask, struct arena *a, struct op_row **out,
             size_t *n, struct err *e)
{
    if (ask->by == OPS_BY_FUNCTION)
        return functions_read(r, &ask->trace, a, out, n, e);
    const enum ops_by by = ask->by == OPS_BY_GROUP ? OPS_BY_NAME : ask->by;
    struct ops *o = ops_open(by);
    const int rc = trace_read(r, &ask->trace, &sinks[by], o, e);
    if (rc == 0)
        ops_rows(o, a, out, n);
    if (rc == 0 && ask->by == OPS_BY_GROUP)
        *n = ops_fold_groups(*out, *n);
    ops_close(o);
    return rc;
}
