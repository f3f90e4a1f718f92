/* SPDX-License-Identifier: Apache-2.0 */
/* stepsview.c - see stepsview.h and stepdigest.h. */
#include "tables/stepsview.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/vec.h"
#include "query/eventsum.h"
#include "tables/healthview.h"
#include "tables/stepdigest.h"

/* ---- runs without steps ---- */

const char *mode_name(enum event_mode m)
{
    return event_mode_names[m];
}

static const char attached_has_none[] =
    "attach records no steps; start the job with 'footplate run' to record them";

const char *steps_none_text(const struct run_info *info, const char *why, struct arena *a)
{
    if (runview_attached(info))
        return attached_has_none;
    return arena_printf(
        a,
        "no steps were detected: %s. Steps are detected automatically in " STEPS_OF
        ". In other programs, mark them with footplate.step() in Python or fp_step_begin() in C "
        "(docs/steps.md).",
        why);
}

const char *steps_none_words(const struct run_info *info)
{
    return runview_attached(info) ? attached_has_none
                                  : "no training steps were detected. Mark them with "
                                    "footplate.step(); see docs/steps.md";
}

/* What programs without steps emit, and what their users can do. The first that fits. */
static const struct steps_unseen {
    const char *begins; /* the name of an event */
    const char *why, *remedy;
} instead[] = {
    {"fit ", "scikit-learn has no steps, its fit() calls are recorded as spans",
     "See them with 'footplate events last', and mark a loop of your own with footplate.step()"},
    {"worker.task", "only tasks of a pool of processes were seen",
     "Mark what a step is with footplate.step()"},
    {"forward.eval", "the model ran without gradients and without a DataLoader",
     "Mark each batch with footplate.step(mode='predict')"},
    {"compile", "functions were compiled, but none is called again and again by the program",
     "Put 'with footplate.step():' around the body of that loop"},
};

static const char any_remedy[] =
    "Mark them with footplate.step() in Python or fp_step_begin() in C";

static const char hooks_remedy[] =
    "Remove that cause, or call footplate.init() at the start of the program";

static bool steps_is_hooks_loss(const struct loss *l)
{
    return l->id == LOSS_NO_HOOKS || (l->id == LOSS_HOOK && loss_is_part(l, "hooks"));
}

static bool steps_hooks_lost(const struct loss_list *lost)
{
    return FIND_ANY(i, lost->n, steps_is_hooks_loss(&lost->v[i].loss));
}

static const struct steps_unseen *steps_find_unseen(const struct event_sum *sums, size_t n)
{
    for (size_t i = 0; i < COUNT_OF(instead); i++)
        for (size_t k = 0; k < n; k++)
            if (strncmp(sums[k].name, instead[i].begins, strlen(instead[i].begins)) == 0)
                return &instead[i];
    return NULL;
}

int steps_none_line(struct run *r, struct arena *a, const char **out, struct err *e)
{
    struct loss_list lost;
    struct event_sum *sums;
    size_t n;
    const char *why;
    const wall_ns whole = {0};
    TRY(loss_list_read(&lost, r, a, e));
    TRY(steps_why_none(r, &lost, a, &why, e));
    TRY(event_sums(r, whole, whole, false, a, &sums, &n, e));
    const struct steps_unseen *u = steps_find_unseen(sums, n);
    const char *other = steps_hooks_lost(&lost) ? hooks_remedy : any_remedy;
    *out = arena_printf(a, "no steps were detected: %s. %s (docs/faq.md)", u ? u->why : why,
                        u ? u->remedy : other);
    return 0;
}

int steps_why_none(struct run *r, const struct loss_list *lost, struct arena *a, const char **why,
                   struct err *e)
{
    struct run_process *processes;
    size_t n;
    TRY(events_processes(r, a, &processes, &n, e));
    if (n == 0 && runview_attached(run_get_info(r))) {
        *why = attached_has_none;
        return 0;
    }
    *why = n ? "events were recorded, but none of them mark a step" : "no process reported events";
    for (size_t i = 0; n == 0 && i < lost->n; i++) {
        const struct loss *l = &lost->v[i].loss;
        if (steps_is_hooks_loss(l))
            *why = loss_why(l);
    }
    return 0;
}

/* ---- reading ---- */

static bool wants_rank(const struct steps_ask *ask, const struct rank_steps *r)
{
    return ask->rank < 0 || r->rank == ask->rank;
}

static bool wants_step(const struct steps_ask *ask, const struct step *s)
{
    return (ask->modes >> s->mode & 1) && (!ask->from.ns || s->start.ns >= ask->from.ns) &&
           (!ask->to.ns || s->start.ns < ask->to.ns);
}

void steps_unseen_modes(const struct steps_view *v, const struct rank_steps *rank,
                        unsigned out[MODE_N])
{
    memset(out, 0, MODE_N * sizeof *out);
    for (size_t i = 0; i < v->n_rows; i++)
        if (v->rows[i].rank == rank)
            out[v->rows[i].stats.mode] = v->rows[i].unseen;
}

/* Where one process waited for its GPU. */
static const struct sync_place *places_of(const struct steps_view *v, const struct rank_steps *rank,
                                          size_t *n)
{
    struct sync_place *out = arena_array(v->arena, struct sync_place, v->n_places + 1);
    *n = 0;
    for (size_t i = 0; i < v->n_places; i++) {
        const struct run_process *p = v->places[i].process;
        if (p->pid == rank->process->pid && p->session == rank->process->session &&
            strcmp(p->node, rank->node) == 0)
            out[(*n)++] = v->places[i];
    }
    return out;
}

static void stepsview_add_rows(struct steps_view *v, const struct steps_ask *ask,
                               const struct rank_steps *rank)
{
    for (enum event_mode m = 0; m < MODE_N; m++) {
        const size_t n = SUM_OF(i, rank->n, rank->steps[i].mode == m);
        if (n == 0 || !(ask->modes >> m & 1))
            continue;
        struct steps_row *row = &v->rows[v->n_rows++];
        row->rank = rank;
        step_stats_of(rank, m, v->arena, &row->stats);
        row->sync = places_of(v, rank, &row->n_sync);
        row->unseen = steps_unseen(rank, m, v->lost->v, v->lost->n);
        steps_parts_s(rank, m, row->part_s);
    }
}

static void add_items(struct steps_view *v, const struct steps_ask *ask,
                      const struct rank_steps *rank)
{
    unsigned unseen[MODE_N];
    size_t n = 0, from = rank->n;
    steps_unseen_modes(v, rank, unseen);
    while (from > 0 && n < ask->last)
        n += wants_step(ask, &rank->steps[--from]);
    for (size_t i = from; i < rank->n; i++)
        if (wants_step(ask, &rank->steps[i]))
            v->items[v->n_items++] =
                (struct steps_item){rank, &rank->steps[i], unseen[rank->steps[i].mode], NAN};
}

static int no_rank(const struct run_info *info, const struct steps_ask *ask, int64_t first,
                   int64_t last, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND,
                   "run '%s' has no steps of rank %" PRId64 "; it has ranks %" PRId64
                   " to %" PRId64,
                   info->name, ask->rank, first, last);
}

int stepsview_set_losses(struct steps_view *v, struct run *r, struct arena *a, struct err *e)
{
    struct health_losses health;
    wall_ns from = {INT64_MAX};
    for (size_t i = 0; i < v->n_items; i++)
        from.ns = MIN_OF(from.ns, v->items[i].step->start.ns);
    if (v->n_items == 0)
        return 0;
    TRY(health_losses_read(r, from, a, &health, e));
    for (size_t i = 0; i < v->n_items; i++) {
        struct steps_item *x = &v->items[i];
        x->loss = health_loss_at(&health, x->rank->rank, x->step->mode, x->step->number);
    }
    return 0;
}

int stepsview_of(struct steps_view *out, struct run *r, const struct rank_steps *ranks, size_t n,
                 const struct steps_ask *ask, struct arena *a, struct err *e)
{
    size_t steps = 0, wanted = 0;
    struct loss_list *lost = arena_new(a, struct loss_list);
    *out = (struct steps_view){.info = run_get_info(r), .arena = a};
    TRY(loss_list_read(lost, r, a, e));
    if (n == 0)
        return steps_why_none(r, lost, a, &out->why, e);
    TRY(sync_places_read(r, PLACES_SYNC, a, &out->places, &out->n_places, e));
    for (size_t i = 0; i < n; i++) {
        steps += MIN_OF(ranks[i].n, ask->last);
        wanted += wants_rank(ask, &ranks[i]);
    }
    if (wanted == 0)
        return no_rank(out->info, ask, ranks[0].rank, ranks[n - 1].rank, e);
    out->lost = lost;
    out->rows = arena_array(a, struct steps_row, wanted * MODE_N);
    out->items = arena_array(a, struct steps_item, steps + 1);
    for (size_t i = 0; i < n; i++) {
        if (!wants_rank(ask, &ranks[i]))
            continue;
        stepsview_add_rows(out, ask, &ranks[i]);
        add_items(out, ask, &ranks[i]);
    }
    return stepsview_set_losses(out, r, a, e);
}

int stepsview_read(struct steps_view *out, struct run *r, const struct steps_ask *ask,
                   struct arena *a, struct err *e)
{
    struct rank_steps *ranks;
    size_t n;
    const int rc = steps_read(r, a, &ranks, &n, e);
    return rc ? rc : stepsview_of(out, r, ranks, n, ask, a, e);
}

/* Items of one rank are adjacent, in order of time. */
static void cut_items(struct steps_view *out, const struct steps_view *whole,
                      const struct steps_ask *ask)
{
    for (size_t i = 0, end; i < whole->n_items; i = end) {
        const struct rank_steps *rank = whole->items[i].rank;
        for (end = i; end < whole->n_items && whole->items[end].rank == rank;)
            end++;
        size_t n = 0, from = end;
        while (from > i && n < ask->last)
            n += wants_step(ask, whole->items[--from].step);
        for (; wants_rank(ask, rank) && from < end; from++)
            if (wants_step(ask, whole->items[from].step))
                out->items[out->n_items++] = whole->items[from];
    }
}

int stepsview_cut(struct steps_view *out, const struct steps_view *whole,
                  const struct steps_ask *ask, struct arena *a, struct err *e)
{
    bool any = whole->n_rows == 0;
    *out = *whole;
    out->arena = a;
    out->rows = arena_array(a, struct steps_row, whole->n_rows);
    out->items = arena_array(a, struct steps_item, whole->n_items);
    out->n_rows = out->n_items = 0;
    for (size_t i = 0; i < whole->n_rows; i++) {
        const struct steps_row *row = &whole->rows[i];
        any |= wants_rank(ask, row->rank);
        if (wants_rank(ask, row->rank) && (ask->modes >> row->stats.mode & 1))
            out->rows[out->n_rows++] = *row;
    }
    if (!any)
        return no_rank(whole->info, ask, whole->rows[0].rank->rank,
                       whole->rows[whole->n_rows - 1].rank->rank, e);
    cut_items(out, whole, ask);
    return 0;
}

struct mode_steps mode_steps_of(const struct rank_steps *ranks, size_t n, enum event_mode mode,
                                struct arena *a)
{
    struct mode_steps x = {0};
    for (size_t i = 0; i < n; i++) {
        struct step_stats one;
        step_stats_of(&ranks[i], mode, a, &one);
        if (one.count == 0)
            continue;
        x.ranks++;
        x.steady += one.throughput_steady;
        x.overall += one.throughput_overall;
        if (one.count > x.best.count) {
            x.best = one;
            x.rank = &ranks[i];
        }
    }
    return x;
}

const char *mode_steps_words(const struct mode_steps *m, struct arena *a)
{
    const size_t n = m->best.iterations;
    return arena_printf(a, "%s iteration%s%s", count_text(a, n), n == 1 ? "" : "s",
                        m->ranks > 1 ? arena_printf(a, " of rank %lld", (long long)m->rank->rank)
                                     : "");
}

/* ---- parts ---- */

/* Seconds of a part; NAN: not seen. */
double steps_item_part_s(const struct steps_item *x, size_t part)
{
    return x->unseen >> part & 1 ? NAN : ns_to_s(x->step->part_ns[part]);
}

/* ---- clocks ---- */

bool steps_has_clock(const struct step_stats *s, enum steps_clock clock)
{
    return clock == CLOCK_HOST || s->gpu_timed_steps > 0;
}

const char *steps_clock_text(const struct step_stats *s, const struct rank_steps *rank,
                             enum steps_clock clock, struct arena *a)
{
    if (clock == CLOCK_GPU)
        return arena_printf(a, "GPU time, %zu of %zu steps timed", s->gpu_timed_steps, s->count);
    return rank->process->device >= 0 && s->gpu_timed_steps == 0 ? "host time (launch)"
                                                                 : "host time";
}

static double gpu_part_s(const struct steps_row *row, size_t part)
{
    const size_t other = step_parts() - 1;
    double left = row->stats.iteration_mean_s;
    if (part != other)
        return part < other ? row->stats.gpu_part_s[part] : NAN;
    for (size_t k = 0; k < other; k++)
        left -= isnan(row->stats.gpu_part_s[k]) ? 0 : row->stats.gpu_part_s[k];
    return fmax(left, 0);
}

double steps_iteration_part_s(const struct steps_row *row, enum steps_clock clock, size_t part)
{
    if (clock == CLOCK_GPU)
        return gpu_part_s(row, part);
    if (part == step_parts())
        return row->stats.between_s;
    return row->unseen >> part & 1 ? NAN : row->stats.host_part_s[part];
}

/* ---- rows ---- */

/* Below 0: not known. */
static double known_s(int64_t ns)
{
    return ns < 0 ? NAN : ns_to_s(ns);
}

static const char *part_key(size_t i)
{
    return i < step_parts() ? step_part_name(i) : NULL;
}

static struct row_cell steps_row_part_at(const void *x, size_t i, const char **key)
{
    const struct steps_row *row = x;
    *key = part_key(i);
    return !x ? row_absent() : row_number(row->unseen >> i & 1 ? NAN : row->part_s[i]);
}

static struct row_cell steps_item_part_at(const void *x, size_t i, const char **key)
{
    *key = part_key(i);
    return x ? row_number(steps_item_part_s(x, i)) : row_absent();
}

static struct row_cell steps_host_part_at(const void *x, size_t i, const char **key)
{
    *key = i == step_parts() ? "between" : step_part_name(i);
    return row_number(steps_iteration_part_s(x, CLOCK_HOST, i));
}

static struct row_cell steps_gpu_part_at(const void *x, size_t i, const char **key)
{
    *key = step_part_name(i);
    return row_number(steps_iteration_part_s(x, CLOCK_GPU, i));
}

#define ROWS_FILE "tables/step_rows.def"
#include "base/row_expand.h"
#include "record/record.h"

/* ---- JSON ---- */

/* Why parts are null. */
static size_t part_losses(struct steps_loss *out, const struct steps_row *row)
{
    size_t n = 0;
    for (size_t k = 0; k < step_parts(); k++)
        if (row->unseen >> k & 1)
            out[n++] = (struct steps_loss){
                step_part_name(k),
                "the steps were marked as a whole; this part was not reported separately",
                mode_name(row->stats.mode), (int64_t)row->stats.count};
    return n;
}

static void find_losses(struct steps_view *v)
{
    const size_t lost = v->lost ? v->lost->n : 0;
    struct steps_loss *out =
        arena_array(v->arena, struct steps_loss, 1 + v->n_rows * step_parts() + lost);
    size_t n = 0;
    if (v->why)
        out[n++] = (struct steps_loss){"steps", v->why, NULL, 1};
    for (size_t i = 0; i < v->n_rows; i++)
        n += part_losses(out + n, &v->rows[i]);
    for (size_t i = 0; i < lost; i++) {
        const struct loss *l = &v->lost->v[i].loss;
        if (l->id == LOSS_HOOK)
            out[n++] = (struct steps_loss){loss_what(l, arena_array(v->arena, char, ENTITY_LEN)),
                                           l->why, NULL, (int64_t)l->count};
    }
    v->losses = out;
    v->n_losses = n;
}

void stepsview_json(struct jw *j, const struct steps_view *v)
{
    struct steps_view x = *v;
    find_losses(&x);
    row_json(j, NULL, &row_Steps, &x, v->arena);
}

/* ---- digests: copies that do not need the run ---- */

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
    out->stats.outliers = ARENA_COPY(a, row->stats.outliers, row->stats.n_outliers);
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
        d->view.items[d->view.n_items++] = (struct steps_item){rank, step, unseen[step->mode], NAN};
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
    size_t items = SUM_OF(i, n, MIN_OF(ranks[i].n, (size_t)MODE_N * DIGEST_LAST));
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
        rc = stepsview_set_losses(&out->view, r, &scratch, e);
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
