/* SPDX-License-Identifier: Apache-2.0 */
/* correlate_ops.c - operators in the time of findings, where detail windows show them. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/event_flow.h"
#include "rules/correlate_internal.h"

/* A window of detail has some hundred thousand events; nobody waits for more than a few of them. */
enum { WINDOWS_MOST = 32, PER_FINDING = 8, EVENTS_MOST = 1 << 20, PLOTTED = 10 };

int op_windows_open(struct op_windows *w, const struct correlate_ask *ask, struct arena *a,
                    struct err *e)
{
    *w = (struct op_windows){.ask = ask, .arena = a};
    w->v = arena_array(a, struct op_window, WINDOWS_MOST);
    return events_tracks(ask->run, a, &w->tracks, &w->n_tracks, e);
}

/* ---- processes ---- */

/* Tracks of a process stand side by side. */
static size_t correlate_ops_process_end(const struct op_windows *w, size_t i)
{
    const struct run_process *p = w->tracks[i].process;
    while (i < w->n_tracks && w->tracks[i].process == p)
        i++;
    return i;
}

/* The time of its detail; false: it has none, or far too much. */
static bool detail_span(const struct op_windows *w, size_t from, size_t to, wall_ns *first,
                        wall_ns *last)
{
    uint64_t events = 0;
    *first = (wall_ns){INT64_MAX};
    *last = (wall_ns){INT64_MIN};
    for (size_t i = from; i < to; i++) {
        const struct run_track *t = &w->tracks[i];
        if (!t->detail)
            continue;
        events += t->events;
        first->ns = MIN_OF(first->ns, t->first.ns);
        last->ns = MAX_OF(last->ns, t->last.ns);
    }
    return events > 0 && events <= EVENTS_MOST && last->ns > first->ns;
}

/* One that has steps has a number even if it did not say so. */
static int64_t correlate_ops_rank_of(const struct correlate_ask *ask, const struct run_process *p)
{
    for (size_t i = 0; i < ask->n_ranks; i++) {
        const struct run_process *q = ask->ranks[i].process;
        if (q->pid == p->pid && q->session == p->session && strcmp(q->node, p->node) == 0)
            return ask->ranks[i].rank;
    }
    return p->rank;
}

/* ---- windows ---- */

static int correlate_ops_read_window(struct op_windows *w, size_t from, size_t to,
                                     struct op_window *out, struct err *e)
{
    struct ops *o = ops_open(OPS_BY_NAME);
    int rc = 0;
    ops_process(o);
    for (size_t i = from; i < to && rc == 0; i++) {
        struct arena texts = {0};
        struct run_event *v;
        size_t n;
        if (!w->tracks[i].detail)
            continue;
        rc = events_read(w->ask->run, &w->tracks[i], out->from, out->to, &texts, &v, &n, e);
        if (rc == 0)
            ops_track(o, &w->tracks[i], v, n);
        arena_free(&texts);
    }
    ops_process_end(o);
    if (rc == 0)
        ops_rows(o, w->arena, &out->rows, &out->n);
    ops_close(o);
    return rc;
}

/* *out NULL: there have been enough already. */
static int correlate_ops_window_of(struct op_windows *w, size_t from, size_t to, wall_ns first,
                                   wall_ns last, const struct op_window **out, struct err *e)
{
    const struct run_process *p = w->tracks[from].process;
    *out = NULL;
    for (size_t i = 0; i < w->n; i++)
        if (w->v[i].process == p && w->v[i].from.ns == first.ns && w->v[i].to.ns == last.ns) {
            *out = &w->v[i];
            return 0;
        }
    if (w->n == WINDOWS_MOST)
        return 0;
    struct op_window *x = &w->v[w->n];
    *x = (struct op_window){
        .process = p, .rank = correlate_ops_rank_of(w->ask, p), .from = first, .to = last};
    const int rc = correlate_ops_read_window(w, from, to, x, e);
    w->n += rc == 0;
    *out = rc == 0 ? x : NULL;
    return rc;
}

static void correlate_ops_add_rows(const struct op_window *x, struct share_list *out)
{
    const double window_s = (double)(x->to.ns - x->from.ns) / 1e9;
    const size_t first = out->n;
    for (size_t i = 0; i < x->n; i++) {
        const double s = (double)x->rows[i].self_ns / 1e9;
        share_add(out, (struct share){.what = "operator",
                                      .name = arena_strdup(out->arena, x->rows[i].name),
                                      .rank = x->rank,
                                      .seconds = s,
                                      .share = MIN_OF(s / window_s, 1)});
        if (out->n - first == 64) /* they come longest first */
            break;
    }
    share_settle(out, first);
}

int correlate_ops(struct op_windows *w, const struct finding *f, struct share_list *out,
                  struct err *e)
{
    size_t looked = 0;
    for (size_t i = 0, end; i < w->n_tracks && looked < PER_FINDING; i = end) {
        const struct op_window *x;
        wall_ns first, last;
        end = correlate_ops_process_end(w, i);
        if (!detail_span(w, i, end, &first, &last) ||
            !is_about(f, w->tracks[i].process->node,
                      correlate_ops_rank_of(w->ask, w->tracks[i].process)))
            continue;
        first.ns = MAX_OF(first.ns, f->start.ns);
        last.ns = MIN_OF(last.ns, f->end.ns);
        if (first.ns >= last.ns)
            continue;
        const int rc = correlate_ops_window_of(w, i, end, first, last, &x, e);
        if (rc != 0)
            return rc;
        if (x)
            correlate_ops_add_rows(x, out);
        looked++;
    }
    return 0;
}

/* ---- the summary ---- */

static void plot_device(struct verdict *v, const struct op_window *x, enum op_device device,
                        const char *title)
{
    size_t shown = 0;
    struct plot *p = NULL;
    for (size_t i = 0; i < x->n && shown < PLOTTED; i++) {
        const double s = (double)x->rows[i].self_ns / 1e9;
        if (x->rows[i].device != device)
            continue;
        if (!p)
            p = verdict_plot(v, PLOT_BARS,
                             arena_printf(v->arena, "%s, rank %lld", title, (long long)x->rank),
                             "s");
        plot_row(v, p, x->rows[i].name, &s, 1);
        shown++;
    }
}

/* Of the first rank that has any: ranks do the same. */
int summarize_ops(struct op_windows *w, struct verdict *v, struct err *e)
{
    for (size_t i = 0, end; i < w->n_tracks; i = end) {
        const struct op_window *x;
        wall_ns first, last;
        end = correlate_ops_process_end(w, i);
        if (!detail_span(w, i, end, &first, &last))
            continue;
        const int rc = correlate_ops_window_of(w, i, end, first, last, &x, e);
        if (rc == 0 && x) {
            plot_device(v, x, OP_CPU, "Operators on the CPU");
            plot_device(v, x, OP_GPU, "Operators on the GPU");
        }
        return rc;
    }
    return 0;
}
