/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c - see timeline.h. Which lanes there are, and where what they show comes from. */
#include "query/timeline.h"

#include <string.h>

#include "base/mem.h"
#include "query/event_flow.h"
#include "query/timeline_internal.h"

const char *const timeline_kind_names[LANE_KINDS] = {
    [LANE_PHASES] = "phases",       [LANE_STEPS] = "steps", [LANE_EVENTS] = "events",
    [LANE_OPERATORS] = "operators", [LANE_GPU] = "gpu",
};

static void timeline_draw(struct drawing *d, int64_t start, int64_t dur_ns, const char *name,
                          enum event_category category, uint32_t merged)
{
    drawing_span(d, &(struct timeline_slice){.start = start,
                                             .dur_ns = dur_ns,
                                             .name = op_names_id(&d->names, name),
                                             .merged = merged,
                                             .category = category});
}

/* ---- lanes ---- */

static bool wants(const struct timeline_ask *ask, const char *node, int64_t rank)
{
    return (!ask->node || strcmp(ask->node, node) == 0) && (ask->rank < 0 || ask->rank == rank);
}

static void draw_phases(struct drawing *d)
{
    const struct run_phases *p = d->ask->phases;
    if (!p || !p->has_steps)
        return;
    drawing_lane(d, &(struct timeline_lane){
                        .kind = LANE_PHASES, .rank = -1, .track = NO_TRACK, .title = "phases"});
    for (size_t i = 0; i < p->n; i++)
        timeline_draw(d, p->phases[i].start.ns, p->phases[i].end.ns - p->phases[i].start.ns,
                      phase_name(p->phases[i].kind), CAT_PHASE, 0);
    drawing_lane_end(d);
}

/* The first that ends after t; steps of a rank do not overlap. */
static size_t first_after(const struct rank_marks *r, int64_t t)
{
    size_t lo = 0, hi = r->n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (r->v[mid].start + r->v[mid].dur_ns <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* From step i on those that lie in one pixel and are of one mode: they will be drawn as one, so
 * they come as one. Single steps are called by their number, many at once by their mode. */
static size_t draw_some_steps(struct drawing *d, const struct rank_marks *r, size_t i)
{
    const struct step_mark *m = &r->v[i];
    const char *mode = event_mode_names[m->mode];
    if (m->dur_ns >= d->pixel_ns) {
        timeline_draw(d, m->start, m->dur_ns,
                      arena_printf(d->arena, "%s %lld", mode, (long long)m->number), CAT_PHASE, 0);
        return i + 1;
    }
    const struct steps_sum s = steps_together(r, i, d->ask->to.ns, d->pixel_ns);
    timeline_draw(d, m->start, s.dur_ns, mode, CAT_PHASE, s.n > 1 ? (uint32_t)s.n : 0);
    return i + s.n;
}

static void draw_steps(struct drawing *d, const struct rank_marks *r)
{
    drawing_lane(d, &(struct timeline_lane){
                        .kind = LANE_STEPS,
                        .track = NO_TRACK,
                        .node = r->node,
                        .rank = r->rank,
                        .pid = r->pid,
                        .title = arena_printf(d->arena, "rank %lld steps", (long long)r->rank)});
    for (size_t i = first_after(r, d->ask->from.ns); i < r->n && r->v[i].start < d->ask->to.ns;)
        i = draw_some_steps(d, r, i);
    drawing_lane_end(d);
}

static enum timeline_kind timeline_kind_of(const struct run_track *t)
{
    if (t->track.kind == TRACK_DEVICE)
        return LANE_GPU;
    return t->detail ? LANE_OPERATORS : LANE_EVENTS;
}

static const char *timeline_who(const struct run_process *p, struct arena *a)
{
    if (p->worker >= 0)
        return arena_printf(a, "worker %lld", (long long)p->worker);
    return p->rank >= 0 ? arena_printf(a, "rank %lld", (long long)p->rank)
                        : arena_printf(a, "pid %u", p->pid);
}

static struct timeline_lane timeline_lane_of(const struct run_track *t, struct arena *a)
{
    const struct run_process *p = t->process;
    const char *thread = *t->track.name ? t->track.name : NULL;
    const char *what = thread ? thread : t->track.kind == TRACK_DEVICE ? "gpu" : "main";
    return (struct timeline_lane){.kind = timeline_kind_of(t),
                                  .track = t->index,
                                  .node = p->node,
                                  .rank = p->rank,
                                  .pid = p->pid,
                                  .thread = thread,
                                  .title = arena_printf(a, "%s %s", timeline_who(p, a), what)};
}

/* ---- without its events ---- */

/* From what begins at `from` on. */
static void draw_blocks(struct drawing *d, const struct track_block *v, size_t n, int64_t from)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i].first.ns < from)
            continue;
        timeline_draw(d, v[i].first.ns, v[i].last.ns - v[i].first.ns,
                      arena_printf(d->arena, "%u events: zoom in", v[i].events), CAT_OTHER,
                      MAX_OF(v[i].events, 2u));
        d->out->cut = true;
    }
    drawing_lane_end(d);
}

static int draw_track(struct drawing *d, struct run *r, const struct run_track *t, struct err *e)
{
    struct track_block *v;
    size_t n;
    uint64_t events = 0;
    const int rc = track_blocks(r, t, d->ask->from, d->ask->to, d->arena, &v, &n, e);
    if (rc || n == 0)
        return rc;
    const struct timeline_lane lane = timeline_lane_of(t, d->arena);
    const struct overview_level *over = overview_for(d->ask->overview, t->index, d->pixel_ns);
    drawing_lane(d, &lane);
    for (size_t i = 0; i < n; i++)
        events += v[i].events;
    if (over && (events > d->budget || over->pixel_ns <= d->pixel_ns)) {
        overview_draw(d, over, t->index);
        draw_blocks(d, v, n, d->ask->overview->to.ns);
        return 0;
    }
    if (events > d->budget) {
        draw_blocks(d, v, n, INT64_MIN);
        return 0;
    }
    d->budget -= events;
    return timeline_draw_events(d, r, t, e);
}

/* ---- all of it ---- */

bool timeline_shows(const struct timeline_ask *ask, const struct run_track *t)
{
    return wants(ask, t->process->node, t->process->rank) && (ask->detail || !t->detail) &&
           t->events >= ask->least;
}

int timeline_read(struct run *r, const struct timeline_ask *ask, struct arena *a,
                  struct timeline *out, struct err *e)
{
    struct run_track *tracks;
    size_t n;
    int rc = events_tracks(r, a, &tracks, &n, e);
    if (rc)
        return rc;
    struct drawing *d = drawing_open(ask, a, out);
    draw_phases(d);
    for (size_t i = 0; i < ask->n_ranks; i++)
        if (wants(ask, ask->ranks[i].node, ask->ranks[i].rank))
            draw_steps(d, &ask->ranks[i]);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (timeline_shows(ask, &tracks[i]))
            rc = draw_track(d, r, &tracks[i], e);
    drawing_close(d);
    return rc;
}
