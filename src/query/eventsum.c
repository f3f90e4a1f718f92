/* SPDX-License-Identifier: Apache-2.0 */
/* eventsum.c - see eventsum.h. */
#include "query/eventsum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Sorts the events of one track so that those of a name stand together, then walks over them. */

static bool is_long(enum event_kind k)
{
    return k == EVENT_SPAN || k == EVENT_STEP;
}

static bool is_number(enum event_kind k)
{
    return k == EVENT_COUNT || k == EVENT_REAL;
}

static int by_what(const struct run_event *a, const struct run_event *b)
{
    if (a->event.kind != b->event.kind)
        return (a->event.kind > b->event.kind) - (a->event.kind < b->event.kind);
    return a->event.name == b->event.name ? 0 : strcmp(a->event.name, b->event.name);
}

/* Those of one name by duration, numbers by time. */
static int by_what_then_size(const void *x, const void *y)
{
    const struct run_event *a = x, *b = y;
    const int what = by_what(a, b);
    if (what)
        return what;
    const int64_t l = is_long(a->event.kind) ? a->event.dur_ns : a->at.ns;
    const int64_t r = is_long(b->event.kind) ? b->event.dur_ns : b->at.ns;
    return (l > r) - (l < r);
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

static double quantile_s(const struct run_event *v, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at;
    const double low = seconds(v[i].event.dur_ns),
                 high = seconds(v[MIN_OF(i + 1, n - 1)].event.dur_ns);
    return low + (high - low) * (at - (double)i);
}

static void sum_spans(const struct run_event *v, size_t n, struct event_sum *out)
{
    out->total_s = 0;
    for (size_t i = 0; i < n; i++)
        out->total_s += seconds(v[i].event.dur_ns);
    out->p50_s = quantile_s(v, n, 0.5);
    out->p95_s = quantile_s(v, n, 0.95);
    out->max_s = seconds(v[n - 1].event.dur_ns);
}

static double number_of(const struct event *v)
{
    return v->kind == EVENT_REAL ? event_real(v) : (double)v->value;
}

static void sum_numbers(const struct run_event *v, size_t n, struct event_sum *out)
{
    out->min = out->max = out->last = number_of(&v[0].event);
    for (size_t i = 1; i < n; i++) {
        out->last = number_of(&v[i].event);
        out->min = fmin(out->min, out->last);
        out->max = fmax(out->max, out->last);
    }
}

static struct event_sum sum_of(const struct run_track *t, const struct run_event *v, size_t n)
{
    struct event_sum s = {
        .track = t,
        .name = v[0].event.name,
        .kind = v[0].event.kind,
        .category = v[0].event.category,
        .count = n,
        .total_s = NAN,
        .p50_s = NAN,
        .p95_s = NAN,
        .max_s = NAN,
        .min = NAN,
        .max = NAN,
        .last = NAN,
    };
    if (is_long(s.kind))
        sum_spans(v, n, &s);
    else if (is_number(s.kind))
        sum_numbers(v, n, &s);
    return s;
}

static int longest_first(const void *x, const void *y)
{
    const struct event_sum *a = x, *b = y;
    const bool la = is_long(a->kind), lb = is_long(b->kind);
    if (la != lb)
        return lb - la;
    if (la && a->total_s != b->total_s)
        return a->total_s < b->total_s ? 1 : -1;
    if (a->kind != b->kind)
        return (int)a->kind - (int)b->kind;
    return strcmp(a->name, b->name);
}

struct sums {
    struct event_sum *v;
    size_t n, cap;
};

static void sum_track(const struct run_track *t, struct run_event *v, size_t n, struct sums *out)
{
    const size_t before = out->n;
    if (n)
        qsort(v, n, sizeof *v, by_what_then_size);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && by_what(&v[i], &v[j]) == 0; j++)
            ;
        if (out->n == out->cap) {
            out->cap = out->cap ? 2 * out->cap : 64;
            out->v = xrealloc(out->v, out->cap, sizeof *out->v);
        }
        out->v[out->n++] = sum_of(t, v + i, j - i);
    }
    if (out->n > before)
        qsort(out->v + before, out->n - before, sizeof *out->v, longest_first);
}

/* Moves the sums into the arena. */
static void take_sums(struct sums *s, struct arena *a, struct event_sum **out, size_t *n)
{
    *n = s->n;
    *out = arena_array(a, struct event_sum, s->n + 1);
    if (s->n)
        memcpy(*out, s->v, s->n * sizeof *s->v);
    free(s->v);
}

int event_sums(struct run *r, wall_ns from, wall_ns to, bool detail, struct arena *a,
               struct event_sum **out, size_t *n, struct err *e)
{
    struct run_track *tracks;
    struct sums sums = {0};
    size_t n_tracks;
    int rc = events_tracks(r, a, &tracks, &n_tracks, e);
    for (size_t i = 0; rc == 0 && i < n_tracks; i++) {
        struct run_event *v;
        size_t n_events;
        if (tracks[i].detail && !detail)
            continue;
        rc = events_read(r, &tracks[i], from, to, a, &v, &n_events, e);
        if (rc == 0)
            sum_track(&tracks[i], v, n_events, &sums);
    }
    take_sums(&sums, a, out, n);
    return rc;
}

/* ---- cut to a window ---- */

/* Those that take time, cut; returns how many are left. */
static size_t clip(struct run_event *v, size_t n, const struct event_window *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t begin = MAX_OF(v[i].at.ns, w->from.ns);
        const int64_t end = MIN_OF(v[i].at.ns + v[i].event.dur_ns, w->to.ns);
        if (!is_long(v[i].event.kind) || end <= begin)
            continue;
        v[kept] = v[i];
        v[kept].at.ns = begin;
        v[kept++].event.dur_ns = end - begin;
    }
    return kept;
}

/* Events of the stretches that are looked at; `*part` is their share of all. */
static int read_part(struct run *r, const struct run_track *t, const struct event_window *w,
                     struct arena *a, struct run_event **out, size_t *n, double *part,
                     struct err *e)
{
    struct run_stretch *s;
    size_t n_s, kept = 0;
    uint64_t all = 0, looked = 0;
    int rc = events_stretches(r, t, w->from, w->to, a, &s, &n_s, e);
    for (size_t i = 0; rc == 0 && i < n_s; i++)
        all += s[i].events;
    *part = 1;
    if (rc || all <= w->budget)
        return rc ? rc : events_read(r, t, w->from, w->to, a, out, n, e);
    const size_t every = (size_t)(all / MAX_OF(w->budget, (uint64_t)1)) + 1;
    *out = arena_array(a, struct run_event, (size_t)all / every + 2 * (size_t)s[0].events + 1);
    const size_t room = (size_t)all / every + 2 * (size_t)s[0].events;
    for (size_t i = every / 2; rc == 0 && i < n_s; i += every) {
        struct run_event *v;
        size_t n_v;
        rc = events_read(r, t, s[i].first, s[i].last, a, &v, &n_v, e);
        for (size_t k = 0; rc == 0 && k < n_v && kept < room; k++)
            if (v[k].at.ns >= s[i].first.ns)
                (*out)[kept++] = v[k];
        looked += s[i].events;
    }
    *n = kept;
    *part = looked ? (double)looked / (double)all : 1;
    return rc;
}

static int by_total(const void *x, const void *y)
{
    const struct event_sum *a = x, *b = y;
    if (a->total_s != b->total_s)
        return a->total_s < b->total_s ? 1 : -1;
    return longest_first(x, y);
}

static int sum_within(struct run *r, const struct run_track *t, const struct event_window *w,
                      struct arena *a, struct sums *sums, struct err *e)
{
    const size_t before = sums->n;
    struct run_event *v;
    size_t n;
    double part;
    const int rc = read_part(r, t, w, a, &v, &n, &part, e);
    if (rc)
        return rc;
    sum_track(t, v, clip(v, n, w), sums);
    for (size_t i = before; part < 1 && i < sums->n; i++) {
        sums->v[i].estimated = true;
        sums->v[i].total_s /= part;
        sums->v[i].count = (uint64_t)((double)sums->v[i].count / part);
    }
    return 0;
}

int event_sums_within(struct run *r, const struct event_window *w, struct arena *a,
                      struct event_sum **out, size_t *n, struct err *e)
{
    struct run_track *tracks;
    struct sums sums = {0};
    size_t n_tracks;
    int rc = events_tracks(r, a, &tracks, &n_tracks, e);
    for (size_t i = 0; rc == 0 && i < n_tracks; i++) {
        const struct run_process *p = tracks[i].process;
        if ((tracks[i].detail && !w->detail) || (w->node && strcmp(w->node, p->node) != 0) ||
            (w->rank >= 0 && w->rank != p->rank))
            continue;
        rc = sum_within(r, &tracks[i], w, a, &sums, e);
    }
    if (sums.n)
        qsort(sums.v, sums.n, sizeof *sums.v, by_total);
    take_sums(&sums, a, out, n);
    return rc;
}

/* ---- operators ---- */

bool event_is_operator(const struct event *e)
{
    switch (e->category) {
    case CAT_OP:
    case CAT_RUNTIME:
    case CAT_KERNEL:
    case CAT_MEMCPY:
    case CAT_MEMSET:
    case CAT_SYNC:
        return true;
    default:
        return false;
    }
}

static int track_has_operators(struct run *r, const struct run_track *t, bool *out, struct err *e)
{
    struct arena a = {0};
    struct run_stretch *s;
    struct run_event *v;
    size_t n;
    int rc = events_stretches(r, t, (wall_ns){0}, (wall_ns){0}, &a, &s, &n, e);
    if (rc == 0 && n)
        rc = events_read(r, t, s[0].first, s[0].last, &a, &v, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        *out |= event_is_operator(&v[i].event);
    arena_free(&a);
    return rc;
}

int events_have_operators(struct run *r, bool *out, struct err *e)
{
    struct arena a = {0};
    struct run_track *tracks;
    size_t n;
    int rc = events_tracks(r, &a, &tracks, &n, e);
    *out = false;
    for (size_t i = 0; rc == 0 && i < n; i++)
        *out |= tracks[i].detail;
    for (size_t i = 0; rc == 0 && i < n && !*out; i++)
        rc = track_has_operators(r, &tracks[i], out, e);
    arena_free(&a);
    return rc;
}
