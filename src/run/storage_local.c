/* SPDX-License-Identifier: Apache-2.0 */
/* storage_local.c - storage.h on the local file system, which may also be NFS or FUSE.
 *
 * Crash safety. put writes beside the file, syncs and then renames (replace) or links (absent):
 * both are atomic, so a crash leaves the old file or the new one, and at most a file
 * "NAME.tmp-XXXXXXXX" that no reader opens. link refuses when the name exists, also over NFS, so
 * that of several recorders exactly one writes run.json. publish syncs all bytes before the rename:
 * a run that is listed after a loss of power is complete.
 *
 * Locks. flock ends with the process, however it ends, so that a killed recorder is seen as dead at
 * once. A file system without locks answers STORAGE_ALIVE_UNKNOWN, and the age of the data decides.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/trust.h"
#include "run/parts.h"
#include "run/storage.h"
#include "store/format.h"

enum { HOLE_BLOCK = 4096 };

/* ---- lookup ---- */

static enum storage_kind local_kind(mode_t mode)
{
    return S_ISREG(mode)   ? STORAGE_FILE
           : S_ISDIR(mode) ? STORAGE_FOLDER
           : S_ISLNK(mode) ? STORAGE_LINK
                           : STORAGE_OTHER;
}

static bool local_stat_at(int dir, const char *name, int flags, struct storage_stat *out)
{
    struct stat st;
    if (fstatat(dir, name, &st, flags & STORAGE_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    const enum storage_kind kind = local_kind(st.st_mode);
    const int64_t changed_ns = (int64_t)st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
    /* The size of a folder is a matter of the file system. */
    const int64_t facts[] = {changed_ns, kind == STORAGE_FOLDER ? 0 : (int64_t)st.st_size,
                             (int64_t)st.st_ino};
    *out = (struct storage_stat){
        .kind = kind,
        .bytes = (uint64_t)st.st_size,
        .changed_ns = changed_ns,
        .version = format_sum(facts, sizeof facts),
        .disk_bytes = (uint64_t)st.st_blocks * 512,
    };
    return true;
}

static int local_stat(const char *path, int flags, struct storage_stat *out, struct err *e)
{
    if (local_stat_at(AT_FDCWD, path, flags, out))
        return 0;
    const int rc = err_sys(e, "look at '%s'", path);
    return parts_may_be(path, e) && parts_stat(&storage_local, path, out, e) == 0 ? 0 : rc;
}

static enum storage_kind local_kind_of_entry(int dir, const struct dirent *f)
{
    struct storage_stat st;
    if (f->d_type == DT_UNKNOWN) /* some file systems do not know it here */
        return local_stat_at(dir, f->d_name, 0, &st) ? st.kind : STORAGE_OTHER;
    return local_kind((mode_t)DTTOIF(f->d_type));
}

static void local_visit(DIR *d, int flags, storage_visit *visit, void *ctx)
{
    for (const struct dirent *f; (f = readdir(d));) {
        struct storage_entry x = {.name = f->d_name};
        if (strcmp(x.name, ".") == 0 || strcmp(x.name, "..") == 0)
            continue;
        if (!(flags & STORAGE_WITH_STAT))
            x.kind = local_kind_of_entry(dirfd(d), f);
        else if (local_stat_at(dirfd(d), x.name, 0, &x.stat))
            x.kind = x.stat.kind;
        else
            continue; /* it was removed meanwhile */
        visit(ctx, &x);
    }
}

static int local_list(const char *folder, int flags, storage_visit *visit, void *ctx, struct err *e)
{
    const int links = flags & STORAGE_FOLLOW ? 0 : O_NOFOLLOW;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | links);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        const int rc = err_sys(e, "open '%s'", folder);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    local_visit(d, flags, visit, ctx);
    closedir(d); /* and the descriptor */
    return 0;
}

/* ---- reading ---- */

static int local_read(const char *path, int64_t from, size_t most, struct arena *a, char **out,
                      size_t *len, struct err *e)
{
    const int rc = store_files.read(path, from, most, a, out, len, e);
    if (rc && parts_may_be(path, e))
        return parts_read(&storage_local, &store_files, path, from, most, a, out, len, e);
    return rc;
}

static int local_map(const char *path, bool growing, struct fmap *out, struct err *e)
{
    const int rc = store_files.map(path, growing, out, e);
    if (rc && parts_may_be(path, e))
        return parts_map(&storage_local, &store_files, path, out, e);
    return rc;
}

static const struct store_source local_source = {
    .read = local_read,
    .map = local_map,
    .follow = fmap_follow,
};

/* ---- writing ---- */

static int local_put(const char *path, const void *p, size_t n, enum storage_put how, struct err *e)
{
    static int (*const ways[])(const char *, const void *, size_t, struct err *) = {
        [STORAGE_PUT_REPLACE] = file_replace,
        [STORAGE_PUT_ABSENT] = file_create,
        [STORAGE_PUT_STAGED] = file_put,
    };
    assert((size_t)how < COUNT_OF(ways));
    return ways[how](path, p, n, e);
}

static int local_make_runs(const char *folder, bool *made, struct err *e)
{
    struct stat st;
    *made = stat(folder, &st) < 0;
    return dir_make(folder, e);
}

/* Beside the place where the run will be: rename does not leave a file system. */
static int local_stage(const char *runs, char *out, struct err *e)
{
    return path_join(out, e, "%s", runs);
}

static int local_claim(const char *folder, bool *made, struct err *e)
{
    assert(*folder);
    *made = mkdir(folder, 0777) == 0;
    if (*made)
        return 0;
    if (errno != EEXIST)
        return err_sys(e, "cannot create the folder '%s'", folder);
    return trust_folder(folder, e);
}

static bool local_remove(const char *path, enum storage_remove what)
{
    switch (what) {
    case STORAGE_REMOVE_FILE:
        return unlink(path) == 0;
    case STORAGE_REMOVE_EMPTY:
        return rmdir(path) == 0;
    case STORAGE_REMOVE_TREE:
        dir_remove(path);
        return access(path, F_OK) != 0;
    }
    return false;
}

/* rename takes the place of an empty folder at most. */
static int local_publish(const char *from, const char *to, struct err *e)
{
    assert(strcmp(from, to) != 0);
    TRY(dir_sync(from, e)); /* before it can be seen, see above */
    if (rename(from, to) == 0)
        return 0;
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
        return err_set(e, ERR_BUSY, "'%s' exists already", to);
    return err_sys(e, "cannot create '%s'", to);
}

static int local_range(const char *path, uint64_t from, void *out, size_t n, size_t *got,
                       struct err *e)
{
    int fd = -1, rc = 0;
    ssize_t one = 1;
    TRY(file_open_regular(&fd, path, e));
    for (*got = 0; *got < n && one > 0; *got += (size_t)one) {
        one = pread(fd, (char *)out + *got, n - *got, (off_t)(from + *got));
        if (one < 0) {
            rc = err_sys(e, "read '%s'", path);
            break;
        }
    }
    close(fd);
    return rc;
}

/* A link, a device or a FIFO of a stranger is refused. */
static int local_open_to_append(int *fd, const char *path, uint64_t *size, struct err *e)
{
    struct stat st;
    *fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (*fd < 0)
        return err_sys(e, "open '%s'", path);
    if (fstat(*fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(*fd);
        return err_set(e, ERR_FORMAT, "'%s' is not a regular file", path);
    }
    *size = (uint64_t)st.st_size;
    return 0;
}

static int local_append_to(int fd, const char *path, uint64_t at, const void *p, size_t n,
                           struct err *e)
{
    if (lseek(fd, (off_t)at, SEEK_SET) < 0)
        return err_sys(e, "seek in '%s'", path);
    if (n == 0)
        return futimens(fd, NULL) < 0 ? err_sys(e, "touch '%s'", path) : 0;
    const int rc = fd_write_all(fd, p, n, path, e);
    if (rc && ftruncate(fd, (off_t)at) < 0)
        return err_sys(e, "truncate '%s'", path);
    return rc;
}

static int local_append(const char *path, uint64_t at, bool cut, const void *p, size_t n,
                        uint64_t *size, struct err *e)
{
    int fd, rc = 0;
    assert(!cut || at == 0);
    TRY(local_open_to_append(&fd, path, size, e));
    if (cut && *size && ftruncate(fd, 0) < 0)
        rc = err_sys(e, "empty '%s'", path);
    else if (!cut && *size != at)
        rc = err_set(e, ERR_BUSY, "'%s' has %llu bytes", path, (unsigned long long)*size);
    if (rc == 0)
        rc = local_append_to(fd, path, at, p, n, e);
    if (rc == 0)
        *size = at + n;
    close(fd);
    return rc;
}

/* ---- holes ---- */

/* Whole blocks only: of others the bytes would be zeroed without leaving a hole that can be found
 * again. The first block stays, with the header of the file. */
static int local_punch_fd(int fd, const char *path, uint64_t to, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_sys(e, "look at '%s'", path);
    const off_t block = MAX_OF((off_t)st.st_blksize, (off_t)HOLE_BLOCK);
    const off_t end = (off_t)to / block * block;
    assert((off_t)to <= st.st_size);
    if (end > block &&
        fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, block, end - block) < 0)
        return err_sys(e, "free the beginning of '%s'", path);
    return 0;
}

static int local_punch(const char *path, uint64_t to, struct err *e)
{
    uint64_t size;
    int fd;
    TRY(local_open_to_append(&fd, path, &size, e));
    const int rc = local_punch_fd(fd, path, MIN_OF(to, size), e);
    close(fd);
    return rc;
}

static int local_hole(const char *path, uint64_t *hole, struct err *e)
{
    int fd = -1;
    *hole = 0;
    TRY(file_open_regular(&fd, path, e));
    const off_t size = lseek(fd, 0, SEEK_END), from = lseek(fd, 0, SEEK_HOLE);
    if (from >= 0 && from < size) {
        const off_t to = lseek(fd, from, SEEK_DATA);
        *hole = (uint64_t)(to < 0 ? size : to);
    }
    close(fd);
    return 0;
}

static int local_sync(const char *folder, struct err *e)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int rc = fd < 0 || syncfs(fd) < 0 ? err_sys(e, "sync '%s'", folder) : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* ---- liveness ---- */

static enum storage_alive local_alive(const char *folder)
{
    char path[PATH_LEN];
    struct err e;
    int fd = -1;
    if (path_join(path, &e, "%s/" STORE_LOCK, folder) || file_open_regular(&fd, path, &e))
        return STORAGE_ALIVE_UNKNOWN;
    const int rc = flock(fd, LOCK_SH | LOCK_NB);
    const int sys = errno;
    close(fd);
    if (rc == 0)
        return STORAGE_DEAD;
    return sys == EWOULDBLOCK ? STORAGE_ALIVE : STORAGE_ALIVE_UNKNOWN;
}

const struct storage storage_local = {
    .source = &local_source,
    .list = local_list,
    .stat = local_stat,
    .put = local_put,
    .make_runs = local_make_runs,
    .stage = local_stage,
    .claim = local_claim,
    .remove = local_remove,
    .publish = local_publish,
    .range = local_range,
    .append = local_append,
    .punch = local_punch,
    .hole = local_hole,
    .sync = local_sync,
    .alive = local_alive,
};
