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

/* The latest one has nothing to come. */
static void windows_end_latest(struct windows *w, const struct windows_spec *spec,
                               const struct rule_view *c)
{
    if (w->last)
        judge_if_full(w, spec, c, w->last);
    else if (w->first && !w->first_ended)
        judge_if_full(w, spec, c, w->first);
    w->first_ended = w->first != NULL;
    free(w->last);
    w->last = NULL;
}

/* A window that follows all others becomes the last. */
static void windows_append(struct windows *w, const struct windows_spec *spec,
                           const struct rule_view *c, struct rule_window *x)
{
    windows_end_latest(w, spec, c);
    *(w->first ? &w->last : &w->first) = x;
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

/* It begins and ends in the batch. */
static bool is_between(struct windows *w, const struct windows_piece *p, const struct sweeps *s)
{
    return w->first && !same_window(&latest(w)->is, &p->window) && p->to < s->n;
}

static void judge_between(struct windows *w, const struct windows_spec *spec,
                          const struct rule_view *c, struct windows_piece *p,
                          const struct readings *all)
{
    struct readings cols[WINDOW_COLUMNS_MOST];
    windows_end_latest(w, spec, c);
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

/* Of a short run: all that there is, as if it were one window. */
static void windows_judge_short(struct windows *out, const struct windows *w,
                                const struct windows_spec *spec, const struct rule_view *c)
{
    struct rule_window *all = window_copy(w->first, spec->columns);
    for (size_t k = 0; w->last && k < spec->columns; k++)
        hist_join(&all->h[k], &w->last->h[k]);
    all->is.n += w->last ? w->last->is.n : 0;
    if ((int64_t)all->is.n * all->is.period_ns >= all->is.length_ns / 10)
        judge_window(out, spec, c, all);
    free(all);
}

struct windows windows_ended(const struct windows *w, const struct windows_spec *spec,
                             const struct param_value *p, wall_ns from, bool short_ok)
{
    struct windows out = {0};
    const struct rule_view c = {.p = p, .from = from};
    const struct rule_window *x = w->last ? w->last : w->first_ended ? NULL : w->first;
    copy_counts(&out, w);
    if (x)
        judge_if_full(&out, spec, &c, x);
    if (out.judged == 0 && short_ok && w->first)
        windows_judge_short(&out, w, spec, &c);
    return out;
}

uint64_t windows_needed(const struct param_value *window, int64_t period_ns, bool ended)
{
    const int64_t points = param_points(window, MAX_OF(period_ns, 1));
    return (uint64_t)(ended ? MAX_OF((points + 9) / 10, 1) : points);
}

void windows_free(struct windows *w)
{
    free(w->first);
    free(w->last);
    for (size_t k = 0; k < WINDOW_CLASSES; k++)
        episodes_free(&w->episodes[k]);
    *w = (struct windows){0};
}
