/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord.c - see tfrecord.h. */
#include "base/tfrecord.h"

#include <pthread.h>

#include "base/mem.h"

/* ---- CRC32C ---- */

enum { CRC_POLYNOMIAL = (int)0x82f63b78, CRC_SLICES = 8 };

static uint32_t crc_tables[CRC_SLICES][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void crc_make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c >> 1 ^ (c & 1 ? (uint32_t)CRC_POLYNOMIAL : 0);
        crc_tables[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int s = 1; s < CRC_SLICES; s++) {
            const uint32_t c = crc_tables[s - 1][i];
            crc_tables[s][i] = c >> 8 ^ crc_tables[0][c & 0xff];
        }
}

static uint32_t crc_of_eight(uint32_t c, const uint8_t *p)
{
    uint32_t low, high;
    memcpy(&low, p, sizeof low);
    memcpy(&high, p + 4, sizeof high);
    low ^= c;
    return crc_tables[7][low & 0xff] ^ crc_tables[6][low >> 8 & 0xff] ^
           crc_tables[5][low >> 16 & 0xff] ^ crc_tables[4][low >> 24] ^ crc_tables[3][high & 0xff] ^
           crc_tables[2][high >> 8 & 0xff] ^ crc_tables[1][high >> 16 & 0xff] ^
           crc_tables[0][high >> 24];
}

uint32_t crc32c(const void *from, size_t n)
{
    const uint8_t *p = from;
    uint32_t c = UINT32_MAX;
    pthread_once(&crc_once, crc_make_tables);
    for (; n >= 8; p += 8, n -= 8)
        c = crc_of_eight(c, p);
    for (; n > 0; p++, n--)
        c = c >> 8 ^ crc_tables[0][(c ^ *p) & 0xff];
    return ~c;
}

uint32_t tfrecord_checksum(const void *p, size_t n)
{
    const uint32_t c = crc32c(p, n);
    return (c >> 15 | c << 17) + 0xa282ead8u;
}

/* ---- records ---- */

/* What smdebug writes after every payload: the checksum of the text "0x12345678". */
#define FIXED_FOOTER 0x062dc0b3u

/* Bytes that the payload grows by at a time: a length that lies takes no memory. */
enum { CHUNK = 1 << 20 };

void tfrecord_put(struct buf *b, const void *payload, size_t n)
{
    const uint64_t length = n;
    buf_u64(b, length);
    buf_u32(b, tfrecord_checksum(&length, sizeof length));
    buf_put(b, payload, n);
    buf_u32(b, tfrecord_checksum(payload, n));
}

/* Into the payload. 1: all of them; 0: there are fewer; else the code of the error. */
static int read_payload(struct tfrecord_in *r, uint64_t length, struct err *e)
{
    r->payload.len = 0;
    while (r->payload.len < length) {
        const size_t want = (size_t)MIN_OF(length - r->payload.len, (uint64_t)CHUNK);
        buf_reserve(&r->payload, want);
        const int64_t n = bytes_read_full(r->in, r->payload.p + r->payload.len, want, e);
        if (n < 0)
            return (int)n;
        r->bytes += (uint64_t)n;
        r->payload.len += (size_t)n;
        if ((size_t)n < want)
            return 0;
    }
    return 1;
}

/* The payload and the footer, of a record that is too large: nothing of it is stored. */
static int pass_over(struct tfrecord_in *r, uint64_t length, struct err *e)
{
    int rc = 1;
    for (uint64_t left = length + TFRECORD_FOOT, n; rc == 1 && left > 0; left -= n) {
        n = MIN_OF(left, (uint64_t)CHUNK);
        rc = read_payload(r, n, e);
    }
    return rc < 0 ? rc : rc == 0 ? TFRECORD_CUT : TFRECORD_LARGE;
}

static int read_record(struct tfrecord_in *r, uint64_t length, struct err *e)
{
    const int rc = read_payload(r, length + TFRECORD_FOOT, e);
    if (rc <= 0)
        return rc < 0 ? rc : TFRECORD_CUT;
    uint32_t foot;
    r->payload.len -= sizeof foot;
    memcpy(&foot, r->payload.p + r->payload.len, sizeof foot);
    if (r->fixed_footer && foot == FIXED_FOOTER)
        return TFRECORD_WHOLE;
    return foot == tfrecord_checksum(r->payload.p, r->payload.len) ? TFRECORD_WHOLE
                                                                   : TFRECORD_DAMAGED;
}

static bool head_is_right(const uint8_t head[TFRECORD_HEAD], uint64_t *length)
{
    uint32_t sum;
    memcpy(length, head, sizeof *length);
    memcpy(&sum, head + sizeof *length, sizeof sum);
    return sum == tfrecord_checksum(length, sizeof *length);
}

int tfrecord_next(struct tfrecord_in *r, struct err *e)
{
    uint8_t head[TFRECORD_HEAD];
    uint64_t length;
    const int64_t n = bytes_read_full(r->in, head, sizeof head, e);
    if (n < 0)
        return (int)n;
    r->bytes += (uint64_t)n;
    if (n < TFRECORD_HEAD)
        return n == 0 ? TFRECORD_END : TFRECORD_CUT;
    if (!head_is_right(head, &length) || length > INT64_MAX - TFRECORD_FOOT)
        return TFRECORD_BAD;
    return length > TFRECORD_MOST ? pass_over(r, length, e) : read_record(r, length, e);
}

void tfrecord_close(struct tfrecord_in *r)
{
    buf_free(&r->payload);
}

bool tfrecord_peek(const void *head, size_t n, struct cur *out)
{
    uint64_t length;
    if (n < TFRECORD_HEAD || !head_is_right(head, &length))
        return false;
    n -= TFRECORD_HEAD;
    *out = cur_of((const uint8_t *)head + TFRECORD_HEAD, (size_t)MIN_OF((uint64_t)n, length));
    return true;
}

/* ---- protobuf ---- */

bool proto_next(struct cur *c, struct proto_field *f)
{
    if (c->bad || cur_left(c) == 0)
        return false;
    const uint64_t key = cur_varint(c);
    *f = (struct proto_field){.number = (uint32_t)(key >> 3), .wire = (enum proto_wire)(key & 7)};
    if (f->wire == PROTO_VARINT) {
        f->v = cur_varint(c);
    } else if (f->wire == PROTO_FIXED64) {
        f->v = cur_u64(c);
    } else if (f->wire == PROTO_FIXED32) {
        f->v = cur_u32(c);
    } else if (f->wire == PROTO_BYTES) {
        const size_t n = (size_t)cur_varint_most(c, cur_left(c));
        const uint8_t *p = cur_take(c, n);
        f->bytes = cur_of(p, p ? n : 0);
    } else {
        c->bad = true;
    }
    c->bad = c->bad || key >> 35 || f->number == 0;
    return !c->bad;
}

double proto_real(const struct proto_field *f)
{
    if (f->wire == PROTO_FIXED64) {
        double d;
        memcpy(&d, &f->v, sizeof d);
        return d;
    }
    if (f->wire != PROTO_FIXED32)
        return 0;
    const uint32_t bits = (uint32_t)f->v;
    float single;
    memcpy(&single, &bits, sizeof single);
    return (double)single;
}

static void put_key(struct buf *b, uint32_t number, enum proto_wire wire)
{
    buf_varint(b, (uint64_t)number << 3 | wire);
}

void proto_put_varint(struct buf *b, uint32_t number, uint64_t v)
{
    put_key(b, number, PROTO_VARINT);
    buf_varint(b, v);
}

void proto_put_double(struct buf *b, uint32_t number, double v)
{
    put_key(b, number, PROTO_FIXED64);
    buf_f64(b, v);
}

void proto_put_float(struct buf *b, uint32_t number, float v)
{
    put_key(b, number, PROTO_FIXED32);
    buf_put(b, &v, sizeof v);
}

void proto_put_bytes(struct buf *b, uint32_t number, const void *p, size_t n)
{
    put_key(b, number, PROTO_BYTES);
    buf_varint(b, n);
    buf_put(b, p, n);
}
