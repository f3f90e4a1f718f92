/* SPDX-License-Identifier: Apache-2.0 */
/* bytes_in.c - see bytes_in.h. */
#include "base/bytes_in.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

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
    if (m->piece)
        n = MIN_OF(n, m->piece);
    if (n)
        memcpy(to, m->p, n);
    m->p += n;
    m->len -= n;
    return (int64_t)n;
}

void bytes_memory_init(struct bytes_memory *m, const void *p, size_t len, size_t piece)
{
    *m = (struct bytes_memory){{read_memory}, p, len, piece};
}
