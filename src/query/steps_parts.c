/* SPDX-License-Identifier: Apache-2.0 */
/* steps_parts.c - what the time of a step was spent on, and how many samples it took in. */
#include <assert.h>
#include <stdlib.h>
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

/* ---- the sweep over all spans ---- */

void steps_fill_open(struct steps_fill *w, const struct points *p)
{
    *w = (struct steps_fill){
        .points = p,
        .covered = INT64_MIN,
        .outer = NO_PART,
        .optimizer = step_part_of(EV_OPTIMIZER),
        .forward = step_part_of(EV_FORWARD),
        .backward = step_part_of(EV_BACKWARD),
    };
}

void steps_fill_close(struct steps_fill *w)
{
    free(w->over);
}

static void keep_over(struct steps_fill *w, const struct step_cover *c)
{
    if (w->n_over == w->cap_over) {
        w->cap_over = w->cap_over ? 2 * w->cap_over : 8;
        w->over = xrealloc(w->over, w->cap_over, sizeof *w->over);
    }
    w->over[w->n_over++] = *c;
}

/* What is covered counts for the part, `sign` times, in each step that it touches. */
static void count(struct steps_fill *w, const struct step_cover *c)
{
    while (w->at < w->n && step_end(&w->v[w->at]) <= c->from)
        w->at++;
    for (size_t i = w->at; i < w->n && w->v[i].start.ns < c->to; i++) {
        const int64_t a = MAX_OF(c->from, w->v[i].start.ns), b = MIN_OF(c->to, step_end(&w->v[i]));
        if (b > a)
            w->v[i].part_ns[c->part] += c->sign * (b - a);
    }
    if (c->to > w->end)
        keep_over(w, c);
}

/* An optimizer may be handed the forward and backward pass as a closure to run: they are what they
 * are nevertheless, and only the rest is the optimizer's. */
static void count_inside(struct steps_fill *w, const struct point *p)
{
    if (w->outer != w->optimizer || (p->part != w->forward && p->part != w->backward))
        return;
    const int64_t from = MAX_OF(p->at, w->covered_inside), to = MIN_OF(p->end, w->covered);
    if (from >= to)
        return;
    count(w, &(struct step_cover){from, to, p->part, 1});
    count(w, &(struct step_cover){from, to, w->outer, -1});
    w->covered_inside = to;
}

static void count_span(struct steps_fill *w, const struct point *p)
{
    if (p->at < w->covered)
        count_inside(w, p);
    if (p->end <= w->covered)
        return;
    const int64_t from = MAX_OF(p->at, w->covered);
    count(w, &(struct step_cover){from, p->end, p->part, 1});
    w->covered = p->end;
    w->covered_inside = from;
    w->outer = p->part;
}

/* Of spans of steps before. */
static void count_over(struct steps_fill *w)
{
    struct step_cover *over = w->over;
    const size_t n = w->n_over;
    w->over = NULL;
    w->n_over = w->cap_over = 0;
    for (size_t i = 0; i < n; i++)
        count(w, &over[i]);
    free(over);
}

/* What begins behind the last of these steps is of those that follow. */
static void fill_parts(struct steps_fill *w)
{
    const struct points *p = w->points;
    count_over(w);
    for (; w->point < p->n && p->v[w->point].at < w->end; w->point++)
        if (p->v[w->point].part != NO_PART)
            count_span(w, &p->v[w->point]);
}

static void fill_batches(struct steps_fill *w)
{
    const struct points *p = w->points;
    size_t at = 0;
    for (; w->batch < p->n && p->v[w->batch].at <= w->end; w->batch++) {
        const struct point *x = &p->v[w->batch];
        if (x->what != EV_BATCH_SIZE || x->value < 0)
            continue;
        while (step_end(&w->v[at]) < x->at)
            at++;
        if (w->v[at].start.ns <= x->at)
            w->v[at].batch = MAX_OF(w->v[at].batch, 0) + x->value;
    }
}

void steps_fill_next(struct steps_fill *w, const struct bare_step *bare, struct step *v, size_t n)
{
    const size_t other = step_parts() - 1;
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        v[i] = (struct step){
            .number = bare[i].number,
            .mode = bare[i].mode,
            .cut = bare[i].cut,
            .said = bare[i].said,
            .start = {bare[i].start},
            .dur_ns = bare[i].end - bare[i].start,
            .batch = -1,
        };
    w->v = v;
    w->n = n;
    w->at = 0;
    w->end = step_end(&v[n - 1]);
    fill_parts(w);
    for (size_t i = 0; i < n; i++) {
        v[i].part_ns[other] = v[i].dur_ns;
        for (size_t k = 0; k < other; k++)
            v[i].part_ns[other] -= v[i].part_ns[k];
    }
    fill_batches(w);
}
