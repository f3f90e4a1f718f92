/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_overview.c - the events of a run too long to look at each of them, as slices that are
 * made once: as fine as there is room for, and of these coarser ones, so that a window costs by its
 * pixels and not by its length. */
#include "base/mem.h"
#include "query/eventsum.h"
#include "query/timeline_own.h"

enum {
    OVERVIEW_SLICES = 1 << 19,
    OVERVIEW_NAMES = 8,    /* so many are expected to alternate in a track */
    OVERVIEW_EVENTS = 64,  /* of the largest track to a pixel, at least */
    OVERVIEW_COARSER = 4,  /* from level to level */
    OVERVIEW_LEAST = 1024, /* pixels; none is coarser */
    FINER = 4,             /* slices of a level are to be narrower than a pixel by so much */
    CHUNK = 256,           /* slices whose last end is known */
};

/* ---- drawing from it ---- */

/* The lane of a track; NULL: it has none. */
static const struct timeline_lane *lane_in(const struct overview_level *o, uint32_t track)
{
    for (size_t i = 0; i < o->all.n_lanes; i++)
        if (o->all.lanes[i].track == track)
            return &o->all.lanes[i];
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

/* Slices lie lane by lane. */
static size_t first_of_lane(const struct timeline *t, uint32_t lane)
{
    size_t lo = 0, hi = t->n_slices;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (t->slices[mid].lane < lane)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void overview_draw(struct drawing *d, const struct overview_level *o, uint32_t track)
{
    const struct timeline *t = &o->all;
    const uint32_t lane = (uint32_t)(lane_in(o, track) - t->lanes);
    for (size_t i = first_of_lane(t, lane); i < t->n_slices;) {
        struct timeline_slice s = t->slices[i];
        if (s.lane != lane || s.start >= d->ask->to.ns)
            break;
        if (o->ends[i / CHUNK] < d->ask->from.ns) {
            i = (i / CHUNK + 1) * CHUNK;
            continue;
        }
        s.name = op_names_id(&d->names, t->names[s.name]);
        drawing_slice(d, &s);
        i++;
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
    const struct timeline *t = &o->all;
    o->ends = arena_array(a, int64_t, t->n_slices / CHUNK + 1);
    for (size_t i = 0; i < t->n_slices; i++) {
        const int64_t end = t->slices[i].start + t->slices[i].dur_ns;
        int64_t *last = &o->ends[i / CHUNK];
        *last = i % CHUNK ? MAX_OF(*last, end) : end;
    }
}

/* What the levels are made of: the finest of the events, each other of the one before. */
static int read_levels(struct run *r, struct timeline_ask *ask, struct arena *a,
                       struct timeline_overview *out, struct err *e)
{
    do {
        struct overview_level *o = &out->levels[out->n_levels];
        o->pixel_ns = (ask->to.ns - ask->from.ns) / (int64_t)ask->px;
        ask->overview = out->n_levels ? out : NULL;
        const int rc = timeline_read(r, ask, a, &o->all, e);
        if (rc || o->all.cut) /* what does not fit would be missing */
            return rc;
        find_ends(o, a);
        out->n_slices += o->all.n_slices;
        out->n_levels++;
        ask->px /= OVERVIEW_COARSER;
    } while (out->n_levels < OVERVIEW_LEVELS && ask->px >= OVERVIEW_LEAST);
    return 0;
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
