/* SPDX-License-Identifier: Apache-2.0 */
/* inflate_zlib.c - gzip by zlib. */
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/inflate_internal.h"
#include "base/mem.h"

enum { GZIP_ONLY = 16 + MAX_WBITS };

static void *inflate_zlib_engine_open(void)
{
    z_stream *z = xcalloc(1, sizeof *z);
    if (inflateInit2(z, GZIP_ONLY) == Z_OK)
        return z;
    free(z);
    return NULL;
}

static void inflate_zlib_engine_reset(void *state)
{
    inflateReset(state);
}

static enum inflate_step inflate_zlib_engine_step(void *state, struct inflate_io *io)
{
    z_stream *z = state;
    const uInt in = (uInt)MIN_OF(io->in_left, UINT_MAX), out = (uInt)MIN_OF(io->out_left, UINT_MAX);
    z->next_in = (Bytef *)(uintptr_t)io->in; /* zlib does not write there */
    z->next_out = io->out;
    z->avail_in = in;
    z->avail_out = out;
    const int rc = inflate(z, Z_NO_FLUSH);
    io->in += in - z->avail_in;
    io->in_left -= in - z->avail_in;
    io->out += out - z->avail_out;
    io->out_left -= out - z->avail_out;
    if (rc == Z_STREAM_END)
        return STEP_MEMBER;
    return rc == Z_OK || rc == Z_BUF_ERROR ? STEP_GOES_ON : STEP_DAMAGED;
}

static void inflate_zlib_engine_close(void *state)
{
    inflateEnd(state);
    free(state);
}

const struct inflate_ops inflate_zlib = {inflate_zlib_engine_open, inflate_zlib_engine_reset,
                                         inflate_zlib_engine_step, inflate_zlib_engine_close};
