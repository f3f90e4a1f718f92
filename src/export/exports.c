/* SPDX-License-Identifier: Apache-2.0 */
/* exports.c - see export.h. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "export/export.h"
#include "query/event_flow.h"
#include "query/steps.h"

#define EXPORT(id, ...) &export_##id,
const struct export_format *const export_formats[] = {
#include "export/exports.def"
    NULL,
};
#undef EXPORT

#define EXPORT(id, ...) #id,
const char *const export_names[] = {
#include "export/exports.def"
    NULL,
};
#undef EXPORT

const char *const export_what_names[EXPORT_N + 1] = {
    [EXPORT_METRICS] = "metrics", [EXPORT_EVENTS] = "events", [EXPORT_STEPS] = "steps",
    [EXPORT_OPS] = "ops",         [EXPORT_ALL] = "all",
};

bool export_is_part(const struct export_job *job)
{
    const struct series_ask *a = &job->ask;
    return a->from.ns || a->to.ns || a->node || a->metric || a->entity;
}

bool export_in_window(const struct export_job *job, wall_ns begin, int64_t end)
{
    const struct series_ask *ask = &job->ask;
    return (!ask->from.ns || end > ask->from.ns) && (!ask->to.ns || begin.ns < ask->to.ns);
}

void export_progress(const struct export_job *job, size_t done, size_t of)
{
    if (job->progress)
        progress_at(job->progress, (double)done / (double)(of ? of : 1), clock_mono());
}

/* ------------------------------------------------------------------------------------------------
 * The events of a run */

static bool export_wanted(const struct series_ask *ask, const struct run_track *t)
{
    return (!ask->node || strcmp(ask->node, t->process->node) == 0) &&
           (!ask->from.ns || t->last.ns >= ask->from.ns) &&
           (!ask->to.ns || t->first.ns < ask->to.ns);
}

static void export_choose(const struct export_job *job, struct tracks *t)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++)
        if (export_wanted(&job->ask, &t->v[i]))
            t->v[kept++] = t->v[i];
    t->n = kept;
}

int export_tracks(const struct export_job *job, struct arena *a, struct tracks *out, struct err *e)
{
    TRY(events_tracks(job->run, a, &out->v, &out->n, e));
    export_choose(job, out);
    return 0;
}

int export_all_tracks(const struct export_job *job, struct arena *a, struct tracks *out,
                      struct err *e)
{
    struct run_track *health;
    size_t n;
    TRY(events_tracks(job->run, a, &out->v, &out->n, e));
    TRY(events_health_tracks(job->run, a, &health, &n, e));
    struct run_track *all = arena_array(a, struct run_track, out->n + n + 1);
    if (out->n)
        memcpy(all, out->v, out->n * sizeof *all);
    if (n)
        memcpy(all + out->n, health, n * sizeof *all);
    *out = (struct tracks){all, out->n + n};
    export_choose(job, out);
    return 0;
}

int export_events(const struct export_job *job, const struct run_track *t, events_fn *fn, void *to,
                  struct err *e)
{
    const struct flow_window window = {job->ask.from, job->ask.to};
    struct event_flow *flow = event_flow_open(&EVENT_WANT_ALL);
    const struct run_event *v;
    int rc = event_flow_track(flow, job->run, t, &window, NULL, e);
    for (size_t n; rc == 0 && (n = event_flow_next(flow, &v)) > 0;)
        rc = fn(to, t, v, n, e);
    event_flow_close(flow);
    return rc;
}

unsigned session_at(const struct run_info *info, const char *node, wall_ns t)
{
    unsigned session = 0;
    for (size_t i = 0; i < info->n_nodes; i++)
        if (strcmp(info->nodes[i].id, node) == 0 &&
            (session == 0 || info->nodes[i].start.ns <= t.ns))
            session = info->nodes[i].session;
    return session;
}

/* ---- steps as a window ---- */

static void export_widen(const struct rank_steps *rank, int64_t a, int64_t b, wall_ns out[2])
{
    for (size_t i = 0; i < rank->n; i++) {
        const struct step *s = &rank->steps[i];
        if (s->mode != MODE_TRAIN || s->number < a || s->number > b)
            continue;
        const int64_t end = s->start.ns + s->dur_ns;
        out[0].ns = out[0].ns ? MIN_OF(out[0].ns, s->start.ns) : s->start.ns;
        out[1].ns = MAX_OF(out[1].ns, end);
    }
}

int export_steps_window(struct run *r, int64_t a, int64_t b, wall_ns out[2], struct err *e)
{
    struct arena arena = {0};
    struct rank_steps *ranks;
    size_t n;
    wall_ns window[2] = {{0}, {0}};
    int rc = steps_read(r, &arena, &ranks, &n, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        export_widen(&ranks[i], a, b, window);
    if (rc == 0 && !window[0].ns)
        rc = err_set(e, ERR_NOT_FOUND, "run '%s' has no training step from %" PRId64 " to %" PRId64,
                     run_get_info(r)->name, a, b);
    arena_free(&arena);
    if (rc == 0)
        memcpy(out, window, sizeof window);
    return rc;
}
