/* SPDX-License-Identifier: Apache-2.0 */
/* windows.c - see windows.h. */
#include "rules/windows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/shared.h"
#include "rules/values.h"

/* Which window it is, and how much was seen of it. */
struct windows_extent {
    int64_t index;     /* counted from where the rule begins to count */
    int64_t length_ns; /* another when the sampling interval was changed */
    int64_t period_ns;
    uint64_t n; /* sweeps */
};

struct rule_window {
    struct windows_extent is;
    struct hist h[];
};

static struct rule_window *window_new(size_t columns)
{
    return xcalloc(1, sizeof(struct rule_window) + columns * sizeof(struct hist));
}

static struct rule_window *window_copy(const struct rule_window *w, size_t columns)
{
    struct rule_window *copy = window_new(columns);
    memcpy(copy, w, sizeof *w + columns * sizeof w->h[0]);
    return copy;
}

/* A few sweeps may be missing. */
static bool windows_is_full(const struct windows_extent *w)
{
    return (int64_t)w->n * w->period_ns >= w->length_ns / 10 * 9;
}

static void judge_columns(struct windows *w, const struct windows_spec *spec,
                          const struct rule_view *c, const struct windows_extent *x,
                          const struct readings *cols)
{
    const unsigned class = spec->classify(cols, c->p);
    const wall_ns at = {c->from.ns + x->index * x->length_ns};
    w->judged++;
    w->in_class[class]++;
    if (class)
        episodes_add(&w->episodes[class], at, (int64_t)x->n * x->period_ns);
}

static void judge_window(struct windows *w, const struct windows_spec *spec,
                         const struct rule_view *c, const struct rule_window *x)
{
    struct readings cols[WINDOW_COLUMNS_MOST];
    for (size_t k = 0; k < spec->columns; k++)
        cols[k] = (struct readings){.hist = &x->h[k]};
    judge_columns(w, spec, c, &x->is, cols);
}

static void judge_if_full(struct windows *w, const struct windows_spec *spec,
                          const struct rule_view *c, const struct rule_window *x)
{
    if (windows_is_full(&x->is))
        judge_window(w, spec, c, x);
}

static struct rule_window *latest(struct windows *w)
{
    return w->last ? w->last : w->first;
}

/* The last one has nothing to come. */
static void end_last(struct windows *w, const struct windows_spec *spec, const struct rule_view *c)
{
    if (w->last)
        judge_if_full(w, spec, c, w->last);
    free(w->last);
    w->last = NULL;
}

/* A window that follows all others becomes the last. */
static void windows_append(struct windows *w, const struct windows_spec *spec,
                           const struct rule_view *c, struct rule_window *x)
{
    if (!w->first) {
        w->first = x;
        return;
    }
    end_last(w, spec, c);
    w->last = x;
}

static bool same_window(const struct windows_extent *a, const struct windows_extent *b)
{
    return a->index == b->index && a->length_ns == b->length_ns;
}

static struct rule_window *windows_window_at(struct windows *w, const struct windows_spec *spec,
                                             const struct rule_view *c,
                                             const struct windows_extent *which)
{
    struct rule_window *x = latest(w);
    if (!x || !same_window(&x->is, which)) {
        x = window_new(spec->columns);
        x->is = *which;
        windows_append(w, spec, c, x);
    }
    return x;
}

/* Sweeps of a batch that belong to one window. */
struct windows_piece {
    struct windows_extent window; /* its sweeps are not counted yet */
    size_t from, to;
};

/* From that sweep on. */
static struct windows_piece piece_at(const struct windows_spec *spec, const struct rule_view *c,
                                     const struct sweeps *s, size_t from)
{
    const int64_t length = param_ns(&c->p[spec->points], s->period_ns);
    const int64_t index = (s->at[from].ns - c->from.ns) / length;
    const int64_t end = c->from.ns + (index + 1) * length;
    const size_t to = from + 1 + sweeps_from(s->at + from + 1, s->n - from - 1, end);
    return (struct windows_piece){
        {.index = index, .length_ns = length, .period_ns = s->period_ns}, from, to};
}

/* The values of all columns as tenths; false: nothing is shared. */
static bool find_tenths(const struct windows_spec *spec, const struct sweeps *s,
                        const float *const *cols, struct readings *out)
{
    for (size_t k = 0; k < spec->columns; k++) {
        out[k] = (struct readings){.tenths = shared_tenths(s, cols[k])};
        if (!out[k].tenths)
            return false;
    }
    return true;
}

/* No other stretch of time can add to it. */
static bool is_between(struct windows *w, const struct windows_piece *p, const struct sweeps *s)
{
    return w->first && !same_window(&latest(w)->is, &p->window) && p->to < s->n;
}

static void judge_between(struct windows *w, const struct windows_spec *spec,
                          const struct rule_view *c, struct windows_piece *p,
                          const struct readings *all)
{
    struct readings cols[WINDOW_COLUMNS_MOST];
    end_last(w, spec, c);
    p->window.n = p->to - p->from;
    if (!windows_is_full(&p->window))
        return;
    for (size_t k = 0; k < spec->columns; k++)
        cols[k] = (struct readings){.tenths = all[k].tenths + p->from, .n = p->window.n};
    judge_columns(w, spec, c, &p->window, cols);
}

static void windows_add_piece(struct windows *w, const struct windows_spec *spec,
                              const struct rule_view *c, const struct windows_piece *p,
                              const struct readings *all, const float *const *cols)
{
    struct rule_window *x = windows_window_at(w, spec, c, &p->window);
    const size_t n = p->to - p->from;
    x->is.n += n;
    for (size_t k = 0; k < spec->columns; k++)
        if (all)
            hist_add_tenths(&x->h[k], all[k].tenths + p->from, n);
        else
            hist_add(&x->h[k], cols[k] + p->from, n);
}

void windows_add(struct windows *w, const struct windows_spec *spec, const struct rule_view *c,
                 const struct sweeps *s, const float *const *cols)
{
    struct readings all[WINDOW_COLUMNS_MOST];
    const bool known = find_tenths(spec, s, cols, all);
    for (size_t i = 0; i < s->n;) {
        struct windows_piece p = piece_at(spec, c, s, i);
        if (known && is_between(w, &p, s))
            judge_between(w, spec, c, &p, all);
        else
            windows_add_piece(w, spec, c, &p, known ? all : NULL, cols);
        i = p.to;
    }
}

static void windows_add_counts(struct windows *w, struct windows *later)
{
    w->judged += later->judged;
    for (size_t k = 0; k < WINDOW_CLASSES; k++) {
        w->in_class[k] += later->in_class[k];
        episodes_join(&w->episodes[k], &later->episodes[k]);
    }
}

static void join_window(struct rule_window *x, const struct rule_window *other, size_t columns)
{
    x->is.n += other->is.n;
    for (size_t k = 0; k < columns; k++)
        hist_join(&x->h[k], &other->h[k]);
}

void windows_join(struct windows *w, const struct windows_spec *spec, const struct rule_view *c,
                  struct windows *later)
{
    struct rule_window *x = later->first;
    if (!x)
        return;
    struct rule_window *end = latest(w);
    if (end && same_window(&end->is, &x->is)) {
        join_window(end, x, spec->columns);
        free(x);
    } else {
        windows_append(w, spec, c, x);
    }
    if (later->last && w->last) /* what lies between goes before what `later` has judged */
        end_last(w, spec, c);
    windows_add_counts(w, later);
    if (later->last)
        windows_append(w, spec, c, later->last);
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
    windows_add_counts(&out, &middle);
    if (w->last)
        judge_if_full(&out, spec, &c, w->last);
    if (out.judged == 0 && short_ok && w->first) {
        struct rule_window *all = window_copy(w->first, spec->columns);
        if (w->last)
            join_window(all, w->last, spec->columns);
        if ((int64_t)all->is.n * all->is.period_ns >= all->is.length_ns / 10)
            judge_window(&out, spec, &c, all);
        free(all);
    }
    windows_free(&middle);
    return out;
}

uint64_t windows_needed(const struct param_value *window, int64_t period_ns, bool ended)
{
    const int64_t points = param_points(window, MAX_OF(period_ns, 1));
    return (uint64_t)(ended ? MAX_OF((points + 9) / 10, 1) : points);
}

uint64_t windows_held(const struct windows *w)
{
    return (w->first ? w->first->is.n : 0) + (w->last ? w->last->is.n : 0);
}

void windows_free(struct windows *w)
{
    free(w->first);
    free(w->last);
    for (size_t k = 0; k < WINDOW_CLASSES; k++)
        episodes_free(&w->episodes[k]);
    *w = (struct windows){0};
}
