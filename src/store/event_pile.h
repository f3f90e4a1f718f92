/* SPDX-License-Identifier: Apache-2.0 */
/* event_pile.h - events in memory, as columns, in the order in which they were told: what a writer
 * in bulk has in place of a tail. Names and arguments are numbers of texts. The store's own helper.
 */
#ifndef STORE_EVENT_PILE_H
#define STORE_EVENT_PILE_H

#include "store/event_bits.h"

enum { PILE_SHIFT = 11, PILE_ROWS = 1 << PILE_SHIFT };

struct pile_part {
    int64_t at[PILE_ROWS], dur[PILE_ROWS], value[PILE_ROWS];
    uint64_t link[PILE_ROWS], parent[PILE_ROWS];
    uint32_t name[PILE_ROWS], args[PILE_ROWS], track[PILE_ROWS];
    uint16_t what[PILE_ROWS];
};

/* In parts, so that it grows without moving what it has. */
struct event_pile {
    struct pile_part **parts;
    uint32_t n_parts, n;
};

void pile_grow(struct event_pile *p);
void pile_free(struct event_pile *p);

static inline void pile_add(struct event_pile *p, uint32_t track, const struct bare_event *v)
{
    if (__builtin_expect(p->n >> PILE_SHIFT == p->n_parts, 0))
        pile_grow(p);
    struct pile_part *part = p->parts[p->n >> PILE_SHIFT];
    const uint32_t i = p->n++ % PILE_ROWS;
    part->at[i] = v->at;
    part->dur[i] = v->dur;
    part->value[i] = v->value;
    part->link[i] = v->link;
    part->parent[i] = v->parent;
    part->name[i] = v->name;
    part->args[i] = v->args;
    part->track[i] = track;
    part->what[i] = v->what;
}

static inline uint32_t pile_track(const struct event_pile *p, uint32_t row)
{
    return p->parts[row >> PILE_SHIFT]->track[row % PILE_ROWS];
}

static inline struct bare_event pile_get(const struct event_pile *p, uint32_t row)
{
    const struct pile_part *part = p->parts[row >> PILE_SHIFT];
    const uint32_t i = row % PILE_ROWS;
    return (struct bare_event){
        .at = part->at[i],
        .dur = part->dur[i],
        .value = part->value[i],
        .link = part->link[i],
        .parent = part->parent[i],
        .name = part->name[i],
        .args = part->args[i],
        .what = part->what[i],
    };
}

#endif
