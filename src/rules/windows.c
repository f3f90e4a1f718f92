/* SPDX-License-Identifier: Apache-2.0 */
/* windows.c - see windows.h. */
#include "rules/windows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/shared.h"

struct window {
    int64_t index;     /* counted from where the rule begins to count */
    int64_t length_ns; /* another when the sampling interval was changed */
    int64_t period_ns;
    uint64_t n; /* sweeps */
    struct hist h[];
};

static struct window *window_new(size_t columns)
{
    return xcalloc(1, sizeof(struct window) + columns * sizeof(struct hist));
}

static struct window *window_copy(const struct window *w, size_t columns)
{
    struct window *copy = window_new(columns);
    memcpy(copy, w, sizeof *w + columns * sizeof w->h[0]);
    return copy;
}

/* A few sweeps may be missing. */
static bool is_full(const struct window *w)
{
    return (int64_t)w->n * w->period_ns >= w->length_ns / 10 * 9;
}

static void judge_window(struct windows *w, const struct windows_spec *spec,
                         const struct param_value *p, wall_ns from, const struct window *x)
{
    const unsigned class = spec->classify(x->h, p);
    const wall_ns at = {from.ns + x->index * x->length_ns};
    w->judged++;
    w->in_class[class]++;
    if (class)
        episodes_add(&w->episodes[class], at, (int64_t)x->n * x->period_ns);
}

static void judge_if_full(struct windows *w, const struct windows_spec *spec,
                          const struct rule_view *c, const struct window *x)
{
    if (is_full(x))
        judge_window(w, spec, c->p, c->from, x);
}

static struct window *latest(struct windows *w)
{
    return w->last ? w->last : w->first;
}

/* A window that follows all others becomes the last; the one before it has nothing to come. */
static void append(struct windows *w, const struct windows_spec *spec, const struct rule_view *c,
                   struct window *x)
{
    if (!w->first) {
        w->first = x;
        return;
    }
    if (w->last) {
        judge_if_full(w, spec, c, w->last);
        free(w->last);
    }
    w->last = x;
}

static bool same_window(const struct window *a, const struct window *b)
{
    return a->index == b->index && a->length_ns == b->length_ns;
}

static struct window *window_at(struct windows *w, const struct windows_spec *spec,
                                const struct rule_view *c, const struct window *which)
{
    struct window *x = latest(w);
    if (!x || !same_window(x, which)) {
        x = window_new(spec->columns);
        *x = *which;
        append(w, spec, c, x);
    }
    return x;
}

static void add_values(struct hist *h, const struct sweeps *s, const float *v, size_t from,
                       size_t n)
{
    const uint16_t *tenths = shared_tenths(s, v);
    if (tenths)
        hist_add_tenths(h, tenths + from, n);
    else
        hist_add(h, v + from, n);
}

void windows_add(struct windows *w, const struct windows_spec *spec, const struct rule_view *c,
                 const struct sweeps *s, const float *const *cols)
{
    const int64_t length = param_ns(&c->p[spec->points], s->period_ns);
    for (size_t i = 0, j; i < s->n; i = j) {
        const int64_t index = (s->at[i].ns - c->from.ns) / length;
        const int64_t end = c->from.ns + (index + 1) * length;
        for (j = i + 1; j < s->n && s->at[j].ns < end;)
            j++;
        struct window *x = window_at(
            w, spec, c,
            &(struct window){.index = index, .length_ns = length, .period_ns = s->period_ns});
        x->n += j - i;
        for (size_t k = 0; k < spec->columns; k++)
            add_values(&x->h[k], s, cols[k], i, j - i);
    }
}

static void add_counts(struct windows *w, struct windows *later)
{
    w->judged += later->judged;
    for (size_t k = 0; k < WINDOW_CLASSES; k++) {
        w->in_class[k] += later->in_class[k];
        episodes_join(&w->episodes[k], &later->episodes[k]);
    }
}

static void join_window(struct window *x, const struct window *other, size_t columns)
{
    x->n += other->n;
    for (size_t k = 0; k < columns; k++)
        hist_join(&x->h[k], &other->h[k]);
}

void windows_join(struct windows *w, const struct windows_spec *spec, const struct rule_view *c,
                  struct windows *later)
{
    struct window *x = later->first;
    if (!x)
        return;
    struct window *end = latest(w);
    if (end && same_window(end, x)) {
        join_window(end, x, spec->columns);
        free(x);
    } else {
        append(w, spec, c, x);
    }
    if (later->last && w->last) { /* what lies between goes before what `later` has judged */
        judge_if_full(w, spec, c, w->last);
        free(w->last);
        w->last = NULL;
    }
    add_counts(w, later);
    if (later->last)
        append(w, spec, c, later->last);
    *later = (struct windows){0};
}

static void copy_counts(struct windows *to, const struct windows *from)
{
    to->judged = from->judged;
    for (size_t k = 0; k < WINDOW_CLASSES; k++) {
        to->in_class[k] = from->in_class[k];
        for (uint32_t i = 0; i < from->episodes[k].n; i++) {
            const struct episode *e = &from->episodes[k].v[i];
            episodes_put(&to->episodes[k], e);
        }
    }
}

struct windows windows_ended(const struct windows *w, const struct windows_spec *spec,
                             const struct param_value *p, wall_ns from, bool short_ok)
{
    struct windows out = {0};
    const struct rule_view c = {.p = p, .from = from};
    if (w->first)
        judge_if_full(&out, spec, &c, w->first);
    struct windows middle = {0};
    copy_counts(&middle, w);
    add_counts(&out, &middle);
    if (w->last)
        judge_if_full(&out, spec, &c, w->last);
    if (out.judged == 0 && short_ok && w->first) {
        struct window *all = window_copy(w->first, spec->columns);
        if (w->last)
            join_window(all, w->last, spec->columns);
        if ((int64_t)all->n * all->period_ns >= all->length_ns / 10)
            judge_window(&out, spec, p, from, all);
        free(all);
    }
    windows_free(&middle);
    return out;
}

uint64_t windows_held(const struct windows *w)
{
    return (w->first ? w->first->n : 0) + (w->last ? w->last->n : 0);
}

void windows_free(struct windows *w)
{
    free(w->first);
    free(w->last);
    for (size_t k = 0; k < WINDOW_CLASSES; k++)
        episodes_free(&w->episodes[k]);
    *w = (struct windows){0};
}
