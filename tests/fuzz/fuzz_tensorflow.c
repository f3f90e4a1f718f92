/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tensorflow.c - any bytes as a trace of TensorFlow: what comes out is whole, counted, and of
 * one process. */
#include "import_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const struct sink_ops ops = {.events = take};
    struct counting c = {.sink = {&ops}};
    struct bytes_memory in;
    struct import_result r;
    struct err e;
    if (n < 2)
        return 0;
    bytes_memory_init(&in, p + 2, n - 2, p[0]);
    const struct import_ask ask = {
        .in = &in.in,
        .sink = &c.sink,
        .hint = {.has_base = p[1] & 1, .base = {(int64_t)p[1] << 55}},
    };
    const int rc = importer_tensorflow.run(&ask, &r, &e);
    check(c.events == r.count[IMPORTED_KEPT]);
    check(rc == 0 ? c.events > 0 : e.msg[0] != 0);
    check(importer_tensorflow.sniff((const char *)p, n) <= 100);
    return 0;
}
