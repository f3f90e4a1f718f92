/* SPDX-License-Identifier: Apache-2.0 */
/* bytes_ahead.c - see bytes_ahead.h. */
#include "base/bytes_ahead.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/ahead.h"
#include "base/mem.h"

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
    int64_t last;                   /* what `from` returned at its end; 1: it goes on */
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
