/* SPDX-License-Identifier: Apache-2.0 */
/* health_book_read.c - see health_book.h.
 *
 * Blocks of a track are in order of their first time, and new ones are added at the end. If one
 * comes earlier all the same, the blocks that were read are not the first ones any more: then the
 * book is rebuilt. So a cached book equals one that is read at once (health_book.h). */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "query/event_flow.h"
#include "query/health_book.h"
#include "query/run_internal.h"
#include "record/event.h"

/* Of a track: the blocks that were read, and the last of them. */
struct health_place {
    unsigned session;
    uint32_t pid;
    uint64_t id;
    int64_t rank;
    uint32_t blocks;
    int64_t t_first_us;
    uint32_t rows;
};

struct health_memory {
    struct health_book *book; /* of sealed blocks; NULL: nothing was read */
    struct health_place *places;
    size_t n, cap;
};

struct health_memory *health_memory_open(void)
{
    return xcalloc(1, sizeof(struct health_memory));
}

static void health_memory_drop(struct health_memory *m)
{
    health_book_close(m->book);
    m->book = NULL;
    m->n = 0;
}

void health_memory_close(struct health_memory *m)
{
    if (!m)
        return;
    health_memory_drop(m);
    free(m->places);
    free(m);
}

static const struct events_block *health_block(const struct event_track *t, uint32_t i)
{
    return &t->store->events[t->blocks[i]];
}

/* Blocks before the first one of a tail. */
static uint32_t health_sealed(const struct event_track *t)
{
    uint32_t n = 0;
    while (n < t->n_blocks && !health_block(t, n)->in_tail)
        n++;
    return n;
}

static struct health_place *health_place_of(struct health_memory *m, const struct event_track *t,
                                            int64_t rank)
{
    const struct run_process *p = t->track.process;
    for (size_t i = 0; i < m->n; i++) {
        struct health_place *x = &m->places[i];
        if (x->session == p->session && x->pid == p->pid && x->id == t->track.track.id)
            return x;
    }
    struct health_place *x = VEC_ADD(m->places, m->n, m->cap);
    *x = (struct health_place){
        .session = p->session, .pid = p->pid, .id = t->track.track.id, .rank = rank};
    return x;
}

/* Whether the blocks that were read are still the first ones. */
static bool health_place_fits(const struct health_place *x, const struct event_track *t,
                              int64_t rank)
{
    if (x->rank != rank || x->blocks > t->n_blocks)
        return false;
    if (x->blocks == 0)
        return true;
    const struct events_block *last = health_block(t, x->blocks - 1);
    return !last->in_tail && last->t_first_us == x->t_first_us && last->rows == x->rows;
}

static void health_add_rows(struct health_book *b, const struct event_track *t,
                            const struct flow_rows *rows, int64_t rank)
{
    for (uint32_t i = rows->from; i < rows->to; i++) {
        struct event v;
        event_columns_row(rows->columns, i, &v);
        health_book_add(b, &(struct book_value){
                               .track = t->track.track.id,
                               .pid = t->track.process->pid,
                               .rank = rank,
                               .mode = v.mode,
                               .step = (int64_t)v.link - 1,
                               .at = {flow_row_wall(rows, i)},
                               .name = v.name,
                               .v = health_number(&v),
                               .count = v.value,
                           });
    }
}

static void health_add_blocks(struct health_book *b, struct event_flow *f,
                              const struct event_track *t, uint32_t first, uint32_t end,
                              int64_t rank)
{
    if (first >= end)
        return;
    event_flow_blocks(f, t, first, end - first, NULL, NULL);
    for (struct flow_rows rows; event_flow_rows(f, &rows);)
        health_add_rows(b, t, &rows, rank);
}

/* ---- a node ---- */

struct health_node {
    const struct event_track *tracks; /* of the run */
    size_t n;
    const char *id;
    const int64_t *ranks;
    const struct run_process *processes;
};

static bool health_is_of(const struct health_node *x, const struct event_track *t)
{
    return strcmp(t->track.process->node, x->id) == 0;
}

static int64_t health_node_rank(const struct health_node *x, const struct event_track *t)
{
    return x->ranks[t->track.process - x->processes];
}

static bool health_memory_fits(struct health_memory *m, const struct health_node *x)
{
    for (size_t i = 0; i < x->n; i++)
        if (health_is_of(x, &x->tracks[i])) {
            const int64_t rank = health_node_rank(x, &x->tracks[i]);
            if (!health_place_fits(health_place_of(m, &x->tracks[i], rank), &x->tracks[i], rank))
                return false;
        }
    return true;
}

/* What was sealed since then. */
static void health_memory_grow(struct health_memory *m, const struct health_node *x,
                               struct event_flow *f)
{
    m->book = m->book ? m->book : health_book_open();
    for (size_t i = 0; i < x->n; i++) {
        const struct event_track *t = &x->tracks[i];
        if (!health_is_of(x, t))
            continue;
        const int64_t rank = health_node_rank(x, t);
        struct health_place *p = health_place_of(m, t, rank);
        const uint32_t sealed = health_sealed(t);
        health_add_blocks(m->book, f, t, p->blocks, sealed, rank);
        p->blocks = sealed;
        if (sealed) {
            p->t_first_us = health_block(t, sealed - 1)->t_first_us;
            p->rows = health_block(t, sealed - 1)->rows;
        }
    }
}

static void health_add_tails(struct health_book *b, struct health_memory *m,
                             const struct health_node *x, struct event_flow *f)
{
    for (size_t i = 0; i < x->n; i++) {
        const struct event_track *t = &x->tracks[i];
        if (!health_is_of(x, t))
            continue;
        const int64_t rank = health_node_rank(x, t);
        health_add_blocks(b, f, t, health_place_of(m, t, rank)->blocks, t->n_blocks, rank);
    }
}

int health_book_read(struct run *r, const char *node, const int64_t *ranks, struct health_memory *m,
                     struct health_book **out, struct err *e)
{
    struct event_index *index;
    TRY(run_events(r, &index, e));
    *out = NULL;
    if (index->n_health == 0)
        return 0;
    const struct health_node x = {
        .tracks = index->tracks + index->n_tracks,
        .n = index->n_health,
        .id = node,
        .ranks = ranks,
        .processes = index->processes,
    };
    struct health_memory *to = m ? m : health_memory_open();
    struct event_flow *f = event_flow_open(&(struct event_want){.value = true, .link = true});
    if (!health_memory_fits(to, &x))
        health_memory_drop(to);
    health_memory_grow(to, &x, f);
    *out = health_book_copy(to->book);
    health_add_tails(*out, to, &x, f);
    event_flow_close(f);
    if (!m)
        health_memory_close(to);
    return 0;
}
