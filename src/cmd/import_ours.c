/* SPDX-License-Identifier: Apache-2.0 */
/* import_ours.c - see import_ours.h. */
#include "cmd/import_ours.h"

#include <string.h>

#include "base/mem.h"
#include "cmd/restoring.h"
#include "import/import_losses.h"

bool import_is_ours(struct folder *from)
{
    if (!from->single || from->n != 1)
        return false;
    struct folder_file *x = &from->files[0];
    if (!x->format)
        x->format = import_file_format(x->path);
    return x->format == &importer_footplate;
}

struct reading {
    struct restoring restoring;
    struct progress progress;
};

static int on_progress(void *ctx, uint64_t done, uint64_t all, struct err *e)
{
    struct reading *r = ctx;
    progress_at(&r->progress, all ? (double)done / (double)all : 0, clock_mono());
    return restoring_flush(&r->restoring, e);
}

static int read_file(struct reading *r, const struct folder_file *x, struct import_part *part,
                     struct err *e)
{
    struct remake *m = &r->restoring.remake;
    const struct import_file_ask ask = {
        .path = x->path,
        .format = &importer_footplate,
        .remake = m,
        .progress = on_progress,
        .ctx = r,
    };
    progress_start(&r->progress, stderr, term_width(stderr), "import", clock_mono());
    const int rc = import_file(&ask, &part->got, e);
    progress_end(&r->progress);
    if (rc != 0 || r->restoring.n_nodes == 0)
        return rc;
    const struct run_maker_node *n = r->restoring.nodes[0].made;
    const struct remake_place place = {n->id, n->session, REMAKE_METRICS, 0, 0};
    import_tell_losses(&part->got.result, m->ops->sink(m, &place));
    return 0;
}

int import_ours(struct importing *m, struct folder *from, const char *home, const char *id,
                const char *name, struct rundir *dir, struct err *e)
{
    struct reading r = {0};
    static const char *const none[] = {NULL};
    *m = (struct importing){.from = from, .parts = xcalloc(1, sizeof *m->parts), .n_good = 1};
    int rc = restoring_begin(&r.restoring, home, e);
    if (rc == 0)
        rc = read_file(&r, &from->files[0], &m->parts[0], e);
    m->sum = m->parts[0].got.result;
    const struct run_about otherwise = {.name = name,
                                        .command = none,
                                        .directory = "",
                                        .git_commit = "",
                                        .start = importing_wall(m, m->sum.first)};
    if (rc == 0)
        rc = restoring_place(&r.restoring, home, *id ? id : NULL, &otherwise, dir, e);
    restoring_end(&r.restoring);
    return rc;
}
