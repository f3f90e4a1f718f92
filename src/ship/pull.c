/* SPDX-License-Identifier: Apache-2.0 */
/* pull.c - a run from elsewhere into a local folder of runs, file by file, byte for byte. It is
 * made in a hidden folder and becomes visible when it is complete. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "run/parts.h"
#include "run/run_info.h"
#include "run/run_names.h"
#include "run/storage.h"
#include "ship/ship.h"

enum { PULL_ATTEMPTS = 100 };

#define PULL_BYTES_MOST ((size_t)1 << 36) /* of one file */

struct pull_folder {
    const char *from, *to;
    bool in_node;
    int rc;
    struct err *e;
};

static int pull_node(const char *from, const char *to, const char *name, struct err *e);

static int pull_file(const char *from, const char *to, const char *name, struct err *e)
{
    char source[PATH_LEN], path[PATH_LEN];
    struct fmap m;
    TRY(run_path(source, from, name, e));
    TRY(run_path(path, to, name, e));
    TRY(storage_of(source)->source->map(source, true, &m, e));
    const int rc = storage_of(path)->put(path, m.p, m.len, STORAGE_PUT_STAGED, e);
    fmap_close(&m);
    return rc;
}

/* Names come from a stranger: only those of files of a run. */
static void pull_entry(void *ctx, const struct storage_entry *x)
{
    struct pull_folder *f = ctx;
    const char *id = run_node_id(x->name);
    struct part p;
    char stem[PART_NAME_LEN] = "";
    if (f->rc)
        return;
    if (part_name_parse(x->name, NULL, &p) && strlen(x->name) < sizeof stem) {
        snprintf(stem, sizeof stem, "%s", x->name);
        *strrchr(stem, '.') = 0;
    }
    if (x->kind == STORAGE_FOLDER && !f->in_node && id && name_is_sane(id, 256))
        f->rc = pull_node(f->from, f->to, x->name, f->e);
    else if (x->kind == STORAGE_FILE &&
             run_file_kind(*stem ? stem : x->name, f->in_node) != RUN_FILE_OTHER)
        f->rc = pull_file(f->from, f->to, x->name, f->e);
}

static int pull_folder(const char *from, const char *to, bool in_node, struct err *e)
{
    struct pull_folder f = {from, to, in_node, 0, e};
    TRY(storage_of(from)->list(from, STORAGE_WITH_STAT, pull_entry, &f, e));
    return f.rc;
}

static int pull_node(const char *from, const char *to, const char *name, struct err *e)
{
    char source[PATH_LEN], path[PATH_LEN];
    bool made;
    TRY(run_path(source, from, name, e));
    TRY(run_path(path, to, name, e));
    TRY(storage_of(path)->claim(path, &made, e));
    return pull_folder(source, path, true, e);
}

static int pull_hidden(const char *runs, char *out, struct err *e)
{
    const struct storage *s = storage_of(runs);
    bool made = false;
    for (unsigned i = 0; i < PULL_ATTEMPTS && !made; i++) {
        TRY(run_hidden_path(out, runs, (unsigned)clock_wall().ns + i, e));
        TRY(s->claim(out, &made, e));
    }
    return made ? 0 : err_set(e, ERR_BUSY, "cannot make a folder in '%s'", runs);
}

int ship_pull(const char *run, const char *dir, char *path, struct err *e)
{
    const char *runs = runs_folder(dir), *name = path_base(run);
    char hidden[PATH_LEN];
    bool made;
    if (!name_is_sane(name, 256))
        return err_set(e, ERR_USAGE, "'%.200s' has a name that a run cannot have", run);
    TRY(run_path(path, runs, name, e));
    if (storage_has(path))
        return err_set(e, ERR_BUSY, "'%s' exists already", path);
    TRY(storage_of(runs)->make_runs(runs, &made, e));
    TRY(pull_hidden(runs, hidden, e));
    int rc = pull_folder(run, hidden, false, e);
    if (rc == 0)
        rc = storage_of(runs)->publish(hidden, path, e);
    if (rc)
        storage_of(hidden)->remove(hidden, STORAGE_REMOVE_TREE);
    return rc;
}
