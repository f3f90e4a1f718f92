/* SPDX-License-Identifier: Apache-2.0 */
/* importing.c - see importing.h. */
#include "cmd/importing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/interrupted.h"
#include "import/import_losses.h"
#include "run/run_names.h"

/* FILES_PER_NODE: held open while it is written. */
enum { NODES_MOST = 256, FILES_PER_NODE = 6, FILES_BESIDE = 64 };

/* Many machines have many files open; the limit that most systems set can be raised. */
static void allow_files(void)
{
    const rlim_t want = NODES_MOST * FILES_PER_NODE + FILES_BESIDE;
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= want)
        return;
    l.rlim_cur = l.rlim_max == RLIM_INFINITY ? want : MIN_OF(want, l.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &l) < 0)
        return; /* then fewer machines fit, which is said when it comes to that */
}

int importing_begin(struct importing *m, const char *home, struct folder *from, struct err *e)
{
    *m = (struct importing){.from = from};
    m->sum.rank = m->sum.world_size = -1;
    const int rc = run_maker_begin(&m->maker, home, e);
    m->parts = xcalloc(from->n, sizeof *m->parts);
    allow_files();
    return rc;
}

wall_ns importing_wall(const struct importing *m, mono_ns t)
{
    return (wall_ns){t.ns + (m->tie.wall.ns - m->tie.mono.ns)};
}

/* ---- machines ---- */

static int node_of(struct importing *m, const char *name, struct import_node **out, struct err *e)
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
    const int rc = import_node_open(&m->nodes[m->n_nodes], &m->maker, id, m->tie, e);
    if (rc == 0)
        *out = m->nodes[m->n_nodes++];
    return rc;
}

static struct sink *sink_of_node(void *ctx, const char *name)
{
    struct import_node *d;
    struct err ignored; /* the importer counts what it cannot tell */
    return node_of(ctx, name, &d, &ignored) == 0 ? &d->pass.sink : NULL;
}

static void machine(void *ctx, const struct import_machine *said)
{
    struct import_node *d;
    struct err ignored; /* the importer has asked for its sink, so it is there */
    if (node_of(ctx, said->node, &d, &ignored) == 0)
        import_node_machine(d, said);
}

static int flush(struct importing *m, struct err *e)
{
    int rc = interrupted_check(e);
    if (rc == 0)
        rc = run_maker_flush(&m->maker, e);
    m->stuck = rc != 0;
    return rc;
}

/* ---- the traces ---- */

static int on_progress(void *ctx, uint64_t done, uint64_t all, struct err *e)
{
    struct importing *m = ctx;
    const double share = all ? (double)done / (double)all : 0;
    progress_at(&m->progress, ((double)m->at + share) / (double)m->from->n, clock_mono());
    return flush(m, e);
}

static bool gave_something(const struct import_result *r)
{
    return r->count[IMPORTED_KEPT] + r->count[IMPORTED_READINGS] > 0;
}

static void add_times(struct importing *m, const struct import_result *r)
{
    struct import_result *sum = &m->sum;
    if (!gave_something(r))
        return;
    sum->first.ns = m->dated ? MIN_OF(sum->first.ns, r->first.ns) : r->first.ns;
    sum->last.ns = m->dated ? MAX_OF(sum->last.ns, r->last.ns) : r->last.ns;
    m->dated = true;
}

static void add_counts(struct import_result *sum, const struct import_result *r)
{
    for (enum import_count c = 0; c < IMPORTED_N; c++)
        sum->count[c] += r->count[c];
#define X(name, help) sum->faults.name += r->faults.name;
    JSON_FAULTS(X)
#undef X
    sum->bytes += r->bytes;
}

static int read_file(struct importing *m, const struct folder_file *x, struct import_part *part,
                     struct err *e)
{
    int rc = node_of(m, x->hint.node, &part->node, e);
    m->stuck = rc != 0;
    if (rc != 0)
        return rc;
    const struct import_file_ask ask = {
        .path = x->path,
        .format = x->format,
        .hint = x->hint,
        .sink = &part->node->pids.pass.sink,
        .sink_of_node = sink_of_node,
        .machine = machine,
        .wall_minus_mono_ns = m->tie.wall.ns - m->tie.mono.ns,
        .threads = true,
        .progress = on_progress,
        .ctx = m,
    };
    for (size_t i = 0; i < m->n_nodes; i++)
        rows_begin(&m->nodes[i]->rows);
    pids_enter(&part->node->pids, x->process);
    return import_file(&ask, &part->got, e);
}

static void tell_lost(struct import_node *d, const char *name, enum loss_id id, const char *why)
{
    struct loss l = {.id = id, .count = 1, .at = d->first};
    const size_t n = strlen(name), room = sizeof l.what - sizeof "file ";
    snprintf(l.what, sizeof l.what, "file %s", n > room ? name + n - room : name);
    snprintf(l.why, sizeof l.why, "%s", why);
    sink_pass_loss(&d->pass.sink, &l);
}

/* A trace that breaks off before it says what its times count from: they are of no day, and the run
 * does not begin with them. */
static bool is_undated(const struct importing *m, const struct import_result *r)
{
    const int64_t some_years = (int64_t)100000000 * NS_PER_S;
    return importing_wall(m, r->first).ns < some_years;
}

/* What was read of it before it broke off stays. */
static void take_part(struct importing *m, struct folder_file *x, struct import_part *part, int rc,
                      const struct err *e)
{
    const struct import_result *r = &part->got.result;
    if (rc == 0 || !is_undated(m, r)) {
        import_node_note(part->node, r);
        add_times(m, r);
    }
    if (rc == ERR_FORMAT && !x->sure && !gave_something(r)) {
        x->skipped = "not a trace";
        m->from->n_read--;
        return;
    }
    if (r->rank < 0 && x->hint.has_rank)
        pids_tell_rank(&part->node->pids, x->hint.rank, r->first);
    if (rc != 0)
        part->failed = arena_strdup(&m->from->arena, e->msg);
    m->n_good += rc == 0;
    add_counts(&m->sum, r);
    import_tell_losses(r, &part->node->pass.sink);
}

static int read_next(struct importing *m, struct err *e)
{
    struct folder_file *x = &m->from->files[m->at];
    struct import_part *part = &m->parts[m->at];
    if (x->skipped)
        return 0;
    int rc = read_file(m, x, part, e);
    if (rc != 0 && (m->stuck || m->from->single))
        return rc;
    take_part(m, x, part, rc, e);
    return flush(m, e);
}

/* Why there is nothing: the first reason stands for all. */
static int nothing_good(const struct importing *m, struct err *e)
{
    for (size_t i = 0; i < m->from->n; i++)
        if (m->parts[i].failed)
            return err_set(e, ERR_FORMAT, "no file in the folder could be read completely: %s",
                           m->parts[i].failed);
    return err_set(e, ERR_FORMAT, "none of the %zu files in the folder is a trace", m->from->n);
}

/* Nodes that were told nothing are not kept. */
static struct import_node *kept_node(const struct importing *m, struct import_node *wanted)
{
    for (size_t i = 0; i < m->n_nodes && !(wanted && wanted->told); i++)
        wanted = m->nodes[i];
    return wanted;
}

static void tell_all_lost(struct importing *m)
{
    for (size_t i = 0; i < m->from->n; i++) {
        const struct folder_file *x = &m->from->files[i];
        if (m->parts[i].failed)
            tell_lost(kept_node(m, m->parts[i].node), x->name, LOSS_MALFORMED, m->parts[i].failed);
        if (x->skipped && x->lost)
            tell_lost(kept_node(m, NULL), x->name, LOSS_UNSUPPORTED, x->skipped);
    }
    if (m->from->cut)
        tell_lost(kept_node(m, NULL), "of the folder", LOSS_LIMIT,
                  "too many files or folders nested too deep; some were not read");
}

int importing_read(struct importing *m, struct err *e)
{
    int rc = 0;
    progress_start(&m->progress, stderr, term_width(stderr), "import", clock_mono());
    for (m->at = 0; m->at < m->from->n && rc == 0; m->at++)
        rc = read_next(m, e);
    progress_end(&m->progress);
    if (rc == 0 && m->n_good == 0)
        rc = nothing_good(m, e);
    if (rc == 0)
        tell_all_lost(m);
    return rc;
}

/* ---- the run ---- */

static int describe_nodes(struct importing *m, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < m->n_nodes && rc == 0; i++) {
        const struct import_node *d = m->nodes[i];
        if (d->told)
            rc = import_node_describe(d, &m->maker.dir, m->tie.wall.ns - m->tie.mono.ns, e);
        else
            rundir_drop_node(&m->maker.dir, d->made->id);
    }
    return rc;
}

int importing_place(struct importing *m, const char *home, const char *id,
                    const struct run_about *about, struct rundir *dir, struct err *e)
{
    for (size_t i = 0; i < m->n_nodes; i++)
        import_node_close(m->nodes[i]);
    int rc = run_maker_close(&m->maker, e);
    if (rc == 0)
        rc = describe_nodes(m, e);
    return rc != 0 ? rc : run_maker_place(&m->maker, home, id, about, dir, e);
}

/* ---- the end ---- */

void importing_end(struct importing *m)
{
    for (size_t i = 0; i < m->n_nodes; i++)
        import_node_free(m->nodes[i]);
    free(m->nodes);
    free(m->parts);
    run_maker_end(&m->maker);
    *m = (struct importing){0};
}
