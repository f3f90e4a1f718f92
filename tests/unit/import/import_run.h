/* SPDX-License-Identifier: Apache-2.0 */
/* import_run.h - an importer run over a text, and what came of it. */
#ifndef TEST_IMPORT_RUN_H
#define TEST_IMPORT_RUN_H

#include "import_catch.h"

struct imported {
    struct catch got;
    struct import_result result;
    int rc;
    struct err e;
};

static inline struct imported import_with(const struct importer *by, const char *text,
                                          struct import_ask ask, size_t piece)
{
    struct imported m = {0};
    struct bytes_memory in;
    catch_open(&m.got);
    bytes_memory_init(&in, text, strlen(text), piece);
    ask.in = &in.in;
    ask.sink = &m.got.sink;
    m.rc = by->run(&ask, &m.result, &m.e);
    return m;
}

static inline size_t count_kind(const struct imported *m, enum event_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < m->got.n; i++)
        n += m->got.v[i].event.kind == kind;
    return n;
}

#endif
