/* SPDX-License-Identifier: Apache-2.0 */
/* named_events.c - see named_events.h. */
#include "query/named_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/run_open.h"
#include "query/sorted_runs.h"

enum { NAMES_KNOWN = 256 };

/* What one address of a name means in the block being read, so that names are compared once. */
struct known {
    const char *name;
    enum event_id id; /* EV_N: not wanted */
};

struct reading {
    bool (*wanted)(enum event_id id);
    struct codec *codec;
    struct event *block;
    uint32_t most; /* rows that block has room for */
    struct known known[NAMES_KNOWN];
    struct named_event *v;
    size_t n, cap;
    struct sorted_runs runs;
};

static enum event_id wanted_id(const struct reading *rd, const char *name)
{
    const enum event_id id = event_find(name);
    return id < EV_N && rd->wanted(id) ? id : EV_N;
}

static bool holds_wanted(const struct reading *rd, const struct events_block *b, struct arena *a)
{
    const char **names;
    if (!store_event_names(rd->codec, b, a, &names))
        return false;
    for (uint32_t i = 0; i < b->n_names; i++)
        if (wanted_id(rd, names[i]) < EV_N)
            return true;
    return false;
}

static enum event_id id_of(struct reading *rd, const char *name)
{
    struct known *k = &rd->known[(uintptr_t)name / 8 % NAMES_KNOWN];
    if (k->name != name)
        *k = (struct known){name, wanted_id(rd, name)};
    return k->id;
}

static bool in_order(const void *a, const void *b)
{
    const struct named_event *x = a, *y = b;
    return x->at.ns <= y->at.ns;
}

static void push(struct reading *rd, const struct named_event *x)
{
    if (rd->n == rd->cap) {
        rd->cap = rd->cap ? 2 * rd->cap : 1024;
        rd->v = xrealloc(rd->v, rd->cap, sizeof *rd->v);
    }
    if (rd->n == 0 || !in_order(&rd->v[rd->n - 1], x))
        sorted_runs_add(&rd->runs, rd->n);
    rd->v[rd->n++] = *x;
}

static void take(struct reading *rd, const struct event_track *t, uint32_t process,
                 const struct event *v)
{
    const enum event_id id = v->name ? id_of(rd, v->name) : EV_N;
    if (id == EV_N || v->kind == EVENT_STEP)
        return;
    const struct named_event x = {
        .at = event_wall(t->store, v->at),
        .dur_ns = v->kind == EVENT_SPAN ? v->dur_ns : 0,
        .value = v->kind == EVENT_REAL ? (int64_t)event_real(v) : v->value,
        .process = process,
        .id = id,
    };
    push(rd, &x);
}

static void read_block(struct reading *rd, const struct event_track *t, uint32_t process,
                       const struct events_block *b)
{
    struct arena texts = {0};
    if (b->rows > rd->most) {
        rd->block = xrealloc(rd->block, b->rows, sizeof *rd->block);
        rd->most = b->rows;
    }
    memset(rd->known, 0, sizeof rd->known); /* addresses of another block mean nothing here */
    if (holds_wanted(rd, b, &texts) && store_events(rd->codec, b, &texts, rd->block))
        for (uint32_t i = 0; i < b->rows; i++)
            take(rd, t, process, &rd->block[i]);
    arena_free(&texts);
}

int named_events_read(struct run *r, const char *node, bool (*wanted)(enum event_id id),
                      struct arena *a, struct named_event **out, size_t *n, struct err *e)
{
    struct event_index *x;
    const int rc = run_events(r, &x, e);
    if (rc)
        return rc;
    struct reading rd = {.wanted = wanted, .codec = codec_open()};
    for (size_t i = 0; i < x->n_tracks; i++) {
        const struct event_track *t = &x->tracks[i];
        const struct run_process *p = t->track.process;
        if (t->track.detail || strcmp(p->node, node) != 0)
            continue;
        for (uint32_t k = 0; k < t->n_blocks; k++)
            read_block(&rd, t, (uint32_t)(p - x->processes), &t->store->events[t->blocks[k]]);
    }
    sorted_runs_merge(&rd.runs, rd.v, rd.n, sizeof *rd.v, in_order);
    sorted_runs_free(&rd.runs);
    *out = arena_array(a, struct named_event, rd.n);
    if (rd.n)
        memcpy(*out, rd.v, rd.n * sizeof *rd.v);
    *n = rd.n;
    free(rd.v);
    free(rd.block);
    codec_close(rd.codec);
    return 0;
}
