/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - chunks of doubling size, each a list node with its bytes after it; and mem.h. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { CHUNK_FIRST = 4096, CHUNK_MOST = 1 << 20 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, size;
    _Alignas(max_align_t) unsigned char bytes[];
};

static struct arena_chunk *link_chunk(struct arena *a, struct arena_chunk *c, size_t size)
{
    c->size = size;
    c->used = 0;
    c->next = a->chunks;
    a->chunks = c;
    return c;
}

static struct arena_chunk *add_chunk(struct arena *a, size_t need)
{
    size_t size = a->chunks ? a->chunks->size * 2 : CHUNK_FIRST;
    size = MIN_OF(size, (size_t)CHUNK_MOST);
    size = MAX_OF(size, need);
    return link_chunk(a, xcalloc(1, sizeof(struct arena_chunk) + size), size);
}

static size_t arena_round_up(size_t n, size_t size)
{
    const size_t align = _Alignof(max_align_t);
    if (size && n > (SIZE_MAX - align) / size)
        abort();
    return (n * size + align - 1) / align * align;
}

/* A separate chunk, so that nothing zeroed is ever taken from it. */
void *arena_alloc_raw(struct arena *a, size_t n, size_t size)
{
    const size_t bytes = arena_round_up(n, size);
    if (bytes < CHUNK_MOST)
        return arena_alloc(a, n, size);
    struct arena_chunk *c = link_chunk(a, xmalloc(sizeof *c + bytes), bytes);
    c->used = bytes;
    return c->bytes;
}

void *arena_alloc(struct arena *a, size_t n, size_t size)
{
    const size_t bytes = arena_round_up(n, size);
    struct arena_chunk *c = a->chunks;
    if (!c || c->size - c->used < bytes)
        c = add_chunk(a, bytes);
    void *p = c->bytes + c->used;
    c->used += bytes;
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = arena_alloc(a, n + 1, 1);
    memcpy(p, s, n);
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    const int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    const size_t size = (size_t)MAX_OF(n, 0) + 1;
    char *p = arena_alloc(a, size, 1);
    vsnprintf(p, size, fmt, ap);
    return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *p = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}

void arena_join(struct arena *to, struct arena *from)
{
    struct arena_chunk **end = &to->chunks;
    while (*end)
        end = &(*end)->next;
    *end = from->chunks;
    from->chunks = NULL;
}

size_t arena_bytes(const struct arena *a)
{
    size_t n = 0;
    for (const struct arena_chunk *c = a->chunks; c; c = c->next)
        n += sizeof *c + c->size;
    return n;
}

void arena_free(struct arena *a)
{
    struct arena_chunk *c = a->chunks;
    while (c) {
        struct arena_chunk *next = c->next;
        free(c);
        c = next;
    }
    a->chunks = NULL;
}

void *arena_copy(struct arena *a, const void *items, size_t n, size_t size)
{
    void *copy = arena_alloc_raw(a, n + 1, size);
    return n ? memcpy(copy, items, n * size) : copy;
}

void *arena_grow(struct arena *a, void *items, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return items;
    *cap = *cap ? 2 * *cap : 4;
    void *more = arena_alloc(a, *cap, size);
    if (n)
        memcpy(more, items, n * size);
    return more;
}

/* ---- allocation that does not fail; see mem.h ---- */

static void *or_abort(void *p)
{
    if (!p) {
        fputs("footplate: out of memory\n", stderr);
        abort();
    }
    return p;
}

void *xmalloc(size_t size)
{
    return or_abort(malloc(size ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
    return or_abort(calloc(n ? n : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t n, size_t size)
{
    return or_abort(reallocarray(p, n ? n : 1, size ? size : 1));
}

char *xstrdup(const char *s)
{
    return or_abort(strdup(s));
}
