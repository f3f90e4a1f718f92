/* SPDX-License-Identifier: Apache-2.0 */
/* top_read.c - see top_view.h. */
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/top_view.h"
#include "query/event_flow.h"
#include "rules/feed_run.h"
#include "tables/runview.h"
#include "tables/stepsview.h"
#include "tables/summary.h"

enum {
    READING_TIMES = 200, /* 0.5 % of a core */
    NEWEST_TIMES = 400,  /* 0.25 % */
    WHOLE_TIMES = 500,   /* 0.2 % */
    RATE_S = 10,         /* that the rate is of */
    HISTORY_S = 120,     /* of steps that are read at first */
};

#define WHOLE_LEAST_NS (5 * NS_PER_S)
#define ENDED_LEAST_NS (10 * NS_PER_S)

/* Where the newest steps of the run are read. */
struct top_track {
    bool chosen;
    uint32_t pid;
    unsigned session;
    uint64_t id;
};

/* What is about the whole run, as it was read last. */
struct top_whole {
    struct arena arena;
    struct top_steps steps; /* without rate */
    int64_t last_ns;        /* begin of the last step in them */
    struct top_finding *findings;
    size_t n_findings, passed, skipped;
    bool judged;
    const char *none_words;
};

struct top_source {
    const struct check *check;
    char *path; /* of the run that all below is about */
    bool ended; /* and nothing more is to come */
    mono_ns next, newest_next, whole_next;
    int64_t paced_ns; /* CPU time of the last reading that has a separate pace */
    struct top_track track;
    struct top_iteration *iterations; /* the newest */
    size_t n_iterations, cap_iterations;
    int64_t newest_ns; /* begin of the newest step; 0: none */
    struct top_whole whole;
};

/* ---- pace ---- */

mono_ns top_pace(mono_ns begin, int64_t cpu_ns, int64_t least_ns, int64_t times)
{
    return mono_add(begin, MAX_OF(least_ns, times * cpu_ns));
}

static int64_t top_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* ---- opening ---- */

struct top_source *top_source_open(const struct check *check)
{
    struct top_source *s = xcalloc(1, sizeof *s);
    s->check = check;
    return s;
}

static void top_source_clear(struct top_source *s)
{
    free(s->path);
    free(s->iterations);
    arena_free(&s->whole.arena);
    *s = (struct top_source){.check = s->check};
}

void top_source_close(struct top_source *s)
{
    if (s)
        top_source_clear(s);
    free(s);
}

mono_ns top_source_next(const struct top_source *s)
{
    return s->next;
}

/* ---- the rate of steps, from the newest events alone ---- */

void top_rates(const struct top_iteration *v, size_t n, struct top_seconds s, double *out)
{
    for (size_t k = 0; k < s.n; k++)
        out[k] = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t end_ns = v[i].start_ns + v[i].ns;
        int64_t at_ns = MAX_OF(v[i].start_ns, s.from_ns);
        while (at_ns < end_ns) {
            const size_t k = (size_t)((at_ns - s.from_ns) / s.each_ns);
            if (k >= s.n)
                break;
            const int64_t to_ns = MIN_OF(s.from_ns + (int64_t)(k + 1) * s.each_ns, end_ns);
            out[k] += (double)(to_ns - at_ns) / (double)v[i].ns / ns_to_s(s.each_ns);
            at_ns = to_ns;
        }
    }
}

static bool top_is_track(const struct top_track *t, const struct run_track *x)
{
    return x->process->pid == t->pid && x->process->session == t->session && x->track.id == t->id;
}

/* Steps of a thread that begin at `from` or later. */
static int top_derive(struct run *r, const struct run_track *t, int64_t from_ns, struct arena *a,
                      struct step **out, size_t *n, struct err *e)
{
    struct run_event *v;
    size_t n_events;
    TRY(events_read(r, t, (wall_ns){from_ns}, (wall_ns){0}, a, &v, &n_events, e));
    steps_derive(v, n_events, a, out, n);
    return 0;
}

static size_t top_train_steps(const struct step *v, size_t n)
{
    return SUM_OF(i, n, v[i].mode == MODE_TRAIN);
}

/* `first`: the window may begin inside of the first step. */
static void top_take_steps(struct top_source *s, const struct step *v, size_t n, bool first)
{
    for (size_t i = first; i < n; i++) {
        if (v[i].start.ns < s->newest_ns)
            continue;
        const int64_t ns = step_iteration_ns(&v[i]);
        if (v[i].mode == MODE_TRAIN && ns > 0)
            *VEC_ADD(s->iterations, s->n_iterations, s->cap_iterations) =
                (struct top_iteration){v[i].start.ns, ns};
        if (v[i].mode == MODE_TRAIN && ns > 0)
            s->newest_ns = v[i].start.ns + 1; /* it is not taken twice */
    }
    size_t old = 0;
    const int64_t since_ns = s->newest_ns - (TOP_RATES + RATE_S) * NS_PER_S;
    while (old < s->n_iterations && s->iterations[old].start_ns < since_ns)
        old++;
    s->n_iterations -= old;
    if (old)
        memmove(s->iterations, s->iterations + old, s->n_iterations * sizeof *s->iterations);
}

/* The thread with most training steps in the last minutes. */
static int top_choose_track(struct top_source *s, struct run *r, const struct run_track *v,
                            size_t n, int64_t from_ns, struct arena *a, struct err *e)
{
    struct step *best = NULL;
    size_t n_best = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        struct step *steps;
        size_t n_steps;
        if (v[i].detail || v[i].track.kind != TRACK_THREAD || v[i].process->worker >= 0 ||
            v[i].last.ns < from_ns)
            continue;
        const int rc = top_derive(r, &v[i], from_ns, a, &steps, &n_steps, e);
        if (rc)
            return rc;
        const size_t train = top_train_steps(steps, n_steps);
        if (train <= most)
            continue;
        most = train;
        best = steps;
        n_best = n_steps;
        s->track =
            (struct top_track){true, v[i].process->pid, v[i].process->session, v[i].track.id};
    }
    s->n_iterations = 0;
    s->newest_ns = 0;
    top_take_steps(s, best, n_best, true);
    return 0;
}

static int top_follow_track(struct top_source *s, struct run *r, const struct run_track *v,
                            size_t n, struct arena *a, struct err *e)
{
    size_t i = 0, n_steps;
    struct step *steps;
    while (i < n && !top_is_track(&s->track, &v[i]))
        i++;
    if (i == n)
        return 0;
    const struct top_iteration *last = &s->iterations[s->n_iterations - 1];
    TRY(top_derive(r, &v[i], last->start_ns, a, &steps, &n_steps, e));
    top_take_steps(s, steps, n_steps, false);
    return 0;
}

/* The window of a thread without new steps is not read again and again: others may have taken over.
 */
static int top_read_newest(struct top_source *s, struct run *r, struct arena *a, struct err *e)
{
    struct run_track *v;
    size_t n;
    const int64_t end_ns = run_get_info(r)->end.ns;
    TRY(events_tracks(r, a, &v, &n, e));
    if (s->track.chosen && s->n_iterations > 0 && end_ns - s->newest_ns < HISTORY_S * NS_PER_S)
        return top_follow_track(s, r, v, n, a, e);
    return top_choose_track(s, r, v, n, end_ns - HISTORY_S * NS_PER_S, a, e);
}

static void top_fill_rates(const struct top_source *s, struct top_steps *out)
{
    const struct top_iteration *v = s->iterations;
    const size_t n = s->n_iterations;
    out->rate = NAN;
    if (n == 0)
        return;
    const int64_t to_ns = v[n - 1].start_ns + v[n - 1].ns, to_s = to_ns / NS_PER_S,
                  from_ns = MAX_OF(to_ns - RATE_S * NS_PER_S, v[0].start_ns),
                  from_s = MAX_OF(v[0].start_ns / NS_PER_S + 1, to_s - TOP_RATES);
    out->n_rates = to_s > from_s ? (size_t)(to_s - from_s) : 0;
    top_rates(v, n, (struct top_seconds){from_ns, to_ns - from_ns, 1}, &out->rate);
    top_rates(v, n, (struct top_seconds){from_s * NS_PER_S, NS_PER_S, out->n_rates}, out->rates);
}

/* Numbers continue from the last step of the whole run that was read. */
static void top_fill_number(const struct top_source *s, wall_ns now, struct top_steps *out)
{
    int64_t newest_ns = s->whole.last_ns;
    for (size_t i = 0; i < s->n_iterations; i++) {
        const struct top_iteration *x = &s->iterations[i];
        if (out->number >= 0 && x->start_ns > s->whole.last_ns)
            out->number++;
        newest_ns = MAX_OF(newest_ns, x->start_ns + x->ns);
    }
    out->since_s = newest_ns ? ns_to_s(now.ns - newest_ns) : NAN;
}

/* ---- statistics of all steps ---- */

static void top_fill_clock(struct top_steps *out, const struct steps_row *row,
                           enum steps_clock clock, struct arena *a)
{
    struct top_clock *c = &out->clocks[out->n_clocks];
    if (!steps_has_clock(&row->stats, clock))
        return;
    *c = (struct top_clock){
        .label = arena_strdup(a, steps_clock_text(&row->stats, row->rank, clock, a))};
    for (size_t k = 0; k <= step_parts(); k++) {
        const double part_s = steps_iteration_part_s(row, clock, k);
        if (!isnan(part_s) && part_s > 0 && part_s >= row->stats.iteration_mean_s / 1000)
            c->parts[c->n++] =
                (struct top_part){k < step_parts() ? step_part_name(k) : "between steps", part_s};
    }
    out->n_clocks += c->n > 0;
}

static void top_fill_last(struct top_whole *x, const struct rank_steps *rank)
{
    size_t i = rank->n;
    while (i > 0 && (rank->steps[i - 1].mode != MODE_TRAIN || rank->steps[i - 1].cut))
        i--;
    if (i == 0)
        return;
    x->last_ns = rank->steps[i - 1].start.ns;
    x->steps.number = rank->steps[i - 1].number;
}

static void top_fill_stats(struct top_whole *x, const struct mode_steps *m,
                           const struct loss_list *lost)
{
    struct steps_row row = {.rank = m->rank, .stats = m->best};
    row.unseen = steps_unseen(m->rank, MODE_TRAIN, lost->v, lost->n);
    x->steps.ranks = m->ranks;
    x->steps.p50_s = m->best.iteration_p50_s;
    x->steps.p95_s = m->best.iteration_p95_s;
    x->steps.mean_s = m->best.iteration_mean_s;
    x->steps.samples_s = m->steady;
    for (enum steps_clock c = 0; m->best.iterations && c < CLOCKS; c++)
        top_fill_clock(&x->steps, &row, c, &x->arena);
    top_fill_last(x, m->rank);
    if (x->steps.planned > 0 && m->rank->n)
        x->steps.left_s = steps_left_s(rank_step(m->rank, 0).start, (wall_ns){x->last_ns},
                                       m->best.count, x->steps.planned);
}

static int top_fill_steps(struct top_whole *x, struct run *r, const struct run_steps *steps,
                          struct arena *scratch, struct err *e)
{
    struct loss_list lost;
    const char *why = NULL;
    x->steps = (struct top_steps){.number = -1,
                                  .planned = steps_planned(steps),
                                  .left_s = NAN,
                                  .p50_s = NAN,
                                  .p95_s = NAN,
                                  .samples_s = NAN};
    int rc = loss_list_read(&lost, r, scratch, e);
    if (rc)
        return rc;
    const struct mode_steps m = mode_steps_of(steps->ranks, steps->n_ranks, MODE_TRAIN, scratch);
    if (m.ranks > 0) {
        top_fill_stats(x, &m, &lost);
        return 0;
    }
    if (steps->n_ranks == 0)
        rc = steps_why_none(r, &lost, scratch, &why, e);
    if (rc == 0)
        x->steps.none = arena_strdup(&x->arena, why ? steps_none_text(run_get_info(r), why, scratch)
                                                    : "no training steps");
    return rc;
}

/* ---- findings ---- */

/* Without the severity that it begins with. */
static const char *top_size_words(const struct verdict *v, bool has_steps, struct arena *a)
{
    const char *comma = strchr(verdict_size_words(v, has_steps, a), ',');
    return comma ? comma + 2 : "";
}

static void top_add_finding(struct top_whole *x, const struct verdict *v, bool has_steps,
                            struct arena *scratch)
{
    const struct finding **list = arena_array(scratch, const struct finding *, v->n_findings + 1);
    if (v->n_findings == 0)
        return;
    findings_costliest_first(v, list);
    const char *by = verdict_explained_by(v);
    const char *more =
        v->n_findings > 1 ? arena_printf(scratch, " (and %zu more)", v->n_findings - 1) : "";
    x->findings[x->n_findings++] = (struct top_finding){
        .severity = v->severity,
        .title = arena_strdup(&x->arena, v->rule->title),
        .size = top_size_words(v, has_steps, &x->arena),
        .message = arena_printf(&x->arena, "%s%s.", list[0]->message, more),
        .advice = arena_strdup(&x->arena, finding_advice(v, list[0])),
        .explained_by = by ? arena_strdup(&x->arena, rule_title(by)) : NULL,
    };
}

static void top_fill_findings(struct top_whole *x, const struct checked *c, struct arena *scratch)
{
    const struct verdict *sorted[RULE_N];
    x->findings = arena_array(&x->arena, struct top_finding, RULE_N);
    verdicts_in_order(c->verdicts.v, RULE_N, sorted);
    for (size_t i = 0; i < RULE_N; i++) {
        if (!verdict_counts(sorted[i]))
            continue;
        x->passed += sorted[i]->state == RULE_CLEAR && !sorted[i]->rule->ending;
        x->skipped += sorted[i]->state == RULE_NOT_EVALUATED;
        if (sorted[i]->state == RULE_ISSUE)
            top_add_finding(x, sorted[i], c->run.has_steps, scratch);
    }
    x->judged = true;
}

/* Statistics and rules share one reading of the steps, the costliest part of a long run. */
static int top_read_whole(struct top_whole *x, const struct check *check, struct run *r,
                          struct err *e)
{
    struct arena scratch = {0};
    struct checked *c = arena_new(&scratch, struct checked);
    struct run_steps steps;
    arena_free(&x->arena);
    *x = (struct top_whole){.none_words = verdict_none_words(run_get_info(r))};
    int rc = rules_read_steps(r, &scratch, &steps, e);
    if (rc == 0)
        rc = top_fill_steps(x, r, &steps, &scratch, e);
    if (rc == 0)
        rc = rules_check_steps(r, &(struct check_ask){&check->params, &check->pricing, &steps},
                               &scratch, c, e);
    if (rc == 0)
        top_fill_findings(x, c, &scratch);
    arena_free(&scratch);
    malloc_trim(0);
    return rc;
}

/* ---- a view ---- */

static const char *top_copy(struct arena *a, const char *text)
{
    return text ? arena_strdup(a, text) : NULL;
}

static void top_fill_about(const struct run_info *info, struct arena *a, struct top_view *out)
{
    char age[HUMAN_LEN];
    out->name = arena_strdup(a, info->name);
    out->command = runview_command(info, a);
    out->status = info->status;
    out->duration_s = info->status == RUN_RUNNING ? wall_span_s(info->start, clock_wall())
                                                  : runview_duration_s(info);
    if (info->status != RUN_RUNNING)
        out->note =
            arena_printf(a, "This run ended %s; CPU, memory and GPU are means of all of it.",
                         human_age(wall_span_s(info->end, clock_wall()), age, sizeof age));
}

/* Copies, because the next reading may be made while this view is shown. */
static void top_fill_cached(const struct top_source *s, wall_ns now, struct arena *a,
                            struct top_view *out)
{
    const struct top_whole *x = &s->whole;
    out->steps = s->whole.steps;
    out->steps.none = s->n_iterations ? NULL : top_copy(a, s->whole.steps.none);
    for (size_t i = 0; i < out->steps.n_clocks; i++)
        out->steps.clocks[i].label = top_copy(a, out->steps.clocks[i].label);
    top_fill_number(s, now, &out->steps);
    top_fill_rates(s, &out->steps);
    out->judged = x->judged;
    out->none_words = x->none_words;
    out->passed = x->passed;
    out->skipped = x->skipped;
    out->findings = arena_array(a, struct top_finding, x->n_findings + 1);
    out->n_findings = x->n_findings;
    for (size_t i = 0; i < x->n_findings; i++)
        out->findings[i] = (struct top_finding){
            .severity = x->findings[i].severity,
            .title = top_copy(a, x->findings[i].title),
            .size = top_copy(a, x->findings[i].size),
            .message = top_copy(a, x->findings[i].message),
            .advice = top_copy(a, x->findings[i].advice),
            .explained_by = top_copy(a, x->findings[i].explained_by),
        };
}

/* Events, and what is about the whole run; of a run that has ended once more and then never again.
 */
static int top_read_paced(struct top_source *s, struct run *r, const struct top_want *w,
                          struct err *e)
{
    struct arena scratch = {0};
    const bool ends = run_get_info(r)->status != RUN_RUNNING, last = ends && !s->ended;
    const mono_ns begin = clock_mono();
    const int64_t cpu_ns = top_cpu_ns();
    int rc = 0;
    if (last || (!ends && begin.ns >= s->newest_next.ns)) {
        rc = top_read_newest(s, r, &scratch, e);
        s->newest_next = top_pace(begin, top_cpu_ns() - cpu_ns, w->interval_ns, NEWEST_TIMES);
    }
    const int64_t whole_cpu_ns = top_cpu_ns();
    const bool first = s->whole.steps.none && s->n_iterations > 0;
    if (rc == 0 && (last || first || (!ends && begin.ns >= s->whole_next.ns))) {
        rc = top_read_whole(&s->whole, s->check, r, e);
        s->whole_next = top_pace(begin, top_cpu_ns() - whole_cpu_ns, WHOLE_LEAST_NS, WHOLE_TIMES);
    }
    arena_free(&scratch);
    s->ended = ends && rc == 0;
    s->paced_ns = top_cpu_ns() - cpu_ns;
    return rc;
}

static int top_read_run(struct top_source *s, struct run *r, const struct top_want *w,
                        struct arena *a, struct top_view *out, struct err *e)
{
    top_fill_about(run_get_info(r), a, out);
    TRY(top_read_node(r, w, a, &out->node, e));
    TRY(top_read_paced(s, r, w, e));
    top_fill_cached(s, out->status == RUN_RUNNING ? clock_wall() : run_get_info(r)->end, a, out);
    return 0;
}

int top_source_read(struct top_source *s, const struct top_want *w, struct arena *a,
                    struct top_view *out, struct err *e)
{
    struct run *r = NULL;
    const mono_ns begin = clock_mono();
    const int64_t cpu_ns = top_cpu_ns();
    if (!s->path || strcmp(s->path, w->path) != 0) {
        top_source_clear(s);
        s->path = xstrdup(w->path);
    }
    const int64_t least_ns = s->ended ? MAX_OF(w->interval_ns, ENDED_LEAST_NS) : w->interval_ns;
    s->paced_ns = 0;
    *out = (struct top_view){0};
    int rc = run_open(&r, w->path, e);
    if (rc == 0)
        rc = top_read_run(s, r, w, a, out, e);
    run_close(r);
    s->next = top_pace(begin, top_cpu_ns() - cpu_ns - s->paced_ns, least_ns, READING_TIMES);
    return rc;
}
