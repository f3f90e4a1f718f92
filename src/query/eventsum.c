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
    *n = sums.n;
    *out = arena_array(a, struct event_sum, sums.n + 1);
    if (sums.n)
        memcpy(*out, sums.v, sums.n * sizeof *sums.v);
    free(sums.v);
    return rc;
}
