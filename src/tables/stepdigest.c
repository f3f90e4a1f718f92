/* SPDX-License-Identifier: Apache-2.0 */
/* stepdigest.c - see stepdigest.h. */
#include "tables/stepdigest.h"

#include <string.h>

#include "base/mem.h"

/* ---- copies that do not need the run ---- */

static struct rank_steps *copy_rank(const struct rank_steps *s, struct arena *a)
{
    struct rank_steps *rank = arena_new(a, struct rank_steps);
    struct run_process *process = arena_new(a, struct run_process);
    *process = *s->process;
    process->node = arena_strdup(a, s->process->node);
    process->name = arena_strdup(a, s->process->name);
    *rank = (struct rank_steps){.process = process, .node = process->node, .rank = s->rank};
    return rank;
}

static struct loss_list *copy_losses(const struct loss_list *l, struct arena *a)
{
    struct loss_list *out = arena_new(a, struct loss_list);
    *out = (struct loss_list){arena_array(a, struct run_loss, l->n + 1), l->n, NULL, a};
    for (size_t i = 0; i < l->n; i++) {
        out->v[i] = l->v[i];
        out->v[i].node = arena_strdup(a, l->v[i].node);
    }
    return out;
}

static struct run_info *copy_info(const struct run_info *info, struct arena *a)
{
    struct run_info *out = arena_new(a, struct run_info);
    out->name = arena_strdup(a, info->name);
    out->start = info->start;
    return out;
}

/* ---- making it ---- */

static struct sync_place *copy_places(const struct steps_row *row, const struct rank_steps *rank,
                                      struct arena *a)
{
    struct sync_place *out = arena_array(a, struct sync_place, row->n_sync + 1);
    for (size_t i = 0; i < row->n_sync; i++) {
        out[i] = row->sync[i];
        out[i].process = rank->process;
        out[i].op = arena_strdup(a, row->sync[i].op);
        out[i].where = arena_strdup(a, row->sync[i].where);
    }
    return out;
}

static void keep_row(struct step_digest *d, const struct steps_row *row,
                     const struct rank_steps *rank, struct arena *a)
{
    struct steps_row *out = &d->view.rows[d->view.n_rows++];
    *out = *row;
    out->rank = rank;
    out->sync = copy_places(row, rank, a);
    out->stats.outliers = arena_array(a, int64_t, row->stats.n_outliers + 1);
    if (row->stats.n_outliers)
        memcpy(out->stats.outliers, row->stats.outliers,
               row->stats.n_outliers * sizeof *out->stats.outliers);
}

/* Of each mode the last ones, in order of time. */
static void keep_items(struct step_digest *d, const struct rank_steps *from,
                       const struct rank_steps *rank, struct arena *a)
{
    unsigned unseen[MODE_N];
    steps_unseen_modes(&d->view, rank, unseen);
    size_t left[MODE_N], first = from->n;
    for (size_t m = 0; m < MODE_N; m++)
        left[m] = DIGEST_LAST;
    bool *keep = arena_array(a, bool, MIN_OF(from->n, (size_t)MODE_N * DIGEST_LAST) + 1);
    const size_t lowest = from->n - MIN_OF(from->n, (size_t)MODE_N * DIGEST_LAST);
    while (first > lowest) {
        const enum event_mode m = from->steps[--first].mode;
        keep[first - lowest] = left[m] > 0;
        left[m] -= left[m] > 0;
    }
    for (size_t i = lowest; i < from->n; i++) {
        if (!keep[i - lowest])
            continue;
        struct step *step = arena_new(a, struct step);
        *step = from->steps[i];
        d->view.items[d->view.n_items++] = (struct steps_item){rank, step, unseen[step->mode]};
    }
}

static void keep_rank(struct step_digest *d, const struct steps_view *all,
                      const struct rank_steps *from, struct arena *a)
{
    const struct rank_steps *rank = copy_rank(from, a);
    for (size_t i = 0; i < all->n_rows; i++)
        if (all->rows[i].rank == from)
            keep_row(d, &all->rows[i], rank, a);
    keep_items(d, from, rank, a);
    d->ranks[d->n_ranks++] = rank_marks_of(from, a);
    d->bytes += from->n * sizeof(struct step_mark) +
                MIN_OF(from->n, (size_t)MODE_N * DIGEST_LAST) * sizeof(struct step);
}

static void keep_all(struct step_digest *d, const struct steps_view *all,
                     const struct rank_steps *ranks, size_t n, struct arena *a)
{
    size_t items = 0;
    for (size_t i = 0; i < n; i++)
        items += MIN_OF(ranks[i].n, (size_t)MODE_N * DIGEST_LAST);
    d->view = (struct steps_view){.info = copy_info(all->info, a), .arena = a};
    d->view.why = all->why ? arena_strdup(a, all->why) : NULL;
    d->view.lost = all->lost ? copy_losses(all->lost, a) : NULL;
    d->view.rows = arena_array(a, struct steps_row, all->n_rows + 1);
    d->view.items = arena_array(a, struct steps_item, items + 1);
    d->ranks = arena_array(a, struct rank_marks, n + 1);
    d->bytes = sizeof *d + 4096;
    for (size_t i = 0; i < n; i++)
        keep_rank(d, all, &ranks[i], a);
}

int stepdigest_read(struct step_digest *out, struct run *r, struct arena *a, struct err *e)
{
    const struct steps_ask everything = {.last = 0, .rank = -1, .modes = STEPS_ALL_MODES};
    const struct steps_want want = {.wanted = allocator_event_wanted};
    struct arena scratch = {0};
    struct steps_view all;
    struct phases_from from = {.info = run_get_info(r)};
    struct run_steps steps;
    struct run_mark *marked;
    *out = (struct step_digest){0};
    int rc = steps_read_named(r, &want, &scratch, &steps, e);
    if (rc == 0)
        rc = stepsview_of(&all, r, steps.ranks, steps.n_ranks, &everything, &scratch, e);
    if (rc == 0)
        rc = run_marks(r, &scratch, &marked, &from.n_marks, e);
    if (rc == 0) {
        from.marks = marked;
        from.ranks = steps.ranks;
        from.n_ranks = steps.n_ranks;
        keep_all(out, &all, steps.ranks, steps.n_ranks, a);
        phases_of(&from, a, &out->phases);
        out->bytes += out->phases.n * sizeof *out->phases.phases;
        loop_window_of(steps.ranks, steps.n_ranks, &out->window);
        out->allocator = allocator_peak_of(steps.named, steps.n_named);
    }
    arena_free(&scratch);
    TRY(rc);
    TRY(timeline_overview_read(r, DIGEST_OVERVIEW, a, &out->overview, e));
    out->bytes += out->overview.n_slices * sizeof(struct overview_slice);
    return 0;
}

int stepdigest_cost(struct run *r, struct arena *a, uint64_t *events, struct err *e)
{
    struct run_track *tracks;
    size_t n;
    const int rc = events_tracks(r, a, &tracks, &n, e);
    *events = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (!tracks[i].detail && tracks[i].track.kind == TRACK_THREAD)
            *events += tracks[i].events;
    return rc;
}
