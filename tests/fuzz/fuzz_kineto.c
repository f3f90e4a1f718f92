/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_kineto.c - any bytes as a trace: what comes out is whole, within limits and counted. */
#include "import_fuzz.h"

static bool late(void *ctx, const char *key, int64_t *out)
{
    (void)key;
    *out = *(int64_t *)ctx;
    return *out != 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const struct sink_ops ops = {.events = take};
    struct counting c = {.sink = {&ops}};
    struct bytes_memory in;
    struct import_result r;
    struct err e;
    if (n < 2)
        return 0;
    int64_t base = p[1] ? (int64_t)p[1] << 55 : 0;
    bytes_memory_init(&in, p + 2, n - 2, p[0]);
    const struct import_ask ask = {.in = &in.in,
                                   .sink = &c.sink,
                                   .wall_minus_mono_ns = base / 2,
                                   .late_number = late,
                                   .late_is_slow = p[1] % 2,
                                   .late_ctx = &base};
    const int rc = importer_kineto.run(&ask, &r, &e);
    check(c.events == r.count[IMPORTED_KEPT]);
    check(rc == 0 ? c.events > 0 : e.msg[0] != 0);
    check(importer_kineto.sniff((const char *)p, n) <= 100);
    return 0;
}
