/* SPDX-License-Identifier: Apache-2.0 */
/* run_find.c - which folder the user means. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/run_info.h"
#include "run/run_names.h"
#include "run/storage.h"

/* ERR_SYS when it is none, or when that cannot be found out. */
static int run_find_look_at_run(const char *path, struct err *e)
{
    char file[PATH_LEN];
    struct storage_stat st;
    const int rc = run_path(file, path, RUN_ABOUT, e);
    return rc ? rc : storage_of(file)->stat(file, STORAGE_FOLLOW, &st, e);
}

static bool run_find_is_run(const char *path)
{
    struct err e;
    return run_find_look_at_run(path, &e) == 0;
}

struct run_candidate {
    const char *path, *folder, *id, *name;
    int64_t start_ns;
};

/* A damaged run.json does not hide the run: its folder's name and age are used instead. */
static void run_find_describe(struct run_candidate *c, struct arena *a)
{
    char file[PATH_LEN];
    struct err e;
    json_t *o = NULL;
    struct storage_stat st;
    if (run_path(file, c->path, RUN_ABOUT, &e) || storage_read_json(&o, file, &e))
        o = NULL;
    c->id = json_get_str(o, "id", a, "");
    c->name = json_get_str(o, "name", a, "");
    c->start_ns = json_get_time(o, "start_ns", 0);
    if (!c->start_ns && storage_of(file)->stat(file, STORAGE_FOLLOW, &st, &e) == 0)
        c->start_ns = st.changed_ns / NS_PER_S * NS_PER_S;
    json_decref(o);
}

static int run_find_newest_first(const void *a, const void *b)
{
    const struct run_candidate *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? 1 : -1;
    return strcmp(y->folder, x->folder);
}

struct run_each {
    const char *dir;
    void (*visit)(void *ctx, const char *path);
    void *ctx;
};

/* A run that is being made is hidden: its name begins with a dot. A link was made by the user. */
static void run_find_visit_entry(void *ctx, const struct storage_entry *found)
{
    const struct run_each *x = ctx;
    char path[PATH_LEN];
    struct err e;
    if (*found->name != '.' && (found->kind == STORAGE_FOLDER || found->kind == STORAGE_LINK) &&
        run_path(path, x->dir, found->name, &e) == 0)
        x->visit(x->ctx, path);
}

int run_each(const char *dir, void (*visit)(void *ctx, const char *path), void *ctx, struct err *e)
{
    struct run_each x = {dir, visit, ctx};
    return storage_of(dir)->list(dir, STORAGE_FOLLOW, run_find_visit_entry, &x, e);
}

struct run_candidates {
    struct arena *arena;
    struct run_candidate *v;
    size_t n, cap;
};

static void run_find_add_candidate(void *ctx, const char *path)
{
    struct run_candidates *x = ctx;
    if (!run_find_is_run(path))
        return;
    if (x->n == x->cap) {
        x->cap = x->cap ? x->cap * 2 : 64;
        x->v = xrealloc(x->v, x->cap, sizeof *x->v);
    }
    struct run_candidate *c = &x->v[x->n++];
    *c = (struct run_candidate){.path = arena_strdup(x->arena, path)};
    c->folder = path_base(c->path);
    run_find_describe(c, x->arena);
}

static int run_find_all_runs(const char *dir, struct arena *a, struct run_candidate **out,
                             size_t *n, struct err *e)
{
    struct run_candidates x = {.arena = a};
    *out = NULL;
    *n = 0;
    const int rc = run_each(dir, run_find_add_candidate, &x, e);
    if (rc)
        return rc == ERR_SYS && e->sys == ENOENT ? 0 : rc;
    if (x.n) {
        qsort(x.v, x.n, sizeof *x.v, run_find_newest_first);
        *out = arena_array(a, struct run_candidate, x.n);
        memcpy(*out, x.v, x.n * sizeof *x.v);
    }
    *n = x.n;
    free(x.v);
    return 0;
}

int run_list(const char *dir, struct arena *a, const char ***paths, size_t *n, struct err *e)
{
    struct run_candidate *list;
    int rc = run_find_all_runs(runs_folder(dir), a, &list, n, e);
    if (rc)
        return rc;
    *paths = arena_array(a, const char *, *n);
    for (size_t i = 0; i < *n; i++)
        (*paths)[i] = list[i].path;
    return 0;
}

/* The newest run that fits; whole words before prefixes. *fits: how many fit as well. */
static const struct run_candidate *run_find_match(const struct run_candidate *list, size_t n,
                                                  const char *ref, size_t *fits)
{
    const struct run_candidate *best = NULL;
    const size_t len = strlen(ref);
    *fits = n > 0;
    if (strcmp(ref, "last") == 0)
        return n ? &list[0] : NULL;
    *fits = 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].folder, ref) == 0 || strcmp(list[i].id, ref) == 0 ||
            strcmp(list[i].name, ref) == 0)
            best = (*fits)++ ? best : &list[i];
    for (size_t i = 0; i < n && len && !best; i++)
        if (strncmp(list[i].folder, ref, len) == 0 || strncmp(list[i].id, ref, len) == 0) {
            best = &list[i];
            for (; i < n; i++)
                *fits +=
                    strncmp(list[i].folder, ref, len) == 0 || strncmp(list[i].id, ref, len) == 0;
        }
    return best;
}

size_t run_find_fits(const char *dir, const char *ref)
{
    struct arena a = {0};
    struct run_candidate *list;
    struct err ignored;
    size_t n, fits = 1;
    if (!run_find_is_run(ref) && !strchr(ref, '/') &&
        run_find_all_runs(runs_folder(dir), &a, &list, &n, &ignored) == 0)
        run_find_match(list, n, ref, &fits);
    arena_free(&a);
    return fits;
}

static int run_find_not_found(const char *dir, const char *ref, const struct run_candidate *list,
                              size_t n, struct err *e)
{
    struct nearest near = nearest_to(ref);
    for (size_t i = 0; i < n; i++) {
        nearest_offer(&near, list[i].folder);
        nearest_offer(&near, list[i].name);
    }
    nearest_offer(&near, "last");
    if (near.best)
        return err_set(e, ERR_NOT_FOUND, "no run called '%s' in '%s' (did you mean '%s'?)", ref,
                       dir, near.best);
    return err_set(e, ERR_NOT_FOUND,
                   "no run called '%s' in '%s'; the newest of %zu is '%s' ('footplate ls' lists "
                   "them)",
                   ref, dir, n, list[0].folder);
}

static int run_find_find_in(const char *dir, const char *ref, char path[], struct err *e)
{
    struct arena a = {0};
    struct run_candidate *list;
    size_t n, fits;
    int rc = run_find_all_runs(dir, &a, &list, &n, e);
    if (rc == 0) {
        const struct run_candidate *c = run_find_match(list, n, ref, &fits);
        if (c)
            rc = path_join(path, e, "%s", c->path);
        else if (n == 0)
            rc = err_set(e, ERR_NOT_FOUND,
                         "no runs in '%s': record one with 'footplate run -- COMMAND', or name "
                         "another folder with --dir",
                         dir);
        else
            rc = run_find_not_found(dir, ref, list, n, e);
    }
    arena_free(&a);
    return rc;
}

int run_find(const char *dir, const char *ref, char path[], struct err *e)
{
    struct storage_stat st;
    if (!*ref)
        return err_set(e, ERR_USAGE, "no run is named: give a folder, a name or 'last'");
    if (run_find_look_at_run(ref, e) == 0)
        return path_join(path, e, "%s", ref);
    if (e->sys == EACCES) {
        errno = e->sys;
        return err_sys(e, "open '%s/" RUN_ABOUT "'", ref);
    }
    if (strchr(ref, '/') && storage_of(ref)->stat(ref, STORAGE_FOLLOW, &st, e) != 0) {
        errno = e->sys;
        return err_sys(e, "run '%s'", ref);
    }
    if (strchr(ref, '/'))
        return err_set(e, ERR_NOT_FOUND, "'%s' is not a run: it has no " RUN_ABOUT, ref);
    return run_find_find_in(runs_folder(dir), ref, path, e);
}
