/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord_fuzz.h - bytes as a file of TFRecords whose checksums are right, so that a fuzzer gets
 * to the messages in them. The first byte: bit 0 leaves the file as it is, bit 1 gives a folder,
 * bit 2 a rank. */
#ifndef TESTS_TFRECORD_FUZZ_H
#define TESTS_TFRECORD_FUZZ_H

#include "base/mem.h"
#include "base/tfrecord.h"
#include "import_fuzz.h"

/* Lengths that reach beyond the end are left as they are. */
static void mend_records(uint8_t *p, size_t n)
{
    while (n >= TFRECORD_HEAD + TFRECORD_FOOT) {
        uint64_t length;
        memcpy(&length, p, sizeof length);
        const uint32_t head = tfrecord_checksum(p, sizeof length);
        memcpy(p + sizeof length, &head, sizeof head);
        if (length > n - TFRECORD_HEAD - TFRECORD_FOOT)
            return;
        const uint32_t foot = tfrecord_checksum(p + TFRECORD_HEAD, (size_t)length);
        memcpy(p + TFRECORD_HEAD + length, &foot, sizeof foot);
        p += TFRECORD_HEAD + length + TFRECORD_FOOT;
        n -= TFRECORD_HEAD + (size_t)length + TFRECORD_FOOT;
    }
}

static int fuzz_event_file(const struct importer *by, const uint8_t *p, size_t n)
{
    static const struct sink_ops ops = {.events = take};
    struct counting c = {.sink = {&ops}};
    struct bytes_memory in;
    struct import_result r;
    struct err e;
    if (n < 2)
        return 0;
    uint8_t *copy = xmalloc(n);
    memcpy(copy, p, n);
    if (!(p[0] & 1))
        mend_records(copy + 2, n - 2);
    bytes_memory_init(&in, copy + 2, n - 2, p[1]);
    const struct import_ask ask = {
        .in = &in.in,
        .sink = &c.sink,
        .hint = {.has_rank = p[0] & 4, .rank = 3, .below = p[0] & 2 ? "validation" : NULL},
    };
    const int rc = by->run(&ask, &r, &e);
    check(c.events == r.count[IMPORTED_KEPT]);
    check(rc == 0 ? c.events > 0 : e.msg[0] != 0);
    check(by->sniff((const char *)copy, n) <= 100);
    free(copy);
    return 0;
}

#endif
