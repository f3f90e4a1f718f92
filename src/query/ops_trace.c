/* SPDX-License-Identifier: Apache-2.0 */
/* ops_trace.c - see ops_trace.h. */
#include "query/ops_trace.h"

#include "query/event_flow.h"

struct tracks {
    struct run_track *v;
    size_t n;
};

static bool wanted(const struct trace_ask *ask, const struct run_process *p)
{
    return !ask->one_rank || p->rank == ask->rank;
}

/* Where the tracks of the process of track `i` end; whether one of them is detail. */
static size_t process_end(const struct tracks *t, size_t i, bool *detail)
{
    const struct run_process *p = t->v[i].process;
    *detail = false;
    for (; i < t->n && t->v[i].process == p; i++)
        *detail |= t->v[i].detail;
    return i;
}

/* Whether any process that is asked for has detail. */
static bool has_detail(const struct tracks *t, const struct trace_ask *ask)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].detail && wanted(ask, t->v[i].process))
            return true;
    return false;
}

struct reading {
    struct run *run;
    struct event_flow *flow;
    const struct trace_sink *sink;
    void *to;
};

static int read_track(const struct reading *rd, const struct run_track *t, struct err *e)
{
    const struct event_track *track = run_event_track(rd->run, t, e);
    const struct event_window all = {{0}, {0}};
    const struct run_event *v;
    struct arena texts = {0};
    if (!track)
        return e->code;
    event_flow_track(rd->flow, track, &all, &texts);
    rd->sink->track(rd->to, t);
    for (size_t n; (n = event_flow_next(rd->flow, &v)) > 0;)
        rd->sink->events(rd->to, v, n);
    rd->sink->track_end(rd->to);
    arena_free(&texts);
    return 0;
}

static int read_process(const struct reading *rd, const struct tracks *t, size_t first, size_t end,
                        bool detail, struct err *e)
{
    int rc = 0;
    rd->sink->begin(rd->to, t->v[first].process);
    for (size_t i = first; i < end && rc == 0; i++)
        if (t->v[i].detail == detail)
            rc = read_track(rd, &t->v[i], e);
    rd->sink->end(rd->to);
    return rc;
}

static unsigned columns_of(const struct trace_sink *s)
{
    return EVENT_COLUMNS_ALL & ~(s->no_value ? EVENT_COLUMN_BIT(COLUMN_VALUE) : 0) &
           ~(s->no_args ? EVENT_COLUMN_BIT(COLUMN_ARGS) : 0);
}

int trace_read(struct run *r, const struct trace_ask *ask, const struct trace_sink *sink, void *to,
               struct err *e)
{
    struct arena a = {0};
    struct tracks t = {0};
    struct reading rd = {r, event_flow_open(columns_of(sink)), sink, to};
    bool found = !ask->one_rank, detail;
    int rc = events_tracks(r, &a, &t.v, &t.n, e);
    const bool some = rc == 0 && has_detail(&t, ask);
    for (size_t i = 0, end; rc == 0 && i < t.n; i = end) {
        end = process_end(&t, i, &detail);
        if (!wanted(ask, t.v[i].process))
            continue;
        found = true;
        if (detail == some)
            rc = read_process(&rd, &t, i, end, detail, e);
    }
    if (rc == 0 && !found)
        rc = err_set(e, ERR_NOT_FOUND, "run '%s' has no events of rank %lld", run_get_info(r)->name,
                     (long long)ask->rank);
    event_flow_close(rd.flow);
    arena_free(&a);
    return rc;
}
