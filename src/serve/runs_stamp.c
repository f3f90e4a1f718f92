/* SPDX-License-Identifier: Apache-2.0 */
/* runs_stamp.c - whether something changed in a run's folder, from sizes and times alone. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "serve/hash.h"
#include "serve/runs_own.h"

#define STAMP_BITS ((UINT64_C(1) << 53) - 1)

/* Order of the entries must not matter, so each is hashed alone and the hashes are added. */
struct look {
    uint64_t sum;
    int64_t newest;
    uint64_t bytes;
};

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void look_at(struct look *l, int dir, const char *name, bool with_size)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    const int64_t facts[] = {ns_of(st.st_mtim), with_size ? (int64_t)st.st_size : 0,
                             (int64_t)st.st_ino};
    l->sum += hash_text(name, hash_bytes(facts, sizeof facts));
    l->newest = MAX_OF(l->newest, facts[0]);
    l->bytes += (uint64_t)st.st_size;
}

/* The folder of a run may be a link, which its user made; what is in it may not. */
static DIR *open_at(int dir, const char *name)
{
    const int links = dir == AT_FDCWD ? 0 : O_NOFOLLOW;
    const int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | links);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !d)
        close(fd);
    return d;
}

static bool is_node(const char *name)
{
    return strncmp(name, "node-", 5) == 0;
}

static void look_into(struct look *l, int dir, const char *node)
{
    DIR *d = open_at(dir, node);
    if (!d)
        return;
    for (struct dirent *f; (f = readdir(d));)
        if (f->d_name[0] != '.')
            look_at(l, dirfd(d), f->d_name, true);
    closedir(d);
}

static struct look look_through(const char *path, bool data)
{
    struct look l = {0};
    DIR *d = open_at(AT_FDCWD, path);
    if (!d)
        return l;
    look_at(&l, dirfd(d), "run.json", true);
    const bool is_run = l.sum != 0;
    for (struct dirent *f; is_run && (f = readdir(d));) {
        if (!is_node(f->d_name))
            continue;
        if (data)
            look_into(&l, dirfd(d), f->d_name);
        else /* files come, go and are replaced in it: its own time tells */
            look_at(&l, dirfd(d), f->d_name, false);
    }
    if (is_run && !data)
        look_at(&l, dirfd(d), "findings.json", true);
    closedir(d);
    return l;
}

uint64_t stamp_about(const char *path)
{
    return look_through(path, false).sum;
}

uint64_t stamp_data(const char *path)
{
    const uint64_t sum = look_through(path, true).sum;
    return sum ? MAX_OF(sum & STAMP_BITS, UINT64_C(1)) : 0;
}

int64_t stamp_newest(const char *path)
{
    return look_through(path, true).newest;
}

uint64_t stamp_bytes(const char *path)
{
    return look_through(path, true).bytes;
}

int64_t stamp_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? ns_of(st.st_mtim) : 0;
}
