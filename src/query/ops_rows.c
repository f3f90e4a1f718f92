/* SPDX-License-Identifier: Apache-2.0 */
/* ops_rows.c - rows out of what was gathered, ranked. */
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/mem.h"
#include "query/ops_internal.h"
#include "record/event.h"

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
    ops_rows_fill_shares(v, k);
    if (k)
        qsort(v, k, sizeof *v, by_self);
    *out = v;
    *n = k;
}

bool op_row_is_detail(const struct op_row *r)
{
    return r->device == OP_GPU || r->category == CAT_OP || r->category == CAT_RUNTIME ||
           r->category == CAT_SYNC || r->category == CAT_PYTHON;
}

size_t ops_fold_groups(struct op_row *v, size_t n)
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
    if (k)
        qsort(v, k, sizeof *v, by_self);
    return k;
}
