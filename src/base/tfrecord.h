/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord.h - files of TFRecords, and protobuf messages in them: what TensorBoard and smdebug
 * write. A record is
 *
 *     u64 length | u32 checksum of the length | payload | u32 checksum of the payload
 *
 * little-endian; checksums are CRC32C, masked. Protobuf fields are read from a struct cur and
 * written to a struct buf (buf.h): a damaged message turns the cursor bad. */
#ifndef BASE_TFRECORD_H
#define BASE_TFRECORD_H

#include "base/buf.h"
#include "base/bytes_in.h"

uint32_t crc32c(const void *p, size_t n);
/* As it is stored. */
uint32_t tfrecord_checksum(const void *p, size_t n);

enum {
    TFRECORD_HEAD = 12, /* bytes before the payload */
    TFRECORD_FOOT = 4,
    TFRECORD_MOST = 1 << 30, /* bytes of a payload that are read */
};

void tfrecord_put(struct buf *b, const void *payload, size_t n);

enum tfrecord_kind {
    TFRECORD_END,
    TFRECORD_WHOLE,
    TFRECORD_DAMAGED, /* its checksum is wrong; the next one can be read */
    TFRECORD_LARGE,   /* it was passed over */
    TFRECORD_CUT,     /* the input ends within it */
    TFRECORD_BAD,     /* this is not a record; nothing more can be read */
};

struct tfrecord_in {
    struct bytes_in *in;
    struct buf payload; /* of the last record */
    uint64_t bytes;     /* read so far */
    /* smdebug's footer, the same in every record, is right too. */
    bool fixed_footer;
};

/* enum tfrecord_kind, or the negative code of the source's error. */
int tfrecord_next(struct tfrecord_in *r, struct err *e);
void tfrecord_close(struct tfrecord_in *r);

/* The payload at the beginning of a file, or as much of it as is there; false: not a record. */
bool tfrecord_peek(const void *head, size_t n, struct cur *out);

/* ---- protobuf ---- */

enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 };

struct proto_field {
    uint32_t number;
    enum proto_wire wire;
    uint64_t v;       /* of all but bytes */
    struct cur bytes; /* of PROTO_BYTES */
};

/* The next field; false: there are no more, or the message is damaged (c->bad). */
bool proto_next(struct cur *c, struct proto_field *f);
/* A fixed one of 8 or 4 bytes as a number; 0 for other wires. */
double proto_real(const struct proto_field *f);

void proto_put_varint(struct buf *b, uint32_t number, uint64_t v);
void proto_put_double(struct buf *b, uint32_t number, double v);
void proto_put_float(struct buf *b, uint32_t number, float v);
void proto_put_bytes(struct buf *b, uint32_t number, const void *p, size_t n);

#endif
