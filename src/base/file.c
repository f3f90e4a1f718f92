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
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

enum {
    COPY_MOST = 64 << 20, /* bytes; of a longer file only the end is copied */
    COPY_END = 16 << 20,
    HOLES_MOST = 64 << 20, /* bytes that no recorder left out */
    NAME_TRIES = 20,
    READ_LEAST = 4096,      /* bytes of room for a read */
    FOLLOW_ROOM = 64 << 20, /* bytes of addresses, at least, for a file that grows */
};
#define LEN_MOST ((size_t)64 << 30)

/* ---- opening ---- */

int file_open_regular(int *out, const char *path, struct err *e)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    if (fd < 0 && errno == ELOOP)
        return err_set(e, ERR_FORMAT, "'%s' is a symbolic link, which is not followed", path);
    if (fd < 0)
        return err_sys(e, "open '%s'", path);
    int rc = fstat(fd, &st) < 0 ? err_sys(e, "stat '%s'", path) : 0;
    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = err_set(e, ERR_FORMAT, "'%s' is not a regular file", path);
    if (rc)
        close(fd);
    else
        *out = fd;
    return rc;
}

int file_create_new(int *out, const char *path, struct err *e)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_sys(e, "create '%s'", path);
    *out = fd;
    return 0;
}

/* ---- mapping ---- */

/* Where the file ends that a recorder wrote. A file can claim to be larger than any disk, at no
 * cost, where it has holes: it counts up to the hole that makes them too many. */
static off_t end_of_data(int fd, off_t size)
{
    off_t holes = 0;
    for (off_t at = 0; at < size;) {
        const off_t hole = lseek(fd, at, SEEK_HOLE);
        if (hole < 0 || hole >= size)
            break; /* none, or the file system does not know */
        const off_t data = lseek(fd, hole, SEEK_DATA);
        at = data < 0 ? size : data;
        holes += at - hole;
        if (holes > HOLES_MOST)
            return hole;
    }
    return size;
}

static int size_of_fd(int fd, const char *path, size_t *len, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_sys(e, "stat '%s'", path);
    *len = (size_t)end_of_data(fd, st.st_size);
    if (*len > LEN_MOST)
        return err_set(e, ERR_LIMIT, "'%s' is larger than %zu GiB", path, LEN_MOST >> 30);
    return lseek(fd, 0, SEEK_SET) < 0 ? err_sys(e, "seek in '%s'", path) : 0;
}

static int map_whole(struct fmap *out, int fd, size_t len, const char *path, struct err *e)
{
    void *p = len ? mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0) : NULL;
    if (p == MAP_FAILED)
        return err_sys(e, "map '%s'", path);
    *out = (struct fmap){.p = p, .len = len, .mapped = len};
    return 0;
}

/* Up to `*n` bytes from `at`; fewer when the file shrinks meanwhile. */
static int file_read_at(int fd, uint8_t *p, size_t *n, size_t at, const char *path, struct err *e)
{
    size_t done = 0;
    while (done < *n) {
        const ssize_t got = pread(fd, p + done, *n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(e, "read '%s'", path);
        if (got == 0)
            break;
        done += (size_t)got;
    }
    *n = done;
    return 0;
}

static int copy_whole(struct fmap *out, int fd, size_t len, const char *path, struct err *e)
{
    uint8_t *p = xmalloc(len);
    const int rc = file_read_at(fd, p, &len, 0, path, e);
    if (rc)
        free(p);
    else
        *out = (struct fmap){.p = p, .len = len, .copied = len};
    return rc;
}

/* A writer cuts off no more than what it was about to append, so the end is copied and what comes
 * before it mapped: a long file costs no memory. */
static int copy_end(struct fmap *out, int fd, size_t len, const char *path, struct err *e)
{
    const size_t before = (len - COPY_END) & ~(size_t)0xffff; /* whole pages of any size */
    size_t n = len - before;
    uint8_t *p =
        mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return err_sys(e, "map '%s'", path);
    int rc = file_read_at(fd, p + before, &n, before, path, e);
    if (rc == 0 && mmap(p, before, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
        rc = err_sys(e, "map '%s'", path);
    if (rc)
        munmap(p, len);
    else
        *out = (struct fmap){.p = p, .len = before + n, .mapped = len, .copied = n};
    return rc;
}

int fmap_open(const char *path, bool growing, struct fmap *out, struct err *e)
{
    int fd = -1;
    size_t len = 0;
    TRY(file_open_regular(&fd, path, e));
    int rc = size_of_fd(fd, path, &len, e);
    if (rc == 0)
        rc = (!growing          ? map_whole
              : len > COPY_MOST ? copy_end
                                : copy_whole)(out, fd, len, path, e);
    close(fd);
    return rc;
}

/* Addresses after the end of the file cost nothing, and become usable as it grows. */
static int map_with_room(struct fmap *out, int fd, const struct stat *st, const char *path,
                         struct err *e)
{
    const size_t room = MAX_OF(2 * (size_t)st->st_size, (size_t)FOLLOW_ROOM);
    void *p = mmap(NULL, room, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return err_sys(e, "map '%s'", path);
    *out =
        (struct fmap){.p = p, .mapped = room, .device = (uint64_t)st->st_dev, .inode = st->st_ino};
    return 0;
}

static int follow_fd(struct fmap *m, int fd, struct buf *more, const char *path, struct err *e)
{
    struct stat st;
    size_t len = 0;
    TRY(size_of_fd(fd, path, &len, e));
    if (fstat(fd, &st) < 0)
        return err_sys(e, "stat '%s'", path);
    TRY(m->p ? 0 : map_with_room(m, fd, &st, path, e));
    if (m->device != (uint64_t)st.st_dev || m->inode != st.st_ino || len < m->len ||
        len > m->mapped)
        return err_set(e, ERR_FORMAT, "'%s' is not the file that it was", path);
    len -= m->len;
    buf_reserve(more, len + 1); /* so that there is something to point to */
    TRY(file_read_at(fd, more->p + more->len, &len, m->len, path, e));
    more->len += len;
    return 0;
}

int fmap_follow(const char *path, struct fmap *m, struct buf *more, struct err *e)
{
    int fd = -1;
    TRY(file_open_regular(&fd, path, e));
    const int rc = follow_fd(m, fd, more, path, e);
    close(fd);
    return rc;
}

void fmap_forget(const struct fmap *m)
{
    if (m->mapped)
        madvise((void *)(uintptr_t)m->p, m->len - m->copied, MADV_DONTNEED);
}

void fmap_close(struct fmap *m)
{
    if (m->mapped)
        munmap((void *)(uintptr_t)m->p, m->mapped);
    else
        free((void *)(uintptr_t)m->p);
    *m = (struct fmap){0};
}

/* ---- reading ---- */

int fd_read(int fd, const char *path, size_t most, struct arena *a, char **out, size_t *len,
            struct err *e)
{
    struct buf b = {0};
    int rc = 0;
    for (ssize_t got = 1; got != 0 && rc == 0;) {
        buf_reserve(&b, READ_LEAST);
        got = read(fd, b.p + b.len, b.cap - b.len);
        if (got < 0 && errno != EINTR)
            rc = err_sys(e, "read '%s'", path);
        b.len += (size_t)MAX_OF(got, 0);
        if (b.len > most)
            rc = err_set(e, ERR_LIMIT, "'%s' is larger than %zu bytes", path, most);
    }
    if (rc == 0) {
        *out = arena_strndup(a, (const char *)b.p, b.len);
        *len = b.len;
    }
    buf_free(&b);
    return rc;
}

int file_read(const char *path, size_t most, struct arena *a, char **out, size_t *len,
              struct err *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_sys(e, "open '%s'", path);
    int rc = fd_read(fd, path, most, a, out, len, e);
    close(fd);
    return rc;
}

int file_read_range(const char *path, int64_t from, size_t most, struct arena *a, char **out,
                    size_t *len, struct err *e)
{
    int fd = -1, rc = 0;
    TRY(file_open_regular(&fd, path, e));
    if (from < 0 && lseek(fd, from, SEEK_END) < 0)
        from = 0; /* the file is shorter than that */
    if (from > 0 && lseek(fd, from, SEEK_SET) < 0)
        rc = err_sys(e, "seek in '%s'", path);
    if (rc == 0)
        rc = fd_read(fd, path, most, a, out, len, e);
    close(fd);
    return rc;
}

/* ---- writing ---- */

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

/* A new file with a unique name and the permissions of the umask: mkstemp would remove those of
 * group and others, and the umask cannot be read without changing it. */
static int create_beside(int *fd, char *tmp, const char *path, struct err *e)
{
    uint64_t number;
    for (int i = 0; i < NAME_TRIES; i++) {
        if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
            number = (uint64_t)clock_mono().ns ^ (uint64_t)getpid() << 32;
        int rc = path_join(tmp, e, "%s.tmp-%08x", path, (unsigned)(number ^ number >> 32));
        if (rc == 0)
            rc = file_create_new(fd, tmp, e);
        if (rc != ERR_SYS || e->sys != EEXIST)
            return rc;
    }
    return e->code;
}

static int write_beside(char *tmp, const char *path, const void *p, size_t n, struct err *e)
{
    int fd = -1;
    TRY(create_beside(&fd, tmp, path, e));
    int rc = fd_write_all(fd, p, n, path, e);
    if (rc == 0 && fdatasync(fd) < 0)
        rc = err_sys(e, "sync '%s'", path);
    close(fd);
    if (rc)
        unlink(tmp);
    return rc;
}

int file_replace(const char *path, const void *p, size_t n, struct err *e)
{
    char tmp[PATH_LEN];
    TRY(write_beside(tmp, path, p, n, e));
    if (rename(tmp, path) == 0)
        return 0;
    err_sys(e, "rename to '%s'", path);
    unlink(tmp);
    return e->code;
}

bool file_is_special(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int file_write_output(const char *path, const void *p, size_t n, struct err *e)
{
    if (!file_is_special(path))
        return file_replace(path, p, n, e);
    const int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, "open '%s'", path);
    const int rc = fd_write_all(fd, p, n, path, e);
    close(fd);
    return rc;
}

int file_create(const char *path, const void *p, size_t n, struct err *e)
{
    char tmp[PATH_LEN];
    int rc = 0;
    TRY(write_beside(tmp, path, p, n, e));
    /* link, not rename: it refuses when another process was first, also over NFS. */
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
    int fd = -1;
    TRY(file_create_new(&fd, path, e));
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
    TRY(path_join(part, e, "%s", path));
    if (mkdir(part, 0777) == 0)
        return 0;
    if (errno == ENOENT) {
        TRY(make_parents(part, e));
        if (mkdir(part, 0777) == 0)
            return 0;
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
    (void)!(type == FTW_DP ? rmdir(path) : unlink(path)); /* the rest can go all the same */
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
    const int fd = type == FTW_F ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
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
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
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
