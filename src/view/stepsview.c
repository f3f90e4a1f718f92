/* SPDX-License-Identifier: Apache-2.0 */
/* stepsview.c - see stepsview.h. Keys of the JSON may be added here, never renamed. */
#include "view/stepsview.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"

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

static void add_rows(struct steps_view *v, const struct steps_ask *ask,
                     const struct rank_steps *rank)
{
    for (enum event_mode m = 0; m < MODE_N; m++) {
        size_t n = 0;
        for (size_t i = 0; i < rank->n; i++)
            n += rank->steps[i].mode == m;
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
    size_t n = 0, from = rank->n;
    while (from > 0 && n < ask->last)
        n += wants_step(ask, &rank->steps[--from]);
    for (size_t i = from; i < rank->n; i++)
        if (wants_step(ask, &rank->steps[i]))
            v->items[v->n_items++] = (struct steps_item){rank, &rank->steps[i]};
}

static int no_rank(const struct run_info *info, const struct steps_ask *ask, int64_t first,
                   int64_t last, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND,
                   "run '%s' has no steps of rank %" PRId64 "; it has ranks %" PRId64
                   " to %" PRId64,
                   info->name, ask->rank, first, last);
}

int stepsview_of(struct steps_view *out, struct run *r, const struct rank_steps *ranks, size_t n,
                 const struct steps_ask *ask, struct arena *a, struct err *e)
{
    size_t steps = 0, wanted = 0;
    struct loss_list *lost = arena_new(a, struct loss_list);
    *out = (struct steps_view){.info = run_get_info(r), .arena = a};
    int rc = loss_list_read(lost, r, a, e);
    if (rc == 0 && n == 0)
        return steps_why_none(r, lost, a, &out->why, e);
    if (rc == 0)
        rc = sync_places_read(r, a, &out->places, &out->n_places, e);
    if (rc)
        return rc;
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
        add_rows(out, ask, &ranks[i]);
        add_items(out, ask, &ranks[i]);
    }
    return 0;
}

int stepsview_read(struct steps_view *out, struct run *r, const struct steps_ask *ask,
                   struct arena *a, struct err *e)
{
    struct rank_steps *ranks;
    size_t n;
    const int rc = steps_read(r, a, &ranks, &n, e);
    return rc ? rc : stepsview_of(out, r, ranks, n, ask, a, e);
}

/* Items of one rank stand together, in order of time. */
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

/* ---- parts ---- */

static const struct steps_row *row_of(const struct steps_view *v, const struct steps_item *x)
{
    const struct steps_row *row = v->rows;
    while (row < v->rows + v->n_rows - 1 &&
           (row->rank != x->rank || row->stats.mode != x->step->mode))
        row++;
    return row;
}

double steps_row_part_s(const struct steps_row *row, size_t part)
{
    return row->unseen >> part & 1 ? NAN : row->part_s[part];
}

double steps_item_part_s(const struct steps_view *v, const struct steps_item *x, size_t part)
{
    return row_of(v, x)->unseen >> part & 1 ? NAN : ns_to_s(x->step->part_ns[part]);
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

/* ---- JSON ---- */

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"mean_s", offsetof(struct step_stats, mean_s)},
    {"min_s", offsetof(struct step_stats, min_s)},
    {"p50_s", offsetof(struct step_stats, p50_s)},
    {"p95_s", offsetof(struct step_stats, p95_s)},
    {"p99_s", offsetof(struct step_stats, p99_s)},
    {"max_s", offsetof(struct step_stats, max_s)},
    {"stddev_s", offsetof(struct step_stats, stddev_s)},
    {"samples_per_s", offsetof(struct step_stats, throughput_steady)},
};

static const char between_name[] = "between";

static void iteration_json(struct jw *j, const struct step_stats *s)
{
    jw_object(j, "iteration_s");
    jw_num(j, "mean", s->iteration_mean_s);
    jw_num(j, "p50", s->iteration_p50_s);
    jw_num(j, "p95", s->iteration_p95_s);
    jw_num(j, "p99", s->iteration_p99_s);
    jw_num(j, "max", s->iteration_max_s);
    jw_num(j, "stddev", s->iteration_stddev_s);
    jw_end(j);
    jw_int(j, "iterations", (int64_t)s->iterations);
    jw_int(j, "warmup_steps", (int64_t)s->warmup);
    jw_int(j, "disturbed_steps", (int64_t)s->disturbed);
    jw_object(j, "throughput");
    jw_num(j, "steady", s->throughput_steady);
    jw_num(j, "overall", s->throughput_overall);
    jw_str(j, "unit", "samples/s");
    jw_end(j);
}

static void clock_json(struct jw *j, const struct steps_row *row, const char *key,
                       enum steps_clock clock)
{
    if (!steps_has_clock(&row->stats, clock)) {
        jw_null(j, key);
        return;
    }
    jw_object(j, key);
    for (size_t k = 0; k < step_parts(); k++)
        jw_num(j, step_part_name(k), steps_iteration_part_s(row, clock, k));
    if (clock == CLOCK_HOST)
        jw_num(j, between_name, row->stats.between_s);
    jw_end(j);
}

static void sync_json(struct jw *j, const struct steps_row *row)
{
    jw_array(j, "sync");
    for (size_t i = 0; i < row->n_sync; i++) {
        jw_object(j, NULL);
        jw_str(j, "where", row->sync[i].where);
        jw_str(j, "call", row->sync[i].op);
        jw_int(j, "count", (int64_t)row->sync[i].count);
        jw_num(j, "seconds", row->sync[i].seconds);
        jw_end(j);
    }
    jw_end(j);
}

static void rank_json(struct jw *j, const struct rank_steps *r)
{
    jw_str(j, "node", r->node);
    jw_int(j, "rank", r->rank);
    jw_int(j, "session", r->process->session);
    jw_int(j, "pid", r->process->pid);
}

static void row_json(struct jw *j, const struct steps_row *row)
{
    const struct step_stats *s = &row->stats;
    jw_object(j, NULL);
    rank_json(j, row->rank);
    if (row->rank->process->device < 0)
        jw_null(j, "device");
    else
        jw_int(j, "device", row->rank->process->device);
    jw_str(j, "mode", mode_name(s->mode));
    jw_int(j, "count", (int64_t)s->count);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        double v;
        memcpy(&v, (const char *)s + numbers[i].offset, sizeof v);
        jw_num(j, numbers[i].name, v);
    }
    jw_array(j, "outliers");
    for (size_t i = 0; i < s->n_outliers; i++)
        jw_int(j, NULL, s->outliers[i]);
    jw_end(j);
    jw_object(j, "events");
    for (size_t i = 0; i < step_parts(); i++)
        jw_num(j, step_part_name(i), steps_row_part_s(row, i));
    jw_end(j);
    iteration_json(j, s);
    clock_json(j, row, "host_parts_s", CLOCK_HOST);
    clock_json(j, row, "gpu_parts_s", CLOCK_GPU);
    jw_int(j, "gpu_timed_steps", (int64_t)s->gpu_timed_steps);
    sync_json(j, row);
    jw_end(j);
}

static void item_json(struct jw *j, const struct steps_view *v, const struct steps_item *x)
{
    const struct step *s = x->step;
    jw_object(j, NULL);
    jw_str(j, "node", x->rank->node);
    jw_int(j, "rank", x->rank->rank);
    jw_str(j, "mode", mode_name(s->mode));
    jw_int(j, "step", s->number);
    jw_int(j, "start_ns", s->start.ns);
    jw_num(j, "duration_s", ns_to_s(s->dur_ns));
    jw_num(j, "between_s", s->between_ns < 0 ? NAN : ns_to_s(s->between_ns));
    jw_num(j, "iteration_s", s->between_ns < 0 ? NAN : ns_to_s(step_iteration_ns(s)));
    if (s->batch < 0)
        jw_null(j, "samples");
    else
        jw_int(j, "samples", s->batch);
    jw_bool(j, "cut", s->cut);
    jw_bool(j, "warmup", s->warmup);
    jw_bool(j, "disturbed", s->disturbed);
    jw_object(j, "events");
    for (size_t i = 0; i < step_parts(); i++)
        jw_num(j, step_part_name(i), steps_item_part_s(v, x, i));
    jw_end(j);
    jw_end(j);
}

/* Why parts are null. */
static void untold_json(struct jw *j, const struct steps_row *row)
{
    for (size_t k = 0; k < step_parts(); k++) {
        if (!(row->unseen >> k & 1))
            continue;
        jw_object(j, NULL);
        jw_str(j, "what", step_part_name(k));
        jw_str(j, "why", "the steps were marked as a whole; this part was not reported separately");
        jw_str(j, "mode", mode_name(row->stats.mode));
        jw_int(j, "count", (int64_t)row->stats.count);
        jw_end(j);
    }
}

static void losses_json(struct jw *j, const struct steps_view *v)
{
    jw_array(j, "losses");
    if (v->why) {
        jw_object(j, NULL);
        jw_str(j, "what", "steps");
        jw_str(j, "why", v->why);
        jw_int(j, "count", 1);
        jw_end(j);
    }
    for (size_t i = 0; i < v->n_rows; i++)
        untold_json(j, &v->rows[i]);
    for (size_t i = 0; v->lost && i < v->lost->n; i++) {
        const struct loss *l = &v->lost->v[i].loss;
        if (l->id != LOSS_HOOK)
            continue;
        jw_object(j, NULL);
        jw_str(j, "what", l->what);
        jw_str(j, "why", l->why);
        jw_int(j, "count", (int64_t)l->count);
        jw_end(j);
    }
    jw_end(j);
}

void stepsview_json(struct jw *j, const struct steps_view *v)
{
    jw_object(j, NULL);
    jw_array(j, "ranks");
    for (size_t i = 0; i < v->n_rows; i++)
        row_json(j, &v->rows[i]);
    jw_end(j);
    jw_array(j, "steps");
    for (size_t i = 0; i < v->n_items; i++)
        item_json(j, v, &v->items[i]);
    jw_end(j);
    losses_json(j, v);
    jw_end(j);
}
