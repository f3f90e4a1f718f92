/* SPDX-License-Identifier: Apache-2.0 */
/* event_blocks.h - blocks of events decoded one after the other, in memory that is used again. For
 * the files of query/ alone.
 *
 * event_blocks_open, any number of event_blocks_take, each given back when it is done with;
 * event_blocks_close. Who knows what it will take may say so before: then a thread decodes ahead,
 * while the caller works on what it has taken. */
#ifndef QUERY_EVENT_BLOCKS_H
#define QUERY_EVENT_BLOCKS_H

#include "query/run_open.h"
#include "store/event_columns.h"

/* A decoded block. */
struct event_source {
    struct event_columns columns;
    struct arena texts;
    uint32_t row;   /* the caller's own, 0 at first */
    uint32_t end;   /* the caller's own: rows up to here are looked at */
    bool steady;    /* the caller's own: its clock is the wall clock less `ahead`, all along */
    uint64_t ahead; /* ns */
    uint32_t place; /* of the block in its track */
    bool good;
    struct event_source *next; /* when it is given back */
};

static inline const struct events_block *event_block_of(const struct event_track *t, uint32_t i)
{
    return &t->store->events[t->blocks[i]];
}

struct event_blocks;

struct event_blocks *event_blocks_open(const struct event_want *want);
void event_blocks_close(struct event_blocks *b); /* NULL is fine */
/* Bytes that it holds when all were given back; not while a thread decodes. */
size_t event_blocks_memory(const struct event_blocks *b);

/* All blocks of these tracks will be taken, in this order, and no others. The list is the caller's
 * and stays until the end. Once, before the first is taken; does nothing where it does not pay. */
void event_blocks_ahead(struct event_blocks *b, const struct event_track *const *tracks, size_t n);
/* NULL when it is damaged. Its texts go to `texts`. */
struct event_source *event_blocks_take(struct event_blocks *b, const struct event_track *t,
                                       uint32_t place, struct arena *texts);
void event_blocks_give(struct event_blocks *b, struct event_source *s);

#endif
