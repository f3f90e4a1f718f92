/* SPDX-License-Identifier: Apache-2.0 */
/* detail.c - see detail.h. */
#include "query/detail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "base/vec.h"
#include "query/event_flow.h"
#include "query/run_internal.h"
#include "query/trace.h"
#include "store/event_columns.h"

/* ---- when it was recorded ----
 *
 * Files of windows are known without decoding anything. For the spans of the hooks only the names
 * of a block are read, and its events only when "detail.window" is one of them. */

struct range_list {
    const struct event_index *index;
    struct detail_range *v;
    const struct store **files; /* by range: the file of its window; NULL: it is a span */
    size_t n, cap;
};

static struct detail_range *ranges_add(struct range_list *l, const struct run_track *t,
                                       const struct store *file)
{
    if (VEC_GROW(l->cap, l->n + 1)) {
        l->v = xrealloc(l->v, l->cap, sizeof *l->v);
        l->files = xrealloc(l->files, l->cap, sizeof *l->files);
    }
    l->files[l->n] = file;
    l->v[l->n] = (struct detail_range){
        .process = (uint32_t)(t->process - l->index->processes),
        .node = t->process->node,
        .pid = t->process->pid,
        .first = {INT64_MAX},
        .last = {INT64_MIN},
    };
    return &l->v[l->n++];
}

/* ---- files ---- */

static struct detail_range *range_of_file(struct range_list *l, const struct event_track *t)
{
    const uint32_t process = (uint32_t)(t->track.process - l->index->processes);
    for (size_t i = l->n; i-- > 0;)
        if (l->files[i] == t->store && l->v[i].process == process)
            return &l->v[i];
    return ranges_add(l, &t->track, t->store);
}

static void ranges_add_track(struct range_list *l, const struct event_track *t)
{
    struct detail_range *x = range_of_file(l, t);
    x->first.ns = x->begin.ns = MIN_OF(x->first.ns, t->track.first.ns);
    x->last.ns = x->end.ns = MAX_OF(x->last.ns, t->track.last.ns);
    x->operators |= !track_is_profile(&t->track);
}

/* ---- spans of the hooks ---- */

static bool block_has_windows(struct codec *c, const struct events_block *b, struct arena *texts)
{
    const char **names;
    if (!store_event_names(c, b, texts, &names))
        return false;
    return FIND_ANY(i, b->n_names, strcmp(names[i], event_words[EV_DETAIL].name) == 0);
}

static void ranges_add_spans(struct range_list *l, const struct event_track *t, struct codec *c)
{
    struct event_columns columns = {0};
    for (uint32_t i = 0; i < t->n_blocks; i++) {
        const struct events_block *b = &t->store->events[t->blocks[i]];
        struct arena texts = {0};
        const bool some = block_has_windows(c, b, &texts) &&
                          event_columns_read(&columns, c, b, &(struct event_want){0}, &texts);
        for (uint32_t k = 0; some && k < b->rows; k++) {
            struct event v;
            event_columns_row(&columns, k, &v);
            if (v.kind != EVENT_SPAN || strcmp(v.name, event_words[EV_DETAIL].name) != 0)
                continue;
            struct detail_range *x = ranges_add(l, &t->track, NULL);
            x->begin = event_wall(t->store, v.at);
            x->end.ns = x->begin.ns + MAX_OF(0, v.dur_ns);
        }
        arena_free(&texts);
    }
    event_columns_free(&columns);
}

/* ---- all of them ---- */

static int detail_ranges_by_begin(const void *a, const void *b)
{
    const struct detail_range *x = a, *y = b;
    return COMPARE(x->process, y->process) ?: COMPARE(x->begin.ns, y->begin.ns);
}

/* The file of a window and its span become one range. */
static void ranges_join(struct range_list *l)
{
    size_t kept = 0;
    SORT(l->v, l->n, detail_ranges_by_begin);
    for (size_t i = 0; i < l->n; i++) {
        const struct detail_range *x = &l->v[i];
        struct detail_range *to = kept ? &l->v[kept - 1] : NULL;
        if (!to || to->process != x->process || x->begin.ns > to->end.ns) {
            l->v[kept++] = *x;
            continue;
        }
        to->end.ns = MAX_OF(to->end.ns, x->end.ns);
        to->first.ns = MIN_OF(to->first.ns, x->first.ns);
        to->last.ns = MAX_OF(to->last.ns, x->last.ns);
        to->operators |= x->operators;
    }
    l->n = kept;
}

static void ranges_gather(struct range_list *l)
{
    struct codec *c = codec_open();
    for (size_t i = 0; i < l->index->n_tracks; i++) {
        const struct event_track *t = &l->index->tracks[i];
        if (t->track.detail)
            ranges_add_track(l, t);
        else if (t->track.track.kind == TRACK_THREAD && t->track.process->worker < 0)
            ranges_add_spans(l, t, c);
    }
    codec_close(c);
    ranges_join(l);
}

int detail_ranges(struct run *r, struct arena *a, struct detail_range **out, size_t *n,
                  struct err *e)
{
    struct event_index *x;
    TRY(run_events(r, &x, e));
    struct range_list l = {.index = x};
    ranges_gather(&l);
    *out = arena_array(a, struct detail_range, l.n + 1);
    for (size_t i = 0; i < l.n; i++) {
        (*out)[i] = l.v[i];
        (*out)[i].node = arena_strdup(a, l.v[i].node);
    }
    *n = l.n;
    free(l.v);
    free(l.files);
    return 0;
}

/* ---- what it cost ---- */

/* Steps after a window that may still be slower for it, and the time in which they may be. */
enum { STEPS_AFTER = 2 };
static const int64_t AFTER_NS = NS_PER_S;

/* An iteration that took so many times as long as it should have was delayed. */
static const double STALLED = 1.5;

/* Steps of one rank, and the windows of its process. */
struct cost_rank {
    const struct rank_steps *steps;
    const struct detail_range *ranges;
    size_t n_ranges;
};

static bool detail_cost_is_of(const struct detail_range *x, const struct run_process *p)
{
    return x->pid == p->pid && strcmp(x->node, p->node) == 0;
}

/* Begin to begin; NAN: the next step is not of the same kind, or there is none. */
static double detail_cost_iteration_s(const struct rank_steps *r, size_t i)
{
    if (i + 1 >= r->n || r->steps[i].cut || r->steps[i + 1].mode != r->steps[i].mode)
        return NAN;
    return ns_to_s(r->steps[i + 1].start.ns - r->steps[i].start.ns);
}

/* ---- usual steps ---- */

static bool is_usual(const struct cost_rank *c, size_t i)
{
    const struct step *s = &c->steps->steps[i];
    if (i == 0 || s->mode != MODE_TRAIN || !step_is_steady(s))
        return false;
    for (size_t k = 0; k < c->n_ranges; k++) {
        const struct detail_range *x = &c->ranges[k];
        if (!detail_cost_is_of(x, c->steps->process))
            continue;
        const size_t before = i > STEPS_AFTER ? i - STEPS_AFTER : 0;
        const struct step *earlier = &c->steps->steps[before];
        if (s->start.ns + s->dur_ns > x->begin.ns && s->start.ns < x->end.ns + AFTER_NS)
            return false;
        if (s->start.ns > x->begin.ns && earlier->start.ns < x->end.ns)
            return false;
    }
    return true;
}

struct usual {
    bool known; /* it was computed */
    double median_s, mean_s;
};

static struct usual usual_of(const struct cost_rank *c)
{
    struct usual out = {true, NAN, NAN};
    double *v = xmalloc((c->steps->n + 1) * sizeof *v), sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < c->steps->n; i++) {
        const double s = is_usual(c, i) ? detail_cost_iteration_s(c->steps, i) : NAN;
        if (isnan(s))
            continue;
        v[n++] = s;
        sum += s;
    }
    if (n) {
        stat_sort(v, n);
        out.median_s = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
        out.mean_s = sum / (double)n;
    }
    free(v);
    return out;
}

/* ---- steps of a window ---- */

/* Most of the step was recorded. */
static bool is_inside(const struct step *s, wall_ns begin, wall_ns end)
{
    const int64_t from = MAX_OF(s->start.ns, begin.ns);
    const int64_t to = MIN_OF(s->start.ns + s->dur_ns, end.ns);
    return s->mode == MODE_TRAIN && to > from && 2 * (to - from) > s->dur_ns;
}

/* The iteration of the last step includes the stop of the profiler, so it counts only when it is
 * the only one, and then without what lies between it and the next. */
static double window_step_s(const struct rank_steps *r, size_t first, size_t n)
{
    double sum = 0;
    size_t some = 0;
    for (size_t i = first; i + 1 < first + n; i++)
        if (!isnan(detail_cost_iteration_s(r, i))) {
            sum += detail_cost_iteration_s(r, i);
            some++;
        }
    return some ? sum / (double)some : ns_to_s(r->steps[first].dur_ns);
}

static double excess_s(const struct rank_steps *r, size_t i, double should_be)
{
    const double s = i < r->n ? detail_cost_iteration_s(r, i) : NAN;
    return s > STALLED * should_be ? s - should_be : 0;
}

static void fill_steps(const struct cost_rank *c, double usual, struct detail_cost *out)
{
    const struct rank_steps *r = c->steps;
    size_t first = 0, n = 0;
    for (size_t i = 0; i < r->n; i++)
        if (is_inside(&r->steps[i], out->begin, out->end))
            first = n++ ? first : i;
    if (n == 0)
        return;
    out->first_step = r->steps[first].number;
    out->n_steps = n;
    out->step_s = window_step_s(r, first, n);
    if (isnan(usual))
        return;
    out->stall_s =
        (first > 1 ? excess_s(r, first - 1, usual) : 0) + excess_s(r, first + n - 1, out->step_s);
    for (size_t i = 0; i < STEPS_AFTER; i++)
        out->stall_s += excess_s(r, first + n + i, usual);
}

void detail_costs_of(const struct rank_steps *ranks, size_t n_ranks,
                     const struct detail_range *ranges, size_t n_ranges, struct arena *a,
                     struct detail_cost **out, size_t *n)
{
    *out = arena_array(a, struct detail_cost, n_ranges + 1);
    *n = 0;
    for (size_t i = 0; i < n_ranks; i++) {
        const struct cost_rank c = {&ranks[i], ranges, n_ranges};
        struct usual usual = {0};
        for (size_t k = 0; k < n_ranges; k++) {
            const struct detail_range *x = &ranges[k];
            if (!detail_cost_is_of(x, ranks[i].process) || !x->operators || *n == n_ranges)
                continue;
            usual = usual.known ? usual : usual_of(&c);
            struct detail_cost *cost = &(*out)[(*n)++];
            *cost = (struct detail_cost){.node = arena_strdup(a, x->node),
                                         .rank = ranks[i].rank,
                                         .pid = x->pid,
                                         .begin = x->first,
                                         .end = x->last,
                                         .first_step = -1,
                                         .step_s = NAN,
                                         .usual_step_s = usual.median_s,
                                         .usual_mean_s = usual.mean_s,
                                         .stall_s = NAN};
            fill_steps(&c, usual.median_s, cost);
        }
    }
}
