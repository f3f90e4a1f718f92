/* SPDX-License-Identifier: Apache-2.0 */
/* run_find.c - which folder the user means. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "query/run.h"

static bool is_run(const char *path)
{
    char file[PATH_LEN];
    struct err e;
    return path_join(file, &e, "%s/run.json", path) == 0 && access(file, F_OK) == 0;
}

struct candidate {
    const char *path, *folder, *id, *name;
    int64_t start_ns;
};

/* A damaged run.json does not hide the run: its folder's name and age stand in. */
static void describe(struct candidate *c, struct arena *a)
{
    char file[PATH_LEN];
    struct err e;
    json_t *o = NULL;
    struct stat st;
    if (path_join(file, &e, "%s/run.json", c->path) || json_read_file(&o, file, &e))
        o = NULL;
    c->id = json_get_str(o, "id", a, "");
    c->name = json_get_str(o, "name", a, "");
    c->start_ns = json_get_time(o, "start_ns", 0);
    if (!c->start_ns && stat(file, &st) == 0)
        c->start_ns = (int64_t)st.st_mtime * NS_PER_S;
    json_decref(o);
}

static int newest_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? 1 : -1;
    return strcmp(y->folder, x->folder);
}

static int all_runs(const char *dir, struct arena *a, struct candidate **out, size_t *n,
                    struct err *e)
{
    *out = NULL;
    *n = 0;
    DIR *d = opendir(dir);
    if (!d && errno == ENOENT)
        return 0;
    if (!d)
        return err_sys(e, "open '%s'", dir);
    size_t cap = 0;
    struct candidate *list = NULL;
    for (struct dirent *f; (f = readdir(d));) {
        char path[PATH_LEN];
        struct err ignored;
        if (f->d_name[0] == '.' || path_join(path, &ignored, "%s/%s", dir, f->d_name) ||
            !is_run(path))
            continue;
        if (*n == cap) {
            cap = cap ? cap * 2 : 64;
            list = xrealloc(list, cap, sizeof *list);
        }
        list[*n] = (struct candidate){.path = arena_strdup(a, path)};
        list[*n].folder = strrchr(list[*n].path, '/') + 1;
        describe(&list[(*n)++], a);
    }
    closedir(d);
    if (*n) {
        qsort(list, *n, sizeof *list, newest_first);
        *out = arena_array(a, struct candidate, *n);
        memcpy(*out, list, *n * sizeof *list);
    }
    free(list);
    return 0;
}

int run_list(const char *dir, struct arena *a, const char ***paths, size_t *n, struct err *e)
{
    struct candidate *list;
    int rc = all_runs(runs_folder(dir), a, &list, n, e);
    if (rc)
        return rc;
    *paths = arena_array(a, const char *, *n);
    for (size_t i = 0; i < *n; i++)
        (*paths)[i] = list[i].path;
    return 0;
}

/* The newest run that fits; whole words before prefixes. *fits: how many fit as well. */
static const struct candidate *match(const struct candidate *list, size_t n, const char *ref,
                                     size_t *fits)
{
    const struct candidate *best = NULL;
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
    struct candidate *list;
    struct err ignored;
    size_t n, fits = 1;
    if (!is_run(ref) && !strchr(ref, '/') &&
        all_runs(runs_folder(dir), &a, &list, &n, &ignored) == 0)
        match(list, n, ref, &fits);
    arena_free(&a);
    return fits;
}

static int not_found(const char *dir, const char *ref, const struct candidate *list, size_t n,
                     struct err *e)
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

static int find_in(const char *dir, const char *ref, char path[], struct err *e)
{
    struct arena a = {0};
    struct candidate *list;
    size_t n, fits;
    int rc = all_runs(dir, &a, &list, &n, e);
    if (rc == 0) {
        const struct candidate *c = match(list, n, ref, &fits);
        if (c)
            rc = path_join(path, e, "%s", c->path);
        else if (n == 0)
            rc = err_set(e, ERR_NOT_FOUND,
                         "no runs in '%s': record one with 'footplate run -- COMMAND', or name "
                         "another folder with --dir",
                         dir);
        else
            rc = not_found(dir, ref, list, n, e);
    }
    arena_free(&a);
    return rc;
}

int run_find(const char *dir, const char *ref, char path[], struct err *e)
{
    struct stat st;
    if (!*ref)
        return err_set(e, ERR_USAGE, "no run is named: give a folder, a name or 'last'");
    if (is_run(ref))
        return path_join(path, e, "%s", ref);
    if (errno == EACCES)
        return err_sys(e, "open '%s/run.json'", ref);
    if (strchr(ref, '/') && stat(ref, &st) < 0)
        return err_sys(e, "run '%s'", ref);
    if (strchr(ref, '/'))
        return err_set(e, ERR_NOT_FOUND, "'%s' is not a run: it has no run.json", ref);
    return find_in(runs_folder(dir), ref, path, e);
}
