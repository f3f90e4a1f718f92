/* SPDX-License-Identifier: Apache-2.0 */
/* steps_stats.c - how long steps and iterations take, on which clock, and how many samples the loop
 * processes. docs/steps.md has the definitions. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "base/vec.h"
#include "query/steps.h"
#include "query/steps_internal.h"

/* ---- iterations of a loop that runs ahead of the GPU ---- */

static double step_async_mean_of(const int64_t *ns, size_t n)
{
    double sum = 0;
    size_t counted = 0;
    for (size_t i = 0; i < n; i++)
        if (ns[i] >= 0) {
            sum += (double)ns[i];
            counted++;
        }
    return counted ? sum / (double)counted : 0;
}

static size_t short_until(const int64_t *ns, size_t n, size_t i, double mean)
{
    while (i < n && ns[i] >= 0 && (double)ns[i] < mean / 2)
        i++;
    return i;
}

/* [from, to) become one group. */
static void even_out(const int64_t *ns, size_t from, size_t to, int64_t *out)
{
    int64_t sum = 0;
    for (size_t i = from; i < to; i++)
        sum += ns[i];
    for (size_t i = from; i < to; i++)
        out[i] = sum / (int64_t)(to - from);
}

void iteration_groups(const int64_t *ns, size_t n, int64_t *out)
{
    const double mean = step_async_mean_of(ns, n);
    for (size_t i = 0; i < n;) {
        const size_t at = short_until(ns, n, i, mean);
        const bool is_long = at < n && (double)ns[at] > mean;
        const size_t to = is_long ? short_until(ns, n, at + 1, mean) : MIN_OF(at + 1, n);
        if (is_long)
            even_out(ns, i, to, out);
        else
            for (size_t k = i; k < to; k++)
                out[k] = ns[k];
        i = to;
    }
}

/* ---- all steps of a rank ---- */

static int64_t step_async_iteration_of(const struct step *s)
{
    const int64_t ns = step_iteration_ns(s);
    return !step_is_steady(s) ? -1 : ns < 0 ? s->dur_ns : ns;
}

size_t pace_window_end(size_t from, size_t n)
{
    assert(from % PACE_STEPS == 0 && from <= n);
    return n - from < 2 * PACE_STEPS ? n : from + PACE_STEPS;
}

void step_pace_see(struct step_pace *p, const struct step *v, size_t n)
{
    VEC_ROOM(p->ns, p->cap, p->n + n);
    VEC_ROOM(p->mode, p->cap_mode, p->n + n);
    for (size_t i = 0; i < n; i++, p->n++) {
        p->ns[p->n] = step_async_iteration_of(&v[i]);
        p->mode[p->n] = (unsigned char)v[i].mode;
    }
}

void step_pace_done(struct step_pace *p)
{
    int64_t *ns = xcalloc(p->n + 1, sizeof *ns);
    for (enum event_mode m = 0; m < MODE_N; m++) {
        for (size_t i = 0; i < p->n; i++)
            ns[i] = p->mode[i] == m ? p->ns[i] : -1;
        iteration_groups(ns, p->n, ns);
        for (size_t i = 0; i < p->n; i++)
            if (ns[i] >= 0)
                p->ns[i] = ns[i];
    }
    free(ns);
}

void step_pace_give(const struct step_pace *p, size_t from, struct step *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i].paced_ns = MAX_OF(p->ns[from + i], 0);
}

void step_pace_free(struct step_pace *p)
{
    free(p->ns);
    free(p->mode);
    *p = (struct step_pace){0};
}

/* ---- parts that were not recorded ---- */

/* "keras data" is about the part "data". */
bool steps_part_lost(const struct run_loss *lost, size_t n_lost, size_t part)
{
    const char *name = step_part_name(part);
    for (size_t i = 0; i < n_lost; i++) {
        const struct loss *l = &lost[i].loss;
        if (l->id == LOSS_HOOK && *l->entity && strcmp(l->part, name) == 0)
            return true;
    }
    return false;
}

static bool are_marked(const struct rank_steps *rank, enum event_mode mode)
{
    return !FIND_ANY(i, rank->n, rank->steps[i].mode == mode && !rank->steps[i].marked);
}

/* What every step of a mode has. A step that the hooks derived from its parts shows all there are;
 * one that was marked as a whole may have parts that were not recorded. */
static bool iteration_belongs(enum event_mode mode, const char *part)
{
    static const struct {
        const char *part;
        bool train_only;
    } rows[] = {{"data", false}, {"forward", false}, {"backward", true}, {"optimizer", true}};
    const size_t at = FIND_FIRST(i, COUNT_OF(rows), strcmp(part, rows[i].part) == 0);
    return at < COUNT_OF(rows) && (!rows[at].train_only || mode == MODE_TRAIN);
}

unsigned steps_unseen(const struct rank_steps *rank, enum event_mode mode,
                      const struct run_loss *lost, size_t n_lost)
{
    const bool marked = are_marked(rank, mode);
    unsigned unseen = 0;
    double took_s[STEP_PARTS_MOST];
    steps_parts_s(rank, mode, took_s);
    for (size_t k = 0; k < step_parts(); k++)
        if (took_s[k] == 0 && (steps_part_lost(lost, n_lost, k) ||
                               (marked && iteration_belongs(mode, step_part_name(k)))))
            unseen |= 1u << k;
    return unseen;
}

/* ---- statistics ---- */

enum { OUTLIER_SIGMAS = 3 };

static bool steps_stats_counts(const struct step *s, enum event_mode mode)
{
    return s->mode == mode && !s->cut;
}

/* ---- iterations ---- */

/* The steps that statistics of iterations are about (step_choice_of). */
struct chosen {
    const struct step **v;
    size_t n;
};

static int64_t iteration_or_step_ns(const struct step *s)
{
    return MAX_OF(step_iteration_ns(s), s->dur_ns);
}

static bool steps_stats_fits(const struct step *s, enum step_choice choice)
{
    switch (choice) {
    case STEPS_STEADY:
        return step_is_steady(s) && s->between_ns >= 0;
    case STEPS_SLOWED_TOO:
        return !s->warmup && s->between_ns >= 0;
    case STEPS_WHOLE:
        return s->between_ns >= 0;
    default:
        return true;
    }
}

bool step_is_chosen(const struct step *s, enum event_mode mode, enum step_choice choice)
{
    return steps_stats_counts(s, mode) && steps_stats_fits(s, choice);
}

enum step_choice step_choice_of(const struct rank_steps *s, enum event_mode mode)
{
    for (enum step_choice choice = STEPS_STEADY; choice < STEPS_ALL; choice++)
        for (size_t i = 0; i < s->n; i++)
            if (step_is_chosen(&s->steps[i], mode, choice))
                return choice;
    return STEPS_ALL;
}

static struct chosen steps_stats_choose(const struct rank_steps *s, enum event_mode mode)
{
    struct chosen c = {xcalloc(s->n + 1, sizeof *c.v), 0};
    const enum step_choice choice = step_choice_of(s, mode);
    for (size_t i = 0; i < s->n; i++)
        if (step_is_chosen(&s->steps[i], mode, choice))
            c.v[c.n++] = &s->steps[i];
    return c;
}

static void sum_up_iterations(const struct chosen *c, struct step_stats *out)
{
    double *v = xcalloc(c->n + 1, sizeof *v);
    for (size_t i = 0; i < c->n; i++)
        v[i] = ns_to_s(iteration_or_step_ns(c->v[i]));
    out->iterations = c->n;
    if (c->n) {
        stat_sort(v, c->n);
        out->iteration_p50_s = stat_quantile(v, c->n, 0.50);
        out->iteration_p95_s = stat_quantile(v, c->n, 0.95);
        out->iteration_p99_s = stat_quantile(v, c->n, 0.99);
        out->iteration_max_s = v[c->n - 1];
        stat_spread(v, c->n, &out->iteration_mean_s, &out->iteration_stddev_s);
    }
    free(v);
}

static void steps_stats_share_out(const struct chosen *c, struct step_stats *out)
{
    const uint8_t sync = step_part_of(EV_SYNC);
    int64_t part_ns[STEP_PARTS_MOST] = {0}, between_ns = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct step *x = c->v[i];
        for (size_t k = 0; k < STEP_PARTS_MOST; k++)
            part_ns[k] += x->part_ns[k];
        part_ns[sync] += x->between_sync_ns;
        between_ns += MAX_OF(x->between_ns, 0) - x->between_sync_ns;
    }
    for (size_t k = 0; c->n && k < STEP_PARTS_MOST; k++)
        out->host_part_s[k] = ns_to_s(part_ns[k]) / (double)c->n;
    out->between_s = c->n ? ns_to_s(between_ns) / (double)c->n : NAN;
}

/* ---- GPU times ---- */

/* Passes without gradients are an evaluation's, unless nothing is evaluated: then a teacher's. */
static bool is_of_mode(enum event_id id, enum event_mode mode, bool evaluates)
{
    return id == EV_FORWARD_EVAL && evaluates ? mode != MODE_TRAIN : mode == MODE_TRAIN;
}

/* Steps of the mode after the warm-up: what the phases on the host are counted in. */
static size_t steady_steps(const struct rank_steps *s, enum event_mode mode, bool *evaluates)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        n += steps_stats_counts(&s->steps[i], mode) && step_is_steady(&s->steps[i]);
        *evaluates |= s->steps[i].mode != MODE_TRAIN;
    }
    return n;
}

/* Only some steps are timed, each with all its phases. So a phase takes in a step what a span of it
 * takes on average, times the spans of it that a step has on the host. */
static void time_phases(const struct rank_steps *s, struct step_stats *out)
{
    bool evaluates = false;
    const size_t steps = steady_steps(s, out->mode, &evaluates);
    double timed = 0;
    for (size_t k = 0; k < STEP_PARTS_MOST; k++)
        out->gpu_part_s[k] = NAN;
    for (enum event_id id = 0; id < EV_N && steps; id++) {
        const uint8_t part = step_part_of(id);
        if (part == NO_PART || s->gpu.n[id] == 0 || s->gpu.host_n[id] == 0 ||
            !is_of_mode(id, out->mode, evaluates))
            continue;
        const double a_step = (double)s->gpu.host_n[id] / (double)steps;
        const double mean_s = ns_to_s(s->gpu.sum_ns[id]) / (double)s->gpu.n[id];
        out->gpu_part_s[part] =
            (isnan(out->gpu_part_s[part]) ? 0 : out->gpu_part_s[part]) + mean_s * a_step;
        timed = fmax(timed, (double)s->gpu.n[id] / a_step);
    }
    out->gpu_timed_steps = MIN_OF((size_t)(timed + 0.5), steps);
}

/* ---- throughput ---- */

/* Whether fetches are seen: then a step without one had its batch fetched by the step before, as by
 * a loader that looks ahead. */
static bool sees_fetches(const struct rank_steps *s, enum event_mode mode)
{
    const uint8_t data = step_part_of(EV_DATA);
    return FIND_ANY(i, s->n,
                    steps_stats_counts(&s->steps[i], mode) && s->steps[i].part_ns[data] > 0);
}

struct rate {
    double samples, time_s;
    bool known;
};

static void rate_add(struct rate *r, const struct step *s, bool fetched_before, int64_t without_ns)
{
    if (s->batch < 0 && !fetched_before)
        return;
    r->known |= s->batch >= 0;
    r->samples += (double)MAX_OF(s->batch, 0);
    r->time_s += ns_to_s(iteration_or_step_ns(s) - without_ns);
}

static double rate_of(const struct rate *r)
{
    return r->known && r->time_s > 0 ? r->samples / r->time_s : NAN;
}

/* Time of an iteration that is not training: a checkpoint in the step; and the time after a step in
 * which one was saved, but for the waits for the GPU. Those are for work of the steps: the ones
 * that follow seem short, since they are only launched while the GPU has nothing to catch up with.
 */
static int64_t saving_ns(const struct step *s, uint8_t checkpoint)
{
    const int64_t in_step = s->part_ns[checkpoint];
    return in_step + (s->save_ns > in_step ? s->between_ns - s->between_sync_ns : 0);
}

/* Evaluation is not an iteration of training. */
static double steady_rate(const struct rank_steps *s, const struct chosen *c, enum event_mode mode)
{
    const bool fetches = sees_fetches(s, mode);
    const uint8_t data = step_part_of(EV_DATA), checkpoint = step_part_of(EV_CHECKPOINT);
    struct rate r = {0};
    for (size_t i = 0; i < c->n; i++)
        rate_add(&r, c->v[i], fetches && c->v[i]->part_ns[data] == 0,
                 saving_ns(c->v[i], checkpoint));
    return rate_of(&r);
}

/* From the first begin of training to the end of the last step of any mode, so that evaluation is
 * in it. Evaluation itself is interrupted: there, the time of its iterations. */
static double overall_rate(const struct rank_steps *s, enum event_mode mode)
{
    const struct step *first = NULL, *last = NULL;
    struct rate r = {0};
    for (size_t i = 0; i < s->n; i++) {
        const struct step *x = &s->steps[i];
        if (steps_stats_counts(x, mode)) {
            first = first ? first : x;
            rate_add(&r, x, true, 0);
        }
        last = x->cut ? last : x;
    }
    if (first && mode == MODE_TRAIN)
        r.time_s = ns_to_s(step_end(last) - first->start.ns);
    return rate_of(&r);
}

/* ---- steps ---- */

/* Near a GPU a long iteration among short ones is not an outlier: see iteration_groups. */
static void find_outliers(const struct rank_steps *s, const struct chosen *c, struct arena *a,
                          struct step_stats *out)
{
    const double most = out->iteration_mean_s + OUTLIER_SIGMAS * out->iteration_stddev_s;
    int64_t *ns = xcalloc(c->n + 1, sizeof *ns);
    for (size_t i = 0; i < c->n; i++)
        ns[i] = iteration_or_step_ns(c->v[i]);
    if (s->near_gpu)
        iteration_groups(ns, c->n, ns);
    out->outliers = arena_array(a, int64_t, c->n + 1);
    for (size_t i = 0; i < c->n; i++)
        if (ns_to_s(ns[i]) > most)
            out->outliers[out->n_outliers++] = c->v[i]->number;
    free(ns);
}

static void sum_up_steps(const struct rank_steps *s, struct step_stats *out)
{
    double *v = xcalloc(s->n + 1, sizeof *v);
    for (size_t i = 0; i < s->n; i++) {
        if (!steps_stats_counts(&s->steps[i], out->mode))
            continue;
        v[out->count++] = ns_to_s(s->steps[i].dur_ns);
        out->warmup += s->steps[i].warmup;
        out->disturbed += s->steps[i].disturbed && !s->steps[i].warmup;
    }
    const size_t n = out->count;
    if (n) {
        stat_sort(v, n);
        out->min_s = v[0];
        out->p50_s = stat_quantile(v, n, 0.50);
        out->p95_s = stat_quantile(v, n, 0.95);
        out->p99_s = stat_quantile(v, n, 0.99);
        out->max_s = v[n - 1];
        stat_spread(v, n, &out->mean_s, &out->stddev_s);
    }
    free(v);
}

void step_stats_of(const struct rank_steps *s, enum event_mode mode, struct arena *a,
                   struct step_stats *out)
{
    struct chosen c = steps_stats_choose(s, mode);
    *out = (struct step_stats){
        .mode = mode,
        .mean_s = NAN,
        .min_s = NAN,
        .p50_s = NAN,
        .p95_s = NAN,
        .p99_s = NAN,
        .max_s = NAN,
        .stddev_s = NAN,
        .iteration_mean_s = NAN,
        .iteration_p50_s = NAN,
        .iteration_p95_s = NAN,
        .iteration_p99_s = NAN,
        .iteration_max_s = NAN,
        .iteration_stddev_s = NAN,
        .throughput_steady = steady_rate(s, &c, mode),
        .throughput_overall = overall_rate(s, mode),
    };
    sum_up_steps(s, out);
    sum_up_iterations(&c, out);
    steps_stats_share_out(&c, out);
    time_phases(s, out);
    find_outliers(s, &c, a, out);
    free(c.v);
}

/* All parts in one pass: the steps of a long run are more than fits a cache. */
void steps_parts_s(const struct rank_steps *s, enum event_mode mode, double out[STEP_PARTS_MOST])
{
    int64_t ns[STEP_PARTS_MOST] = {0};
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; s->steps[i].mode == mode && !s->steps[i].cut && k < STEP_PARTS_MOST; k++)
            ns[k] += s->steps[i].part_ns[k];
    for (size_t k = 0; k < STEP_PARTS_MOST; k++)
        out[k] = (double)ns[k] / (double)NS_PER_S;
}
