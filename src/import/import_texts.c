/* SPDX-License-Identifier: Apache-2.0 */
/* import_texts.c - see import_texts.h. */
#include "import/import_texts.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"

enum { SLOTS_FIRST = 4096, TEXTS_MOST = 200000, BYTES_MOST = 32 << 20, CHUNK = 64 << 10 };

static inline uint64_t load_8(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Most are short: a call for them would cost more than the comparison. */
static inline bool same_bytes(const char *a, const char *b, size_t n)
{
    enum { SHORT = 64, STEP = 8 };
    if (n < STEP || n > SHORT)
        return memcmp(a, b, n) == 0;
    uint64_t other = load_8(a + n - STEP) ^ load_8(b + n - STEP);
    for (size_t i = 0; i + STEP < n; i += STEP)
        other |= load_8(a + i) ^ load_8(b + i);
    return other == 0;
}

static struct kept_text **import_texts_slot_of(const struct texts *t, const char *p, size_t len,
                                               uint32_t hash)
{
    for (uint32_t i = hash;; i++) {
        struct kept_text **slot = &t->slots[i & (t->cap - 1)];
        const struct kept_text *x = *slot;
        if (!x || (x->hash == hash && x->len == len && same_bytes(x->p, p, len)))
            return slot;
    }
}

static void import_texts_grow(struct texts *t)
{
    struct kept_text **old = t->slots;
    const uint32_t n = t->cap;
    t->cap = n ? n * 2 : SLOTS_FIRST;
    t->slots = xcalloc(t->cap, sizeof *t->slots);
    for (uint32_t i = 0; i < n; i++)
        if (old[i])
            *import_texts_slot_of(t, old[i]->p, old[i]->len, old[i]->hash) = old[i];
    free(old);
}

static void *import_texts_take(struct texts *t, size_t n)
{
    n = (n + 7) & ~(size_t)7;
    if (n > t->room_left) {
        t->room_left = MAX_OF(n, (size_t)CHUNK);
        t->room = arena_alloc(&t->arena, t->room_left, 1);
    }
    void *p = t->room;
    t->room += n;
    t->room_left -= n;
    t->bytes += n;
    return p;
}

struct kept_text *texts_keep(struct texts *t, const char *p, size_t len)
{
    const uint32_t hash = (uint32_t)XXH3_64bits(p, len);
    if (t->n * 2 >= t->cap)
        import_texts_grow(t);
    struct kept_text **slot = import_texts_slot_of(t, p, len, hash);
    if (*slot)
        return *slot;
    struct kept_text *x = import_texts_take(t, sizeof *x);
    char *copy = import_texts_take(t, len + 1);
    memcpy(copy, p, len);
    copy[len] = '\0';
    *x = (struct kept_text){.p = copy, .len = (uint32_t)len, .hash = hash};
    t->n++;
    return *slot = x;
}

bool texts_full(const struct texts *t)
{
    return t->n >= TEXTS_MOST || t->bytes >= BYTES_MOST;
}

void texts_clear(struct texts *t)
{
    arena_free(&t->arena);
    free(t->slots);
    *t = (struct texts){0};
}
