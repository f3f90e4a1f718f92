/* SPDX-License-Identifier: Apache-2.0 */
/* event_paths.c - finds the event files of a run: of each recorder, and of detail windows. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "query/names.h"
#include "query/run_open.h"

enum { TRACES_MOST = 1024 }; /* of a node; far more than windows make sense */

struct path_list {
    const struct run *run;
    struct arena *arena;
    struct event_path *v;
    size_t n, cap;
};

static int add_path(struct path_list *s, size_t node, const char *file, bool detail, struct err *e)
{
    char path[PATH_LEN];
    const struct run_info *info = &s->run->info;
    const int rc = path_join(path, e, "%s/node-%s/%s", info->path, info->nodes[node].id, file);
    if (rc || access(path, F_OK) != 0)
        return rc;
    if (s->n == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 4;
        s->v = xrealloc(s->v, s->cap, sizeof *s->v);
    }
    s->v[s->n++] = (struct event_path){arena_strdup(s->arena, path), node, detail};
    return 0;
}

static bool is_trace(const char *name)
{
    const size_t n = strlen(name);
    return strncmp(name, "trace-", 6) == 0 && n > 9 && strcmp(name + n - 3, ".fp") == 0;
}

static int by_text(const void *a, const void *b)
{
    return name_compare(*(const char *const *)a, *(const char *const *)b);
}

/* In order of their names. */
static size_t list_traces(const char *folder, struct arena *a, const char *names[TRACES_MOST])
{
    DIR *d = opendir(folder);
    size_t n = 0;
    if (!d)
        return 0;
    for (struct dirent *f; (f = readdir(d));)
        if (is_trace(f->d_name) && n < TRACES_MOST)
            names[n++] = arena_strdup(a, f->d_name);
    closedir(d);
    if (n)
        qsort(names, n, sizeof *names, by_text);
    return n;
}

/* Detail windows belong to the node; which of its sessions they are of is told by their time. */
static int add_traces(struct path_list *s, size_t node, struct err *e)
{
    char folder[PATH_LEN];
    const char *names[TRACES_MOST];
    const struct run_info *info = &s->run->info;
    int rc = path_join(folder, e, "%s/node-%s", info->path, info->nodes[node].id);
    const size_t n = rc == 0 ? list_traces(folder, s->arena, names) : 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_path(s, node, names[i], true, e);
    return rc;
}

static bool is_last_session(const struct run_info *info, size_t i)
{
    return i + 1 == info->n_nodes || strcmp(info->nodes[i].id, info->nodes[i + 1].id) != 0;
}

static int add_node(struct path_list *s, size_t node, struct err *e)
{
    char name[64];
    session_file(name, sizeof name, "events", s->run->info.nodes[node].session, "fp");
    const int rc = add_path(s, node, name, false, e);
    return rc == 0 && is_last_session(&s->run->info, node) ? add_traces(s, node, e) : rc;
}

int event_paths(const struct run *r, struct arena *a, struct event_path **out, size_t *n,
                struct err *e)
{
    struct path_list s = {.run = r, .arena = a};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < r->info.n_nodes; i++)
        rc = add_node(&s, i, e);
    if (rc == 0) {
        *out = arena_array(a, struct event_path, s.n);
        *n = s.n;
        if (s.n)
            memcpy(*out, s.v, s.n * sizeof *s.v);
    }
    free(s.v);
    return rc;
}
