/* SPDX-License-Identifier: Apache-2.0 */
/* ring_make.h - for ring_write.c only: makes the file of a process and backs its pages. Runs inside
 * the job, with its signals blocked. */
#ifndef RING_MAKE_H
#define RING_MAKE_H

#include "ring/ring_write.h"

/* The mapped file, ready but not yet announced by its magic; NULL when it cannot be had now.
 * *gone: the recorder's folder is not there, so it never will be. */
uint8_t *ring_make(const struct ring_writer *w, bool *gone);
/* Lets the recorder read it. */
void ring_announce(uint8_t *map);
/* Another thread was faster: no reader has seen this one. */
void ring_unmake(const struct ring_writer *w, uint8_t *map);
/* Gives the pages of one ring storage, so that writing to them cannot raise SIGBUS on a full disk.
 */
bool ring_back(const struct ring_writer *w, uint8_t *map, unsigned ring);

static inline struct ring_file *ring_file_of(uint8_t *map)
{
    return (struct ring_file *)(void *)map;
}

static inline struct ring_head *ring_head_of(uint8_t *map, unsigned ring)
{
    return (struct ring_head *)(void *)(map + RING_HEADS_AT) + ring;
}

static inline struct ring_name *ring_name_of(uint8_t *map, uint32_t id)
{
    return (struct ring_name *)(void *)(map + RING_NAMES_AT) + id;
}

static inline struct ring_slot *ring_slots_of(uint8_t *map, unsigned ring)
{
    return (struct ring_slot *)(void *)(map + RING_SLOTS_AT + ring * RING_BYTES);
}

/* Puts all names that are whole into the file. */
void ring_names_copy(const struct ring_writer *w, uint8_t *map);

#endif
