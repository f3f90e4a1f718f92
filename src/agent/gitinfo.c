/* SPDX-License-Identifier: Apache-2.0 */
/* gitinfo.c - see gitinfo.h. HEAD is a commit or "ref: <name>"; the name is a file under the common
 * folder, or a line of packed-refs there. */
#include "agent/gitinfo.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/file.h"

enum { SMALL_FILE = 64 * 1024, PACKED_REFS = 64 * 1024 * 1024, REF_HOPS = 5 };

struct repo {
    char folder[PATH_LEN]; /* HEAD of this worktree */
    char common[PATH_LEN]; /* refs of the repository */
};

static bool is_commit(const char *s)
{
    size_t n = 0;
    while (isxdigit((unsigned char)s[n]))
        n++;
    return s[n] == 0 && (n == 40 || n == 64);
}

/* First line of a small file, without the newline; NULL when it cannot be read. */
static const char *first_line(const char *path, struct arena *a)
{
    struct err e;
    char *text;
    size_t len;
    if (file_read(path, SMALL_FILE, a, &text, &len, &e))
        return NULL;
    text[strcspn(text, "\r\n")] = 0;
    return text;
}

/* `name` as it is when absolute, else under `folder`. */
static int below(char *out, const char *folder, const char *name)
{
    struct err e;
    return name[0] == '/' ? path_join(out, &e, "%s", name)
                          : path_join(out, &e, "%s/%s", folder, name);
}

static bool open_git(struct repo *r, const char *folder, const char *git, struct arena *a)
{
    struct stat st;
    if (stat(git, &st) < 0)
        return false;
    const char *line = S_ISREG(st.st_mode) ? first_line(git, a) : NULL;
    if (line && strncmp(line, "gitdir: ", 8) != 0)
        return false;
    if (below(r->folder, folder, line ? line + 8 : git))
        return false;
    char path[PATH_LEN];
    struct err e;
    if (path_join(path, &e, "%s/commondir", r->folder))
        return false;
    const char *common = first_line(path, a);
    return below(r->common, r->folder, common ? common : r->folder) == 0;
}

static bool find_repo(struct repo *r, const char *folder, struct arena *a)
{
    char dir[PATH_LEN], git[PATH_LEN];
    struct err e;
    if (path_join(dir, &e, "%s", folder))
        return false;
    for (;;) {
        if (path_join(git, &e, "%s/.git", dir) == 0 && open_git(r, dir, git, a))
            return true;
        char *slash = strrchr(dir, '/');
        if (!slash)
            return false;
        *slash = 0;
    }
}

static bool packed_ref(const struct repo *r, const char *name, char *out, struct arena *a)
{
    char path[PATH_LEN];
    struct err e;
    char *text, *save = NULL;
    size_t len;
    if (path_join(path, &e, "%s/packed-refs", r->common) ||
        file_read(path, PACKED_REFS, a, &text, &len, &e))
        return false;
    for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
        char *space = strchr(l, ' ');
        if (!space || strcmp(space + 1, name) != 0)
            continue;
        *space = 0;
        if (!is_commit(l))
            return false;
        snprintf(out, GIT_COMMIT_LEN, "%s", l);
        return true;
    }
    return false;
}

static void gitinfo_resolve(const struct repo *r, const char *name, char *out, struct arena *a)
{
    char path[PATH_LEN];
    struct err e;
    /* HEAD belongs to the worktree; what it names belongs to the repository. */
    const char *where = r->folder;
    for (int hop = 0; hop < REF_HOPS; hop++) {
        if (strstr(name, "..") || path_join(path, &e, "%s/%s", where, name))
            return;
        const char *line = first_line(path, a);
        if (line && is_commit(line)) {
            snprintf(out, GIT_COMMIT_LEN, "%s", line);
            return;
        }
        if (!line || strncmp(line, "ref: ", 5) != 0) {
            packed_ref(r, name, out, a);
            return;
        }
        name = line + 5;
        where = r->common;
    }
}

void git_commit_of(const char *folder, char out[GIT_COMMIT_LEN])
{
    struct arena a = {0};
    struct repo r;
    out[0] = 0;
    if (find_repo(&r, folder, &a))
        gitinfo_resolve(&r, "HEAD", out, &a);
    arena_free(&a);
}
