/* SPDX-License-Identifier: Apache-2.0 */
/* ops_devices.c - what ran on devices, and for which operators it counts. */
#include "query/ops_internal.h"

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

void ops_begin_device(struct ops *o)
{
    if (!o->indexed) {
        launches_index(&o->launches);
        launches_index(&o->arrows);
    }
    o->indexed = true;
    op_names_turn(&o->gpu.names);
}

void ops_sweep_device(struct ops *o, const struct run_event *v, size_t n)
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
void ops_process_end(struct ops *o)
{
    for (size_t i = o->n_nodes; i-- > 1;) {
        struct node *n = &o->nodes[i];
        if (n->outer)
            o->cpu.v[n->name].device_total_ns += n->device_ns;
        o->nodes[n->parent].device_ns += n->device_ns;
    }
}
