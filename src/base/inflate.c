/* SPDX-License-Identifier: Apache-2.0 */
/* inflate.c - members one after the other, by whichever engine there is. */
#include "base/inflate.h"

#include <stdlib.h>
#include <string.h>

#include "base/inflate_internal.h"
#include "base/mem.h"

enum { IN_BYTES = 256 << 10, GZIP_MAGIC_0 = 0x1f, GZIP_MAGIC_1 = 0x8b };

enum inflate_where {
    BETWEEN, /* members */
    INSIDE,
    ENDED, /* nothing, or only garbage, is left */
};

struct inflate {
    struct bytes_in in; /* first: the source is the inflate */
    struct bytes_in *from;
    const struct inflate_ops *ops;
    void *state;
    enum inflate_where where;
    bool from_ended, garbage, any;
    const uint8_t *next;
    size_t left; /* at next */
    uint64_t made;
    struct err failed; /* with code: told to everybody who asks from then on */
    uint8_t bytes[IN_BYTES];
};

bool inflate_sniff(const void *p, size_t n)
{
    const uint8_t *b = p;
    return n >= 2 && b[0] == GZIP_MAGIC_0 && b[1] == GZIP_MAGIC_1;
}

static int refill(struct inflate *z, struct err *e)
{
    const int64_t n = z->from->read(z->from, z->bytes, sizeof z->bytes, e);
    if (n < 0)
        return (int)n;
    z->next = z->bytes;
    z->left = (size_t)n;
    z->from_ended = n == 0;
    return 0;
}

/* Zeros may pad a member (tapes, block devices); anything else that is no member ends the data. */
static void inflate_begin_member(struct inflate *z)
{
    while (z->left && z->any && *z->next == 0)
        z->next++, z->left--;
    if (!z->left)
        return;
    z->garbage = z->any && *z->next != GZIP_MAGIC_0;
    z->where = z->garbage ? ENDED : INSIDE;
    if (z->where == INSIDE && z->any)
        z->ops->reset(z->state);
    z->any = true;
}

static int inside_step(struct inflate *z, struct inflate_io *io, struct err *e)
{
    const size_t had = io->out_left;
    io->in = z->next;
    io->in_left = z->left;
    const enum inflate_step step = z->ops->step(z->state, io);
    z->next = io->in;
    z->left = io->in_left;
    z->made += had - io->out_left;
    if (step == STEP_MEMBER)
        z->where = BETWEEN;
    return step != STEP_DAMAGED ? 0
                                : err_set(e, ERR_FORMAT, "the gzip data is damaged near byte %llu",
                                          (unsigned long long)z->made);
}

static int at_end(struct inflate *z, struct err *e)
{
    if (z->where == INSIDE || !z->any)
        return err_set(e, ERR_FORMAT, "the gzip data ends early, after %llu bytes",
                       (unsigned long long)z->made);
    z->where = ENDED;
    return 0;
}

/* One read, one step. Room or input may be left over; the loop in read_plain goes on. */
static int advance(struct inflate *z, struct inflate_io *io, struct err *e)
{
    if (z->left == 0 && !z->from_ended) {
        const int rc = refill(z, e);
        if (rc != 0)
            return rc;
    }
    if (z->where == BETWEEN)
        inflate_begin_member(z);
    if (z->where != INSIDE)
        return z->left == 0 && z->from_ended ? at_end(z, e) : 0;
    const size_t in_before = z->left, room = io->out_left;
    const int rc = inside_step(z, io, e);
    if (rc != 0)
        return rc;
    const bool stuck = z->left == in_before && io->out_left == room && z->where == INSIDE;
    return stuck && z->from_ended ? at_end(z, e) : 0;
}

/* What was made before a failure is handed out first, and the failure with the next call. */
static int64_t read_plain(struct bytes_in *in, void *to, size_t most, struct err *e)
{
    struct inflate *z = (struct inflate *)in;
    struct inflate_io io = {.out = to, .out_left = most};
    int rc = z->failed.code;
    while (rc == 0 && io.out_left == most && z->where != ENDED && most)
        rc = advance(z, &io, &z->failed);
    if (io.out_left < most)
        return (int64_t)(most - io.out_left);
    if (rc != 0)
        *e = z->failed;
    return rc;
}

static bool try_engine(struct inflate *z, const struct inflate_ops *ops)
{
    z->ops = ops;
    z->state = ops->open();
    return z->state;
}

int inflate_open(struct inflate **out, struct bytes_in *from, enum inflate_engine engine,
                 struct err *e)
{
    struct inflate *z = xmalloc(sizeof *z);
    memset(z, 0, offsetof(struct inflate, bytes));
    z->in.read = read_plain;
    z->from = from;
    const bool found = (engine != INFLATE_ZLIB && try_engine(z, &inflate_isal)) ||
                       (engine != INFLATE_ISAL && try_engine(z, &inflate_zlib));
    if (!found) {
        free(z);
        return err_set(e, ERR_NOT_FOUND, "no gzip library found on this machine");
    }
    *out = z;
    return 0;
}

struct bytes_in *inflate_bytes(struct inflate *z)
{
    return &z->in;
}

bool inflate_has_garbage(const struct inflate *z)
{
    return z->garbage;
}

void inflate_close(struct inflate *z)
{
    if (z)
        z->ops->close(z->state);
    free(z);
}
