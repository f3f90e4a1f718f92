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

/* ---- the sweep over all spans ----
 *
 * Spans of one thread lie in each other like calls. The outermost one has the time, but for what
 * counts for itself wherever it lies: compilations, waits for the GPU, and the passes that an
 * optimizer is handed as a closure. So the spans that have the time right now form a short stack:
 * what a new one gets is taken from the one on top. */

void steps_fill_open(struct steps_fill *w, const struct points *p)
{
    *w = (struct steps_fill){
        .points = p,
        .covered = INT64_MIN,
        .detail_end = INT64_MIN,
        .optimizer = step_part_of(EV_OPTIMIZER),
        .forward = step_part_of(EV_FORWARD),
        .backward = step_part_of(EV_BACKWARD),
        .compile = step_part_of(EV_COMPILE),
        .sync = step_part_of(EV_SYNC),
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

/* The first step that does not end before t becomes the one at hand. */
static void move_to(struct steps_fill *w, int64_t t)
{
    while (w->at < w->n && step_end(&w->v[w->at]) <= t)
        w->at++;
}

/* The step after which, and before the next, t lies; NULL: t is in a step or before all. */
static struct step *step_before_gap(struct steps_fill *w, int64_t t)
{
    move_to(w, t);
    const bool in_gap = w->at > 0 && (w->at == w->n || w->v[w->at].start.ns > t);
    return in_gap ? &w->v[w->at - 1] : NULL;
}

/* What is covered counts for the part, `sign` times, in each step that it touches. */
static void count(struct steps_fill *w, const struct step_cover *c)
{
    move_to(w, c->from);
    for (size_t i = w->at; i < w->n && w->v[i].start.ns < c->to; i++) {
        const int64_t a = MAX_OF(c->from, w->v[i].start.ns), b = MIN_OF(c->to, step_end(&w->v[i]));
        if (b > a)
            w->v[i].part_ns[c->part] += c->sign * (b - a);
    }
    if (c->to > w->end)
        keep_over(w, c);
}

/* A wait between two steps. */
static void count_between(struct steps_fill *w, int64_t from, int64_t to)
{
    struct step *s = step_before_gap(w, from);
    if (s && s->between_ns > 0)
        s->between_sync_ns += MAX_OF(MIN_OF(to, step_end(s) + s->between_ns) - from, 0);
}

static void pop_owners(struct steps_fill *w, int64_t t)
{
    while (w->n_owners && w->owner[w->n_owners - 1].end <= t)
        w->n_owners--;
}

static void push_owner(struct steps_fill *w, int64_t end, uint8_t part)
{
    if (w->n_owners < COUNT_OF(w->owner)) /* deeper ones take from the last that is known */
        w->owner[w->n_owners++] = (struct step_owner){end, part};
}

static bool counts_inside(const struct steps_fill *w, uint8_t part, uint8_t owner)
{
    if (part == owner)
        return false;
    return part == w->compile || part == w->sync ||
           (owner == w->optimizer && (part == w->forward || part == w->backward));
}

static void count_inside(struct steps_fill *w, const struct point *p)
{
    const struct step_owner top = w->owner[w->n_owners - 1];
    const int64_t to = MIN_OF(p->end, top.end);
    if (!counts_inside(w, p->part, top.part) || p->at >= to)
        return;
    count(w, &(struct step_cover){p->at, to, p->part, 1});
    count(w, &(struct step_cover){p->at, to, top.part, -1});
    push_owner(w, to, p->part);
}

static void count_span(struct steps_fill *w, const struct point *p)
{
    pop_owners(w, p->at);
    if (p->part == w->sync)
        count_between(w, p->at, p->end);
    if (w->n_owners)
        count_inside(w, p);
    if (p->end <= w->covered)
        return;
    const int64_t from = MAX_OF(p->at, w->covered);
    count(w, &(struct step_cover){from, p->end, p->part, 1});
    w->covered = p->end;
    pop_owners(w, from);
    push_owner(w, p->end, p->part);
}

/* Waits too short for a span each: their sum, reported inside of the span in which they were, or
 * right before the next one. */
static void count_short(struct steps_fill *w, const struct point *p)
{
    struct step *gap = step_before_gap(w, p->at);
    pop_owners(w, p->at);
    if (gap && gap->between_ns > 0)
        gap->between_sync_ns += MIN_OF(p->value, gap->between_ns - gap->between_sync_ns);
    if (gap || w->at == w->n || w->v[w->at].start.ns > p->at)
        return;
    int64_t *part_ns = w->v[w->at].part_ns, ns = MIN_OF(p->value, w->v[w->at].dur_ns);
    if (w->n_owners) {
        int64_t *owner = &part_ns[w->owner[w->n_owners - 1].part];
        ns = MIN_OF(ns, *owner);
        *owner -= ns;
    }
    part_ns[w->sync] += ns;
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

/* What begins when the last of these iterations is over belongs to those that follow. */
static void fill_parts(struct steps_fill *w, int64_t until)
{
    const struct points *p = w->points;
    count_over(w);
    for (; w->point < p->n && p->v[w->point].at < until; w->point++)
        if (p->v[w->point].part != NO_PART)
            count_span(w, &p->v[w->point]);
        else if (p->v[w->point].what == EV_SYNC_SHORT && p->v[w->point].value > 0)
            count_short(w, &p->v[w->point]);
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

/* A step that spends more of its time on compiling is none of the loop's usual ones. */
static const double COMPILES_FROM = 0.05;

/* Which iterations a detail window slowed, and in which a checkpoint was saved. */
static void fill_marks(struct steps_fill *w)
{
    const struct points *p = w->points;
    for (size_t i = 0; i < w->n; i++) {
        struct step *s = &w->v[i];
        const int64_t end = step_end(s) + MAX_OF(s->between_ns, 0);
        for (; w->mark < p->n && p->v[w->mark].at < end; w->mark++) {
            const struct point *x = &p->v[w->mark];
            if (x->what == EV_DETAIL)
                w->detail_end = MAX_OF(w->detail_end, x->end);
            if (x->what == EV_CHECKPOINT && x->at >= s->start.ns)
                s->saves = true;
        }
        if (w->detail_end > s->start.ns)
            w->disturbed = DISTURBED_AFTER + 1;
        s->disturbed = w->disturbed > 0;
        s->warmup = (double)s->part_ns[w->compile] > COMPILES_FROM * (double)s->dur_ns;
        w->disturbed -= w->disturbed > 0;
    }
}

/* `next` is the begin of the step after these; INT64_MIN: there is none. */
static void fill_times(const struct bare_step *bare, struct step *v, size_t n, int64_t next)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t following = i + 1 < n ? bare[i + 1].start : next;
        v[i] = (struct step){
            .number = bare[i].number,
            .mode = bare[i].mode,
            .cut = bare[i].cut,
            .said = bare[i].said,
            .start = {bare[i].start},
            .dur_ns = bare[i].end - bare[i].start,
            .between_ns =
                bare[i].cut || following == INT64_MIN ? -1 : MAX_OF(following - bare[i].end, 0),
            .batch = -1,
        };
    }
}

void steps_fill_next(struct steps_fill *w, const struct step_list *l, size_t from, struct step *v,
                     size_t n)
{
    const size_t other = step_parts() - 1;
    if (n == 0)
        return;
    const int64_t next = from + n < l->n ? l->v[from + n].start : INT64_MIN;
    fill_times(l->v + from, v, n, next);
    w->v = v;
    w->n = n;
    w->at = 0;
    w->end = step_end(&v[n - 1]);
    fill_parts(w, MAX_OF(next, w->end));
    for (size_t i = 0; i < n; i++) {
        v[i].part_ns[other] = v[i].dur_ns;
        for (size_t k = 0; k < other; k++)
            v[i].part_ns[other] -= v[i].part_ns[k];
    }
    fill_batches(w);
    fill_marks(w);
}
