/* SPDX-License-Identifier: Apache-2.0 */
/* ops_trace.c - see ops_trace.h. */
#include "query/ops_trace.h"

#include "query/event_flow.h"

/* Those of a run that are read. */
struct tracks {
    struct run_track *v;
    const struct event_track **stored;
    size_t n;
};

static bool wanted(const struct trace_ask *ask, const struct run_process *p)
{
    return !ask->one_rank || p->rank == ask->rank;
}

/* Whether any process that is asked for has detail. */
static bool has_detail(const struct tracks *t, const struct trace_ask *ask)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].detail && wanted(ask, t->v[i].process))
            return true;
    return false;
}

/* Leaves those of the processes that are asked for, with or without detail. */
static void choose(struct tracks *t, const struct trace_ask *ask, bool detail)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++)
        if (wanted(ask, t->v[i].process) && t->v[i].detail == detail)
            t->v[kept++] = t->v[i];
    t->n = kept;
}

static int find_tracks(struct run *r, const struct trace_ask *ask, struct arena *a,
                       struct tracks *out, struct err *e)
{
    struct event_index *x;
    int rc = run_events(r, &x, e);
    if (rc == 0)
        rc = events_tracks(r, a, &out->v, &out->n, e);
    if (rc)
        return rc;
    choose(out, ask, has_detail(out, ask));
    if (ask->one_rank && out->n == 0)
        return err_set(e, ERR_NOT_FOUND, "run '%s' has no events of rank %lld",
                       run_get_info(r)->name, (long long)ask->rank);
    out->stored = arena_array(a, const struct event_track *, out->n);
    for (size_t i = 0; i < out->n; i++)
        out->stored[i] = &x->tracks[out->v[i].index];
    return 0;
}

static void read_track(struct event_flow *flow, const struct tracks *t, size_t i,
                       const struct trace_sink *sink, void *to)
{
    const struct flow_window all = {{0}, {0}};
    const struct run_event *v;
    struct arena texts = {0};
    event_flow_track(flow, t->stored[i], &all, &texts);
    sink->track(to, &t->v[i]);
    for (size_t n; (n = event_flow_next(flow, &v)) > 0;)
        sink->events(to, v, n);
    sink->track_end(to);
    arena_free(&texts);
}

static void read_tracks(const struct tracks *t, const struct trace_sink *sink, void *to)
{
    struct event_flow *flow = event_flow_open(&sink->want);
    event_flow_ahead(flow, t->stored, t->n);
    for (size_t i = 0; i < t->n; i++) {
        const struct run_process *p = t->v[i].process;
        if (i == 0 || t->v[i - 1].process != p)
            sink->begin(to, p);
        read_track(flow, t, i, sink, to);
        if (i + 1 == t->n || t->v[i + 1].process != p)
            sink->end(to);
    }
    event_flow_close(flow);
}

int trace_read(struct run *r, const struct trace_ask *ask, const struct trace_sink *sink, void *to,
               struct err *e)
{
    struct arena a = {0};
    struct tracks t = {0};
    const int rc = find_tracks(r, ask, &a, &t, e);
    if (rc == 0)
        read_tracks(&t, sink, to);
    arena_free(&a);
    return rc;
}
