/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - memory of one unit of work, freed whole.
 * `struct arena a = {0};` is ready for use. arena_free gives everything back and leaves it ready
 * again. Allocations are zeroed and aligned for any type; out of memory aborts. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena {
    struct arena_chunk *chunks;
};

void *arena_alloc(struct arena *a, size_t n, size_t size)
    __attribute__((returns_nonnull, alloc_size(2, 3)));
/* What is in it is not known: for arrays that may be large and are filled whole. */
void *arena_alloc_raw(struct arena *a, size_t n, size_t size)
    __attribute__((returns_nonnull, alloc_size(2, 3)));
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
/* Everything of `from` lives in `to` from now on, at the same addresses; `from` is empty. */
void arena_join(struct arena *to, struct arena *from);
/* Allocated, used or not. */
size_t arena_bytes(const struct arena *a);
void arena_free(struct arena *a);

#define arena_new(a, type)      ((type *)arena_alloc((a), 1, sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_alloc((a), (n), sizeof(type)))

/* A copy of n items; n may be 0. */
void *arena_copy(struct arena *a, const void *items, size_t n, size_t size)
    __attribute__((returns_nonnull));
#define ARENA_COPY(a, items, n)                                                                    \
    ((__typeof__((items) + 0))arena_copy((a), (items), (n), sizeof *(items)))

/* Room for one more item at the end of a growing array; what was there is copied. */
void *arena_grow(struct arena *a, void *items, size_t n, size_t *cap, size_t size);
/* The address of one more item at the end, not initialized. `cap` is a size_t. */
#define ARENA_ADD(a, items, n, cap)                                                                \
    ((items) = arena_grow((a), (items), (n), &(cap), sizeof *(items)), &(items)[(n)++])

#endif
