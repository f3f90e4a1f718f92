/* SPDX-License-Identifier: Apache-2.0 */
/* test_tfrecord.c - checksums, records and messages of event files. */
#include "base/tfrecord.h"
#include "test.h"

TEST(checksums_are_those_of_the_standard)
{
    uint8_t zeros[32] = {0}, counted[32];
    for (uint8_t i = 0; i < sizeof counted; i++)
        counted[i] = i;
    CHECK_INT(crc32c("123456789", 9), 0xe3069283);
    CHECK_INT(crc32c(zeros, sizeof zeros), 0x8a9136aa); /* RFC 3720, B.4 */
    CHECK_INT(crc32c(counted, sizeof counted), 0x46dd794e);
    CHECK_INT(crc32c("", 0), 0);
}

/* smdebug writes it after every payload: b3 c0 2d 06. */
TEST(the_fixed_footer_is_the_checksum_of_its_text)
{
    CHECK_INT(tfrecord_checksum("0x12345678", 10), 0x062dc0b3);
}

struct reading {
    struct bytes_memory in;
    struct tfrecord_in records;
    struct err e;
};

static void begin(struct reading *r, const struct buf *b, size_t len)
{
    bytes_memory_init(&r->in, b->p, len, 5);
    r->records = (struct tfrecord_in){.in = &r->in.in};
}

TEST(records_are_read_as_they_were_put)
{
    struct buf b = {0};
    struct reading r;
    tfrecord_put(&b, "abc", 3);
    tfrecord_put(&b, "", 0);
    begin(&r, &b, b.len);
    CHECK_INT(tfrecord_next(&r.records, &r.e), TFRECORD_WHOLE);
    CHECK_INT(r.records.payload.len, 3);
    CHECK(memcmp(r.records.payload.p, "abc", 3) == 0);
    CHECK_INT(tfrecord_next(&r.records, &r.e), TFRECORD_WHOLE);
    CHECK_INT(r.records.payload.len, 0);
    CHECK_INT(tfrecord_next(&r.records, &r.e), TFRECORD_END);
    CHECK_INT(r.records.bytes, b.len);
    tfrecord_close(&r.records);
    buf_free(&b);
}

TEST(a_record_that_is_cut_at_any_byte_is_cut_and_no_other)
{
    struct buf b = {0};
    tfrecord_put(&b, "abc", 3);
    for (size_t len = 1; len < b.len; len++) {
        struct reading r;
        begin(&r, &b, len);
        CHECK_INT(tfrecord_next(&r.records, &r.e), TFRECORD_CUT);
        tfrecord_close(&r.records);
    }
    buf_free(&b);
}

TEST(damage_is_found_wherever_it_is)
{
    struct buf b = {0};
    tfrecord_put(&b, "abc", 3);
    for (size_t i = 0; i < b.len; i++) {
        struct reading r;
        b.p[i] ^= 0x10;
        begin(&r, &b, b.len);
        CHECK_INT(tfrecord_next(&r.records, &r.e),
                  i < TFRECORD_HEAD ? TFRECORD_BAD : TFRECORD_DAMAGED);
        tfrecord_close(&r.records);
        b.p[i] ^= 0x10;
    }
    buf_free(&b);
}

TEST(fields_of_a_message_are_read_as_they_were_put)
{
    struct buf b = {0};
    struct proto_field f;
    proto_put_varint(&b, 2, 1u << 20);
    proto_put_double(&b, 1, 0.25);
    proto_put_float(&b, 300, -1.5f);
    proto_put_bytes(&b, 5, "xy", 2);
    struct cur c = cur_of(b.p, b.len);
    CHECK(proto_next(&c, &f) && f.number == 2 && f.v == 1u << 20);
    CHECK(proto_next(&c, &f) && f.number == 1 && proto_real(&f) == 0.25);
    CHECK(proto_next(&c, &f) && f.number == 300 && proto_real(&f) == -1.5);
    CHECK(proto_next(&c, &f) && f.number == 5 && cur_left(&f.bytes) == 2);
    CHECK(!proto_next(&c, &f) && !c.bad);
    c = cur_of(b.p, b.len - 1);
    while (proto_next(&c, &f))
        ;
    CHECK(c.bad);
    buf_free(&b);
}
