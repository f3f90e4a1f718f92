/* SPDX-License-Identifier: Apache-2.0 */
/* run_files.c - see run_files.h.
 *
 * Files come, grow and go while a run is recorded. Each is opened separately, and store/reader.h
 * gives a consistent view of one file. A stamp is a hash of name and version of every file, in any
 * order: it differs when a file came, went or changed. */
#include "run/run_files.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "run/run_names.h"
#include "run/storage.h"

enum {
    WINDOWS_MOST = 1024,      /* of a node; far more than make sense */
    FINDINGS_MOST = 16 << 20, /* bytes */
};

static int run_files_node_file(char *path, const struct run_info *info, const struct node_info *n,
                               const char *stem, const char *end, struct err *e)
{
    char folder[PATH_LEN];
    const int rc = run_node_path(folder, info->path, n->id, e);
    return rc ? rc : run_session_path(path, folder, stem, n->session, end, e);
}

/* ---- readings and events ---- */

static int run_files_open(struct store **out, const char *path, bool follows, struct err *e)
{
    return (follows ? store_follow : store_open_from)(out, storage_of(path)->source, path, e);
}

int run_open_metrics(struct store **out, const struct run_info *info, size_t node, bool follows,
                     struct err *e)
{
    char path[PATH_LEN];
    assert(node < info->n_nodes);
    TRY(run_files_node_file(path, info, &info->nodes[node], STORE_METRICS, STORE_SEALED, e));
    return run_files_open(out, path, follows, e);
}

int run_open_events(struct store **out, const struct run_event_file *f, bool follows, struct err *e)
{
    return run_files_open(out, f->path, follows, e);
}

struct run_file_list {
    const struct run_info *info;
    struct arena *arena;
    struct run_event_file *v;
    size_t n, cap;
};

static void run_files_add_path(struct run_file_list *s, size_t node, const char *path, bool detail)
{
    *ARENA_ADD(s->arena, s->v, s->n, s->cap) =
        (struct run_event_file){arena_strdup(s->arena, path), node, detail};
}

struct run_windows {
    struct arena *arena;
    const char *names[WINDOWS_MOST];
    size_t n;
};

static void run_files_note_window(void *ctx, const struct storage_entry *x)
{
    struct run_windows *w = ctx;
    /* a link is refused when it is opened, and counts as damage */
    assert(w->n <= WINDOWS_MOST);
    if (run_is_window(x->name) && w->n < WINDOWS_MOST)
        w->names[w->n++] = arena_strdup(w->arena, x->name);
}

static int run_files_by_text(const void *a, const void *b)
{
    return name_compare(*(const char *const *)a, *(const char *const *)b);
}

/* Detail windows belong to the node; their time decides which of its sessions they are of. */
static int run_files_add_windows(struct run_file_list *s, size_t node, struct err *e)
{
    struct run_windows w = {.arena = s->arena};
    struct err ignored; /* then there are none */
    assert(node < s->info->n_nodes);
    char folder[PATH_LEN], path[PATH_LEN];
    TRY(run_node_path(folder, s->info->path, s->info->nodes[node].id, e));
    if (storage_of(folder)->list(folder, 0, run_files_note_window, &w, &ignored))
        return 0;
    SORT(w.names, w.n, run_files_by_text); /* a list has any order */
    for (size_t i = 0; i < w.n; i++) {
        TRY(run_path(path, folder, w.names[i], e));
        run_files_add_path(s, node, path, true);
    }
    return 0;
}

static bool run_files_is_last_session(const struct run_info *info, size_t i)
{
    assert(i < info->n_nodes); /* sorted by node and session */
    return i + 1 == info->n_nodes || strcmp(info->nodes[i].id, info->nodes[i + 1].id) != 0;
}

static int run_files_add_node(struct run_file_list *s, size_t node, struct err *e)
{
    char path[PATH_LEN];
    TRY(run_files_node_file(path, s->info, &s->info->nodes[node], STORE_EVENTS, STORE_SEALED, e));
    if (storage_has(path))
        run_files_add_path(s, node, path, false);
    return run_files_is_last_session(s->info, node) ? run_files_add_windows(s, node, e) : 0;
}

int run_event_files(const struct run_info *info, struct arena *a, struct run_event_file **out,
                    size_t *n, struct err *e)
{
    struct run_file_list s = {.info = info, .arena = a};
    for (size_t i = 0; i < info->n_nodes; i++)
        TRY(run_files_add_node(&s, i, e));
    *out = s.v;
    *n = s.n;
    return 0;
}

/* ---- small files ---- */

int run_read_node(json_t **out, const struct run_info *info, const struct node_info *n,
                  struct err *e)
{
    char path[PATH_LEN];
    const int rc = run_files_node_file(path, info, n, RUN_NODE_STEM, RUN_NODE_END, e);
    return rc ? rc : storage_read_json(out, path, e);
}

int run_read_about(json_t **out, const struct run_info *info, struct err *e)
{
    char path[PATH_LEN];
    const int rc = run_path(path, info->path, RUN_ABOUT, e);
    return rc ? rc : storage_read_json(out, path, e);
}

int run_read_findings(const char *run, struct arena *a, char **text, size_t *len, struct err *e)
{
    char path[PATH_LEN];
    const int rc = run_path(path, run, RUN_FINDINGS, e);
    return rc ? rc : storage_of(path)->source->read(path, 0, FINDINGS_MOST, a, text, len, e);
}

int run_put(const char *run, const char *file, const void *p, size_t n, struct err *e)
{
    char path[PATH_LEN];
    const int rc = run_path(path, run, file, e);
    return rc ? rc : storage_of(path)->put(path, p, n, STORAGE_PUT_REPLACE, e);
}

/* ---- saved tensors ---- */

int run_put_saved(const char *folder, unsigned session, const char *name, const void *p, size_t n,
                  struct err *e)
{
    char path[PATH_LEN], full[128];
    struct run_saved x;
    if (!run_saved_parse(name, &x, NULL))
        return err_set(e, ERR_USAGE, "'%s' is not the name of a file of saved tensors", name);
    TRY(run_saved_check(name, p, n, e));
    run_saved_name(full, sizeof full, &x, session);
    TRY(run_path(path, folder, full, e));
    return storage_of(path)->put(path, p, n, STORAGE_PUT_ABSENT, e);
}

struct run_saved_list {
    struct arena *arena;
    const char *node;
    struct run_saved_file *v;
    size_t n, cap;
};

static void run_files_add_saved(void *ctx, const struct storage_entry *x)
{
    struct run_saved_list *l = ctx;
    struct run_saved_file f = {.node = l->node};
    if (x->kind != STORAGE_FILE || !run_saved_parse(x->name, &f.saved, &f.session))
        return;
    f.name = arena_strdup(l->arena, x->name);
    f.bytes = x->stat.bytes;
    *ARENA_ADD(l->arena, l->v, l->n, l->cap) = f;
}

static int run_saved_order(const void *a, const void *b)
{
    const struct run_saved_file *x = a, *y = b;
    const unsigned v[][2] = {{x->saved.step, y->saved.step},
                             {x->saved.rank, y->saved.rank},
                             {x->session, y->session},
                             {x->saved.pid, y->saved.pid},
                             {x->saved.k, y->saved.k}};
    for (size_t i = 0; i < COUNT_OF(v); i++)
        if (v[i][0] != v[i][1])
            return v[i][0] < v[i][1] ? -1 : 1;
    return strcmp(x->node, y->node);
}

int run_saved_files(const struct run_info *info, struct arena *a, struct run_saved_file **out,
                    size_t *n, struct err *e)
{
    struct run_saved_list l = {.arena = a};
    for (size_t i = 0; i < info->n_nodes; i++) {
        char folder[PATH_LEN];
        struct err ignored; /* then there are none */
        if (!run_files_is_last_session(info, i))
            continue;
        l.node = info->nodes[i].id;
        TRY(run_node_path(folder, info->path, l.node, e));
        if (storage_of(folder)->list(folder, STORAGE_WITH_STAT, run_files_add_saved, &l, &ignored))
            continue;
    }
    if (l.n)
        qsort(l.v, l.n, sizeof *l.v, run_saved_order);
    *out = l.v;
    *n = l.n;
    return 0;
}

int run_map_saved(const struct run_info *info, const struct run_saved_file *f, struct fmap *out,
                  struct err *e)
{
    char folder[PATH_LEN], path[PATH_LEN];
    TRY(run_node_path(folder, info->path, f->node, e));
    TRY(run_path(path, folder, f->name, e));
    return storage_of(path)->source->map(path, false, out, e);
}

/* ---- changes ---- */

#define STAMP_BITS ((UINT64_C(1) << 53) - 1)

struct run_look {
    const char *run;
    bool data;
    struct run_stamp stamp;
};

/* A list has any order, so each entry is hashed alone and the hashes are added. */
static void run_stamp_add_entry(struct run_stamp *s, const char *name,
                                const struct storage_stat *st)
{
    const uint64_t facts[] = {st->version, format_sum(name, strlen(name))};
    s->version += format_sum(facts, sizeof facts);
    s->newest_ns = MAX_OF(s->newest_ns, st->changed_ns);
    s->bytes += st->bytes;
}

static void run_stamp_add_file(void *ctx, const struct storage_entry *x)
{
    if (*x->name != '.')
        run_stamp_add_entry(ctx, x->name, &x->stat);
}

/* Of a folder whose files are only described its own version is enough: they come, go and are
 * replaced in it. */
static void run_stamp_add_to_look(void *ctx, const struct storage_entry *x)
{
    struct run_look *l = ctx;
    char folder[PATH_LEN];
    struct err e;
    if (!run_node_id(x->name)) { /* findings and reports are no data, but count in its size */
        const bool whole = run_file_kind(x->name, false) == RUN_FILE_WHOLE;
        l->stamp.bytes += l->data && whole ? x->stat.bytes : 0;
        return;
    }
    if (!l->data)
        run_stamp_add_entry(&l->stamp, x->name, &x->stat);
    else if (x->kind == STORAGE_FOLDER && run_path(folder, l->run, x->name, &e) == 0 &&
             storage_of(folder)->list(folder, STORAGE_WITH_STAT, run_stamp_add_file, &l->stamp, &e))
        return; /* it was removed meanwhile */
}

static bool run_stamp_add_named(struct run_look *l, const char *name)
{
    char path[PATH_LEN];
    struct storage_stat st;
    struct err e;
    if (run_path(path, l->run, name, &e) || storage_of(path)->stat(path, 0, &st, &e))
        return false;
    run_stamp_add_entry(&l->stamp, name, &st);
    return true;
}

/* They have another version for views of the run, but do not make its data newer: findings that
 * were written before stay valid. */
static void run_stamp_add_notes(struct run_look *l)
{
    const struct run_stamp before = l->stamp;
    if (run_stamp_add_named(l, RUN_NOTES)) {
        l->stamp.newest_ns = before.newest_ns;
        l->stamp.bytes = before.bytes;
    }
}

static struct run_stamp run_stamp_look_through(const char *run, bool data)
{
    struct run_look l = {.run = run, .data = data};
    struct err e;
    if (!run_stamp_add_named(&l, RUN_ABOUT))
        return l.stamp;
    if (storage_of(run)->list(run, STORAGE_FOLLOW | STORAGE_WITH_STAT, run_stamp_add_to_look, &l,
                              &e))
        return (struct run_stamp){0};
    if (!data)
        run_stamp_add_named(&l, RUN_FINDINGS);
    run_stamp_add_notes(&l);
    l.stamp.version = MAX_OF(l.stamp.version & STAMP_BITS, UINT64_C(1));
    assert(l.stamp.version <= STAMP_BITS); /* a number that JSON has exactly, and never 0 */
    return l.stamp;
}

uint64_t run_stamp_about(const char *run)
{
    return run_stamp_look_through(run, false).version;
}

struct run_stamp run_stamp_data(const char *run)
{
    return run_stamp_look_through(run, true);
}

int64_t run_stamp_folder(const char *run)
{
    struct storage_stat st;
    struct err e;
    return storage_of(run)->stat(run, STORAGE_FOLLOW, &st, &e) == 0 ? st.changed_ns : 0;
}

int64_t run_stamp_findings(const char *run)
{
    char path[PATH_LEN];
    struct err e;
    return run_path(path, run, RUN_FINDINGS, &e) == 0 ? run_stamp_folder(path) : 0;
}
