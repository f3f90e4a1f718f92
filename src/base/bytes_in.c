/* SPDX-License-Identifier: Apache-2.0 */
/* bytes_in.c - see bytes_in.h. */
#include "base/bytes_in.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"

int64_t bytes_read_full(struct bytes_in *in, void *to, size_t most, struct err *e)
{
    size_t len = 0;
    int64_t n = 1;
    while (len < most && n > 0) {
        n = in->read(in, (uint8_t *)to + len, most - len, e);
        len += n > 0 ? (size_t)n : 0;
    }
    return len ? (int64_t)len : n;
}

static int64_t bytes_in_read_file(struct bytes_in *in, void *to, size_t most, struct err *e)
{
    struct bytes_file *f = (struct bytes_file *)in;
    ssize_t n;
    do
        n = read(f->fd, to, most);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_sys(e, "read '%s'", f->path);
    f->taken += (uint64_t)n;
    return n;
}

void bytes_file_init(struct bytes_file *f, int fd, const char *path)
{
    *f = (struct bytes_file){{bytes_in_read_file}, fd, 0, path};
}

static int64_t read_memory(struct bytes_in *in, void *to, size_t most, struct err *e)
{
    struct bytes_memory *m = (struct bytes_memory *)in;
    size_t n = MIN_OF(most, m->len);
    (void)e;
    if (m->read_most)
        n = MIN_OF(n, m->read_most);
    if (n)
        memcpy(to, m->p, n);
    m->p += n;
    m->len -= n;
    return (int64_t)n;
}

void bytes_memory_init(struct bytes_memory *m, const void *p, size_t len, size_t read_most)
{
    *m = (struct bytes_memory){{read_memory}, p, len, read_most};
}

/* ------------------------------------------------------------------------------------------------
 * A thread that reads ahead */

enum { BUFFERS = 4, BUFFER_BYTES = 128 << 10 };

struct bytes_buffer {
    size_t len;
    uint8_t bytes[BUFFER_BYTES];
};

struct bytes_ahead {
    struct bytes_in in; /* first: the source is the reader */
    struct bytes_in *from;
    struct ahead *ahead;
    const struct bytes_buffer *now; /* NULL: the next one is needed */
    size_t at;                      /* in it */
    int64_t last;                   /* what `from` returned at its end; 1: it continues */
    struct err failed;              /* when that is negative */
    struct bytes_buffer ring[BUFFERS];
};

static bool bytes_ahead_fill(void *ctx, size_t slot)
{
    struct bytes_ahead *a = ctx;
    struct bytes_buffer *b = &a->ring[slot];
    for (b->len = 0; b->len < BUFFER_BYTES && a->last > 0;) {
        a->last = a->from->read(a->from, b->bytes + b->len, BUFFER_BYTES - b->len, &a->failed);
        b->len += a->last > 0 ? (size_t)a->last : 0;
    }
    return b->len > 0;
}

static int64_t bytes_ahead_read(struct bytes_in *in, void *to, size_t most, struct err *e)
{
    struct bytes_ahead *a = (struct bytes_ahead *)in;
    size_t slot;
    if (!a->now && ahead_next(a->ahead, &slot)) {
        a->now = &a->ring[slot];
        a->at = 0;
    }
    if (!a->now) {
        if (a->last < 0)
            *e = a->failed;
        return a->last;
    }
    const size_t n = MIN_OF(most, a->now->len - a->at);
    memcpy(to, a->now->bytes + a->at, n);
    a->at += n;
    if (a->at == a->now->len)
        a->now = NULL;
    return (int64_t)n;
}

struct bytes_ahead *bytes_ahead_open(struct bytes_in *from)
{
    struct bytes_ahead *a = xmalloc(sizeof *a);
    memset(a, 0, offsetof(struct bytes_ahead, ring));
    a->in.read = bytes_ahead_read;
    a->from = from;
    a->last = 1;
    a->ahead = ahead_open(bytes_ahead_fill, a, BUFFERS, true);
    return a;
}

struct bytes_in *bytes_ahead_bytes(struct bytes_ahead *a)
{
    return &a->in;
}

void bytes_ahead_close(struct bytes_ahead *a)
{
    if (!a)
        return;
    ahead_close(a->ahead);
    free(a);
}
