/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_kineto.c - any bytes as a trace: what comes out is whole, within limits and counted. */
#include <stdlib.h>
#include <string.h>

#include "import/importer.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

struct counting {
    struct sink sink;
    uint64_t events;
};

static void check(bool fine)
{
    if (!fine)
        abort();
}

static void take(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    ((struct counting *)s)->events += n;
    check(memchr(t->name, 0, sizeof t->name) && memchr(t->process, 0, sizeof t->process));
    for (size_t i = 0; i < n; i++) {
        check(v[i].name && strlen(v[i].name) < EVENT_NAME_MOST);
        check(!v[i].args || strlen(v[i].args) <= 1024);
        check(v[i].kind > 0 && v[i].kind < EVENT_KIND_N && v[i].category < CAT_N);
        check(v[i].dur_ns >= 0 && v[i].end != END_OPEN);
    }
}

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
                                   .ctx = &base};
    const int rc = importer_kineto.run(&ask, &r, &e);
    check(c.events == r.count[IMPORTED_KEPT]);
    check(rc == 0 ? c.events > 0 : e.msg[0] != 0);
    check(importer_kineto.sniff((const char *)p, n) <= 100);
    return 0;
}
