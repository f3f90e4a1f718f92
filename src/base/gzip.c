/* SPDX-License-Identifier: Apache-2.0 */
/* gzip.c - see gzip.h.
 *
 * Members one after the other, by whichever engine there is. Intel's ISA-L is loaded where the
 * machine has it, not linked, so that the program starts anywhere. It is used only where its header
 * was there to build with: the layout of its states comes from that, and is the same for all of
 * libisal.so.2. */
#include "base/gzip.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef FP_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

#include "base/cpu.h"
#include "base/mem.h"

/* ------------------------------------------------------------------------------------------------
 * What the two engines offer */

enum inflate_step {
    STEP_GOES_ON, /* wants input or room */
    STEP_MEMBER,  /* a member ended, its checksum is right */
    STEP_DAMAGED,
};

struct inflate_io {
    const uint8_t *in;
    uint8_t *out;
    size_t in_left, out_left;
};

struct inflate_ops {
    void *(*open)(void);   /* NULL, also as the result: not available */
    void (*reset)(void *); /* for the next member */
    enum inflate_step (*step)(void *, struct inflate_io *io);
    void (*close)(void *);
};

/* ------------------------------------------------------------------------------------------------
 * ISA-L */

#ifdef FP_HAVE_ISAL
/* NULL: it is not installed. For dlsym and dlclose; it stays loaded, so that to open it again costs
 * little. */
static void *isal_open(void)
{
    return dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

#ifdef __x86_64__
__attribute__((target("avx"))) static void isal_clean_registers(void)
{
    __builtin_ia32_vzeroupper();
}
#endif

/* After every call of a function of it: they may leave the upper halves of the vector registers
 * dirty, which makes every instruction that uses only the lower halves wait. */
static void isal_leave(void)
{
#ifdef __x86_64__
    if (cpu_vectors() >= CPU_AVX)
        isal_clean_registers();
#endif
}

struct inflate_isal_engine {
    void *library;
    void (*init)(struct inflate_state *);
    void (*reset)(struct inflate_state *);
    int (*step)(struct inflate_state *);
    struct inflate_state state;
};

static void inflate_isal_engine_close(void *state)
{
    struct inflate_isal_engine *g = state;
    if (g->library)
        dlclose(g->library);
    free(g);
}

static void *inflate_isal_engine_open(void)
{
    struct inflate_isal_engine *g = xcalloc(1, sizeof *g);
    g->library = isal_open();
    if (g->library) {
        *(void **)&g->init = dlsym(g->library, "isal_inflate_init");
        *(void **)&g->reset = dlsym(g->library, "isal_inflate_reset");
        *(void **)&g->step = dlsym(g->library, "isal_inflate");
    }
    if (!g->init || !g->reset || !g->step) {
        inflate_isal_engine_close(g);
        return NULL;
    }
    g->init(&g->state);
    g->state.crc_flag = ISAL_GZIP;
    return g;
}

static void inflate_isal_engine_reset(void *state)
{
    struct inflate_isal_engine *g = state;
    g->reset(&g->state);
    g->state.crc_flag = ISAL_GZIP;
}

static enum inflate_step inflate_isal_engine_step(void *state, struct inflate_io *io)
{
    struct inflate_isal_engine *g = state;
    const uint32_t in = (uint32_t)MIN_OF(io->in_left, UINT32_MAX);
    const uint32_t out = (uint32_t)MIN_OF(io->out_left, UINT32_MAX);
    g->state.next_in = (uint8_t *)(uintptr_t)io->in; /* it does not write there */
    g->state.avail_in = in;
    g->state.next_out = io->out;
    g->state.avail_out = out;
    const int rc = g->step(&g->state);
    isal_leave();
    io->in = g->state.next_in;
    io->in_left -= in - g->state.avail_in;
    io->out += out - g->state.avail_out;
    io->out_left -= out - g->state.avail_out;
    if (rc != ISAL_DECOMP_OK && rc != ISAL_END_INPUT && rc != ISAL_OUT_OVERFLOW)
        return STEP_DAMAGED;
    return g->state.block_state == ISAL_BLOCK_FINISH ? STEP_MEMBER : STEP_GOES_ON;
}

static const struct inflate_ops inflate_isal = {inflate_isal_engine_open, inflate_isal_engine_reset,
                                                inflate_isal_engine_step,
                                                inflate_isal_engine_close};

/* ---- compression ---- */

struct gzip_isal_work {
    struct isal_zstream z;
    uint8_t tokens[ISAL_DEF_LVL1_SMALL];
};

struct gzip_isal_calls {
    void (*init)(struct isal_zstream *);
    int (*deflate)(struct isal_zstream *);
};

/* Into no more room than the bytes had. */
static bool gzip_isal_into(const struct gzip_isal_calls *c, const void *p, size_t n,
                           struct buf *out)
{
    struct gzip_isal_work *w = xmalloc(sizeof *w);
    buf_reserve(out, n);
    c->init(&w->z);
    w->z.level = 1;
    w->z.level_buf = w->tokens;
    w->z.level_buf_size = sizeof w->tokens;
    w->z.gzip_flag = IGZIP_GZIP;
    w->z.end_of_stream = 1;
    w->z.next_in = (uint8_t *)(uintptr_t)p; /* it does not write there */
    w->z.avail_in = (uint32_t)n;
    w->z.next_out = out->p;
    w->z.avail_out = (uint32_t)n;
    const int rc = c->deflate(&w->z);
    const bool good = rc == COMP_OK && w->z.internal_state.state == ZSTATE_END;
    isal_leave();
    out->len = good ? w->z.total_out : 0;
    free(w);
    return good && out->len < n;
}

bool gzip_isal(const void *p, size_t n, struct buf *out)
{
    struct gzip_isal_calls c = {0};
    void *library = n < UINT32_MAX ? isal_open() : NULL;
    if (!library)
        return false;
    *(void **)&c.init = dlsym(library, "isal_deflate_init");
    *(void **)&c.deflate = dlsym(library, "isal_deflate");
    const bool good = c.init && c.deflate && gzip_isal_into(&c, p, n, out);
    dlclose(library);
    if (!good)
        buf_free(out);
    return good;
}

#else

static const struct inflate_ops inflate_isal = {0};

bool gzip_isal(const void *p, size_t n, struct buf *out)
{
    (void)p;
    (void)n;
    (void)out;
    return false;
}

#endif

/* ------------------------------------------------------------------------------------------------
 * zlib */

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

static const struct inflate_ops inflate_zlib = {inflate_zlib_engine_open, inflate_zlib_engine_reset,
                                                inflate_zlib_engine_step,
                                                inflate_zlib_engine_close};

/* ------------------------------------------------------------------------------------------------
 * Members */

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
    struct err failed; /* with code: returned by every later read */
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

/* Zeros may pad a member (tapes, block devices); other bytes that are not a member end the data. */
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

/* One read, one step. Room or input may be left over; the loop in read_plain continues. */
static int advance(struct inflate *z, struct inflate_io *io, struct err *e)
{
    if (z->left == 0 && !z->from_ended)
        TRY(refill(z, e));
    if (z->where == BETWEEN)
        inflate_begin_member(z);
    if (z->where != INSIDE)
        return z->left == 0 && z->from_ended ? at_end(z, e) : 0;
    const size_t in_before = z->left, room = io->out_left;
    TRY(inside_step(z, io, e));
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
    z->state = ops->open ? ops->open() : NULL;
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

/* ------------------------------------------------------------------------------------------------
 * Answers of a server */

enum { GZIP_BITS = 15 + 16, LEVEL = 1, MEMORY = 8 };

static bool gzip_deflate(z_stream *z, struct buf *out)
{
    buf_reserve(out, deflateBound(z, z->avail_in));
    z->next_out = out->p;
    z->avail_out = (uInt)out->cap;
    if (deflate(z, Z_FINISH) != Z_STREAM_END)
        return false;
    out->len = z->total_out;
    return true;
}

bool gzip_pack_zlib(const void *p, size_t n, bool noise, struct buf *out)
{
    const int strategy = noise ? Z_HUFFMAN_ONLY : Z_DEFAULT_STRATEGY;
    z_stream z = {0};
    if (n > INT_MAX / 2 || deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP_BITS, MEMORY, strategy) != Z_OK)
        return false;
    z.next_in = (Bytef *)(uintptr_t)p;
    z.avail_in = (uInt)n;
    const bool good = gzip_deflate(&z, out) && out->len < n;
    deflateEnd(&z);
    if (!good)
        buf_free(out);
    return good;
}

bool gzip_pack(const void *p, size_t n, bool noise, struct buf *out)
{
    return n >= GZIP_LEAST && (gzip_isal(p, n, out) || gzip_pack_zlib(p, n, noise, out));
}

int gzip_unpack(const void *p, size_t n, size_t n_plain, struct buf *out, struct err *e)
{
    z_stream z = {0};
    if (n > INT_MAX || n_plain > INT_MAX || inflateInit2(&z, GZIP_BITS) != Z_OK)
        return err_set(e, ERR_LIMIT, "too large to be decompressed");
    buf_reserve(out, n_plain + 1);
    z.next_in = (Bytef *)(uintptr_t)p;
    z.avail_in = (uInt)n;
    z.next_out = out->p;
    z.avail_out = (uInt)n_plain + 1;
    const int end = inflate(&z, Z_FINISH);
    out->len = z.total_out;
    inflateEnd(&z);
    if (end == Z_STREAM_END && out->len == n_plain)
        return 0;
    buf_free(out);
    return err_set(e, ERR_FORMAT, "a file of the dashboard is damaged");
}
