/* SPDX-License-Identifier: Apache-2.0 */
/* ops_names.c - see ops_names.h. */
#include "query/ops_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/ops_class.h"

enum { SLOTS_FIRST = 1024 };

void op_names_open(struct op_names *t)
{
    memset(t, 0, sizeof *t);
    t->n_slots = SLOTS_FIRST;
    t->slots = xcalloc(t->n_slots, sizeof *t->slots);
}

void op_names_close(struct op_names *t)
{
    free(t->v);
    free(t->slots);
    arena_free(&t->arena);
    memset(t, 0, sizeof *t);
}

void op_names_turn(struct op_names *t)
{
    memset(t->near, 0, sizeof t->near);
}

/* FNV-1a, then mixed so that the low bits hang on all. */
static uint64_t ops_names_hash_of(const char *s)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001B3u;
    return h ^ h >> 32;
}

/* The slot that holds the text, or the free one where it belongs. */
static uint32_t *ops_names_slot_of(const struct op_names *t, uint64_t hash, const char *text)
{
    for (uint32_t at = (uint32_t)hash & (t->n_slots - 1);; at = (at + 1) & (t->n_slots - 1)) {
        const struct op_name *v = t->slots[at] ? &t->v[t->slots[at] - 1] : NULL;
        if (!v || (v->hash == hash && strcmp(v->text, text) == 0))
            return &t->slots[at];
    }
}

static void ops_names_grow_slots(struct op_names *t)
{
    free(t->slots);
    t->n_slots *= 2;
    t->slots = xcalloc(t->n_slots, sizeof *t->slots);
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t at = (uint32_t)t->v[i].hash & (t->n_slots - 1);
        while (t->slots[at])
            at = (at + 1) & (t->n_slots - 1);
        t->slots[at] = i + 1;
    }
}

uint32_t op_names_look(struct op_names *t, const char *text)
{
    const uint64_t hash = ops_names_hash_of(text);
    uint32_t *slot = ops_names_slot_of(t, hash, text);
    if (*slot)
        return *slot - 1;
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 256;
        t->v = xrealloc(t->v, t->cap, sizeof *t->v);
    }
    t->v[t->n] =
        (struct op_name){arena_strdup(&t->arena, text), hash, name_sense(text), event_find(text)};
    *slot = ++t->n;
    if (t->n > t->n_slots / 2)
        ops_names_grow_slots(t);
    return t->n - 1;
}
