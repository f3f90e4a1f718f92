/* SPDX-License-Identifier: Apache-2.0 */
/* import_fuzz.h - a sink for fuzz targets of importers: every event that comes out is whole and
 * within its limits, and is counted. */
#ifndef TESTS_IMPORT_FUZZ_H
#define TESTS_IMPORT_FUZZ_H

#include <stdlib.h>
#include <string.h>

#include "import/importer.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

struct counting {
    struct sink sink;
    uint64_t events;
};

static inline void check(bool fine)
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
        check(!v[i].args || strlen(v[i].args) < EVENT_NAME_MOST);
        check(v[i].kind > 0 && v[i].kind < EVENT_KIND_N && v[i].category < CAT_N);
        check(v[i].dur_ns >= 0 && v[i].end != END_OPEN);
    }
}

#endif
