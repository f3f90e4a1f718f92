/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - see events.h. */
#include "query/events.h"

#include <string.h>

#include "query/event_flow.h"

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

const struct event_track *run_event_track(struct run *r, const struct run_track *t, struct err *e)
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
    const struct flow_window w = {from, to};
    const struct event_track *track = run_event_track(r, t, e);
    if (!track)
        return e->code;
    struct event_flow *flow = event_flow_open(&EVENT_WANT_ALL);
    const struct run_event *v;
    uint64_t rows = 0;
    for (uint32_t i = 0; i < track->n_blocks; i++)
        rows += flow_window_meets(&w, track, i) ? event_block_of(track, i)->rows : 0;
    *out = arena_array(a, struct run_event, rows);
    *n = 0;
    event_flow_track(flow, track, &w, a);
    for (size_t more; (more = event_flow_next(flow, &v)) > 0; *n += more)
        memcpy(*out + *n, v, more * sizeof *v);
    event_flow_close(flow);
    return 0;
}

int events_visit(struct run *r, const struct run_track *t, wall_ns from, wall_ns to,
                 struct arena *a, event_fn *see, void *ctx, struct err *e)
{
    const struct event_track *track = run_event_track(r, t, e);
    if (!track)
        return e->code;
    struct event_flow *flow = event_flow_open(&(struct event_want){0});
    const struct run_event *v;
    event_flow_track(flow, track, &(struct flow_window){from, to}, a);
    for (size_t n; (n = event_flow_next(flow, &v)) > 0;)
        for (size_t i = 0; i < n; i++)
            see(ctx, &v[i]);
    event_flow_close(flow);
    return 0;
}

/* ---- without decoding ---- */

int events_stretches(struct run *r, const struct run_track *t, wall_ns from, wall_ns to,
                     struct arena *a, struct run_stretch **out, size_t *n, struct err *e)
{
    const struct flow_window w = {from, to};
    const struct event_track *track = run_event_track(r, t, e);
    if (!track)
        return e->code;
    *n = 0;
    *out = arena_array(a, struct run_stretch, track->n_blocks + 1);
    for (uint32_t i = 0; i < track->n_blocks; i++) {
        const struct events_block *b = event_block_of(track, i);
        if (flow_window_meets(&w, track, i))
            (*out)[(*n)++] =
                (struct run_stretch){store_wall(track->store, b->t_first_us),
                                     store_wall(track->store, b->t_last_us), b->rows, i};
    }
    return 0;
}

int events_names(struct run *r, const struct run_track *t, const struct run_stretch *where,
                 struct arena *a, const char ***out, size_t *n, struct err *e)
{
    const struct event_track *track = run_event_track(r, t, e);
    if (!track)
        return e->code;
    const struct events_block *b = event_block_of(track, where->block);
    struct codec *codec = codec_open();
    if (!store_event_names(codec, b, a, out))
        *out = NULL;
    codec_close(codec);
    *n = *out ? b->n_names : 0;
    return 0;
}
