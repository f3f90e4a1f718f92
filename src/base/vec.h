/* SPDX-License-Identifier: Apache-2.0 */
/* vec.h - growing arrays, searching and sorting arrays, and the index of a hash table.
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
#include <string.h>

#include "base/mem.h"

enum { VEC_FIRST = 16 }; /* items that the first allocation has room for */

/* Room for `least` items in total. `cap` is a size_t or a uint32_t. */
#define VEC_ROOM(items, cap, least)                                                                \
    ((least) <= (cap) ? (void)0                                                                    \
                      : (void)((cap) = MAX_OF((least), (cap) ? 2 * (cap) : VEC_FIRST),             \
                               (items) = xrealloc((items), (cap), sizeof *(items))))

/* For arrays that grow together and share one capacity. True: it was not `least` and is now more,
 * and each of them must be allocated again with it.
 *
 *     if (VEC_GROW(list->cap, list->n + 1)) {
 *         list->names = xrealloc(list->names, list->cap, sizeof *list->names);
 *         list->times = xrealloc(list->times, list->cap, sizeof *list->times);
 *     } */
#define VEC_GROW(cap, least)                                                                       \
    ((least) <= (cap) ? false                                                                      \
                      : ((void)((cap) = MAX_OF((least), (cap) ? 2 * (cap) : VEC_FIRST)), true))

/* The address of one more item at the end. The item is not initialized. */
#define VEC_ADD(items, n, cap) (VEC_ROOM(items, cap, (n) + 1), &(items)[(n)++])

/* The array with `least` items or more, the new ones zeros; `n` counts all of them. */
static inline void *vec_zeroed(void *items, size_t *n, size_t least, size_t size)
{
    const size_t before = *n;
    if (least <= before)
        return items;
    *n = MAX_OF(least, MAX_OF(2 * before, (size_t)VEC_FIRST));
    items = xrealloc(items, *n, size);
    memset((char *)items + before * size, 0, (*n - before) * size);
    return items;
}
#define VEC_ZEROED(items, n, least) ((items) = vec_zeroed((items), &(n), (least), sizeof *(items)))

/* The first i of [lo, hi) for which `before`, an expression of i, is false; hi when there is none.
 * It is true for the items up to some place and false from there on.
 *
 *     const size_t at = SEARCH_FIRST(i, 0, n, times[i] < t); */
#define SEARCH_FIRST(i, lo, hi, before)                                                            \
    ({                                                                                             \
        size_t search_lo_ = (lo), search_hi_ = (hi);                                               \
        while (search_lo_ < search_hi_) {                                                          \
            const size_t i = search_lo_ + (search_hi_ - search_lo_) / 2;                           \
            if (before)                                                                            \
                search_lo_ = i + 1;                                                                \
            else                                                                                   \
                search_hi_ = i;                                                                    \
        }                                                                                          \
        search_lo_;                                                                                \
    })

/* The first i below `n` for which `found`, an expression of i, is true; n when there is none.
 *
 *     const size_t at = FIND_FIRST(i, list->n, strcmp(list->v[i].name, name) == 0); */
#define FIND_FIRST(i, n, found)                                                                    \
    ({                                                                                             \
        const size_t find_n_ = (n);                                                                \
        size_t i = 0;                                                                              \
        while (i < find_n_ && !(found))                                                            \
            i++;                                                                                   \
        i;                                                                                         \
    })

/* Whether there is such an i. */
#define FIND_ANY(i, n, found)                                                                      \
    ({                                                                                             \
        const size_t any_n_ = (n);                                                                 \
        FIND_FIRST(i, any_n_, found) < any_n_;                                                     \
    })

/* The sum of `number`, an expression of i, over all i below `n`: how many there are, if it is a
 * condition. */
#define SUM_OF(i, n, number)                                                                       \
    ({                                                                                             \
        const size_t sum_n_ = (n);                                                                 \
        size_t sum_ = 0;                                                                           \
        for (size_t i = 0; i < sum_n_; i++)                                                        \
            sum_ += (number);                                                                      \
        sum_;                                                                                      \
    })

/* The address of the first of the n items of `items` for which `found`, an expression of its
 * address x, is true; NULL when there is none.
 *
 *     return FIND_ITEM(x, list->v, list->n, strcmp(x->name, name) == 0); */
#define FIND_ITEM(x, items, n, found)                                                              \
    ({                                                                                             \
        const size_t item_n_ = (n);                                                                \
        __typeof__((items) + 0) item_ = NULL;                                                      \
        for (size_t item_at_ = 0; item_at_ < item_n_ && !item_; item_at_++) {                      \
            __typeof__((items) + 0) const x = &(items)[item_at_];                                  \
            item_ = (found) ? x : NULL;                                                            \
        }                                                                                          \
        item_;                                                                                     \
    })

/* Sorts n items as qsort does, which must not be called without items. */
#define SORT(items, n, compare) ((n) ? qsort((items), (n), sizeof *(items), (compare)) : (void)0)

/* Functions for SORT and bsearch: of structs by a number in them, of numbers, of structs by a text
 * in them. */
#define COMPARE_BY(name, type, number)                                                             \
    static int name(const void *a, const void *b)                                                  \
    {                                                                                              \
        const type *x = a, *y = b;                                                                 \
        return COMPARE(x->number, y->number);                                                      \
    }
#define COMPARE_NUMBERS(name, type)                                                                \
    static int name(const void *a, const void *b)                                                  \
    {                                                                                              \
        const type x = *(const type *)a, y = *(const type *)b;                                     \
        return COMPARE(x, y);                                                                      \
    }
#define COMPARE_NAMES(name, type, text)                                                            \
    static int name(const void *a, const void *b)                                                  \
    {                                                                                              \
        const type *x = a, *y = b;                                                                 \
        return strcmp(x->text, y->text);                                                           \
    }

/* An index over an array of the caller: open addressing, linear probing, at most half full.
 *
 *     uint32_t at = HASH_FIND(&t, hash, i, strcmp(items[i].name, name) == 0);
 *     if (!at) {
 *         *VEC_ADD(items, n, cap) = item;
 *         hash_add(&t, hash, n);
 *     }
 *
 * A slot has the position of an item plus 1, and its hash; 0 is a free slot. */
struct hash_slot {
    uint32_t position, hash;
};

struct hash_index {
    struct hash_slot *slots;
    uint32_t n_slots, n; /* n_slots is 0 or a power of 2 */
};

enum { HASH_FIRST = 64 };

/* FNV-1a over some more bytes; the first ones begin with HASH_BEGIN. */
#define HASH_BEGIN UINT64_C(0xcbf29ce484222325)
static inline uint64_t hash_more(uint64_t h, const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)p)[i]) * UINT64_C(0x100000001b3);
    return h;
}

static inline uint32_t hash_fold(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

/* The position plus 1 of the item i with that hash for which `same`, an expression of i, is true;
 * 0: there is none. */
#define HASH_FIND(t, hash_of_it, i, same)                                                          \
    ({                                                                                             \
        const struct hash_index *hash_t_ = (t);                                                    \
        const uint32_t hash_it_ = hash_fold(hash_of_it);                                           \
        uint32_t hash_found_ = 0;                                                                  \
        for (uint32_t at_ = hash_it_; hash_t_->n_slots && !hash_found_; at_++) {                   \
            const struct hash_slot slot_ = hash_t_->slots[at_ & (hash_t_->n_slots - 1)];           \
            const uint32_t i = slot_.position - 1;                                                 \
            if (!slot_.position)                                                                   \
                break;                                                                             \
            if (slot_.hash == hash_it_ && (same))                                                  \
                hash_found_ = slot_.position;                                                      \
        }                                                                                          \
        hash_found_;                                                                               \
    })

static inline void hash_put(struct hash_index *t, struct hash_slot one)
{
    uint32_t at = one.hash;
    while (t->slots[at & (t->n_slots - 1)].position)
        at++;
    t->slots[at & (t->n_slots - 1)] = one;
}

/* The item at `position` (from 1), which is not in it yet. */
static inline void hash_add(struct hash_index *t, uint64_t hash, size_t position)
{
    if (2 * ++t->n > t->n_slots) {
        const struct hash_index old = *t;
        t->n_slots = old.n_slots ? 2 * old.n_slots : HASH_FIRST;
        t->slots = xcalloc(t->n_slots, sizeof *t->slots);
        for (uint32_t i = 0; i < old.n_slots; i++)
            if (old.slots[i].position)
                hash_put(t, old.slots[i]);
        free(old.slots);
    }
    hash_put(t, (struct hash_slot){(uint32_t)position, hash_fold(hash)});
}

static inline void hash_free(struct hash_index *t)
{
    free(t->slots);
    *t = (struct hash_index){0};
}

#endif
