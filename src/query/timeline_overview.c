/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_overview.c - the events of a run too long to look at each of them, as slices that are
 * made once: as fine as there is room for, and of these coarser ones, so that a window costs by its
 * pixels and not by its length. */
#include <assert.h>

#include "base/mem.h"
#include "query/timeline_internal.h"

enum {
    OVERVIEW_SLICES = 7 << 17, /* of the finest level */
    OVERVIEW_NAMES = 8,        /* so many are expected to alternate in a track */
    OVERVIEW_EVENTS = 32,      /* of the largest track to a pixel, at least */
    OVERVIEW_COARSER = 4,      /* from level to level */
    OVERVIEW_LEAST = 1024,     /* pixels; none is coarser */
    FINER = 4,                 /* slices of a level are to be narrower than a pixel by so much */
    CHUNK = 256,               /* slices whose last end is known */
    /* What the fields of a slice have room for. */
    NAMES_MOST = 1 << 20,
    CATEGORIES = 1 << 6,
};
static_assert((int)LANE_ROWS_MOST <= 1 << 6 && (int)CAT_N <= (int)CATEGORIES,
              "rows and categories have six bits");

/* ---- drawing from it ---- */

/* The lane of a track; NULL: it has none. */
static const struct overview_lane *lane_in(const struct overview_level *o, uint32_t track)
{
    for (size_t i = 0; i < o->n_lanes; i++)
        if (o->lanes[i].track == track)
            return &o->lanes[i];
    return NULL;
}

/* Slices of a coarser level end where those of finer ones do, not where pixels do: those as wide as
 * a pixel would seldom join. */
const struct overview_level *overview_for(const struct timeline_overview *o, uint32_t track,
                                          int64_t pixel_ns)
{
    size_t i = 0;
    if (!o || o->n_levels == 0 || !lane_in(&o->levels[0], track))
        return NULL;
    while (i + 1 < o->n_levels && FINER * o->levels[i + 1].pixel_ns <= pixel_ns &&
           lane_in(&o->levels[i + 1], track))
        i++;
    return &o->levels[i];
}

static void draw_slice(struct drawing *d, const struct overview_level *o,
                       const struct overview_slice *s)
{
    drawing_slice(d, &(struct timeline_slice){.row = s->row,
                                              .start = s->start,
                                              .dur_ns = s->dur_ns,
                                              .name = op_names_id(&d->names, o->names[s->name]),
                                              .merged = s->merged,
                                              .category = (enum event_category)s->category});
}

void overview_draw(struct drawing *d, const struct overview_level *o, uint32_t track)
{
    const struct overview_lane *lane = lane_in(o, track);
    for (size_t i = lane[0].first; i < lane[1].first && o->slices[i].start < d->ask->to.ns;) {
        if (o->ends[i / CHUNK] < d->ask->from.ns)
            i = (i / CHUNK + 1) * CHUNK;
        else
            draw_slice(d, o, &o->slices[i++]);
    }
    d->out->cut |= o->pixel_ns > d->pixel_ns;
}

/* ---- making it ---- */

/* As many pixels as there is room for, but no finer than its largest track needs. */
static size_t overview_px(size_t tracks, uint64_t largest)
{
    const uint64_t room = OVERVIEW_SLICES / (OVERVIEW_NAMES * tracks);
    return (size_t)MAX_OF(MIN_OF(room, largest / OVERVIEW_EVENTS), UINT64_C(1));
}

static void find_ends(struct overview_level *o, struct arena *a)
{
    o->ends = arena_array(a, int64_t, o->n_slices / CHUNK + 1);
    for (size_t i = 0; i < o->n_slices; i++) {
        const int64_t end = o->slices[i].start + o->slices[i].dur_ns;
        int64_t *last = &o->ends[i / CHUNK];
        *last = i % CHUNK ? MAX_OF(*last, end) : end;
    }
}

static void keep_lanes(struct overview_level *o, const struct timeline *t, struct arena *a)
{
    size_t at = 0;
    o->n_lanes = t->n_lanes;
    o->lanes = arena_array(a, struct overview_lane, t->n_lanes + 1);
    for (size_t i = 0; i <= t->n_lanes; i++) {
        while (at < t->n_slices && t->slices[at].lane < i)
            at++;
        o->lanes[i] = (struct overview_lane){i < t->n_lanes ? t->lanes[i].track : NO_TRACK, at};
    }
}

static void keep_slices(struct overview_level *o, const struct timeline *t, struct arena *a)
{
    o->n_slices = t->n_slices;
    o->slices = arena_alloc_raw(a, t->n_slices + 1, sizeof *o->slices);
    for (size_t i = 0; i < t->n_slices; i++) {
        const struct timeline_slice *s = &t->slices[i];
        o->slices[i] =
            (struct overview_slice){.start = s->start,
                                    .dur_ns = s->dur_ns,
                                    .merged = s->merged,
                                    .name = s->name & (NAMES_MOST - 1),
                                    .row = s->row & (LANE_ROWS_MOST - 1),
                                    .category = (unsigned)s->category & (CATEGORIES - 1)};
    }
}

static void keep_level(struct overview_level *o, const struct timeline *t, struct arena *a)
{
    keep_lanes(o, t, a);
    keep_slices(o, t, a);
    find_ends(o, a);
    o->names = arena_array(a, const char *, t->n_names + 1);
    for (size_t i = 0; i < t->n_names; i++)
        o->names[i] = arena_strdup(a, t->names[i]);
}

/* The finest level is made of the events, each other of the one before. Not `*fits`: something
 * would be missing, so there is no such level. */
static int read_level(struct run *r, const struct timeline_ask *ask, struct arena *a,
                      struct timeline_overview *out, bool *fits, struct err *e)
{
    struct overview_level *o = &out->levels[out->n_levels];
    struct arena scratch = {0};
    struct timeline t;
    const int rc = timeline_read(r, ask, &scratch, &t, e);
    *fits = rc == 0 && !t.cut && t.n_names <= NAMES_MOST;
    if (*fits) {
        keep_level(o, &t, a);
        o->pixel_ns = (ask->to.ns - ask->from.ns) / (int64_t)ask->px;
        out->n_slices += o->n_slices;
        out->n_levels++;
    }
    arena_free(&scratch);
    return rc;
}

static int read_levels(struct run *r, struct timeline_ask *ask, struct arena *a,
                       struct timeline_overview *out, struct err *e)
{
    bool fits = true;
    int rc = 0;
    while (rc == 0 && fits && out->n_levels < OVERVIEW_LEVELS &&
           (out->n_levels == 0 || ask->px >= OVERVIEW_LEAST)) {
        ask->overview = out->n_levels ? out : NULL;
        rc = read_level(r, ask, a, out, &fits, e);
        ask->px /= OVERVIEW_COARSER;
    }
    return rc;
}

int timeline_overview_read(struct run *r, uint64_t least, struct arena *a,
                           struct timeline_overview *out, struct err *e)
{
    struct timeline_ask ask = {.from = {INT64_MAX},
                               .to = {INT64_MIN},
                               .rank = -1,
                               .limit = OVERVIEW_SLICES,
                               .budget = UINT64_MAX,
                               .least = least};
    struct run_track *tracks;
    size_t n, large = 0;
    uint64_t largest = 0;
    *out = (struct timeline_overview){0};
    const int rc = events_tracks(r, a, &tracks, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (!timeline_shows(&ask, &tracks[i]))
            continue;
        ask.from.ns = MIN_OF(ask.from.ns, tracks[i].first.ns);
        ask.to.ns = MAX_OF(ask.to.ns, tracks[i].last.ns + 1);
        largest = MAX_OF(largest, tracks[i].events);
        large++;
    }
    if (rc || large == 0)
        return rc;
    ask.px = overview_px(large, largest);
    out->to = ask.to;
    return read_levels(r, &ask, a, out, e);
}
