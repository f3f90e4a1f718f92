/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - see source.h. */
#include "sample/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "sample/textscan.h"

enum { LIST_BUFFER = 16 * 1024 };

int source_open(struct source *s, struct err *e, const char *fmt, ...)
{
    char path[PATH_LEN];
    va_list ap;
    va_start(ap, fmt);
    const int len = vsnprintf(path, sizeof path, fmt, ap);
    va_end(ap);
    if (len < 0 || (size_t)len >= sizeof path)
        return err_set(e, ERR_LIMIT, "the path '%.40s...' is too long", path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, "open '%s'", path);
    *s = (struct source){.path = xstrdup(path), .fd = fd};
    return 0;
}

bool source_is_open(const struct source *s)
{
    return s->path != NULL;
}

static bool reopen(struct source *s)
{
    if (s->path && s->fd < 0)
        s->fd = open(s->path, O_RDONLY | O_CLOEXEC);
    return s->path && s->fd >= 0;
}

static ssize_t source_read_at(int fd, char *buf, size_t size, size_t at)
{
    ssize_t n;
    do
        n = pread(fd, buf, size, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n;
}

static bool source_failed(struct source *s, struct reading *r)
{
    r->sys = s->path ? errno : EBADF;
    r->n = 0;
    if (s->path && s->fd >= 0 &&
        (r->sys == ENODEV || r->sys == ENOENT || r->sys == ESRCH || r->sys == EBADF)) {
        close(s->fd);
        s->fd = -1;
    }
    return false;
}

bool source_read(struct source *s, char *buf, size_t size, struct reading *r)
{
    *r = (struct reading){.at = clock_mono()};
    if (!reopen(s))
        return source_failed(s, r);
    const ssize_t n = source_read_at(s->fd, buf, size, 0);
    if (n < 0)
        return source_failed(s, r);
    r->n = (size_t)n;
    r->full = r->n == size;
    return true;
}

bool source_read_paged(struct source *s, char *buf, size_t size, struct reading *r)
{
    /* A page that was cut is filled but for less than one record. */
    enum { SMALLEST_PAGE = 4096, LONGEST_RECORD = 512 };
    if (!source_read(s, buf, size, r))
        return false;
    for (size_t got = r->n; got >= SMALLEST_PAGE - LONGEST_RECORD && !r->full;) {
        const ssize_t n = source_read_at(s->fd, buf + r->n, size - r->n, r->n);
        if (n < 0)
            return source_failed(s, r);
        got = (size_t)n;
        r->n += got;
        r->full = r->n == size;
    }
    return true;
}

void source_close(struct source *s)
{
    if (s->path && s->fd >= 0)
        close(s->fd);
    free(s->path);
    *s = (struct source){0};
}

bool textbuf_grow(struct textbuf *b)
{
    if (b->size >= TEXT_MOST)
        return false;
    b->size = b->size ? b->size * 2 : TEXT_FIRST;
    b->p = xrealloc(b->p, b->size, 1);
    return true;
}

void textbuf_free(struct textbuf *b)
{
    free(b->p);
    *b = (struct textbuf){0};
}

bool source_read_text(struct source *s, struct near_text *near, struct textbuf *b,
                      const char **text, struct reading *r)
{
    for (;;) {
        char *p = b->p ? b->p : near->p;
        if (!source_read_paged(s, p, b->p ? b->size : sizeof near->p, r))
            return false;
        *text = p;
        if (!r->full || !textbuf_grow(b))
            return true;
    }
}

bool folder_each_number(int dir, void (*each)(void *ctx, const char *name, int number), void *ctx)
{
    char buffer[LIST_BUFFER] __attribute__((aligned(_Alignof(struct dirent64))));
    long n;
    while ((n = syscall(SYS_getdents64, dir, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < n;) {
            const struct dirent64 *d = (const void *)(buffer + at);
            const char *p = d->d_name, *end = p + strlen(p);
            int number;
            if (scan_is_digit(*p) && scan_int(&p, end, &number) && p == end)
                each(ctx, d->d_name, number);
            at += d->d_reclen;
        }
    return n == 0;
}

long file_peek(const char *path, char *buf, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t have = 0;
    ssize_t n = 1;
    while (n > 0 && have < size) {
        n = source_read_at(fd, buf + have, size - have, have);
        if (n > 0)
            have += (size_t)n;
    }
    const int sys = errno;
    close(fd);
    return n < 0 && have == 0 ? -sys : (long)have;
}
