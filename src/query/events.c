/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - see events.h. */
#include "query/events.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/run_open.h"
#include "query/sorted_runs.h"

static struct run_process *copy_processes(const struct event_index *x, struct arena *a)
{
    struct run_process *v = arena_array(a, struct run_process, x->n_processes);
    for (size_t i = 0; i < x->n_processes; i++) {
        v[i] = x->processes[i];
        v[i].node = arena_strdup(a, v[i].node);
        v[i].name = arena_strdup(a, v[i].name);
    }
    return v;
}

int events_processes(struct run *r, struct arena *a, struct run_process **out, size_t *n,
                     struct err *e)
{
    struct event_index *x;
    const int rc = run_events(r, &x, e);
    if (rc)
        return rc;
    *out = copy_processes(x, a);
    *n = x->n_processes;
    return 0;
}

int events_tracks(struct run *r, struct arena *a, struct run_track **out, size_t *n, struct err *e)
{
    struct event_index *x;
    const int rc = run_events(r, &x, e);
    if (rc)
        return rc;
    struct run_process *processes = copy_processes(x, a);
    *out = arena_array(a, struct run_track, x->n_tracks);
    for (size_t i = 0; i < x->n_tracks; i++) {
        (*out)[i] = x->tracks[i].track;
        (*out)[i].process = processes + (x->tracks[i].track.process - x->processes);
    }
    *n = x->n_tracks;
    return 0;
}

/* ---- reading ---- */

struct window {
    wall_ns from, to; /* 0: open */
};

/* A moment at the very end of the window is behind it, one at its begin is in it. */
static bool overlaps(const struct window *w, int64_t begin, int64_t end)
{
    return (!w->to.ns || begin < w->to.ns) &&
           (!w->from.ns || end > w->from.ns || begin >= w->from.ns);
}

static bool block_overlaps(const struct window *w, const struct store *s,
                           const struct events_block *b)
{
    return overlaps(w, store_wall(s, b->t_first_us).ns, store_wall(s, b->t_last_us).ns);
}

static bool in_order(const void *a, const void *b)
{
    const struct event *x = &((const struct run_event *)a)->event;
    const struct event *y = &((const struct run_event *)b)->event;
    return x->at.ns != y->at.ns ? x->at.ns < y->at.ns : x->dur_ns >= y->dur_ns;
}

struct reading {
    const struct store *store;
    struct window window;
    struct codec *codec;
    struct run_event *v;
    size_t n;
    struct sorted_runs runs;
};

static void keep_event(struct reading *rd, const struct event *e)
{
    const struct run_event x = {event_wall(rd->store, e->at), *e};
    if (!overlaps(&rd->window, x.at.ns, x.at.ns + e->dur_ns))
        return;
    if (rd->n == 0 || !in_order(&rd->v[rd->n - 1], &x))
        sorted_runs_add(&rd->runs, rd->n);
    rd->v[rd->n++] = x;
}

/* Blocks that are damaged are left out; run_losses counts them. */
static void read_blocks(struct reading *rd, const struct event_track *t, struct arena *a)
{
    uint32_t most = 0;
    uint64_t rows = 0;
    for (uint32_t i = 0; i < t->n_blocks; i++) {
        const struct events_block *b = &t->store->events[t->blocks[i]];
        if (!block_overlaps(&rd->window, t->store, b))
            continue;
        rows += b->rows;
        most = MAX_OF(most, b->rows);
    }
    struct event *block = xcalloc(most, sizeof *block);
    rd->v = arena_array(a, struct run_event, rows);
    for (uint32_t i = 0; i < t->n_blocks; i++) {
        const struct events_block *b = &t->store->events[t->blocks[i]];
        if (!block_overlaps(&rd->window, t->store, b) || !store_events(rd->codec, b, a, block))
            continue;
        for (uint32_t k = 0; k < b->rows; k++)
            keep_event(rd, &block[k]);
    }
    free(block);
}

/* NULL, and `e` says why, when the track is not one of the run's. */
static const struct event_track *find_track(struct run *r, const struct run_track *t, struct err *e)
{
    struct event_index *x;
    if (run_events(r, &x, e) != 0)
        return NULL;
    if (t->index < x->n_tracks)
        return &x->tracks[t->index];
    err_set(e, ERR_NOT_FOUND, "run '%s' has no track %u", r->info.name, t->index);
    return NULL;
}

int events_read(struct run *r, const struct run_track *t, wall_ns from, wall_ns to, struct arena *a,
                struct run_event **out, size_t *n, struct err *e)
{
    const struct event_track *track = find_track(r, t, e);
    if (!track)
        return e->code;
    struct reading rd = {.store = track->store, .window = {from, to}, .codec = codec_open()};
    read_blocks(&rd, track, a);
    sorted_runs_merge(&rd.runs, rd.v, rd.n, sizeof *rd.v, in_order);
    sorted_runs_free(&rd.runs);
    codec_close(rd.codec);
    *out = rd.v;
    *n = rd.n;
    return 0;
}

/* ---- without decoding ---- */

int events_stretches(struct run *r, const struct run_track *t, wall_ns from, wall_ns to,
                     struct arena *a, struct run_stretch **out, size_t *n, struct err *e)
{
    const struct window w = {from, to};
    const struct event_track *track = find_track(r, t, e);
    if (!track)
        return e->code;
    *n = 0;
    *out = arena_array(a, struct run_stretch, track->n_blocks + 1);
    for (uint32_t i = 0; i < track->n_blocks; i++) {
        const struct events_block *b = &track->store->events[track->blocks[i]];
        if (block_overlaps(&w, track->store, b))
            (*out)[(*n)++] =
                (struct run_stretch){store_wall(track->store, b->t_first_us),
                                     store_wall(track->store, b->t_last_us), b->rows, i};
    }
    return 0;
}

int events_names(struct run *r, const struct run_track *t, const struct run_stretch *where,
                 struct arena *a, const char ***out, size_t *n, struct err *e)
{
    const struct event_track *track = find_track(r, t, e);
    if (!track)
        return e->code;
    const struct events_block *b = &track->store->events[track->blocks[where->block]];
    struct codec *codec = codec_open();
    if (!store_event_names(codec, b, a, out))
        *out = NULL;
    codec_close(codec);
    *n = *out ? b->n_names : 0;
    return 0;
}
