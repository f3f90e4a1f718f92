/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - see ops.h. Opening, and one process after the other; the work is in ops_threads.c,
 * ops_devices.c and ops_rows.c. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/ops_functions.h"
#include "query/ops_internal.h"

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

struct stat *ops_stat(struct side *s, uint32_t name)
{
    if (name >= s->cap) {
        const uint32_t cap = MAX_OF(name + 1, s->cap ? 2 * s->cap : 256);
        s->v = xrealloc(s->v, cap, sizeof *s->v);
        memset(s->v + s->cap, 0, (cap - s->cap) * sizeof *s->v);
        s->cap = cap;
    }
    return &s->v[name];
}

uint32_t ops_add_node(struct ops *o, const struct node *n)
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
    o->n_backward = 1; /* number 0 is none */
    launches_clear(&o->launches);
    launches_clear(&o->arrows);
    ops_add_node(o, &(struct node){.parent = NO_NODE});
}

void ops_track_begin(struct ops *o, const struct run_track *t)
{
    o->thread = t->track.kind == TRACK_THREAD;
    if (o->thread)
        ops_begin_thread(o);
    else
        ops_begin_device(o);
}

void ops_events(struct ops *o, const struct run_event *v, size_t n)
{
    if (o->thread)
        ops_sweep_thread(o, v, n);
    else
        ops_sweep_device(o, v, n);
}

void ops_track_end(struct ops *o)
{
    if (o->thread)
        ops_end_thread(o);
}

void ops_track(struct ops *o, const struct run_track *t, const struct run_event *v, size_t n)
{
    ops_track_begin(o, t);
    ops_events(o, v, n);
    ops_track_end(o);
}

/* ---- of a run ---- */

static void ops_sink_begin(void *to, const struct run_process *p)
{
    (void)p;
    ops_process(to);
}

static void ops_sink_track(void *to, const struct run_track *t)
{
    ops_track_begin(to, t);
}

static void ops_sink_events(void *to, const struct run_event *v, size_t n)
{
    ops_events(to, v, n);
}

static void ops_sink_track_end(void *to)
{
    ops_track_end(to);
}

static void ops_sink_end(void *to)
{
    ops_process_end(to);
}

/* Only modules look at values: those of arrows. */
static const struct trace_sink sinks[] = {
    [OPS_BY_NAME] = {ops_sink_begin, ops_sink_track, ops_sink_events, ops_sink_track_end,
                     ops_sink_end, .want = {.link = true, .parent = true}},
    [OPS_BY_MODULE] = {ops_sink_begin, ops_sink_track, ops_sink_events, ops_sink_track_end,
                       ops_sink_end, .want = {.value = true, .link = true, .parent = true}},
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
