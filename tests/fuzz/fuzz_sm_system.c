/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sm_system.c - any bytes as system metrics: rows are within limits and in order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/importer.h"
#include "record/group.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

struct counting {
    struct sink sink;
    uint64_t cells;
    int64_t last;
};

static void check(bool fine)
{
    if (!fine)
        abort();
}

static void take(struct sink *s, struct group *g, mono_ns t)
{
    struct counting *c = (struct counting *)s;
    check(t.ns > c->last);
    c->last = t.ns;
    for (slot_id i = 0; i < g->n; i++) {
        if (g->cells[i] == CELL_MISSING)
            continue;
        check(g->cells[i] >= 0 && (double)g->cells[i] <= g->scales[i].most);
        c->cells += strcmp(g->slots[i].entity, ENTITY_TOTAL) != 0;
    }
}

/* Rows of several other machines are in no order. */
static void ignore(struct sink *s, struct group *g, mono_ns t)
{
    (void)s;
    (void)g;
    (void)t;
}

static struct sink *sink_of_node(void *ctx, const char *node)
{
    check(*node != '\0');
    return *node == 'x' ? NULL : ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const struct sink_ops ops = {.row = take};
    static const struct sink_ops others = {.row = ignore};
    struct counting c = {.sink = {&ops}, .last = INT64_MIN};
    struct sink other = {&others};
    struct bytes_memory in;
    struct import_result r;
    struct err e;
    if (n < 1)
        return 0;
    bytes_memory_init(&in, p + 1, n - 1, p[0]);
    const struct import_ask ask = {
        .in = &in.in,
        .hint = {.node = "algo-1"},
        .sink = &c.sink,
        .sink_of_node = sink_of_node,
        .ctx = &other,
    };
    const int rc = importer_sagemaker_system.run(&ask, &r, &e);
    check(rc == 0 ? r.count[IMPORTED_READINGS] > 0 : e.msg[0] != 0);
    check(c.cells <= r.count[IMPORTED_READINGS]);
    check(importer_sagemaker_system.sniff((const char *)p, n) <= 100);
    return 0;
}
