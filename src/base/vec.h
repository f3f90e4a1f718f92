/* SPDX-License-Identifier: Apache-2.0 */
/* vec.h - growing arrays, binary search and the index of a hash table.
 *
 * A growing array is three fields of its owner: a pointer, a count and a capacity, all zero at
 * first.
 *
 *     struct row *row = VEC_ADD(list->rows, list->n, list->cap);
 *     *row = (struct row){.name = name};
 *
 * The memory is the owner's to free. Growing moves the items, so pointers to them are short-lived.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

enum { VEC_FIRST = 16 }; /* items that the first allocation has room for */

/* Room for `least` items in all. `cap` is a size_t or a uint32_t. */
#define VEC_ROOM(items, cap, least)                                                                \
    ((least) <= (cap) ? (void)0                                                                    \
                      : (void)((cap) = MAX_OF((least), (cap) ? 2 * (cap) : VEC_FIRST),             \
                               (items) = xrealloc((items), (cap), sizeof *(items))))

/* The address of one more item at the end. The item is not initialized. */
#define VEC_ADD(items, n, cap) (VEC_ROOM(items, cap, (n) + 1), &(items)[(n)++])

/* The first i of [lo, hi) for which before(ctx, i) is false; hi when there is none. before() is
 * true for the items up to some place and false from there on. Inlined, so a constant `before` is
 * too. */
static inline size_t search_first(size_t lo, size_t hi, bool (*before)(const void *ctx, size_t i),
                                  const void *ctx)
{
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (before(ctx, mid))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* An index over an array of the caller: open addressing, linear probing, at most half full. A slot
 * holds the position of an item plus 1; 0 is a free slot. The items know their own hashes.
 *
 *     uint32_t *slot = hash_slot(&t, hash, same, ctx);   the item's slot, or the free one for it
 *     if (!*slot) {
 *         *VEC_ADD(items, n, cap) = item;
 *         hash_put(&t, slot, n, hash_of, ctx);           it may grow: `slot` is used up
 *     }
 *
 * same(ctx, i): whether item i is the one that is looked for. hash_of(ctx, i): the hash of item i.
 */
struct hash_index {
    uint32_t *slots;
    uint32_t n_slots, n; /* n_slots is 0 or a power of 2 */
};

enum { HASH_FIRST = 64 };

static inline uint32_t *hash_slot_from(uint32_t *slots, uint32_t n_slots, uint64_t hash,
                                       bool (*same)(const void *ctx, uint32_t i), const void *ctx)
{
    for (uint32_t at = (uint32_t)(hash ^ hash >> 32);; at++) {
        uint32_t *slot = &slots[at & (n_slots - 1)];
        if (!*slot || (same && same(ctx, *slot - 1)))
            return slot;
    }
}

/* Makes room first, so that the index need not exist. */
static inline uint32_t *hash_slot(struct hash_index *t, uint64_t hash,
                                  bool (*same)(const void *ctx, uint32_t i), const void *ctx)
{
    if (!t->n_slots) {
        t->n_slots = HASH_FIRST;
        t->slots = xcalloc(t->n_slots, sizeof *t->slots);
    }
    return hash_slot_from(t->slots, t->n_slots, hash, same, ctx);
}

/* The slot is from hash_slot, free, and `position` (from 1) is that of the item in it now. */
static inline void hash_put(struct hash_index *t, uint32_t *slot, size_t position,
                            uint64_t (*hash_of)(const void *ctx, uint32_t i), const void *ctx)
{
    *slot = (uint32_t)position;
    if (2 * ++t->n <= t->n_slots)
        return;
    const uint32_t n_slots = 2 * t->n_slots;
    uint32_t *slots = xcalloc(n_slots, sizeof *slots);
    for (uint32_t i = 0; i < t->n_slots; i++)
        if (t->slots[i])
            *hash_slot_from(slots, n_slots, hash_of(ctx, t->slots[i] - 1), NULL, NULL) =
                t->slots[i];
    free(t->slots);
    t->slots = slots;
    t->n_slots = n_slots;
}

static inline void hash_free(struct hash_index *t)
{
    free(t->slots);
    *t = (struct hash_index){0};
}

#endif
