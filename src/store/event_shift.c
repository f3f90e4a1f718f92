/* SPDX-License-Identifier: Apache-2.0 */
/* event_shift.c - see event_shift.h. */
#include "store/event_shift.h"

#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "store/format.h"

struct shifting {
    int fd;
    int64_t later_us;
    bool write; /* else it is only looked whether they may */
    const char *path;
    struct buf block;
};

static int read_at(struct shifting *k, off_t at, size_t n, struct err *e)
{
    buf_reserve(&k->block, n);
    errno = 0;
    if (pread(k->fd, k->block.p, n, at) == (ssize_t)n)
        return 0;
    return err_sys(e, "read '%s'", k->path);
}

static int changed(const struct shifting *k, struct err *e)
{
    return err_set(e, ERR_FORMAT, "'%s' was changed by another process", k->path);
}

static bool time_fits(int64_t us, int64_t later_us)
{
    int64_t sum;
    return !__builtin_add_overflow(us, later_us, &sum) && sum >= -TIME_MOST_US &&
           sum <= TIME_MOST_US;
}

static int shift_block(struct shifting *k, off_t at, const struct block_header *h, struct err *e)
{
    if (h->kind != BLOCK_EVENTS)
        return 0;
    if (!time_fits(h->t_first_us, k->later_us) || !time_fits(h->t_last_us, k->later_us))
        return err_set(e, ERR_LIMIT, "the times of its events are invalid");
    if (!k->write)
        return 0;
    block_retime(k->block.p, h->t_first_us + k->later_us, h->t_last_us + k->later_us);
    if (pwrite(k->fd, k->block.p, BLOCK_HEADER_LEN, at) != BLOCK_HEADER_LEN)
        return err_sys(e, "write '%s'", k->path);
    return 0;
}

/* All blocks; each is checked as a whole, since its header gets a new checksum. */
static int shift_all(struct shifting *k, off_t at, off_t end, struct err *e)
{
    while (at < end) {
        struct block_header h;
        uint32_t payload;
        int rc = read_at(k, at, BLOCK_HEADER_LEN, e);
        if (rc)
            return rc;
        memcpy(&payload, k->block.p + 8, sizeof payload);
        if (payload > BLOCK_PAYLOAD_MOST)
            return changed(k, e);
        rc = read_at(k, at, BLOCK_HEADER_LEN + (size_t)payload, e);
        if (rc)
            return rc;
        if (!block_get(&h, k->block.p, BLOCK_HEADER_LEN + (size_t)payload))
            return changed(k, e);
        rc = shift_block(k, at, &h, e);
        if (rc)
            return rc;
        at += (off_t)block_size(&h);
    }
    return 0;
}

int event_shift(int fd, off_t at, off_t end, int64_t later_us, const char *path, struct err *e)
{
    struct shifting k = {.fd = fd, .later_us = later_us, .path = path};
    int rc = shift_all(&k, at, end, e);
    k.write = true;
    if (rc == 0)
        rc = shift_all(&k, at, end, e);
    buf_free(&k.block);
    return rc;
}
