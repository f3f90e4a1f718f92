/* SPDX-License-Identifier: Apache-2.0 */
/* correlate.c - what the framework was doing in the time of each finding.
 *
 * For each rank: how much of that time it spent in training or evaluation steps, before and after
 * the loop and between steps ("phase"); in the parts of its steps ("event"); and, where a detail
 * window lies in that time, in which operators ("operator"). The work is bounded, whatever a
 * finding's size: of more ranges or steps than the limit, evenly spread ones represent all.
 *
 * From top to bottom: lists of shares, operators, places in the code
 * that wait for the GPU, spans between steps, steps and their parts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/vec.h"
#include "query/event_flow.h"
#include "query/ops.h"
#include "query/sync_places.h"
#include "record/event.h"
#include "rules/engine_internal.h"

/* ---- lists of shares ---- */

/* Shares of a kind and rank that are stored, and what is too little to store. */
enum { SHARES_KEPT = 6 };
#define SHARE_LEAST 0.01

struct share_list {
    struct arena *arena;
    struct share *v;
    size_t n, cap;
};

static void share_add(struct share_list *l, struct share s)
{
    *ARENA_ADD(l->arena, l->v, l->n, l->cap) = s;
}

static int by_share(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    return COMPARE(y->share, x->share) ?: strcmp(x->name, y->name);
}

/* Those from `first` on are of one kind and rank: largest first, the smallest left out. */
static void share_settle(struct share_list *l, size_t first)
{
    SORT(l->v + first, l->n - first, by_share);
    l->n = MIN_OF(l->n, first + SHARES_KEPT);
    while (l->n > first && l->v[l->n - 1].share < SHARE_LEAST)
        l->n--;
}

static int64_t correlate_end_of(struct step s)
{
    return s.start.ns + s.dur_ns;
}

/* Whether the finding is about this rank. */
static bool correlate_is_about(const struct finding *f, const char *node, int64_t rank)
{
    long long own;
    if (*f->node && strcmp(f->node, node) != 0)
        return false;
    return sscanf(f->entity, "rank %lld", &own) != 1 || own == rank;
}

/* ==== operators ==== */

/* Operators of detail windows, read once however many findings want them. */
struct op_window {
    const struct run_process *process;
    int64_t rank;
    wall_ns from, to;
    struct op_row *rows;
    size_t n;
};

struct op_windows {
    const struct correlate_ask *ask;
    struct arena *arena;
    struct run_track *tracks;
    size_t n_tracks;
    struct op_window *v;
    size_t n;
};

/* Operators in the time of findings, where detail windows show them. */

/* A detail window has some hundred thousand events: reading more than a few would take too long. */
enum { WINDOWS_MOST = 32, PER_FINDING = 8, EVENTS_MOST = 1 << 20, PLOTTED = 10 };

static int op_windows_open(struct op_windows *w, const struct correlate_ask *ask, struct arena *a,
                           struct err *e)
{
    *w = (struct op_windows){.ask = ask, .arena = a};
    w->v = arena_array(a, struct op_window, WINDOWS_MOST);
    return events_tracks(ask->run, a, &w->tracks, &w->n_tracks, e);
}

/* ---- processes ---- */

/* Tracks of a process are adjacent. */
static size_t op_tracks_end(const struct op_windows *w, size_t i)
{
    const struct run_process *p = w->tracks[i].process;
    while (i < w->n_tracks && w->tracks[i].process == p)
        i++;
    return i;
}

/* The time of its detail; false: it has none, or far too much. */
static bool detail_span(const struct op_windows *w, size_t from, size_t to, wall_ns *first,
                        wall_ns *last)
{
    uint64_t events = 0;
    *first = (wall_ns){INT64_MAX};
    *last = (wall_ns){INT64_MIN};
    for (size_t i = from; i < to; i++) {
        const struct run_track *t = &w->tracks[i];
        if (!t->detail)
            continue;
        events += t->events;
        first->ns = MIN_OF(first->ns, t->first.ns);
        last->ns = MAX_OF(last->ns, t->last.ns);
    }
    return events > 0 && events <= EVENTS_MOST && last->ns > first->ns;
}

static bool is_same_process(const struct run_process *a, const struct run_process *b)
{
    return a->pid == b->pid && a->session == b->session && strcmp(a->node, b->node) == 0;
}

/* A process that has steps has a rank even if it did not report one. */
static int64_t op_rank_of(const struct correlate_ask *ask, const struct run_process *p)
{
    const size_t at = FIND_FIRST(i, ask->n_ranks, is_same_process(ask->ranks[i].process, p));
    return at < ask->n_ranks ? ask->ranks[at].rank : p->rank;
}

/* ---- windows ---- */

static int op_read_window(struct op_windows *w, size_t from, size_t to, struct op_window *out,
                          struct err *e)
{
    struct ops *o = ops_open(OPS_BY_NAME);
    int rc = 0;
    ops_process(o, NULL);
    for (size_t i = from; i < to && rc == 0; i++) {
        struct arena texts = {0};
        struct run_event *v;
        size_t n;
        if (!w->tracks[i].detail)
            continue;
        rc = events_read(w->ask->run, &w->tracks[i], out->from, out->to, &texts, &v, &n, e);
        if (rc == 0)
            ops_track(o, &w->tracks[i], v, n);
        arena_free(&texts);
    }
    ops_process_end(o);
    if (rc == 0)
        ops_rows(o, w->arena, &out->rows, &out->n);
    ops_close(o);
    return rc;
}

/* *out NULL: there have been enough already. */
static int op_window_of(struct op_windows *w, size_t from, size_t to, wall_ns first, wall_ns last,
                        const struct op_window **out, struct err *e)
{
    const struct run_process *p = w->tracks[from].process;
    *out = NULL;
    for (size_t i = 0; i < w->n; i++)
        if (w->v[i].process == p && w->v[i].from.ns == first.ns && w->v[i].to.ns == last.ns) {
            *out = &w->v[i];
            return 0;
        }
    if (w->n == WINDOWS_MOST)
        return 0;
    struct op_window *x = &w->v[w->n];
    *x = (struct op_window){.process = p, .rank = op_rank_of(w->ask, p), .from = first, .to = last};
    const int rc = op_read_window(w, from, to, x, e);
    w->n += rc == 0;
    *out = rc == 0 ? x : NULL;
    return rc;
}

static void op_add_rows(const struct op_window *x, struct share_list *out)
{
    const double window_s = (double)(x->to.ns - x->from.ns) / 1e9;
    const size_t first = out->n;
    for (size_t i = 0; i < x->n; i++) {
        const double s = (double)x->rows[i].self_ns / 1e9;
        share_add(out, (struct share){.what = "operator",
                                      .name = arena_strdup(out->arena, x->rows[i].name),
                                      .rank = x->rank,
                                      .seconds = s,
                                      .share = MIN_OF(s / window_s, 1)});
        if (out->n - first == 64) /* they come longest first */
            break;
    }
    share_settle(out, first);
}

/* Shares of operators in the time of the finding, of all its ranks. */
static int correlate_ops(struct op_windows *w, const struct finding *f, struct share_list *out,
                         struct err *e)
{
    size_t looked = 0;
    for (size_t i = 0, end; i < w->n_tracks && looked < PER_FINDING; i = end) {
        const struct op_window *x;
        wall_ns first, last;
        end = op_tracks_end(w, i);
        if (!detail_span(w, i, end, &first, &last) ||
            !correlate_is_about(f, w->tracks[i].process->node,
                                op_rank_of(w->ask, w->tracks[i].process)))
            continue;
        first.ns = MAX_OF(first.ns, f->start.ns);
        last.ns = MIN_OF(last.ns, f->end.ns);
        if (first.ns >= last.ns)
            continue;
        TRY(op_window_of(w, i, end, first, last, &x, e));
        if (x)
            op_add_rows(x, out);
        looked++;
    }
    return 0;
}

/* ---- the summary ---- */

static void plot_device(struct verdict *v, const struct op_window *x, enum op_device device,
                        const char *title)
{
    size_t shown = 0;
    struct plot *p = NULL;
    for (size_t i = 0; i < x->n && shown < PLOTTED; i++) {
        const double s = (double)x->rows[i].self_ns / 1e9;
        if (x->rows[i].device != device)
            continue;
        if (!p)
            p = verdict_plot(v, PLOT_BARS,
                             arena_printf(v->arena, "%s, rank %lld", title, (long long)x->rank),
                             "s");
        plot_row(v, p, x->rows[i].name, &s, 1);
        shown++;
    }
}

/* Operators of all detail, as plots of the framework's summary. Of the first rank that has any:
 * ranks do the same. */
static int summarize_ops(struct op_windows *w, struct verdict *v, struct err *e)
{
    for (size_t i = 0, end; i < w->n_tracks; i = end) {
        const struct op_window *x;
        wall_ns first, last;
        end = op_tracks_end(w, i);
        if (!detail_span(w, i, end, &first, &last))
            continue;
        const int rc = op_window_of(w, i, end, first, last, &x, e);
        if (rc == 0 && x) {
            plot_device(v, x, OP_CPU, "Operators on the CPU");
            plot_device(v, x, OP_GPU, "Operators on the GPU");
        }
        return rc;
    }
    return 0;
}

/* ==== places in the code that wait for the GPU ==== */

/* That a message names. */
enum { PLACES_NAMED = 3 };

static const struct run_process *sync_process_of(const struct correlate_ask *ask,
                                                 const struct finding *f)
{
    for (size_t i = 0; i < ask->n_ranks; i++)
        if (correlate_is_about(f, ask->ranks[i].node, ask->ranks[i].rank))
            return ask->ranks[i].process;
    return NULL;
}

/* "item() at train.py:31 (205 per step, 4.1 s)" */
static const char *place_words(const struct sync_place *x, double steps, struct arena *a)
{
    char seconds[HUMAN_LEN];
    const double each = (double)x->count / steps;
    const char *often = each >= 1 ? arena_printf(a, "%.3g per step", each)
                                  : arena_printf(a, "%llu times", (unsigned long long)x->count);
    return arena_printf(a, "%s%s%s (%s%s%s)", x->op, *x->op ? " at " : "", x->where, often,
                        isnan(x->seconds) ? "" : ", ",
                        isnan(x->seconds) ? ""
                                          : duration_text(x->seconds, seconds, sizeof seconds));
}

static double sync_number_of(const struct finding *f, const char *name)
{
    const size_t at = FIND_FIRST(i, f->n_numbers, strcmp(f->numbers[i].name, name) == 0);
    return at < f->n_numbers ? f->numbers[at].v : NAN;
}

static void name_places(const struct correlate_ask *ask, struct verdict *v, struct finding *f,
                        const struct sync_place *places, size_t n)
{
    const struct run_process *process = sync_process_of(ask, f);
    const double steps = fmax(sync_number_of(f, "steps"), 1); /* 1: not known */
    const char *words = "";
    size_t named = 0;
    double calls = 0;
    for (size_t i = 0; process && i < n; i++) {
        if (!is_same_process(places[i].process, process))
            continue;
        calls += (double)places[i].count;
        if (named++ < PLACES_NAMED)
            words = arena_printf(v->arena, "%s%s%s", words, *words ? ", " : "",
                                 place_words(&places[i], steps, v->arena));
    }
    if (!named)
        return;
    f->message = arena_printf(v->arena, "%s; mostly in %s%s", f->message, words,
                              named > PLACES_NAMED ? " and others" : "");
    finding_number(v, f, "waits_per_step", calls / steps, "");
}

/* Adds the places to the messages and numbers of the findings of SyncBound. Nothing is read when
 * there are none. Texts live in the arena. */
static int sync_name_places(const struct correlate_ask *ask, struct verdict *v, struct arena *a,
                            struct err *e)
{
    struct sync_place *places;
    size_t n;
    if (v->n_findings == 0)
        return 0;
    const int rc = sync_places_read(ask->run, PLACES_SYNC, a, &places, &n, e);
    for (size_t i = 0; rc == 0 && i < v->n_findings; i++)
        name_places(ask, v, &v->findings[i], places, n);
    return rc;
}

/* "; the most of it in refresh() at train.py:31" */
static const char *threads_words(const struct sync_place *places, size_t n,
                                 const struct run_process *process, struct arena *a)
{
    for (size_t i = 0; process && i < n; i++)
        if (is_same_process(places[i].process, process))
            return arena_printf(a, "; most of it in %s() at %s", places[i].op, places[i].where);
    return "";
}

/* Adds the function that computes beside the loop to the messages of GilContention. */
static int name_threads(const struct correlate_ask *ask, struct verdict *v, struct arena *a,
                        struct err *e)
{
    struct sync_place *places;
    size_t n;
    if (v->n_findings == 0)
        return 0;
    const int rc = sync_places_read(ask->run, PLACES_THREAD, a, &places, &n, e);
    for (size_t i = 0; rc == 0 && i < v->n_findings; i++) {
        struct finding *f = &v->findings[i];
        f->message = arena_printf(v->arena, "%s%s", f->message,
                                  threads_words(places, n, sync_process_of(ask, f), v->arena));
    }
    return rc;
}

/* Adds the exception that ended the first process of the job to end so. */
static int name_exception(const struct correlate_ask *ask, struct verdict *v, struct arena *a,
                          struct err *e)
{
    struct sync_place *places;
    size_t n;
    if (v->n_findings == 0)
        return 0;
    TRY(sync_places_read(ask->run, PLACES_EXCEPTION, a, &places, &n, e));
    struct finding *f = &v->findings[0];
    if (n > 0) /* the latest is the first of them */
        f->message = arena_printf(v->arena, "%s: %s%s%s", f->message, places[n - 1].op,
                                  *places[n - 1].where ? " at " : "", places[n - 1].where);
    return 0;
}

/* ==== what ran between steps ==== */

/* Of a finding of TimeBetweenSteps: gaps that are read, evenly spread; names in its message.
 */
enum { GAPS_MOST = 64, GAP_NAMED = 2 };
#define GAP_SHARE_LEAST 0.1

/* Spans that lie in the gap, but in no other one. What other rules are about is left out. */
static void gap_add_spans(struct share_list *l, const struct run_event *v, size_t n,
                          const struct time_range *gap)
{
    int64_t until = gap->start.ns;
    for (size_t i = 0; i < n; i++) {
        const struct event *x = &v[i].event;
        const enum event_id id = event_find(x->name);
        const int64_t end = v[i].at.ns + x->dur_ns;
        if (x->kind != EVENT_SPAN || v[i].at.ns < until || end > gap->end.ns || id == EV_SYNC ||
            id == EV_LOADER_START || id == EV_DETAIL)
            continue;
        until = end;
        const size_t at = FIND_FIRST(k, l->n, strcmp(l->v[k].name, x->name) == 0);
        if (at == l->n)
            share_add(l, (struct share){.name = arena_strdup(l->arena, x->name)});
        l->v[at].seconds += (double)x->dur_ns / 1e9;
    }
}

static bool is_of_step(const struct event *v)
{
    const enum event_id id = event_find(v->name);
    return v->kind == EVENT_STEP || (id != EV_N && step_part_of(id) != NO_PART);
}

/* Of the thread that has the step. */
static int gap_read(const struct op_windows *w, const struct rank_steps *r, const struct step *s,
                    struct share_list *out, struct err *e)
{
    const struct time_range gap = {{correlate_end_of(*s)}, step_time(s).end};
    for (size_t i = 0; i < w->n_tracks; i++) {
        const struct run_track *t = &w->tracks[i];
        struct arena texts = {0};
        struct run_event *v;
        size_t n;
        if (t->detail || t->track.kind != TRACK_THREAD || !is_same_process(t->process, r->process))
            continue;
        const int rc = events_read(w->ask->run, t, s->start, gap.end, &texts, &v, &n, e);
        if (rc == 0 && FIND_ANY(k, n, is_of_step(&v[k].event)))
            gap_add_spans(out, v, n, &gap);
        arena_free(&texts);
        TRY(rc);
    }
    return 0;
}

/* "; 62 % of it in 'log', 20 % in 'plot'" */
static const char *gap_words(struct share_list *l, double all_s, struct arena *a)
{
    const char *words = "";
    for (size_t i = 0; i < l->n; i++)
        l->v[i].share = MIN_OF(l->v[i].seconds / fmax(all_s, 1e-9), 1);
    share_settle(l, 0);
    for (size_t i = 0; i < l->n && i < GAP_NAMED && l->v[i].share >= GAP_SHARE_LEAST; i++)
        words = arena_printf(a, "%s%s %.0f %% of it in '%s'", words, i ? "," : ";",
                             100 * l->v[i].share, l->v[i].name);
    return words;
}

/* Adds the spans of the program to a message of TimeBetweenSteps. */
static int gap_name_spans(const struct op_windows *w, struct verdict *v, struct finding *f,
                          const struct rank_steps *r, struct err *e)
{
    struct share_list names = {.arena = w->arena};
    double all_s = 0;
    for (size_t i = 0; i < r->n; i += 1 + r->n / GAPS_MOST) {
        const struct step s = rank_step(r, i);
        if (s.mode != MODE_TRAIN || !step_is_steady(&s) || s.between_ns <= 0 || s.save_ns > 0)
            continue;
        all_s += (double)(s.between_ns - s.between_sync_ns) / 1e9;
        TRY(gap_read(w, r, &s, &names, e));
    }
    f->message = arena_printf(v->arena, "%s%s", f->message, gap_words(&names, all_s, v->arena));
    return 0;
}

/* "; between train.py:41 and train.py:36" */
static const char *gap_place_words(const struct sync_place *places, size_t n,
                                   const struct run_process *process, struct arena *a)
{
    for (size_t i = 0; process && i < n; i++)
        if (is_same_process(places[i].process, process))
            return arena_printf(a, "; between %s and %s", places[i].op, places[i].where);
    return "";
}

/* Adds where in the program that is. */
static int gap_name_places(const struct op_windows *w, struct verdict *v, struct err *e)
{
    struct sync_place *places;
    size_t n;
    if (v->n_findings == 0)
        return 0;
    TRY(sync_places_read(w->ask->run, PLACES_BETWEEN, w->arena, &places, &n, e));
    for (size_t i = 0; i < v->n_findings; i++) {
        struct finding *f = &v->findings[i];
        f->message = arena_printf(v->arena, "%s%s", f->message,
                                  gap_place_words(places, n, sync_process_of(w->ask, f), v->arena));
    }
    return 0;
}

static int name_between(const struct op_windows *w, struct verdict *v, struct err *e)
{
    for (size_t i = 0; i < v->n_findings; i++)
        for (size_t k = 0; k < w->ask->n_ranks; k++)
            if (correlate_is_about(&v->findings[i], w->ask->ranks[k].node, w->ask->ranks[k].rank))
                TRY(gap_name_spans(w, v, &v->findings[i], &w->ask->ranks[k], e));
    return gap_name_places(w, v, e);
}

/* ---- time of steps in the ranges ---- */

/* Of each finding, and of each rank in it. */
enum { RANGES_MOST = 64, STEPS_MOST = 2000, RANKS_MOST = 16 };

/* Outside of steps it is one of the last three. */
enum { IN_BEFORE = MODE_N, IN_AFTER, IN_BETWEEN, IN_N };

static const char *const in_names[IN_N] = {
    [MODE_TRAIN] = "train",         [MODE_EVAL] = "eval",        [MODE_PREDICT] = "predict",
    [IN_BEFORE] = "initialization", [IN_AFTER] = "finalization", [IN_BETWEEN] = "between steps",
};

struct spent {
    double all_s, in_s[IN_N], part_s[STEP_PARTS_MOST];
};

static double overlap_s(int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t from = MAX_OF(a, c), to = MIN_OF(b, d);
    return to > from ? (double)(to - from) / 1e9 : 0;
}

/* The first step that ends after t; steps of a rank do not overlap. */
static size_t first_after(const struct rank_steps *r, int64_t t)
{
    return SEARCH_FIRST(i, 0, r->n, correlate_end_of(rank_step(r, i)) <= t);
}

/* Steps from..to of the rank; every `stride`-th represents as many. What they cover is scaled to
 * the time from the first to the last of them. */
static void correlate_add_steps(struct spent *x, const struct rank_steps *r,
                                const struct time_range *g, size_t stride)
{
    const size_t from = first_after(r, g->start.ns), parts = step_parts();
    size_t to = from;
    while (to < r->n && rank_step(r, to).start.ns < g->end.ns)
        to += stride;
    for (size_t i = from; i < r->n && i < to; i += stride) {
        const struct step s = rank_step(r, i);
        const size_t weight = MIN_OF(stride, to - i);
        const double in =
            overlap_s(s.start.ns, correlate_end_of(s), g->start.ns, g->end.ns) * (double)weight;
        const double share = s.dur_ns > 0 ? in * 1e9 / (double)s.dur_ns : 0;
        x->in_s[s.mode < MODE_N ? s.mode : MODE_TRAIN] += in;
        for (size_t k = 0; k < parts; k++)
            x->part_s[k] += (double)s.part_ns[k] / 1e9 * share;
    }
}

static size_t correlate_count_steps(const struct rank_steps *r, const struct time_range *v,
                                    size_t n)
{
    return SUM_OF(i, n, first_after(r, v[i].end.ns) - first_after(r, v[i].start.ns) + 1);
}

/* What is left of the range when steps are taken off: before the loop, after it, or between. While
 * the run is being recorded, nothing is after it. */
static void add_rest(struct spent *x, const struct time_range *g, const struct run_facts *f,
                     double in_steps)
{
    const double all = (double)(g->end.ns - g->start.ns) / 1e9;
    const double before =
        f->has_steps ? overlap_s(g->start.ns, g->end.ns, INT64_MIN / 2, f->loop_start.ns) : all;
    const double after = f->has_steps && f->ended
                             ? overlap_s(g->start.ns, g->end.ns, f->loop_end.ns, INT64_MAX / 2)
                             : 0;
    x->in_s[IN_BEFORE] += before;
    x->in_s[IN_AFTER] += after;
    x->in_s[IN_BETWEEN] += MAX_OF(all - before - after - in_steps, 0);
    x->all_s += all;
}

static double steps_s(const struct spent *x)
{
    double s = 0;
    for (size_t m = 0; m < MODE_N; m++)
        s += x->in_s[m];
    return s;
}

static void add_range(struct spent *x, const struct correlate_ask *ask, const struct rank_steps *r,
                      const struct time_range *g, size_t stride)
{
    const double before = steps_s(x);
    correlate_add_steps(x, r, g, stride);
    add_rest(x, g, ask->facts, steps_s(x) - before);
}

/* ---- findings ---- */

/* At most RANGES_MOST of them, evenly spread. */
static size_t choose_ranges(const struct finding *f, struct time_range *out)
{
    const size_t n = MIN_OF(f->n_ranges, (size_t)RANGES_MOST);
    for (size_t i = 0; i < n; i++)
        out[i] = f->ranges[i * f->n_ranges / n];
    return n;
}

/* `all_s`: of all ranges of the finding. */
static void correlate_add_rank(const struct correlate_ask *ask, const struct rank_steps *r,
                               const struct time_range *v, size_t n, double all_s,
                               struct share_list *out)
{
    struct spent x = {0};
    const size_t stride = 1 + correlate_count_steps(r, v, n) / STEPS_MOST;
    for (size_t i = 0; i < n; i++)
        add_range(&x, ask, r, &v[i], stride);
    if (x.all_s <= 0)
        return;
    size_t first = out->n;
    for (size_t k = 0; k < IN_N; k++)
        share_add(out, (struct share){.what = "phase",
                                      .name = in_names[k],
                                      .rank = r->rank,
                                      .seconds = x.in_s[k] / x.all_s * all_s,
                                      .share = MIN_OF(x.in_s[k] / x.all_s, 1)});
    share_settle(out, first);
    first = out->n;
    for (size_t k = 0; k < step_parts(); k++)
        share_add(out, (struct share){.what = "event",
                                      .name = step_part_name(k),
                                      .rank = r->rank,
                                      .seconds = x.part_s[k] / x.all_s * all_s,
                                      .share = MIN_OF(x.part_s[k] / x.all_s, 1)});
    share_settle(out, first);
}

static int correlate(const struct correlate_ask *ask, struct op_windows *ops, struct finding *f,
                     struct arena *a, struct err *e)
{
    struct time_range ranges[RANGES_MOST];
    struct share_list list = {.arena = a};
    const size_t n = choose_ranges(f, ranges);
    size_t ranks = 0;
    double all_s = 0;
    for (size_t i = 0; i < f->n_ranges; i++)
        all_s += (double)(f->ranges[i].end.ns - f->ranges[i].start.ns) / 1e9;
    for (size_t i = 0; n && i < ask->n_ranks && ranks < RANKS_MOST; i++)
        if (correlate_is_about(f, ask->ranks[i].node, ask->ranks[i].rank)) {
            correlate_add_rank(ask, &ask->ranks[i], ranges, n, all_s, &list);
            ranks++;
        }
    const int rc = n ? correlate_ops(ops, f, &list, e) : 0;
    f->shares = list.v;
    f->n_shares = list.n;
    return rc;
}

/* The phases of the rank that the finding's shares begin with. */
static void plot_phases(struct verdict *v, const struct finding *f)
{
    struct plot *p = NULL;
    for (size_t i = 0; i < f->n_shares; i++) {
        const struct share *s = &f->shares[i];
        if (s->rank != f->shares[0].rank || strcmp(s->what, "phase") != 0)
            continue;
        if (!p)
            p = verdict_plot(v, PLOT_PIE,
                             arena_printf(v->arena, "Phases on %s at that time", f->node), "%");
        plot_row(v, p, s->name, &(double){s->share * 100}, 1);
    }
}

int rules_correlate(const struct correlate_ask *ask, struct verdicts *v, struct arena *a,
                    struct err *e)
{
    struct arena scratch = {0};
    struct op_windows ops;
    int rc = op_windows_open(&ops, ask, &scratch, e);
    for (size_t k = 0; k < RULE_N && rc == 0; k++)
        for (size_t i = 0; i < v->v[k].n_findings && rc == 0; i++)
            rc = correlate(ask, &ops, &v->v[k].findings[i], a, e);
    for (size_t k = 0; k < RULE_N && rc == 0; k++)
        for (size_t i = 0; i < v->v[k].n_findings && v->v[k].rule->by_phase; i++)
            plot_phases(&v->v[k], &v->v[k].findings[i]);
    if (rc == 0)
        rc = sync_name_places(ask, &v->v[RULE_sync_bound], a, e);
    if (rc == 0)
        rc = name_threads(ask, &v->v[RULE_gil_contention], a, e);
    if (rc == 0)
        rc = name_exception(ask, &v->v[RULE_failed_early], a, e);
    if (rc == 0)
        rc = name_between(&ops, &v->v[RULE_time_between_steps], e);
    if (rc == 0)
        rc = summarize_ops(&ops, &v->v[RULE_overall_framework_metrics], e);
    arena_free(&scratch);
    return rc;
}
