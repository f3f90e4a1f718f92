/* SPDX-License-Identifier: Apache-2.0 */
/* pull.c - a run from elsewhere into a local folder of runs, file by file, byte for byte. It is
 * made in a hidden folder and becomes visible when it is complete.
 *
 * The run may grow meanwhile. What describes how far the data goes is fetched before the data:
 * findings and the description of the run before its nodes, in a node its description, then tails,
 * then the rest. So the data may only be newer than its description (docs/format.md). */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "run/parts.h"
#include "run/run_info.h"
#include "run/run_names.h"
#include "run/storage.h"
#include "ship/ship.h"

enum {
    PULL_ATTEMPTS = 100,
    NODE_ATTEMPTS = 20, /* while its files change; what was fetched is in the cache */
};

/* Each with a list of its own. */
enum pull_turn { PULL_ABOUT, PULL_TAILS, PULL_DATA, PULL_TURNS };

#define PULL_BYTES_MOST ((size_t)1 << 36) /* of one file */

struct pull_folder {
    const char *from, *to;
    bool in_node;
    enum pull_turn turn;
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

static enum pull_turn pull_turn_of(enum run_file_kind kind, bool in_node)
{
    return !in_node || kind == RUN_FILE_NODE ? PULL_ABOUT
           : kind == RUN_FILE_TAIL           ? PULL_TAILS
                                             : PULL_DATA;
}

/* A part is of the kind of its file. */
static enum run_file_kind pull_kind_of(const char *name, bool in_node)
{
    struct part p;
    char stem[PART_NAME_LEN] = "";
    if (part_name_parse(name, NULL, &p) && strlen(name) < sizeof stem) {
        snprintf(stem, sizeof stem, "%s", name);
        *strrchr(stem, '.') = 0;
    }
    return run_file_kind(*stem ? stem : name, in_node);
}

/* Names come from a stranger: only those of files of a run. */
static void pull_entry(void *ctx, const struct storage_entry *x)
{
    struct pull_folder *f = ctx;
    const char *id = run_node_id(x->name);
    const enum run_file_kind kind = pull_kind_of(x->name, f->in_node);
    if (f->rc)
        return;
    if (x->kind == STORAGE_FOLDER && !f->in_node && id && name_is_sane(id, 256)) {
        if (f->turn == PULL_DATA)
            f->rc = pull_node(f->from, f->to, x->name, f->e);
    } else if (x->kind == STORAGE_FILE && kind != RUN_FILE_OTHER &&
               f->turn == pull_turn_of(kind, f->in_node)) {
        f->rc = pull_file(f->from, f->to, x->name, f->e);
    }
}

static int pull_folder(const char *from, const char *to, bool in_node, struct err *e)
{
    for (enum pull_turn turn = 0; turn < PULL_TURNS; turn++) {
        struct pull_folder f = {from, to, in_node, turn, 0, e};
        TRY(storage_of(from)->list(from, STORAGE_WITH_STAT, pull_entry, &f, e));
        TRY(f.rc);
    }
    return 0;
}

/* A file that is no longer there was joined with others, or closed: the list is to be read again.
 */
static int pull_node(const char *from, const char *to, const char *name, struct err *e)
{
    char source[PATH_LEN], path[PATH_LEN];
    int rc = 0;
    TRY(run_path(source, from, name, e));
    TRY(run_path(path, to, name, e));
    for (int attempt = 0; attempt < NODE_ATTEMPTS; attempt++) {
        bool made;
        TRY(storage_of(path)->claim(path, &made, e));
        rc = pull_folder(source, path, true, e);
        if (rc != ERR_BUSY && !err_no_file(rc, e))
            break;
        storage_of(path)->remove(path, STORAGE_REMOVE_TREE);
    }
    return rc;
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
