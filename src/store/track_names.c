/* SPDX-License-Identifier: Apache-2.0 */
/* track_names.c - see track_names.h. */
#include "store/track_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { FIRST = 64 };

static struct named_track *track_names_slot_of(const struct track_names *k, const struct track *t)
{
    for (uint32_t at = track_hash(t);; at++) {
        struct named_track *one = &k->v[at & (k->cap - 1)];
        if (!one->used || track_same(&one->track, t))
            return one;
    }
}

static void track_names_grow(struct track_names *k)
{
    struct named_track *old = k->v;
    const uint32_t n = k->cap;
    k->cap = n ? n * 2 : FIRST;
    k->v = xcalloc(k->cap, sizeof *k->v);
    for (uint32_t i = 0; i < n; i++)
        if (old[i].used)
            *track_names_slot_of(k, &old[i].track) = old[i];
    free(old);
}

void track_names_tell(struct track_names *k, const struct track *t)
{
    if (k->n * 2 >= k->cap)
        track_names_grow(k);
    struct named_track *one = track_names_slot_of(k, t);
    if (!one->used) {
        *one = (struct named_track){*t, true};
        k->n++;
        return;
    }
    track_rename(&one->track, t->process, t->name);
}

void track_names_apply(const struct track_names *k, struct track *t)
{
    const struct named_track *one = track_names_slot_of(k, t);
    if (one->used)
        track_rename(t, one->track.process, one->track.name);
}

void track_names_free(struct track_names *k)
{
    free(k->v);
    *k = (struct track_names){0};
}
