/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_store_open.c - the files of a node, opened and asked everything a query can ask.
 * The first byte says what follows: bit 0: a tail instead of a metrics.fp; bit 1: make the
 * checksums right first, as a forger would. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/store/block_events.h"
#include "base/mem.h"
#include "fuzz_folder.h"
#include "query/series.h"
#include "store/format.h"
#include "store/reader.h"
#include "store_repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void put_files(const uint8_t *p, size_t n, bool tail, bool repair)
{
    uint8_t *copy = xmalloc(n);
    memcpy(copy, p, n);
    if (repair)
        store_repair(copy, n, tail);
    struct buf fp = {0};
    struct file_header h = {.kind = FILE_SEALED};
    if (n >= FILE_HEADER_LEN)
        memcpy(h.id, p + 40, sizeof h.id);
    file_header_put(&fp, &h);
    fuzz_folder_save("node-a/metrics.fp", tail ? fp.p : copy, tail ? fp.len : n);
    fuzz_folder_save("node-a/metrics.tail", tail ? copy : NULL, tail ? n : 0);
    buf_free(&fp);
    free(copy);
}

static void ask(struct run *r, size_t points, wall_ns from, wall_ns to)
{
    struct arena a = {0};
    struct series *s;
    struct series_stats *st;
    struct err e;
    size_t n;
    const struct series_ask q = {.points = points, .from = from, .to = to};
    if (series_read(r, &q, &a, &s, &n, &e))
        abort();
    for (size_t i = 0; i < n; i++)
        if (points && s[i].n > points)
            abort();
    if (series_stats_read(r, &q, &a, &st, &n, &e))
        abort();
    arena_free(&a);
}

static void ask_all(struct run *r, unsigned which)
{
    struct arena a = {0};
    struct run_loss *l;
    struct run_mark *m;
    struct err e;
    size_t n;
    const struct run_info *i = run_get_info(r);
    const wall_ns all = {0}, mid = {(int64_t)((uint64_t)i->start.ns / 2 + (uint64_t)i->end.ns / 2)};
    switch (which & 3) { /* one of them, for speed */
    case 0:
        ask(r, 0, all, all);
        break;
    case 1:
        ask(r, 3, all, all);
        break;
    case 2:
        ask(r, 1, mid, all);
        break;
    default:
        ask(r, 50, all, mid);
        break;
    }
    if (run_losses(r, &a, &l, &n, &e) || run_marks(r, &a, &m, &n, &e))
        abort();
    arena_free(&a);
}

/* Each block of events is decoded or refused; a decoded one is in order and has its texts. */
static void decode_events(void)
{
    char path[128];
    struct store *s;
    struct err e = {0};
    snprintf(path, sizeof path, "%s/node-a/metrics.fp", fuzz_folder);
    if (store_open(&s, path, &e))
        return;
    struct codec *c = codec_open();
    for (uint32_t i = 0; i < s->n_events; i++) {
        struct arena a = {0};
        const uint32_t rows = s->events[i].rows;
        struct event *v = xcalloc(rows, sizeof *v);
        const bool good = block_events(c, &s->events[i], &a, v);
        for (uint32_t k = 0; k < rows && good; k++)
            if (!v[k].name || strlen(v[k].name) >= EVENT_NAME_MOST || v[k].dur_ns < 0 ||
                (k && v[k].at.ns < v[k - 1].at.ns))
                abort();
        free(v);
        arena_free(&a);
    }
    (void)store_verify(s);
    codec_close(c);
    store_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct run *r;
    struct err e = {0};
    if (n == 0)
        return 0;
    if (!fuzz_folder[0])
        fuzz_folder_make();
    put_files(p + 1, n - 1, p[0] & 1, p[0] & 2);
    if (run_open(&r, fuzz_folder, &e) == 0) {
        ask_all(r, p[0] >> 2);
        run_close(r);
        decode_events();
    } else if (!e.msg[0]) {
        abort();
    }
    return 0;
}
