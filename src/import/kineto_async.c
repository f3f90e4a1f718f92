/* SPDX-License-Identifier: Apache-2.0 */
/* kineto_async.c - spans that belong to no thread: a request, a transfer.
 *
 * Events of one category and id nest; those of different ids overlap as they like. So each id that
 * is open has a lane of its category to itself, and the next one takes the lowest lane that is
 * free: there are as many tracks as ever were open at once. */
#include <stdio.h>

#include "base/mem.h"
#include "import/kineto.h"
#include "json/json.h"

/* Set in the ids of their tracks; no thread has it. */
#define ASYNC_TRACK ((uint64_t)1 << 62)

static bool kineto_async_same_group(const struct kineto_async *a, const struct kineto_async *b)
{
    return a->pid == b->pid && a->cat == b->cat;
}

static struct kineto_async *kineto_async_find(struct kineto *k, const struct kineto_async *like)
{
    for (uint32_t i = 0; i < k->n_async; i++)
        if (k->async[i].id == like->id && kineto_async_same_group(&k->async[i], like))
            return &k->async[i];
    return NULL;
}

static uint32_t free_lane(const struct kineto *k, const struct kineto_async *like)
{
    bool taken[KINETO_ASYNC_MOST] = {false};
    uint32_t lane = 0;
    for (uint32_t i = 0; i < k->n_async; i++)
        if (kineto_async_same_group(&k->async[i], like))
            taken[k->async[i].lane] = true;
    while (taken[lane])
        lane++;
    return lane;
}

static uint32_t kineto_async_lane_track(struct kineto *k, const struct kineto_async *o)
{
    char cat[TRACK_NAME_LEN / 2], name[TRACK_NAME_LEN];
    const uint64_t id = ASYNC_TRACK | (uint64_t)o->cat << 16 | o->lane;
    const uint32_t track = out_track(&k->out, TRACK_THREAD, o->pid, id);
    json_decode(&k->event.cat, cat, sizeof cat, NULL);
    if (o->lane == 0)
        snprintf(name, sizeof name, "%s (async)", cat);
    else
        snprintf(name, sizeof name, "%s (async %u)", cat, o->lane + 1);
    out_name(&k->out, track, "", name);
    return track;
}

/* NULL: too many are open. */
static struct kineto_async *kineto_async_open_one(struct kineto *k, const struct kineto_async *like)
{
    if (k->n_async == KINETO_ASYNC_MOST)
        return NULL;
    struct kineto_async *o = &k->async[k->n_async];
    *o = *like;
    o->lane = free_lane(k, like);
    k->n_async++;
    o->track = kineto_async_lane_track(k, o);
    return o;
}

static void kineto_async_begin(struct kineto *k, const struct kineto_async *like,
                               const struct event *v)
{
    struct kineto_async *o = kineto_async_find(k, like);
    if (!o)
        o = kineto_async_open_one(k, like);
    if (o)
        o->depth++;
    out_begin(&k->out, o ? o->track : OUT_NO_TRACK, v);
}

static void kineto_async_end(struct kineto *k, const struct kineto_async *like,
                             const struct event *v)
{
    struct kineto_async *o = kineto_async_find(k, like);
    if (!o) {
        k->result->count[IMPORTED_UNBEGUN]++;
        return;
    }
    out_end(&k->out, o->track, v->at);
    if (--o->depth == 0)
        *o = k->async[--k->n_async];
}

static void mark(struct kineto *k, const struct kineto_async *like, const struct event *v)
{
    const struct kineto_async *o = kineto_async_find(k, like);
    out_event(&k->out, o ? o->track : kineto_async_lane_track(k, like), v);
}

void kineto_async(struct kineto *k, enum kineto_async_what what, uint32_t pid, uint32_t cat,
                  const struct event *v)
{
    static void (*const take[])(struct kineto *, const struct kineto_async *,
                                const struct event *) = {
        [ASYNC_BEGIN] = kineto_async_begin, [ASYNC_END] = kineto_async_end, [ASYNC_MARK] = mark};
    const struct kineto_async like = {.pid = pid, .cat = cat, .id = k->event.id};
    take[what](k, &like, v);
}
