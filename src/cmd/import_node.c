/* SPDX-License-Identifier: Apache-2.0 */
/* import_node.c - see import_node.h. */
#include "cmd/import_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/nodefile.h"
#include "base/mem.h"

static void note_span(struct import_node *d, mono_ns first, mono_ns last)
{
    if (!d->told || first.ns < d->first.ns)
        d->first = first;
    if (!d->told || last.ns > d->last.ns)
        d->last = last;
    d->told = true;
}

static void on_row(struct sink *s, struct group *g, mono_ns t)
{
    struct import_node *d = (struct import_node *)s;
    note_span(d, t, t);
    rows_take(&d->rows, g, t);
}

int import_node_open(struct import_node **out, struct run_maker *run, const char *id,
                     struct clock_tie tie, struct err *e)
{
    static const struct sink_ops ops = {on_row, sink_pass_loss, sink_pass_mark, sink_pass_events};
    struct import_node *d = xcalloc(1, sizeof *d);
    d->pass.sink.ops = &ops;
    d->rank = d->world_size = -1;
    const int rc = run_maker_node(run, id, 1, tie, &d->made, e);
    if (rc != 0) {
        import_node_free(d);
        return rc;
    }
    rows_open(&d->rows, writer_sink(d->made->metrics));
    d->pass.behind = writer_sink(d->made->events);
    pids_open(&d->pids, &d->pass.sink);
    *out = d;
    return 0;
}

/* Events are many: when they were is taken from the sum. */
void import_node_note(struct import_node *d, const struct import_result *r)
{
    if (r->count[IMPORTED_KEPT] && !r->elsewhere)
        note_span(d, r->first, r->last);
    if (r->rank < 0)
        return;
    d->rank = d->traces == 0 || d->rank == r->rank ? r->rank : -1;
    d->world_size = r->world_size;
    d->traces++;
}

void import_node_machine(struct import_node *d, const struct import_machine *m)
{
    note_span(d, m->first, m->last);
    d->said = *m;
    d->said.node = d->made->id;
}

void import_node_close(struct import_node *d)
{
    d->cores = d->said.cores ? d->said.cores : rows_devices(&d->rows, PER_CORE);
    d->gpus = d->said.gpus ? d->said.gpus : rows_devices(&d->rows, PER_GPU);
    d->interval_ns = d->rows.n ? d->rows.groups[0].own.period_ns : d->said.interval_ns;
    rows_close(&d->rows);
}

static void name_gpus(struct gpu_info gpus[GPU_MOST], unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        gpus[i] = (struct gpu_info){0};
        snprintf(gpus[i].entity, sizeof gpus[i].entity, "gpu%u", i);
    }
}

int import_node_describe(const struct import_node *d, const struct rundir *run,
                         int64_t wall_minus_mono_ns, struct err *e)
{
    struct nodefile f;
    struct gpu_info gpus[GPU_MOST];
    struct node_about about = {
        .id = d->made->id,
        .session = d->made->session,
        .status = NODE_FINISHED,
        .host = {.cores = d->cores, .memory_bytes = (uint64_t)d->said.memory_bytes},
        .gpus = gpus,
        .n_gpus = MIN_OF(d->gpus, (unsigned)GPU_MOST),
        .gpus_known = d->gpus > 0,
        .launcher = {.rank = d->rank,
                     .world_size = d->world_size,
                     .local_rank = -1,
                     .local_size = -1,
                     .node_rank = -1,
                     .nodes = -1},
        .interval_ns = d->interval_ns,
        .start = {d->first.ns + wall_minus_mono_ns},
        .end = {d->last.ns + wall_minus_mono_ns},
        .exit_status = -1,
        .cpu_s = -1,
    };
    name_gpus(gpus, about.n_gpus);
    if (d->rank >= 0)
        snprintf(about.launcher.name, sizeof about.launcher.name, "footplate import");
    if (strcmp(d->made->id, IMPORT_NODE_DEFAULT) != 0)
        snprintf(about.host.hostname, sizeof about.host.hostname, "%s", d->made->id);
    nodefile_init(&f, run, &about);
    return nodefile_write(&f, e);
}

void import_node_free(struct import_node *d)
{
    if (!d)
        return;
    rows_close(&d->rows);
    pids_close(&d->pids);
    free(d);
}
