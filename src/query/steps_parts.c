/* SPDX-License-Identifier: Apache-2.0 */
/* steps_parts.c - what the time of a step was spent on, and how many samples it took in. */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "query/steps_own.h"

static const char other_name[] = "other";

static bool is_first_of_part(enum event_id id)
{
    if (!*event_words[id].part)
        return false;
    for (enum event_id k = 0; k < id; k++)
        if (strcmp(event_words[k].part, event_words[id].part) == 0)
            return false;
    return true;
}

size_t step_parts(void)
{
    size_t n = 1;
    for (enum event_id id = 0; id < EV_N; id++)
        n += is_first_of_part(id);
    assert(n <= STEP_PARTS_MOST);
    return n;
}

const char *step_part_name(size_t part)
{
    size_t n = 0;
    for (enum event_id id = 0; id < EV_N; id++)
        if (is_first_of_part(id) && n++ == part)
            return event_words[id].part;
    return other_name;
}

uint8_t step_part_of(enum event_id id)
{
    uint8_t n = 0;
    if (!*event_words[id].part)
        return NO_PART;
    for (enum event_id k = 0; k < EV_N; k++) {
        if (!is_first_of_part(k))
            continue;
        if (strcmp(event_words[k].part, event_words[id].part) == 0)
            return n;
        n++;
    }
    return NO_PART;
}

/* Where the sweep over all spans stands. */
struct sweep {
    struct step *v;
    size_t n, at; /* the first step that does not lie wholly behind us */
    int64_t covered, covered_inside;
    uint8_t outer; /* the part that covers */
    uint8_t optimizer, forward, backward;
};

/* from..to counts for the part, `sign` times, in each step that it touches. */
static void count(struct sweep *w, int64_t from, int64_t to, uint8_t part, int sign)
{
    while (w->at < w->n && step_end(&w->v[w->at]) <= from)
        w->at++;
    for (size_t i = w->at; i < w->n && w->v[i].start.ns < to; i++) {
        const int64_t a = MAX_OF(from, w->v[i].start.ns), b = MIN_OF(to, step_end(&w->v[i]));
        if (b > a)
            w->v[i].part_ns[part] += sign * (b - a);
    }
}

/* An optimizer may be handed the forward and backward pass as a closure to run: they are what they
 * are nevertheless, and only the rest is the optimizer's. */
static void count_inside(struct sweep *w, const struct point *p)
{
    if (w->outer != w->optimizer || (p->part != w->forward && p->part != w->backward))
        return;
    const int64_t from = MAX_OF(p->at, w->covered_inside), to = MIN_OF(p->end, w->covered);
    if (from >= to)
        return;
    count(w, from, to, p->part, 1);
    count(w, from, to, w->outer, -1);
    w->covered_inside = to;
}

static void count_span(struct sweep *w, const struct point *p)
{
    if (p->at < w->covered)
        count_inside(w, p);
    if (p->end <= w->covered)
        return;
    const int64_t from = MAX_OF(p->at, w->covered);
    count(w, from, p->end, p->part, 1);
    w->covered = p->end;
    w->covered_inside = from;
    w->outer = p->part;
}

static void fill_parts(const struct points *p, struct step *v, size_t n)
{
    struct sweep w = {
        .v = v,
        .n = n,
        .covered = INT64_MIN,
        .outer = NO_PART,
        .optimizer = step_part_of(EV_OPTIMIZER),
        .forward = step_part_of(EV_FORWARD),
        .backward = step_part_of(EV_BACKWARD),
    };
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].part != NO_PART)
            count_span(&w, &p->v[i]);
}

static void fill_batches(const struct points *p, struct step *v, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        v[i].batch = -1;
    for (size_t i = 0; i < p->n; i++) {
        const struct point *x = &p->v[i];
        if (x->what != EV_BATCH_SIZE || x->value < 0)
            continue;
        while (at < n && step_end(&v[at]) < x->at)
            at++;
        if (at < n && v[at].start.ns <= x->at)
            v[at].batch = MAX_OF(v[at].batch, 0) + x->value;
    }
}

void steps_fill(const struct points *p, struct step *v, size_t n)
{
    const size_t other = step_parts() - 1;
    fill_parts(p, v, n);
    for (size_t i = 0; i < n; i++) {
        v[i].part_ns[other] = v[i].dur_ns;
        for (size_t k = 0; k < other; k++)
            v[i].part_ns[other] -= v[i].part_ns[k];
    }
    fill_batches(p, v, n);
}
