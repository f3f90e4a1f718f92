/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static int size_of_fd(int fd, const char *path, size_t *len, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_sys(e, "stat '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_FORMAT, "'%s' is not a regular file", path);
    *len = (size_t)st.st_size;
    return 0;
}

static int map_fd(struct fmap *out, int fd, const char *path, struct err *e)
{
    size_t len;
    int rc = size_of_fd(fd, path, &len, e);
    if (rc)
        return rc;
    void *p = len ? mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0) : NULL;
    if (p == MAP_FAILED)
        return err_sys(e, "map '%s'", path);
    *out = (struct fmap){.p = p, .len = len};
    return 0;
}

/* As many bytes as there are now; fewer when the file shrinks meanwhile. */
static int copy_fd(struct fmap *out, int fd, const char *path, struct err *e)
{
    size_t len, n = 0;
    int rc = size_of_fd(fd, path, &len, e);
    if (rc)
        return rc;
    uint8_t *p = xmalloc(len);
    while (n < len) {
        const ssize_t got = read(fd, p + n, len - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            rc = err_sys(e, "read '%s'", path);
            free(p);
            return rc;
        }
        if (got == 0)
            break;
        n += (size_t)got;
    }
    *out = (struct fmap){.p = p, .len = n, .copied = true};
    return 0;
}

static int open_with(int (*take)(struct fmap *, int, const char *, struct err *), struct fmap *out,
                     const char *path, struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(e, "open '%s'", path);
    int rc = take(out, fd, path, e);
    close(fd);
    return rc;
}

int fmap_open(struct fmap *out, const char *path, struct err *e)
{
    return open_with(map_fd, out, path, e);
}

int fmap_copy(struct fmap *out, const char *path, struct err *e)
{
    return open_with(copy_fd, out, path, e);
}

void fmap_forget(const struct fmap *m)
{
    if (!m->copied && m->p)
        madvise((void *)(uintptr_t)m->p, m->len, MADV_DONTNEED);
}

void fmap_close(struct fmap *m)
{
    if (m->copied)
        free((void *)(uintptr_t)m->p);
    else if (m->p)
        munmap((void *)(uintptr_t)m->p, m->len);
    *m = (struct fmap){0};
}

static int read_fd(int fd, const char *path, size_t most, struct arena *a, char **out, size_t *len,
                   struct err *e)
{
    size_t cap = 4096, n = 0;
    char *p = malloc(cap + 1);
    int rc = 0;
    while (p) {
        ssize_t got = read(fd, p + n, cap - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            rc = err_sys(e, "read '%s'", path);
        if (got <= 0)
            break;
        n += (size_t)got;
        if (n > most) {
            rc = err_set(e, ERR_LIMIT, "'%s' is larger than %zu bytes", path, most);
            break;
        }
        if (n == cap) {
            char *bigger = realloc(p, cap * 2 + 1);
            if (!bigger)
                abort();
            p = bigger;
            cap *= 2;
        }
    }
    if (!p)
        abort();
    if (rc == 0) {
        *out = arena_strndup(a, p, n);
        *len = n;
    }
    free(p);
    return rc;
}

int file_read(const char *path, size_t most, struct arena *a, char **out, size_t *len,
              struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(e, "open '%s'", path);
    int rc = read_fd(fd, path, most, a, out, len, e);
    close(fd);
    return rc;
}

int fd_write_all(int fd, const void *p, size_t n, const char *name, struct err *e)
{
    const char *b = p;
    while (n) {
        ssize_t put = write(fd, b, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return err_sys(e, "write '%s'", name);
        b += put;
        n -= (size_t)put;
    }
    return 0;
}

enum sync { SYNC_NOW, SYNC_LATER };

static int write_beside(char *tmp, const char *path, const void *p, size_t n, enum sync sync,
                        struct err *e)
{
    int rc = path_join(tmp, e, "%s.tmp-XXXXXX", path);
    if (rc)
        return rc;
    int fd = mkostemp(tmp, O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, "create '%s'", path);
    rc = fd_write_all(fd, p, n, path, e);
    if (rc == 0 && (fchmod(fd, 0644) < 0 || (sync == SYNC_NOW && fdatasync(fd) < 0)))
        rc = err_sys(e, "sync '%s'", path);
    close(fd);
    if (rc)
        unlink(tmp);
    return rc;
}

static int replace(const char *path, const void *p, size_t n, enum sync sync, struct err *e)
{
    char tmp[PATH_LEN];
    int rc = write_beside(tmp, path, p, n, sync, e);
    if (rc)
        return rc;
    if (rename(tmp, path) < 0) {
        rc = err_sys(e, "rename to '%s'", path);
        unlink(tmp);
    }
    return rc;
}

int file_replace(const char *path, const void *p, size_t n, struct err *e)
{
    return replace(path, p, n, SYNC_NOW, e);
}

int file_replace_unsynced(const char *path, const void *p, size_t n, struct err *e)
{
    return replace(path, p, n, SYNC_LATER, e);
}

int file_create(const char *path, const void *p, size_t n, struct err *e)
{
    char tmp[PATH_LEN];
    int rc = write_beside(tmp, path, p, n, SYNC_NOW, e);
    if (rc)
        return rc;
    /* link, not rename: it refuses when somebody else was first, also over NFS. */
    if (link(tmp, path) < 0) {
        rc = err_sys(e, "create '%s'", path);
        if (e->sys == EEXIST)
            rc = err_set(e, ERR_BUSY, "'%s' exists already", path);
    }
    unlink(tmp);
    return rc;
}

int file_put(const char *path, const void *p, size_t n, struct err *e)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_sys(e, "create '%s'", path);
    const int rc = fd_write_all(fd, p, n, path, e);
    close(fd);
    return rc;
}

static int make_parents(char *part, struct err *e)
{
    for (char *p = part; *p; p++) {
        if (*p != '/' || p == part)
            continue;
        *p = 0;
        if (mkdir(part, 0777) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return err_sys(e, "create folder '%s'", part);
        *p = '/';
    }
    return 0;
}

int dir_make(const char *path, struct err *e)
{
    char part[PATH_LEN];
    struct stat st;
    int rc = path_join(part, e, "%s", path);
    if (rc)
        return rc;
    if (mkdir(part, 0777) == 0)
        return 0;
    if (errno == ENOENT) {
        rc = make_parents(part, e);
        if (rc || mkdir(part, 0777) == 0)
            return rc;
    }
    const int sys = errno;
    if (sys == EEXIST && stat(part, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    errno = sys;
    return err_sys(e, "create folder '%s'", part);
}

int path_join(char *out, struct err *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(out, PATH_LEN, fmt, ap);
    va_end(ap);
    if (n < 0 || n >= PATH_LEN)
        return err_set(e, ERR_LIMIT, "path is longer than %d bytes: '%.60s...'", PATH_LEN, out);
    return 0;
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)at;
    if ((type == FTW_DP ? rmdir(path) : unlink(path)) < 0)
        return 0; /* the rest can go all the same */
    return 0;
}

void dir_remove(const char *path)
{
    if (rmdir(path) < 0)
        nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int start_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)at;
    const int fd = type == FTW_F ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)!sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* only a beginning */
        close(fd);
    }
    return 0;
}

/* An errno ends the walk. */
static int sync_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)at;
    if (type != FTW_F)
        return 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    const int rc = fdatasync(fd) < 0 ? errno : 0;
    close(fd);
    return rc;
}

/* All are begun before the first is waited for, so that the file system has one thing to commit
 * instead of one for each. */
int dir_sync(const char *path, struct err *e)
{
    nftw(path, start_one, 16, FTW_PHYS);
    const int sys = nftw(path, sync_one, 16, FTW_PHYS);
    if (sys > 0)
        errno = sys;
    return sys ? err_sys(e, "sync '%s'", path) : 0;
}
