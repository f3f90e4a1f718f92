/* SPDX-License-Identifier: Apache-2.0 */
/* sync_places.c - see sync_places.h. */
#include "query/sync_places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "query/event_flow.h"

static const struct {
    const char *calls, *ns;
} prefixes[PLACE_KIND_N] = {
    [PLACES_SYNC] = {"sync.calls ", "sync.ns "},
    [PLACES_THREAD] = {"thread.calls ", "thread.ns "},
    [PLACES_EXCEPTION] = {"exception.calls ", "exception.ns "},
    [PLACES_BETWEEN] = {"between.calls ", "between.ns "},
};

/* The totals of one place, -1: not seen. */
struct place_totals {
    const struct run_process *process;
    const char *place; /* "item train.py:31" */
    int64_t calls, ns;
};

struct places {
    enum code_place_kind kind;
    struct arena *arena;
    struct place_totals *v;
    size_t n, cap;
    size_t first; /* of the process that is being read */
};

/* What follows the prefix in a name; NULL: it has another one. */
static const char *after_prefix(const char *name, const char *prefix)
{
    const size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 ? name + n : NULL;
}

/* "item train.py:31" of the name of a total; NULL: it is not one. */
static const char *place_of_name(enum code_place_kind kind, const char *name, bool *is_ns)
{
    const char *place = after_prefix(name, prefixes[kind].ns);
    *is_ns = place != NULL;
    return place ? place : after_prefix(name, prefixes[kind].calls);
}

bool sync_is_total(const char *name)
{
    bool is_ns, found = false;
    for (enum code_place_kind k = 0; k < PLACE_KIND_N; k++)
        found |= place_of_name(k, name, &is_ns) != NULL;
    return found;
}

static struct place_totals *places_find(const struct places *p, const char *place)
{
    for (size_t i = p->first; i < p->n; i++)
        if (strcmp(p->v[i].place, place) == 0)
            return &p->v[i];
    return NULL;
}

static struct place_totals *places_add(struct places *p, const struct run_process *process,
                                       const char *place)
{
    struct place_totals *t = VEC_ADD(p->v, p->n, p->cap);
    *t = (struct place_totals){process, arena_strdup(p->arena, place), -1, -1};
    return t;
}

/* ---- one track ---- */

/* The totals that the rest of the track, later in time, has already given. */
struct sync_places_track_names {
    enum code_place_kind kind;
    struct arena *arena;
    const char **v;
    size_t n, cap;
};

static bool names_add(struct sync_places_track_names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->v[i], name) == 0)
            return false;
    *VEC_ADD(names->v, names->n, names->cap) = arena_strdup(names->arena, name);
    return true;
}

/* Whether the block has a total that no later block has. */
static int block_is_wanted(struct run *r, const struct run_track *t, const struct track_block *s,
                           struct sync_places_track_names *seen, bool *wanted, struct err *e)
{
    struct arena texts = {0};
    const char **names;
    size_t n;
    bool is_ns;
    *wanted = false;
    const int rc = track_block_names(r, t, s, &texts, &names, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (place_of_name(seen->kind, names[i], &is_ns) && names_add(seen, names[i]))
            *wanted = true;
    arena_free(&texts);
    return rc;
}

static void take_total(struct places *p, const struct run_process *process,
                       const struct run_event *v)
{
    bool is_ns;
    const char *place =
        v->event.kind == EVENT_COUNT ? place_of_name(p->kind, v->event.name, &is_ns) : NULL;
    if (!place || v->event.value < 0)
        return;
    struct place_totals *x = places_find(p, place);
    if (!x)
        x = places_add(p, process, place);
    int64_t *total = is_ns ? &x->ns : &x->calls;
    *total = MAX_OF(*total, v->event.value);
}

/* Blocks from the last to the first: totals only grow, so that the last of each name counts. */
static int places_read_track(struct run *r, const struct run_track *t, struct places *p,
                             struct err *e)
{
    struct arena scratch = {0};
    struct sync_places_track_names seen = {.kind = p->kind, .arena = &scratch};
    struct track_block *blocks;
    size_t n;
    int rc = track_blocks(r, t, (wall_ns){0}, (wall_ns){0}, &scratch, &blocks, &n, e);
    for (size_t i = n; rc == 0 && i-- > 0;) {
        struct arena events = {0};
        struct run_event *v;
        size_t n_events;
        bool wanted;
        rc = block_is_wanted(r, t, &blocks[i], &seen, &wanted, e);
        if (rc == 0 && wanted) {
            const wall_ns end = {blocks[i].last.ns + 1};
            rc = events_read(r, t, blocks[i].first, end, &events, &v, &n_events, e);
            for (size_t k = 0; rc == 0 && k < n_events; k++)
                take_total(p, t->process, &v[k]);
        }
        arena_free(&events);
    }
    free(seen.v);
    arena_free(&scratch);
    return rc;
}

/* ---- all of them ---- */

static struct sync_place place_made(const struct place_totals *x, struct arena *a)
{
    const char *space = strchr(x->place, ' ');
    struct sync_place out = {.process = x->process, .op = "", .where = x->place};
    if (space) {
        out.op = arena_printf(a, "%.*s", (int)(space - x->place), x->place);
        out.where = space + 1;
    }
    out.count = x->calls > 0 ? (uint64_t)x->calls : 0;
    out.seconds = x->ns >= 0 ? (double)x->ns / 1e9 : NAN;
    return out;
}

static double known_seconds(const struct sync_place *x)
{
    return isnan(x->seconds) ? 0 : x->seconds;
}

static int most_time_first(const void *x, const void *y)
{
    const struct sync_place *a = x, *b = y;
    return COMPARE(known_seconds(b), known_seconds(a))
               ?: COMPARE(b->count, a->count)
               ?: strcmp(a->where, b->where) ?: strcmp(a->op, b->op);
}

int sync_places_read(struct run *r, enum code_place_kind kind, struct arena *a,
                     struct sync_place **out, size_t *n, struct err *e)
{
    struct places p = {.kind = kind, .arena = a};
    struct run_track *tracks;
    size_t n_tracks;
    int rc = events_tracks(r, a, &tracks, &n_tracks, e);
    for (size_t i = 0; rc == 0 && i < n_tracks; i++) {
        if (i == 0 || tracks[i].process != tracks[i - 1].process)
            p.first = p.n;
        if (!tracks[i].detail && tracks[i].track.kind == TRACK_THREAD)
            rc = places_read_track(r, &tracks[i], &p, e);
    }
    if (rc == 0) {
        *n = p.n;
        *out = arena_array(a, struct sync_place, p.n + 1);
        for (size_t i = 0; i < p.n; i++)
            (*out)[i] = place_made(&p.v[i], a);
        SORT(*out, p.n, most_time_first);
    }
    free(p.v);
    return rc;
}
