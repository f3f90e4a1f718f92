/* SPDX-License-Identifier: Apache-2.0 */
/* eventsum.c - see eventsum.h. */
#include "query/eventsum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "base/vec.h"
#include "query/event_flow.h"
#include "query/trace.h"

/* ---- sums of a track ---- */

/* The events of one track by what they are: each kind and name is a group. Durations of a group are
 * put side by side and sorted; numbers are read in the order in which they come. */
struct eventsum_group {
    struct event_sum sum;
    size_t at; /* of its next duration */
};

struct grouping {
    struct op_names names;
    uint32_t *group_of; /* 1 + group, by name and kind; 0: none yet */
    size_t n_slots;
    struct eventsum_group *v;
    size_t n, cap;
};

static bool is_long(enum event_kind k)
{
    return k == EVENT_SPAN || k == EVENT_STEP;
}

static void sum_durations(double *v, struct event_sum *s)
{
    const size_t n = (size_t)s->count;
    s->total_s = 0;
    for (size_t i = 0; i < n; i++)
        s->total_s += v[i];
    stat_sort(v, n);
    s->p50_s = stat_quantile(v, n, 0.5);
    s->p95_s = stat_quantile(v, n, 0.95);
    s->max_s = v[n - 1];
}

/* fmin and fmax ignore what is not a number, so the first needs no other treatment. */
static void see_number(const struct event *v, struct event_sum *s)
{
    s->last = v->kind == EVENT_REAL ? event_real(v) : (double)v->value;
    s->min = fmin(s->min, s->last);
    s->max = fmax(s->max, s->last);
}

static uint32_t add_group(struct grouping *g, const struct run_track *t, const struct event *e)
{
    *VEC_ADD(g->v, g->n, g->cap) = (struct eventsum_group){.sum = {.track = t,
                                                                   .name = e->name,
                                                                   .kind = e->kind,
                                                                   .category = e->category,
                                                                   .total_s = NAN,
                                                                   .p50_s = NAN,
                                                                   .p95_s = NAN,
                                                                   .max_s = NAN,
                                                                   .min = NAN,
                                                                   .max = NAN,
                                                                   .last = NAN}};
    return (uint32_t)g->n;
}

static uint32_t group_for(struct grouping *g, const struct run_track *t, const struct event *e)
{
    const size_t slot = (size_t)op_names_id(&g->names, e->name) * EVENT_KIND_N + e->kind;
    OP_NAMES_ROOM(g->group_of, g->n_slots, slot);
    if (!g->group_of[slot])
        g->group_of[slot] = add_group(g, t, e);
    return g->group_of[slot] - 1;
}

/* Which event is whose; counts them. */
static uint32_t *group_all(struct grouping *g, const struct run_track *t, const struct run_event *v,
                           size_t n)
{
    uint32_t *whose = xmalloc((n + 1) * sizeof *whose);
    for (size_t i = 0; i < n; i++) {
        whose[i] = group_for(g, t, &v[i].event);
        g->v[whose[i]].sum.count++;
    }
    size_t at = 0;
    for (size_t i = 0; i < g->n; i++) {
        g->v[i].at = at;
        at += is_long(g->v[i].sum.kind) ? (size_t)g->v[i].sum.count : 0;
    }
    return whose;
}

static void sum_groups(struct grouping *g, const struct run_event *v, size_t n,
                       const uint32_t *whose)
{
    double *s = xmalloc((n + 1) * sizeof *s);
    for (size_t i = 0; i < n; i++) {
        struct eventsum_group *x = &g->v[whose[i]];
        if (is_long(x->sum.kind))
            s[x->at++] = ns_to_s(v[i].event.dur_ns);
        else if (x->sum.kind == EVENT_COUNT || x->sum.kind == EVENT_REAL)
            see_number(&v[i].event, &x->sum);
    }
    for (size_t i = 0; i < g->n; i++)
        if (is_long(g->v[i].sum.kind))
            sum_durations(s + g->v[i].at - g->v[i].sum.count, &g->v[i].sum);
    free(s);
}

static void grouping_close(struct grouping *g)
{
    op_names_close(&g->names);
    free(g->group_of);
    free(g->v);
    free(g);
}

static int eventsum_longest_first(const void *x, const void *y)
{
    const struct event_sum *a = x, *b = y;
    const bool la = is_long(a->kind), lb = is_long(b->kind);
    return COMPARE(lb, la)
               ?: (la ? COMPARE(b->total_s, a->total_s) : 0)
               ?: COMPARE(a->kind, b->kind) ?: strcmp(a->name, b->name);
}

struct sums {
    struct event_sum *v;
    size_t n, cap;
};

static void sum_track(const struct run_track *t, const struct run_event *v, size_t n,
                      struct sums *out)
{
    const size_t before = out->n;
    struct grouping *g = xcalloc(1, sizeof *g);
    op_names_open(&g->names);
    uint32_t *whose = group_all(g, t, v, n);
    sum_groups(g, v, n, whose);
    for (size_t i = 0; i < g->n; i++)
        *VEC_ADD(out->v, out->n, out->cap) = g->v[i].sum;
    SORT(out->v + before, out->n - before, eventsum_longest_first);
    free(whose);
    grouping_close(g);
}

/* Moves the sums into the arena. */
static void take_sums(struct sums *s, struct arena *a, struct event_sum **out, size_t *n)
{
    *n = s->n;
    *out = ARENA_COPY(a, s->v, s->n);
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
static size_t events_clip(struct run_event *v, size_t n, const struct event_window *w)
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

/* A track of the window, how many of its events lie there, and how many are read. */
struct eventsum_wanted {
    const struct run_track *track;
    struct track_block *blocks;
    size_t n, every; /* every so many-th is read; 1: all are */
    uint64_t events, looked;
};

/* Tracks that the window selects. */
static int list_wanted(struct run *r, const struct event_window *w, struct arena *a,
                       struct eventsum_wanted **out, size_t *n, struct err *e)
{
    struct run_track *tracks;
    size_t n_tracks;
    int rc = 0;
    *n = 0;
    TRY(events_tracks(r, a, &tracks, &n_tracks, e));
    *out = arena_array(a, struct eventsum_wanted, n_tracks + 1);
    for (size_t i = 0; rc == 0 && i < n_tracks; i++) {
        const struct run_process *p = tracks[i].process;
        struct eventsum_wanted *x = &(*out)[*n];
        if ((tracks[i].detail && !w->detail) || (w->node && strcmp(w->node, p->node) != 0) ||
            (w->rank >= 0 && w->rank != p->rank))
            continue;
        x->track = &tracks[i];
        rc = track_blocks(r, x->track, w->from, w->to, a, &x->blocks, &x->n, e);
        for (size_t k = 0; rc == 0 && k < x->n; k++)
            x->events += x->blocks[k].events;
        *n += x->n > 0;
        if (!x->n)
            *x = (struct eventsum_wanted){0};
    }
    return rc;
}

static int fewest_first(const void *x, const void *y)
{
    const struct eventsum_wanted *a = x, *b = y;
    return COMPARE(a->events, b->events) ?: COMPARE(a->track->index, b->track->index);
}

/* Which blocks of a track are read. */
static void plan_track(struct eventsum_wanted *x, uint64_t budget)
{
    const uint64_t every = x->events / MAX_OF(budget, UINT64_C(1)) + 1;
    x->every = x->events <= budget ? 1 : (size_t)MIN_OF(every, (uint64_t)x->n);
    for (size_t i = x->every / 2; i < x->n; i += x->every)
        x->looked += x->blocks[i].events;
}

/* What tracks with few events do not need is left to those with many. */
static int eventsum_plan(struct run *r, const struct event_window *w, struct arena *a,
                         struct eventsum_wanted **out, size_t *n, struct err *e)
{
    uint64_t left = w->budget;
    const int rc = list_wanted(r, w, a, out, n, e);
    if (rc == 0)
        SORT(*out, *n, fewest_first);
    for (size_t i = 0; rc == 0 && i < *n; i++) {
        const uint64_t budget = left / (*n - i);
        plan_track(&(*out)[i], budget);
        left -= MIN_OF((*out)[i].events, budget);
    }
    return rc;
}

int event_sums_cost(struct run *r, const struct event_window *w, struct arena *a, uint64_t *events,
                    struct err *e)
{
    struct eventsum_wanted *v;
    size_t n;
    const int rc = eventsum_plan(r, w, a, &v, &n, e);
    *events = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        *events += v[i].looked;
    return rc;
}

/* Events of one block. Its edges are rounded outward to the us, so that a request for all of it
 * would touch its neighbours, and those would be decoded as well. */
static int read_block(struct run *r, const struct eventsum_wanted *x, const struct track_block *s,
                      struct arena *a, struct run_event **out, size_t *n, struct err *e)
{
    const int64_t in = s->last.ns - s->first.ns > 4 * NS_PER_US ? NS_PER_US : 0;
    return events_read(r, x->track, (wall_ns){s->first.ns + in}, (wall_ns){s->last.ns - in}, a, out,
                       n, e);
}

/* Events of a track, all or of every so many-th block. */
static int eventsum_read_part(struct run *r, const struct eventsum_wanted *x,
                              const struct event_window *w, struct arena *a, struct run_event **out,
                              size_t *n, struct err *e)
{
    int rc = 0;
    if (x->every == 1)
        return events_read(r, x->track, w->from, w->to, a, out, n, e);
    *n = 0;
    *out = arena_array(a, struct run_event, (size_t)x->looked + 1);
    for (size_t i = x->every / 2; rc == 0 && i < x->n; i += x->every) {
        const struct track_block *s = &x->blocks[i];
        struct run_event *v;
        size_t n_v;
        rc = read_block(r, x, s, a, &v, &n_v, e);
        for (size_t k = 0; rc == 0 && k < n_v && *n < x->looked; k++)
            if (v[k].at.ns >= s->first.ns) /* else it is of the block before */
                (*out)[(*n)++] = v[k];
    }
    return rc;
}

static int by_total(const void *x, const void *y)
{
    const struct event_sum *a = x, *b = y;
    return COMPARE(b->total_s, a->total_s) ?: eventsum_longest_first(x, y);
}

static int sum_within(struct run *r, const struct eventsum_wanted *x, const struct event_window *w,
                      struct arena *a, struct sums *sums, struct err *e)
{
    const size_t before = sums->n;
    const double part = (double)x->looked / (double)x->events;
    struct arena scratch = {0};
    struct run_event *v;
    size_t n;
    const int rc = eventsum_read_part(r, x, w, &scratch, &v, &n, e);
    if (rc == 0)
        sum_track(x->track, v, events_clip(v, n, w), sums);
    for (size_t i = before; i < sums->n; i++) {
        struct event_sum *s = &sums->v[i];
        s->name = arena_strdup(a, s->name);
        s->estimated = part < 1;
        s->total_s /= part;
        s->count = (uint64_t)((double)s->count / part);
    }
    arena_free(&scratch);
    return rc;
}

int event_sums_within(struct run *r, const struct event_window *w, struct arena *a,
                      struct event_sum **out, size_t *n, struct err *e)
{
    struct eventsum_wanted *v;
    struct sums sums = {0};
    size_t n_wanted;
    int rc = eventsum_plan(r, w, a, &v, &n_wanted, e);
    for (size_t i = 0; rc == 0 && i < n_wanted; i++)
        rc = sum_within(r, &v[i], w, a, &sums, e);
    SORT(sums.v, sums.n, by_total);
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
    struct track_block *s;
    struct run_event *v;
    size_t n;
    int rc = track_blocks(r, t, (wall_ns){0}, (wall_ns){0}, &a, &s, &n, e);
    if (rc == 0 && n)
        rc = events_read(r, t, s[0].first, s[0].last, &a, &v, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        *out |= event_is_operator(&v[i].event) && event_find(v[i].event.name) == EV_N;
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
        *out |= tracks[i].detail && !track_is_profile(&tracks[i]);
    for (size_t i = 0; rc == 0 && i < n && !*out; i++)
        rc = track_has_operators(r, &tracks[i], out, e);
    arena_free(&a);
    return rc;
}

/* ---- search ---- */

struct searching {
    struct run *run;
    const struct search_ask *ask;
    struct arena *arena;
    struct search_result *out;
    uint64_t budget;
};

static bool search_matches(const struct search_ask *ask, const char *name)
{
    return strcasestr(name, ask->text) != NULL;
}

static void search_take(struct searching *s, const struct run_track *t, const struct run_event *v)
{
    if (v->event.kind != EVENT_SPAN || !search_matches(s->ask, v->event.name))
        return;
    s->out->count++;
    if (s->out->n < s->ask->limit)
        s->out->v[s->out->n++] =
            (struct search_hit){t, arena_strdup(s->arena, v->event.name), v->at, v->event.dur_ns};
}

static int has_name(struct searching *s, const struct run_track *t, const struct track_block *where,
                    bool *has, struct err *e)
{
    struct arena texts = {0};
    const char **names;
    size_t n;
    *has = false;
    const int rc = track_block_names(s->run, t, where, &texts, &names, &n, e);
    for (size_t i = 0; rc == 0 && i < n && !*has; i++)
        *has = search_matches(s->ask, names[i]);
    arena_free(&texts);
    return rc;
}

/* Neighbouring blocks may overlap, so of each only what begins in it is requested. */
static int search_block(struct searching *s, const struct run_track *t, wall_ns from, wall_ns to,
                        struct err *e)
{
    struct arena scratch = {0};
    struct run_event *v;
    size_t n;
    const int rc = events_read(s->run, t, from, to, &scratch, &v, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (v[i].at.ns >= from.ns)
            search_take(s, t, &v[i]);
    arena_free(&scratch);
    return rc;
}

static int search_track(struct searching *s, const struct run_track *t, struct err *e)
{
    struct track_block *v;
    size_t n;
    int rc = track_blocks(s->run, t, s->ask->from, s->ask->to, s->arena, &v, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const int64_t from = MAX_OF(v[i].first.ns, s->ask->from.ns);
        int64_t to = i + 1 < n ? v[i + 1].first.ns : v[i].last.ns + 1;
        bool has;
        if (s->ask->to.ns)
            to = MIN_OF(to, s->ask->to.ns);
        rc = has_name(s, t, &v[i], &has, e);
        if (rc || !has || to <= from)
            continue;
        if (v[i].events > s->budget) {
            s->out->cut = true;
            continue;
        }
        s->budget -= v[i].events;
        rc = search_block(s, t, (wall_ns){from}, (wall_ns){to}, e);
    }
    return rc;
}

int search_read(struct run *r, const struct search_ask *ask, struct arena *a,
                struct search_result *out, struct err *e)
{
    struct searching s = {r, ask, a, out, ask->budget};
    struct run_track *tracks;
    size_t n;
    int rc = events_tracks(r, a, &tracks, &n, e);
    *out = (struct search_result){.v = arena_array(a, struct search_hit, ask->limit + 1)};
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = search_track(&s, &tracks[i], e);
    return rc;
}
