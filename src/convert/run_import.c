/* SPDX-License-Identifier: Apache-2.0 */
/* run_import.c - see run_import.h. */
#include "convert/run_import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "convert/run_restore.h"
#include "import/importer.h"
#include "run/nodefile.h"
#include "run/run_ending.h"
#include "run/run_names.h"
#include "store/writer.h"

/* The node of files that do not name their machine. */
#define IMPORT_NODE_DEFAULT "trace"

/* FILES_PER_NODE: open while it is written. */
enum { NODES_MOST = 256, FILES_PER_NODE = 6, FILES_BESIDE = 64 };

/* Many nodes need many open files; the soft limit of most systems can be raised. */
static void run_import_allow_files(void)
{
    const rlim_t want = NODES_MOST * FILES_PER_NODE + FILES_BESIDE;
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= want)
        return;
    l.rlim_cur = l.rlim_max == RLIM_INFINITY ? want : MIN_OF(want, l.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &l) < 0)
        return; /* then fewer nodes fit, and the one too many is an error */
}

int run_import_begin(struct run_import *m, const char *home, struct folder *from, struct err *e)
{
    *m = (struct run_import){.from = from};
    m->sum.rank = m->sum.world_size = -1;
    const int rc = run_maker_begin(&m->maker, home, e);
    m->parts = xcalloc(from->n, sizeof *m->parts);
    run_import_allow_files();
    return rc;
}

wall_ns run_import_wall(const struct run_import *m, mono_ns t)
{
    return (wall_ns){t.ns + (m->tie.wall.ns - m->tie.mono.ns)};
}

/* ---- one node ---- */

static void import_node_span(struct import_node *d, mono_ns first, mono_ns last)
{
    if (!d->has_data || first.ns < d->first.ns)
        d->first = first;
    if (!d->has_data || last.ns > d->last.ns)
        d->last = last;
    d->has_data = true;
}

static void import_node_row(struct sink *s, struct group *g, mono_ns t)
{
    struct import_node *d = (struct import_node *)s;
    import_node_span(d, t, t);
    rows_take(&d->rows, g, t);
}

/* Marks are moments of the node: they are beside its readings. */
static void import_node_mark(struct sink *s, const struct mark *m)
{
    struct sink *to = ((struct import_node *)s)->rows.sink;
    to->ops->mark(to, m);
}

static int import_node_open(struct import_node **out, struct run_maker *run, const char *id,
                            struct clock_tie tie, struct err *e)
{
    static const struct sink_ops ops = {import_node_row, sink_pass_loss, import_node_mark,
                                        sink_pass_events};
    struct import_node *d = xcalloc(1, sizeof *d);
    d->pass.sink.ops = &ops;
    d->rank = d->world_size = -1;
    const int rc = run_maker_node(run, id, 1, tie, &d->made, e);
    if (rc != 0) {
        free(d);
        return rc;
    }
    rows_open(&d->rows, writer_sink(d->made->metrics));
    d->pass.next = writer_sink(d->made->events);
    pids_open(&d->pids, &d->pass.sink);
    *out = d;
    return 0;
}

/* The times of events come from the result of their file: there are too many to check each. */
static void import_node_note(struct import_node *d, const struct import_result *r)
{
    if (r->count[IMPORTED_KEPT] && !r->elsewhere)
        import_node_span(d, r->first, r->last);
    if (r->rank < 0)
        return;
    d->rank = d->traces == 0 || d->rank == r->rank ? r->rank : -1;
    d->world_size = r->world_size;
    d->traces++;
}

static void import_node_machine(struct import_node *d, const struct import_machine *m)
{
    import_node_span(d, m->first, m->last);
    d->machine = *m;
    d->machine.node = d->made->id;
}

static void import_node_close(struct import_node *d)
{
    d->cores = d->machine.cores ? d->machine.cores : rows_devices(&d->rows, PER_CORE);
    d->gpus = d->machine.gpus ? d->machine.gpus : rows_devices(&d->rows, PER_GPU);
    d->interval_ns = d->rows.n ? d->rows.groups[0].own.period_ns : d->machine.interval_ns;
    rows_close(&d->rows);
}

static void import_node_name_gpus(struct gpu_info gpus[GPU_MOST], unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        gpus[i] = (struct gpu_info){0};
        snprintf(gpus[i].entity, sizeof gpus[i].entity, "gpu%u", i);
    }
}

static int import_node_describe(const struct import_node *d, const struct rundir *run,
                                int64_t wall_minus_mono_ns, struct err *e)
{
    struct nodefile f;
    struct gpu_info gpus[GPU_MOST];
    const struct run_ending ending =
        run_ending_by_status(d->machine.has_exit ? d->machine.exit_status : -1);
    struct node_about about = {
        .id = d->made->id,
        .session = d->made->session,
        .status = ending.status,
        .host = {.cores = d->cores, .memory_bytes = (uint64_t)d->machine.memory_bytes},
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
        .exit_status = ending.exit_status,
        .cpu_s = -1,
    };
    import_node_name_gpus(gpus, about.n_gpus);
    snprintf(about.why, sizeof about.why, "%s", ending.why);
    if (d->rank >= 0)
        snprintf(about.launcher.name, sizeof about.launcher.name, "footplate import");
    if (strcmp(d->made->id, IMPORT_NODE_DEFAULT) != 0)
        snprintf(about.host.hostname, sizeof about.host.hostname, "%s", d->made->id);
    nodefile_init(&f, run, &about);
    return nodefile_write(&f, e);
}

static void import_node_free(struct import_node *d)
{
    if (!d)
        return;
    rows_close(&d->rows);
    pids_close(&d->pids);
    free(d);
}

/* ---- nodes ---- */

static int run_import_node_of(struct run_import *m, const char *name, struct import_node **out,
                              struct err *e)
{
    char id[NODE_ID_LEN];
    name_sanitize(id, sizeof id, *name ? name : IMPORT_NODE_DEFAULT);
    for (size_t i = 0; i < m->n_nodes; i++)
        if (strcmp(m->nodes[i]->made->id, id) == 0) {
            *out = m->nodes[i];
            return 0;
        }
    if (m->n_nodes == NODES_MOST)
        return err_set(e, ERR_LIMIT, "there are more than %d nodes", NODES_MOST);
    m->nodes = xrealloc(m->nodes, m->n_nodes + 1, sizeof(struct import_node *));
    TRY(import_node_open(&m->nodes[m->n_nodes], &m->maker, id, m->tie, e));
    *out = m->nodes[m->n_nodes++];
    return 0;
}

static struct sink *run_import_sink_of_node(void *ctx, const char *name)
{
    struct import_node *d;
    struct err ignored; /* the importer counts what it could not pass on */
    return run_import_node_of(ctx, name, &d, &ignored) == 0 ? &d->pass.sink : NULL;
}

static void run_import_machine(void *ctx, const struct import_machine *machine)
{
    struct import_node *d;
    struct err ignored; /* it exists: the importer requested its sink before */
    if (run_import_node_of(ctx, machine->node, &d, &ignored) == 0)
        import_node_machine(d, machine);
}

static int run_import_flush(struct run_import *m, struct err *e)
{
    int rc = interrupted_check(e);
    if (rc == 0)
        rc = run_maker_flush(&m->maker, e);
    m->stuck = rc != 0;
    return rc;
}

/* ---- the traces ---- */

static int run_import_progress(void *ctx, uint64_t done, uint64_t all, struct err *e)
{
    struct run_import *m = ctx;
    const double share = all ? (double)done / (double)all : 0;
    progress_at(&m->progress, ((double)m->at + share) / (double)m->from->n, clock_mono());
    return run_import_flush(m, e);
}

static void run_import_add_times(struct run_import *m, const struct import_result *r)
{
    struct import_result *sum = &m->sum;
    if (!import_gave_something(r))
        return;
    sum->first.ns = m->dated ? MIN_OF(sum->first.ns, r->first.ns) : r->first.ns;
    sum->last.ns = m->dated ? MAX_OF(sum->last.ns, r->last.ns) : r->last.ns;
    m->dated = true;
}

static void run_import_add_counts(struct import_result *sum, const struct import_result *r)
{
    for (enum import_count c = 0; c < IMPORTED_N; c++)
        sum->count[c] += r->count[c];
#define X(name, help) sum->faults.name += r->faults.name;
    JSON_FAULTS(X)
#undef X
    sum->bytes += r->bytes;
}

static int run_import_read_file(struct run_import *m, const struct folder_file *x,
                                struct import_part *part, struct err *e)
{
    int rc = run_import_node_of(m, x->hint.node, &part->node, e);
    m->stuck = rc != 0;
    if (rc != 0)
        return rc;
    const struct import_file_ask ask = {
        .path = x->path,
        .format = x->format,
        .hint = x->hint,
        .sink = &part->node->pids.pass.sink,
        .sink_of_node = run_import_sink_of_node,
        .machine = run_import_machine,
        .wall_minus_mono_ns = m->tie.wall.ns - m->tie.mono.ns,
        .threads = true,
        .progress = run_import_progress,
        .ctx = m,
    };
    for (size_t i = 0; i < m->n_nodes; i++)
        rows_begin(&m->nodes[i]->rows);
    pids_enter(&part->node->pids, x->process);
    return import_file(&ask, &part->got, e);
}

static void run_import_add_loss(struct import_node *d, const char *name, enum loss_id id,
                                const char *why)
{
    char part[ENTITY_LEN];
    const size_t n = strlen(name), room = sizeof part - sizeof "file ";
    snprintf(part, sizeof part, "file %s", n > room ? name + n - room : name);
    struct loss l = loss_of(id, LOST_PART(part), "%s", why);
    l.at = d->first;
    sink_pass_loss(&d->pass.sink, &l);
}

/* A trace that ends before it names the base of its times: they have no date, so the run does not
 * start with them. */
static bool run_import_is_undated(const struct run_import *m, const struct import_result *r)
{
    const int64_t some_years = (int64_t)100000000 * NS_PER_S;
    return run_import_wall(m, r->first).ns < some_years;
}

/* Data that was read before a failure stays. */
static void run_import_take_part(struct run_import *m, struct folder_file *x,
                                 struct import_part *part, int rc, const struct err *e)
{
    const struct import_result *r = &part->got.result;
    if (rc == 0 || !run_import_is_undated(m, r)) {
        import_node_note(part->node, r);
        run_import_add_times(m, r);
    }
    if (rc == ERR_FORMAT && !x->sure && !import_gave_something(r)) {
        x->skipped = "not a trace";
        m->from->n_read--;
        return;
    }
    if (r->rank < 0 && x->hint.has_rank)
        pids_put_rank(&part->node->pids, x->hint.rank, r->first);
    if (rc != 0)
        part->failed = arena_strdup(&m->from->arena, e->msg);
    m->n_good += rc == 0;
    run_import_add_counts(&m->sum, r);
    import_put_losses(r, &part->node->pass.sink);
}

static int run_import_read_next(struct run_import *m, struct err *e)
{
    struct folder_file *x = &m->from->files[m->at];
    struct import_part *part = &m->parts[m->at];
    if (x->skipped)
        return 0;
    int rc = run_import_read_file(m, x, part, e);
    if (rc != 0 && (m->stuck || m->from->single))
        return rc;
    run_import_take_part(m, x, part, rc, e);
    return run_import_flush(m, e);
}

/* The error when no file could be used: the first reason. */
static int run_import_nothing_read(const struct run_import *m, struct err *e)
{
    for (size_t i = 0; i < m->from->n; i++)
        if (m->parts[i].failed)
            return err_set(e, ERR_FORMAT, "no file in the folder could be read completely: %s",
                           m->parts[i].failed);
    return err_set(e, ERR_FORMAT, "none of the %zu files in the folder is a trace", m->from->n);
}

/* `wanted`, or another node with data: nodes without data are removed. */
static struct import_node *run_import_node_with_data(const struct run_import *m,
                                                     struct import_node *wanted)
{
    for (size_t i = 0; i < m->n_nodes && !(wanted && wanted->has_data); i++)
        wanted = m->nodes[i];
    return wanted;
}

static void run_import_add_losses(struct run_import *m)
{
    for (size_t i = 0; i < m->from->n; i++) {
        const struct folder_file *x = &m->from->files[i];
        if (m->parts[i].failed)
            run_import_add_loss(run_import_node_with_data(m, m->parts[i].node), x->name,
                                LOSS_MALFORMED, m->parts[i].failed);
        if (x->skipped && x->lost)
            run_import_add_loss(run_import_node_with_data(m, NULL), x->name, LOSS_UNSUPPORTED,
                                x->skipped);
    }
    if (m->from->cut)
        run_import_add_loss(run_import_node_with_data(m, NULL), "of the folder", LOSS_LIMIT,
                            "too many files or folders nested too deep; some were not read");
}

int run_import_read(struct run_import *m, struct err *e)
{
    int rc = 0;
    progress_start(&m->progress, stderr, term_width(stderr), "import", clock_mono());
    for (m->at = 0; m->at < m->from->n && rc == 0; m->at++)
        rc = run_import_read_next(m, e);
    progress_end(&m->progress);
    if (rc == 0 && m->n_good == 0)
        rc = run_import_nothing_read(m, e);
    if (rc == 0)
        run_import_add_losses(m);
    return rc;
}

/* ---- the run ---- */

static int run_import_describe_nodes(struct run_import *m, struct err *e)
{
    for (size_t i = 0; i < m->n_nodes; i++) {
        const struct import_node *d = m->nodes[i];
        if (d->has_data)
            TRY(import_node_describe(d, &m->maker.dir, m->tie.wall.ns - m->tie.mono.ns, e));
        else
            run_maker_drop(&m->maker, d->made);
    }
    return 0;
}

int run_import_place(struct run_import *m, const char *home, const char *id,
                     const struct run_about *about, struct rundir *dir, struct err *e)
{
    for (size_t i = 0; i < m->n_nodes; i++)
        import_node_close(m->nodes[i]);
    TRY(run_maker_close(&m->maker, e));
    TRY(run_import_describe_nodes(m, e));
    return run_maker_place(&m->maker, home, id, about, dir, e);
}

/* ---- the end ---- */

void run_import_end(struct run_import *m)
{
    for (size_t i = 0; i < m->n_nodes; i++)
        import_node_free(m->nodes[i]);
    free(m->nodes);
    free(m->parts);
    run_maker_end(&m->maker);
    *m = (struct run_import){0};
}

/* ---- exports of Footplate ---- */

bool run_import_is_export(struct folder *from)
{
    if (!from->single || from->n != 1)
        return false;
    struct folder_file *x = &from->files[0];
    if (!x->format)
        x->format = import_file_format(x->path);
    return x->format == &importer_footplate;
}

struct export_reading {
    struct run_restore restore;
    struct progress progress;
};

static int run_import_export_progress(void *ctx, uint64_t done, uint64_t all, struct err *e)
{
    struct export_reading *r = ctx;
    progress_at(&r->progress, all ? (double)done / (double)all : 0, clock_mono());
    return run_restore_flush(&r->restore, e);
}

static int run_import_export_read(struct export_reading *r, const struct folder_file *x,
                                  struct import_part *part, struct err *e)
{
    struct remake *m = &r->restore.remake;
    const struct import_file_ask ask = {
        .path = x->path,
        .format = &importer_footplate,
        .remake = m,
        .progress = run_import_export_progress,
        .ctx = r,
    };
    progress_start(&r->progress, stderr, term_width(stderr), "import", clock_mono());
    const int rc = import_file(&ask, &part->got, e);
    progress_end(&r->progress);
    if (rc != 0 || r->restore.n_nodes == 0)
        return rc;
    const struct run_maker_node *n = r->restore.nodes[0].made;
    const struct remake_place place = {n->id, n->session, REMAKE_METRICS, 0, 0};
    import_put_losses(&part->got.result, m->ops->sink(m, &place));
    return 0;
}

int run_import_export(struct run_import *m, struct folder *from, const char *home, const char *id,
                      const char *name, struct rundir *dir, struct err *e)
{
    struct export_reading r = {0};
    static const char *const none[] = {NULL};
    *m = (struct run_import){.from = from, .parts = xcalloc(1, sizeof *m->parts), .n_good = 1};
    int rc = run_restore_begin(&r.restore, home, e);
    if (rc == 0)
        rc = run_import_export_read(&r, &from->files[0], &m->parts[0], e);
    m->sum = m->parts[0].got.result;
    const struct run_about otherwise = {.name = name,
                                        .command = none,
                                        .directory = "",
                                        .git_commit = "",
                                        .start = run_import_wall(m, m->sum.first)};
    if (rc == 0)
        rc = run_restore_place(&r.restore, home, *id ? id : NULL, &otherwise, dir, e);
    run_restore_end(&r.restore);
    return rc;
}
