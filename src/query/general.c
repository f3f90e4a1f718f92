/* SPDX-License-Identifier: Apache-2.0 */
/* general.c - see general.h. One pass over the spans of each thread, in order of their begin. */
#include "query/general.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "query/event_flow.h"
#include "query/eventsum.h"
#include "query/trace.h"

struct general_sum {
    struct general_row out;
    int64_t total_ns, longest_ns, lived_ns;
    size_t track;    /* 1 + the last that had it; 0: none */
    int64_t covered; /* of that track: until when time is counted */
};

/* Where a name belongs: not checked yet, not here, or FIRST_ROW + row. */
enum { UNSEEN, ELSEWHERE, FIRST_ROW };

struct summing {
    struct op_names names;
    uint32_t *row_of; /* by the number of a name */
    size_t n_names;
    uint32_t row_of_kind[EV_N];
    struct general_sum *v;
    size_t n, cap;
    const struct run_track *track; /* the current one */
    size_t at;                     /* 1 + its number */
};

/* ---- kinds ---- */

/* NULL: it has a place elsewhere. Passes are what steps are made of, epochs what they are in. */
static const char *const kinds[EV_N] = {
    [EV_DATA] = "waiting for data",
    [EV_FETCH] = "loader workers",
    [EV_LOADER_START] = "starting loaders",
    [EV_H2D] = "copies to and from devices",
    [EV_COMPILE] = "compilation",
    [EV_CHECKPOINT] = "checkpoints",
    [EV_COMM] = "collectives",
};

/* The event whose kind it has, EV_N for its own name. False: it has a place elsewhere. */
static bool find_kind(const struct event *v, enum event_id *out)
{
    static const struct {
        enum event_category category;
        enum event_id id;
    } like[] = {{CAT_LOADER, EV_DATA}, {CAT_MEMCPY, EV_H2D}, {CAT_COMM, EV_COMM}};
    *out = event_find(v->name);
    for (size_t i = 0; *out == EV_N && i < COUNT_OF(like); i++)
        *out = v->category == like[i].category ? like[i].id : EV_N;
    if (*out < EV_N)
        return kinds[*out] != NULL;
    return !event_is_operator(v) && v->category != CAT_PYTHON && v->category != CAT_MEMORY;
}

/* ---- rows ---- */

static uint32_t general_add_row(struct summing *s, const char *what)
{
    *VEC_ADD(s->v, s->n, s->cap) = (struct general_sum){.out = {.what = what}};
    return (uint32_t)s->n - 1;
}

/* Of a name that was not met before: as in row_of. */
static uint32_t general_place(struct summing *s, const struct event *v, const char *name)
{
    enum event_id kind;
    if (!find_kind(v, &kind))
        return ELSEWHERE;
    if (kind == EV_N)
        return FIRST_ROW + general_add_row(s, name);
    if (!s->row_of_kind[kind])
        s->row_of_kind[kind] = FIRST_ROW + general_add_row(s, kinds[kind]);
    return s->row_of_kind[kind];
}

/* NULL: the span has a place elsewhere. */
static struct general_sum *general_row_for(struct summing *s, const struct event *v)
{
    const uint32_t id = op_names_id(&s->names, v->name);
    OP_NAMES_ROOM(s->row_of, s->n_names, id);
    if (s->row_of[id] == UNSEEN)
        s->row_of[id] = general_place(s, v, s->names.v[id].text);
    return s->row_of[id] == ELSEWHERE ? NULL : &s->v[s->row_of[id] - FIRST_ROW];
}

static void meet_track(struct general_sum *x, const struct summing *s)
{
    const struct run_process *p = s->track->process;
    x->track = s->at;
    x->covered = INT64_MIN;
    x->lived_ns += p->last.ns - p->first.ns;
    x->out.threads++;
}

static void general_see(struct summing *s, const struct run_event *e)
{
    const int64_t begin = e->at.ns, end = begin + MAX_OF(e->event.dur_ns, 0);
    struct general_sum *x = e->event.kind == EVENT_SPAN ? general_row_for(s, &e->event) : NULL;
    if (!x)
        return;
    if (x->track != s->at)
        meet_track(x, s);
    x->out.count++;
    x->longest_ns = MAX_OF(x->longest_ns, end - begin);
    x->total_ns += MAX_OF(end - MAX_OF(begin, x->covered), 0);
    x->covered = MAX_OF(x->covered, end);
}

static int see_track(struct summing *s, struct event_flow *flow, struct run *r, struct arena *texts,
                     struct err *e)
{
    const struct run_event *v;
    const int rc = event_flow_track(flow, r, s->track, &(struct flow_window){{0}, {0}}, texts, e);
    for (size_t n; rc == 0 && (n = event_flow_next(flow, &v)) > 0;)
        for (size_t i = 0; i < n; i++)
            general_see(s, &v[i]);
    return rc;
}

/* ---- what comes of it ---- */

static int general_longest_first(const void *a, const void *b)
{
    const struct general_sum *x = a, *y = b;
    return COMPARE(y->total_ns, x->total_ns) ?: strcmp(x->out.what, y->out.what);
}

static void general_conclude(struct summing *s, size_t most, struct arena *a, struct general *out)
{
    SORT(s->v, s->n, general_longest_first);
    out->n = MIN_OF(s->n, most);
    out->left_out = s->n - out->n;
    out->rows = arena_array(a, struct general_row, out->n + 1);
    for (size_t i = 0; i < out->n; i++) {
        struct general_row *x = &out->rows[i];
        *x = s->v[i].out;
        x->what = arena_strdup(a, x->what);
        x->total_s = ns_to_s(s->v[i].total_ns);
        x->longest_s = ns_to_s(s->v[i].longest_ns);
        x->lived_s = ns_to_s(s->v[i].lived_ns);
        x->share = x->lived_s > 0 ? MIN_OF(x->total_s / x->lived_s, 1.0) : 0;
    }
}

int general_read(struct run *r, size_t most, struct arena *a, struct general *out, struct err *e)
{
    struct arena scratch = {0};
    struct summing *s = xcalloc(1, sizeof *s);
    struct event_flow *flow = event_flow_open(&(struct event_want){0});
    struct run_track *tracks;
    size_t n;
    *out = (struct general){0};
    op_names_open(&s->names);
    int rc = events_tracks(r, &scratch, &tracks, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (tracks[i].detail || tracks[i].track.kind != TRACK_THREAD)
            continue;
        s->track = &tracks[i];
        s->at = i + 1;
        rc = see_track(s, flow, r, &scratch, e);
    }
    if (rc == 0)
        general_conclude(s, most, a, out);
    event_flow_close(flow);
    op_names_close(&s->names);
    free(s->row_of);
    free(s->v);
    free(s);
    arena_free(&scratch);
    return rc;
}
