/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_scene.c - any bytes as a scene: it is refused with a sentence, or what comes out is whole.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/importer.h"
#include "import/scene.h"
#include "record/group.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* Larger ones are parsed, but not played. */
#define PLAYED_MOST 20000.0

struct counting {
    struct sink sink;
    uint64_t events;
};

static void check(bool fine)
{
    if (!fine)
        abort();
}

static void on_row(struct sink *s, struct group *g, mono_ns t)
{
    (void)s;
    check(t.ns >= SCENE_START_NS);
    for (slot_id i = 0; i < g->n; i++)
        check(g->cells[i] == CELL_MISSING || g->cells[i] >= 0);
}

static void on_events(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    ((struct counting *)s)->events += n;
    check(memchr(t->name, 0, sizeof t->name) && memchr(t->process, 0, sizeof t->process));
    for (size_t i = 0; i < n; i++) {
        check(v[i].kind > 0 && v[i].kind < EVENT_KIND_N && v[i].category < CAT_N);
        check(v[i].dur_ns >= 0 && v[i].at.ns >= SCENE_START_NS);
    }
}

static double size_of(const struct scene *s)
{
    double size = (double)scene_end(s) / (double)s->interval_ns * (double)s->n_series;
    struct scene_walk w;
    struct scene_doing d;
    for (size_t i = 0; i < s->n_ranks; i++) {
        const struct scene_rank *r = &s->ranks[i];
        scene_walk_begin(&w, s, r);
        while (size <= PLAYED_MOST && scene_walk_next(&w, &d))
            size++;
        for (size_t k = 0; k < r->n_workers; k++)
            size +=
                (double)r->workers[k].count * (double)scene_end(s) / (double)r->workers[k].every_ns;
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const struct sink_ops ops = {.row = on_row, .events = on_events};
    struct counting c = {.sink = {&ops}};
    struct arena a = {0};
    struct scene s;
    struct bytes_memory in;
    struct import_result r;
    struct err e = {0};
    const int rc = scene_parse((const char *)p, n, &a, &s, &e);
    check(rc == 0 || e.msg[0] != 0);
    if (rc == 0 && size_of(&s) <= PLAYED_MOST) {
        bytes_memory_init(&in, p, n, 0);
        const struct import_ask ask = {.in = &in.in, .sink = &c.sink};
        check(importer_scene.run(&ask, &r, &e) == 0);
        check(c.events == r.count[IMPORTED_KEPT]);
    }
    arena_free(&a);
    return 0;
}
