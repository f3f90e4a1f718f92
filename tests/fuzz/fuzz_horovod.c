/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_horovod.c - any bytes as a timeline of Horovod: what comes out is whole and counted. */
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
        .hint = {.has_rank = p[1] & 1, .rank = p[1]},
    };
    const int rc = importer_horovod.run(&ask, &r, &e);
    check(c.events == r.count[IMPORTED_KEPT]);
    check(rc == 0 ? c.events > 0 : e.msg[0] != 0);
    check(importer_horovod.sniff((const char *)p, n) <= 100);
    return 0;
}
