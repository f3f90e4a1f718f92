/* SPDX-License-Identifier: Apache-2.0 */
/* ops_trace.c - see ops_trace.h. */
#include "query/ops_trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "query/event_flow.h"
#include "query/steps.h"

/* Those of a run that are read. */
struct trace_tracks {
    struct run_track *v;
    size_t n;
};

/* ---- ranks ---- */

static int ops_trace_by_process(const void *a, const void *b)
{
    const struct run_process *x = ((const struct rank_steps *)a)->process;
    const struct run_process *y = ((const struct rank_steps *)b)->process;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    return strcmp(x->node, y->node);
}

/* The number that its steps are counted under; -1: it has none. `v` is sorted. */
static int64_t ops_trace_rank_in(const struct rank_steps *v, size_t n, const struct run_process *p)
{
    const struct rank_steps key = {.process = p};
    const struct rank_steps *found =
        n ? bsearch(&key, v, n, sizeof *v, ops_trace_by_process) : NULL;
    return found ? found->rank : -1;
}

static bool ops_trace_is_nameless(const struct run_process *p)
{
    return p->rank < 0 && p->worker < 0;
}

/* Whether the track is the first of its process; those of one process lie together. */
static bool ops_trace_is_first(const struct trace_tracks *t, size_t i)
{
    return i == 0 || t->v[i].process != t->v[i - 1].process;
}

/* Processes that did not say their rank get the one that their steps have. One that is alone is
 * rank 0, with steps or without. */
static int ops_trace_number_ranks(struct run *r, struct arena *a, struct trace_tracks *t,
                                  struct err *e)
{
    struct rank_steps *v = NULL;
    size_t n = 0, processes = 0, nameless = 0;
    for (size_t i = 0; i < t->n; i++) {
        processes += ops_trace_is_first(t, i) && t->v[i].process->worker < 0;
        nameless += ops_trace_is_first(t, i) && ops_trace_is_nameless(t->v[i].process);
    }
    if (nameless == 0)
        return 0;
    const int rc = processes > 1 ? steps_read(r, a, &v, &n, e) : 0;
    if (rc == 0 && n)
        qsort(v, n, sizeof *v, ops_trace_by_process);
    const struct run_process *old = NULL;
    for (size_t i = 0; rc == 0 && i < t->n; i++) {
        const struct run_process *p = t->v[i].process;
        if (ops_trace_is_nameless(p) && p != old) {
            struct run_process *own = arena_array(a, struct run_process, 1);
            *own = *p;
            own->rank = processes > 1 ? ops_trace_rank_in(v, n, p) : 0;
            t->v[i].process = own;
        } else if (p == old) {
            t->v[i].process = t->v[i - 1].process;
        }
        old = p;
    }
    return rc;
}

/* ---- what is read ---- */

static bool ops_trace_wanted(const struct trace_ask *ask, const struct run_process *p)
{
    return !ask->one_rank || p->rank == ask->rank;
}

bool track_is_profile(const struct run_track *t)
{
    return text_starts(t->track.name, PROFILE_TRACK_NAME);
}

/* Whether any process that is asked for has detail. */
static bool has_detail(const struct trace_tracks *t, const struct trace_ask *ask)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].detail && !track_is_profile(&t->v[i]) && ops_trace_wanted(ask, t->v[i].process))
            return true;
    return false;
}

static bool has_any(const struct trace_tracks *t, const struct trace_ask *ask)
{
    for (size_t i = 0; i < t->n; i++)
        if (ops_trace_wanted(ask, t->v[i].process))
            return true;
    return false;
}

/* Leaves those of the processes that are asked for: profiles, or others with or without detail. */
static void ops_trace_choose(struct trace_tracks *t, const struct trace_ask *ask, bool detail)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct run_track *x = &t->v[i];
        const bool profile = track_is_profile(x);
        if (ops_trace_wanted(ask, x->process) && profile == ask->functions &&
            (profile || x->detail == detail))
            t->v[kept++] = *x;
    }
    t->n = kept;
}

static int find_tracks(struct run *r, const struct trace_ask *ask, struct arena *a,
                       struct trace_tracks *out, struct err *e)
{
    int rc = events_tracks(r, a, &out->v, &out->n, e);
    if (rc == 0)
        rc = ops_trace_number_ranks(r, a, out, e);
    if (rc)
        return rc;
    if (ask->one_rank && !has_any(out, ask))
        return err_set(e, ERR_NOT_FOUND, "run '%s' has no events of rank %lld",
                       run_get_info(r)->name, (long long)ask->rank);
    ops_trace_choose(out, ask, !ask->hooks && has_detail(out, ask));
    return 0;
}

static int read_track(struct event_flow *flow, struct run *r, const struct run_track *t,
                      const struct trace_sink *sink, void *to, struct err *e)
{
    const struct flow_window all = {{0}, {0}};
    const struct run_event *v;
    struct arena texts = {0};
    const int rc = event_flow_track(flow, r, t, &all, &texts, e);
    if (rc == 0) {
        sink->track(to, t);
        for (size_t n; (n = event_flow_next(flow, &v)) > 0;)
            sink->events(to, v, n);
        sink->track_end(to);
    }
    arena_free(&texts);
    return rc;
}

static int read_tracks(struct run *r, const struct trace_tracks *t, const struct trace_sink *sink,
                       void *to, struct err *e)
{
    struct event_flow *flow = event_flow_open(&sink->want);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->n; i++) {
        const struct run_process *p = t->v[i].process;
        if (i == 0 || t->v[i - 1].process != p)
            sink->begin(to, p);
        rc = read_track(flow, r, &t->v[i], sink, to, e);
        if (rc == 0 && (i + 1 == t->n || t->v[i + 1].process != p))
            sink->end(to);
    }
    event_flow_close(flow);
    return rc;
}

int trace_read(struct run *r, const struct trace_ask *ask, const struct trace_sink *sink, void *to,
               struct err *e)
{
    struct arena a = {0};
    struct trace_tracks t = {0};
    int rc = find_tracks(r, ask, &a, &t, e);
    if (rc == 0)
        rc = read_tracks(r, &t, sink, to, e);
    arena_free(&a);
    return rc;
}
