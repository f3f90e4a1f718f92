/* SPDX-License-Identifier: Apache-2.0 */
/* object_cache.c - see object_cache.h.
 *
 * An entry is written under a temporary name and renamed, so a reader of this or another process
 * finds it whole or not at all. Two processes that fetch the same object write the same bytes, and
 * the second rename replaces an equal file; a reader that has mapped the first is not affected.
 * Nothing is synced: after a loss of power an entry may be shorter than its object, and the size is
 * compared before it is used. */
#include "run/object_cache.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/trust.h"
#include "base/vec.h"
#include "net/sigv4.h"

#define CACHE_BYTES_MOST ((uint64_t)4 << 30)

enum { ABANDONED_S = 3600 }; /* age of a temporary file whose process has ended */

static int object_cache_folder(char out[PATH_LEN], struct err *e)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache == '/')
        return path_join(out, e, "%s/footplate/objects", cache);
    if (home && *home)
        return path_join(out, e, "%s/.cache/footplate/objects", home);
    return err_set(e, ERR_USAGE, "no folder for the cache: neither XDG_CACHE_HOME nor HOME is set");
}

/* Copies of runs are for this user's eyes. */
static int object_cache_make(const char *folder, struct err *e)
{
    struct stat st;
    if (stat(folder, &st) == 0)
        return trust_folder(folder, e);
    TRY(dir_make(folder, e));
    if (chmod(folder, 0700) < 0)
        return err_sys(e, "change the rights of '%s'", folder);
    return 0;
}

int object_cache_find(const char *identity, uint64_t bytes, char path[PATH_LEN], bool *there,
                      struct err *e)
{
    char folder[PATH_LEN], name[SHA256_HEX];
    struct stat st;
    TRY(object_cache_folder(folder, e));
    sha256_hex(identity, strlen(identity), name);
    TRY(path_join(path, e, "%s/%s", folder, name));
    *there = lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == bytes;
    if (*there)
        utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW); /* used now */
    return 0;
}

int object_cache_begin(struct object_cache_file *f, const char *path, struct err *e)
{
    char folder[PATH_LEN];
    TRY(object_cache_folder(folder, e));
    TRY(object_cache_make(folder, e));
    TRY(path_join(f->path, e, "%s", path));
    TRY(path_join(f->temporary, e, "%s.tmp-XXXXXX", path));
    f->fd = mkostemp(f->temporary, O_CLOEXEC);
    return f->fd < 0 ? err_sys(e, "cannot write to the cache '%s'", folder) : 0;
}

int object_cache_end(struct object_cache_file *f, struct err *e)
{
    assert(f->fd >= 0);
    const bool closed = close(f->fd) == 0;
    f->fd = -1;
    if (closed && rename(f->temporary, f->path) == 0)
        return 0;
    const int rc = err_sys(e, "cannot write to the cache '%s'", f->path);
    unlink(f->temporary);
    return rc;
}

void object_cache_drop(struct object_cache_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    unlink(f->temporary);
}

/* ---- the limit ---- */

struct cache_entry {
    char name[SHA256_HEX + 16];
    uint64_t bytes;
    int64_t used_ns;
};

struct cache_entries {
    struct cache_entry *v;
    size_t n, cap;
    uint64_t bytes;
};

COMPARE_BY(cache_entry_by_use, struct cache_entry, used_ns)

static void cache_entries_add(struct cache_entries *c, int dir, const char *name)
{
    struct stat st;
    if (*name == '.' || strlen(name) >= sizeof c->v->name ||
        fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return;
    const int64_t used_ns = (int64_t)st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
    if (strstr(name, ".tmp-")) { /* a process is writing it, or was killed */
        if (clock_wall().ns - used_ns > ABANDONED_S * NS_PER_S)
            unlinkat(dir, name, 0);
        return;
    }
    struct cache_entry *x = VEC_ADD(c->v, c->n, c->cap);
    *x = (struct cache_entry){.bytes = (uint64_t)st.st_size, .used_ns = used_ns};
    snprintf(x->name, sizeof x->name, "%s", name);
    c->bytes += x->bytes;
}

static uint64_t object_cache_most(void)
{
    const char *text = getenv("FOOTPLATE_CACHE_BYTES");
    char *end = NULL;
    const unsigned long long n = text ? strtoull(text, &end, 10) : 0;
    return text && *text && !*end ? n : CACHE_BYTES_MOST;
}

void object_cache_trim(void)
{
    char folder[PATH_LEN];
    struct err e;
    struct cache_entries c = {0};
    const uint64_t most = object_cache_most();
    DIR *d = object_cache_folder(folder, &e) == 0 ? opendir(folder) : NULL;
    if (!d)
        return;
    for (const struct dirent *f; (f = readdir(d));)
        cache_entries_add(&c, dirfd(d), f->d_name);
    SORT(c.v, c.n, cache_entry_by_use);
    for (size_t i = 0; i < c.n && c.bytes > most; i++) {
        unlinkat(dirfd(d), c.v[i].name, 0);
        c.bytes -= c.v[i].bytes;
    }
    closedir(d);
    free(c.v);
}
