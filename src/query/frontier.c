/* SPDX-License-Identifier: Apache-2.0 */
/* frontier.c - see frontier.h. */
#include "query/frontier.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

enum { STEPS_LEAST = 20 };

/* Of a step that a rank must be above the others to lead it; of all steps that one rank and part
 * must lead; how near another must not come. */
static const double LEADS = 0.02, LED_LEAST = 0.6, NEAR = 0.8;
/* Of two equal ranks one leads half of the steps, give or take 0.5 / sqrt(steps); by chance alone
 * none leads this many times that more. */
static const double CHANCE = 3;
/* Of what a rank is late that the others must wait: else they do not wait for it. */
static const double WAITED = 0.5;

/* ---- seeing ---- */

static uint32_t frontier_us(int64_t ns)
{
    return (uint32_t)MIN_OF(MAX_OF(ns, 0) / 1000, (int64_t)UINT32_MAX);
}

/* Whether the ranks wait for each other in this part: work and waiting. */
static bool waits_in(size_t part, bool in_comm)
{
    return (part == step_part_of(EV_BACKWARD) && !in_comm) || part == step_part_of(EV_COMM) ||
           part == step_part_of(EV_SYNC);
}

static void frontier_thin(struct frontier_rank *r)
{
    uint32_t n = 0;
    r->stride *= 2;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->v[i].number % r->stride == 0)
            r->v[n++] = r->v[i];
    r->n = n;
}

static void frontier_keep(struct frontier_rank *r, const struct step *s)
{
    struct frontier_step x = {.number = s->number};
    if (r->n == FRONTIER_STEPS)
        frontier_thin(r);
    if (s->number % r->stride)
        return; /* the most of a long run */
    const size_t parts = step_parts(), optimizer = step_part_of(EV_OPTIMIZER);
    for (size_t k = 0; k < parts; k++)
        x.part_us[k] = k == optimizer ? r->optimizer_us : frontier_us(s->part_ns[k]);
    x.part_us[parts] = r->between_us;
    *VEC_ADD(r->v, r->n, r->cap) = x;
}

void frontier_see(struct frontier_rank *r, const struct step *v, size_t n)
{
    const size_t optimizer = step_part_of(EV_OPTIMIZER);
    r->stride = MAX_OF(r->stride, 1);
    for (size_t i = 0; i < n; i++) {
        const struct step *s = &v[i];
        const bool follows = r->last && s->number == r->last;
        if (s->mode == MODE_TRAIN && step_is_steady(s) && follows && !s->save_ns)
            frontier_keep(r, s);
        r->optimizer_us = frontier_us(s->part_ns[optimizer]);
        r->between_us = frontier_us(s->between_ns);
        r->last = s->mode == MODE_TRAIN && s->between_ns >= 0 && !s->save_ns ? s->number + 1 : 0;
    }
}

const char *frontier_stage_name(size_t stage)
{
    return stage < step_parts() ? step_part_name(stage) : "between steps";
}

/* ---- all ranks ---- */

/* What is summed up of each rank over the steps. */
struct frontier_sum {
    size_t at;          /* the step being read */
    uint64_t own, wait; /* of this step */
    double excess;      /* where it led */
    double part[FRONTIER_STAGES], usual[FRONTIER_STAGES], waited;
    size_t led, led_by[FRONTIER_STAGES];
};

struct frontier_look {
    const struct frontier_rank *const *ranks;
    struct frontier_sum *sums;
    uint32_t *values; /* room for one of each rank */
    size_t n, stages;
    bool in_comm;
    double all_us;
};

COMPARE_NUMBERS(frontier_by_value, uint32_t)

static const struct frontier_step *step_at(const struct frontier_look *l, size_t rank)
{
    return &l->ranks[rank]->v[l->sums[rank].at];
}

/* Moves all ranks to the next step that all have; false: there is none. */
static bool frontier_align(const struct frontier_look *l)
{
    int64_t number = INT64_MIN;
    for (size_t i = 0; i < l->n;) {
        const struct frontier_rank *r = l->ranks[i];
        size_t *at = &l->sums[i].at;
        while (*at < r->n && r->v[*at].number < number)
            ++*at;
        if (*at >= r->n)
            return false;
        const bool later = r->v[*at].number > number;
        number = r->v[*at].number;
        i = later && i > 0 ? 0 : i + 1;
    }
    return true;
}

static double others_median(const struct frontier_look *l, size_t rank,
                            uint32_t (*value)(const struct frontier_look *l, size_t rank, size_t k),
                            size_t k)
{
    size_t m = 0;
    for (size_t i = 0; i < l->n; i++)
        if (i != rank)
            l->values[m++] = value(l, i, k);
    SORT(l->values, m, frontier_by_value);
    return ((double)l->values[m / 2] + (double)l->values[(m - 1) / 2]) / 2;
}

/* Of the other ranks, the longest own time: that is left when this one is fixed. */
static double others_longest(const struct frontier_look *l, size_t rank)
{
    uint64_t most = 0;
    for (size_t i = 0; i < l->n; i++)
        most = i == rank ? most : MAX_OF(most, l->sums[i].own);
    return (double)most;
}

static uint32_t part_value(const struct frontier_look *l, size_t rank, size_t k)
{
    return step_at(l, rank)->part_us[k];
}

static uint32_t wait_value(const struct frontier_look *l, size_t rank, size_t k)
{
    (void)k;
    return (uint32_t)MIN_OF(l->sums[rank].wait, (uint64_t)UINT32_MAX);
}

static size_t frontier_leader(const struct frontier_look *l)
{
    size_t most = 0;
    for (size_t i = 0; i < l->n; i++) {
        l->sums[i].own = l->sums[i].wait = 0;
        for (size_t k = 0; k < l->stages; k++)
            *(waits_in(k, l->in_comm) ? &l->sums[i].wait : &l->sums[i].own) +=
                step_at(l, i)->part_us[k];
        most = l->sums[i].own > l->sums[most].own ? i : most;
    }
    return most;
}

static void frontier_add_step(struct frontier_look *l)
{
    const size_t lead = frontier_leader(l);
    struct frontier_sum *s = &l->sums[lead];
    const double excess = (double)s->own - others_longest(l, lead), wait = (double)s->wait,
                 waited = others_median(l, lead, wait_value, 0) - wait;
    double most = -1;
    size_t stage = 0;
    l->all_us += (double)s->own + wait;
    for (size_t k = 0; k < l->stages; k++) {
        if (waits_in(k, l->in_comm))
            continue;
        const double own = step_at(l, lead)->part_us[k],
                     usual = others_median(l, lead, part_value, k);
        s->part[k] += own;
        s->usual[k] += usual;
        if (own - usual > most) {
            most = own - usual;
            stage = k;
        }
    }
    s->led++;
    s->excess += excess;
    s->waited += waited;
    s->led_by[stage] += excess > LEADS * ((double)s->own + wait) && waited >= WAITED * excess;
}

static double stage_excess(const struct frontier_sum *s, size_t k)
{
    return s->part[k] - s->usual[k];
}

static size_t worst_stage(const struct frontier_sum *s, size_t stages, size_t except)
{
    size_t most = except ? 0 : 1;
    for (size_t k = 0; k < stages; k++)
        if (k != except && stage_excess(s, k) > stage_excess(s, most))
            most = k;
    return most;
}

/* The rank with the most lateness in total; `except`: of the others. */
static size_t worst_rank(const struct frontier_look *l, size_t except)
{
    size_t most = except ? 0 : 1;
    for (size_t i = 0; i < l->n; i++)
        if (i != except && l->sums[i].excess > l->sums[most].excess)
            most = i;
    return most;
}

static void frontier_conclude(const struct frontier_look *l, struct frontier *out)
{
    const double n = (double)out->steps;
    out->rank = worst_rank(l, l->n);
    const struct frontier_sum *s = &l->sums[out->rank];
    out->stage = worst_stage(s, l->stages, l->stages);
    const size_t second = worst_stage(s, l->stages, out->stage);
    const size_t other = worst_rank(l, out->rank);
    const double led = (double)MAX_OF(s->led, (size_t)1);
    out->iteration_s = l->all_us / n / 1e6;
    out->excess_s = s->excess / n / 1e6;
    out->waited_s = s->waited / n / 1e6;
    out->stage_s = s->part[out->stage] / led / 1e6;
    out->usual_s = s->usual[out->stage] / led / 1e6;
    out->led = (double)s->led_by[out->stage] / n;
    const bool late = out->excess_s > LEADS * out->iteration_s && s->waited >= WAITED * s->excess;
    const double least = fmax(LED_LEAST, 0.5 + CHANCE * 0.5 / sqrt(n));
    const bool clear = out->led >= least && l->sums[other].excess <= NEAR * s->excess &&
                       stage_excess(s, second) <= NEAR * stage_excess(s, out->stage);
    out->trust = !late ? FRONTIER_NONE : clear ? FRONTIER_SURE : FRONTIER_AMBIGUOUS;
}

/* False: too few steps that all have. */
static bool frontier_try(const struct frontier_rank *const *ranks, size_t n, bool in_comm,
                         struct arena *a, struct frontier *out)
{
    struct frontier_look l = {.ranks = ranks,
                              .sums = arena_array(a, struct frontier_sum, n),
                              .values = arena_array(a, uint32_t, n),
                              .n = n,
                              .stages = step_parts() + 1,
                              .in_comm = in_comm};
    *out = (struct frontier){.in_comm = in_comm};
    while (frontier_align(&l)) {
        frontier_add_step(&l);
        out->steps++;
        l.sums[0].at++;
    }
    if (out->steps < STEPS_LEAST)
        return false;
    frontier_conclude(&l, out);
    return true;
}

/* Whether collectives were recorded on all ranks, in most of their steps. */
static bool frontier_has_comm(const struct frontier_rank *const *ranks, size_t n)
{
    const size_t comm = step_part_of(EV_COMM);
    for (size_t i = 0; i < n; i++) {
        const size_t with = SUM_OF(k, ranks[i]->n, ranks[i]->v[k].part_us[comm] > 0);
        if ((double)with < LED_LEAST * ranks[i]->n)
            return false;
    }
    return true;
}

bool frontier_of(const struct frontier_rank *const *ranks, size_t n, struct arena *a,
                 struct frontier *out)
{
    struct frontier other;
    *out = (struct frontier){0};
    if (n < 2 || !frontier_try(ranks, n, false, a, out))
        return false;
    if (frontier_has_comm(ranks, n) && frontier_try(ranks, n, true, a, &other) &&
        (other.trust > out->trust || (other.trust == out->trust && other.excess_s > out->excess_s)))
        *out = other;
    return true;
}
