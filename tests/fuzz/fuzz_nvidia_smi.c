/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_nvidia_smi.c - any bytes as nvidia-smi's CSV: what comes out is counted, and of GPUs. */
#include <stdlib.h>
#include <string.h>

#include "import/importer.h"
#include "record/group.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

struct counting {
    struct sink sink;
    uint64_t readings;
};

static void check(bool fine)
{
    if (!fine)
        abort();
}

static void take_row(struct sink *s, struct group *g, mono_ns t)
{
    (void)t;
    for (slot_id i = 0; i < g->n; i++) {
        check(g->slots[i].used && strncmp(g->slots[i].entity, "gpu", 3) == 0);
        check(metrics[g->slots[i].metric].per == PER_GPU);
        ((struct counting *)s)->readings += g->cells[i] != CELL_MISSING;
    }
}

static void take_loss(struct sink *s, const struct loss *l)
{
    (void)s;
    check(memchr(l->entity, 0, sizeof l->entity) && memchr(l->part, 0, sizeof l->part) &&
          l->count > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const struct sink_ops ops = {.row = take_row, .loss = take_loss};
    struct counting c = {.sink = {&ops}};
    struct bytes_memory in;
    struct import_result r;
    struct err e;
    if (n < 1)
        return 0;
    bytes_memory_init(&in, p + 1, n - 1, p[0]);
    const struct import_ask ask = {.in = &in.in, .sink = &c.sink};
    const int rc = importer_nvidia_smi.run(&ask, &r, &e);
    check(c.readings <= r.count[IMPORTED_READINGS]);
    check(rc == 0 ? r.count[IMPORTED_READINGS] > 0 : e.msg[0] != 0);
    check(importer_nvidia_smi.sniff((const char *)p, n) <= 100);
    return 0;
}
