/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_footplate.c - any bytes as an export of ours: what comes out is whole, within limits and
 * counted. */
#include <stdlib.h>
#include <string.h>

#include "import/importer.h"
#include "record/group.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

struct counting {
    struct sink sink; /* first */
    uint64_t events, readings;
};

struct making {
    struct remake remake; /* first */
    struct sink *sink;
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
        ((struct counting *)s)->readings += g->cells[i] != CELL_MISSING;
        check(!g->slots[i].used || (g->slots[i].metric < METRIC_N && g->slots[i].step > 0));
    }
}

static void take_loss(struct sink *s, const struct loss *l)
{
    (void)s;
    check(l->id < LOSS_N && l->metric <= METRIC_N && memchr(l->entity, 0, sizeof l->entity) &&
          memchr(l->part, 0, sizeof l->part) && memchr(l->why, 0, sizeof l->why));
}

static void take_mark(struct sink *s, const struct mark *m)
{
    (void)s;
    check(m->id < MARK_N && memchr(m->text, 0, sizeof m->text));
}

static void take_events(struct sink *s, const struct track *t, const struct event *v, size_t n)
{
    ((struct counting *)s)->events += n;
    check(memchr(t->name, 0, sizeof t->name) && memchr(t->process, 0, sizeof t->process));
    for (size_t i = 0; i < n; i++) {
        check(v[i].name && strlen(v[i].name) < EVENT_NAME_MOST);
        check(!v[i].args || strlen(v[i].args) < EVENT_NAME_MOST);
        check(v[i].kind > 0 && v[i].kind < EVENT_KIND_N && v[i].category < CAT_N);
        check(v[i].mode < MODE_N && v[i].end <= END_OPEN && v[i].dur_ns >= 0);
    }
}

static void take_run(struct remake *m, const char *about, size_t len)
{
    (void)m;
    check(len >= 2 && about[0] == '{' && about[len - 1] == '}');
}

static void take_node(struct remake *m, const struct remake_node *n)
{
    (void)m;
    check(n->id && strlen(n->id) < IMPORT_NAME_LEN);
}

static struct sink *sink_of(struct remake *m, const struct remake_place *p)
{
    check(p->node && *p->node);
    return ((struct making *)m)->sink;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const struct remake_ops remake = {take_run, take_node, sink_of};
    static const struct sink_ops ops = {take_row, take_loss, take_mark, take_events};
    struct counting c = {.sink = {&ops}};
    struct making m = {{&remake}, &c.sink};
    struct bytes_memory in;
    struct import_result r;
    struct err e = {0};
    if (n < 1)
        return 0;
    bytes_memory_init(&in, p + 1, n - 1, p[0] & 0x7f);
    struct import_ask ask = {.in = &in.in, .sink = &c.sink};
    ask.remake = p[0] & 0x80 ? &m.remake : NULL;
    const int rc = importer_footplate.run(&ask, &r, &e);
    check(c.events == r.count[IMPORTED_KEPT]);
    check(c.readings <= r.count[IMPORTED_READINGS]);
    check(rc == 0 ? c.events + c.readings > 0 : e.msg[0] != 0);
    return 0;
}
