/* SPDX-License-Identifier: Apache-2.0 */
/* ops_names.h - names of events as small numbers, with what each says (ops_class.h).
 *
 * Events of a block share their texts, so a text is looked up by its address first and compared
 * only the first time. Addresses are forgotten with op_names_turn, which must be called before the
 * texts of other memory are asked for. */
#ifndef QUERY_OPS_NAMES_H
#define QUERY_OPS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "record/event.h"

enum { OP_NAMES_NEAR = 4096 }; /* addresses remembered */

struct op_name {
    const char *text; /* in the table's arena */
    uint64_t hash;
    unsigned sense;
    enum event_id hook; /* the event of hooks that has this name; EV_N: none */
};

struct op_names {
    struct arena arena;
    struct op_name *v;
    uint32_t n, cap;
    uint32_t *slots; /* 0: free, else 1 + number */
    uint32_t n_slots;
    struct {
        const char *text;
        uint32_t id;
    } near[OP_NAMES_NEAR];
};

void op_names_open(struct op_names *t);
void op_names_close(struct op_names *t);
void op_names_turn(struct op_names *t);
/* The number of a text that was not found by its address. */
uint32_t op_names_look(struct op_names *t, const char *text);

static inline uint32_t op_names_id(struct op_names *t, const char *text)
{
    const uint64_t spread = (uint64_t)(uintptr_t)text * 0x9E3779B97F4A7C15u;
    const size_t at = (size_t)(spread >> 52) % OP_NAMES_NEAR;
    if (t->near[at].text != text) {
        t->near[at].id = op_names_look(t, text);
        t->near[at].text = text;
    }
    return t->near[at].id;
}

static inline unsigned op_names_sense(struct op_names *t, const char *text)
{
    const uint32_t id = op_names_id(t, text); /* may move t->v */
    return t->v[id].sense;
}

#endif
