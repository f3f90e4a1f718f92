/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_python_profile.c - any bytes as a function profile. */
#include <stdlib.h>
#include <string.h>

#include "import/importer.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void take(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    (void)s;
    for (size_t i = 0; i < n; i++)
        if (!v[i].name || strlen(v[i].name) >= EVENT_NAME_MOST || !v[i].args || v[i].dur_ns < 0 ||
            !memchr(t->name, 0, sizeof t->name))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const struct sink_ops ops = {.events = take};
    struct sink sink = {&ops};
    struct bytes_memory in;
    struct import_result r;
    struct err e;
    if (n < 1)
        return 0;
    bytes_memory_init(&in, p + 1, n - 1, p[0]);
    const struct import_ask ask = {.in = &in.in, .sink = &sink};
    if (importer_python_profile.run(&ask, &r, &e) != 0 && !e.msg[0])
        abort();
    return 0;
}
