/* SPDX-License-Identifier: Apache-2.0 */
/* ops_trace.c - see ops_trace.h. */
#include "query/ops_trace.h"

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

static int read_track(struct run *r, const struct run_track *t, const struct trace_sink *sink,
                      void *to, struct err *e)
{
    struct arena a = {0};
    struct run_event *v;
    size_t n;
    const int rc = events_read(r, t, (wall_ns){0}, (wall_ns){0}, &a, &v, &n, e);
    if (rc == 0)
        sink->track(to, t, v, n);
    arena_free(&a);
    return rc;
}

static int read_process(struct run *r, const struct tracks *t, size_t first, size_t end,
                        bool detail, const struct trace_sink *sink, void *to, struct err *e)
{
    int rc = 0;
    sink->begin(to, t->v[first].process);
    for (size_t i = first; i < end && rc == 0; i++)
        if (t->v[i].detail == detail)
            rc = read_track(r, &t->v[i], sink, to, e);
    sink->end(to);
    return rc;
}

int trace_read(struct run *r, const struct trace_ask *ask, const struct trace_sink *sink, void *to,
               struct err *e)
{
    struct arena a = {0};
    struct tracks t = {0};
    bool found = !ask->one_rank, detail;
    int rc = events_tracks(r, &a, &t.v, &t.n, e);
    const bool some = rc == 0 && has_detail(&t, ask);
    for (size_t i = 0, end; rc == 0 && i < t.n; i = end) {
        end = process_end(&t, i, &detail);
        if (!wanted(ask, t.v[i].process))
            continue;
        found = true;
        if (detail == some)
            rc = read_process(r, &t, i, end, detail, sink, to, e);
    }
    if (rc == 0 && !found)
        rc = err_set(e, ERR_NOT_FOUND, "run '%s' has no events of rank %lld", run_get_info(r)->name,
                     (long long)ask->rank);
    arena_free(&a);
    return rc;
}
