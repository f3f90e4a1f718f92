/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sm_events.c - any bytes as a timeline: what comes out is whole, within limits and counted.
 */
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
    struct import_ask ask = {.in = &in.in, .sink = &c.sink, .hint = {.worker = "3-algo-1"}};
    ask.hint.path = p[1] & 1 ? "1_2_horovod_timeline.json" : NULL;
    ask.wall_minus_mono_ns = (int64_t)p[1] << 54;
    const int rc = importer_sagemaker_events.run(&ask, &r, &e);
    check(c.events == r.count[IMPORTED_KEPT]);
    check(rc == 0 ? c.events > 0 : e.msg[0] != 0);
    check(importer_sagemaker_events.sniff((const char *)p, n) <= 100);
    return 0;
}
