/* SPDX-License-Identifier: Apache-2.0 */
/* windows.c - see windows.h. */
#include "rules/windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "rules/hist.h"

/* ==== episodes ==== */

void episodes_put(struct episodes *e, const struct episode *x)
{
    struct episode *last = e->n ? &e->v[e->n - 1] : NULL;
    if (last && x->from_ns - last->to_ns <= EPISODE_GAP_NS) {
        last->to_ns = MAX_OF(last->to_ns, x->to_ns);
        last->count += x->count;
        last->held_ns += x->held_ns;
        return;
    }
    *VEC_ADD(e->v, e->n, e->cap) = *x;
}

void episodes_add(struct episodes *e, wall_ns at, int64_t held_ns)
{
    const struct episode x = {at.ns, at.ns + held_ns, 1, held_ns};
    episodes_put(e, &x);
}

void episodes_memory(struct episodes *e, enum state_op op)
{
    STATE_VEC(op, e);
}

int64_t episodes_held_ns(const struct episodes *e)
{
    int64_t held = 0;
    for (uint32_t i = 0; i < e->n; i++)
        held += e->v[i].held_ns;
    return held;
}

void finding_in(struct verdict *v, struct finding *f, const struct episodes *e)
{
    struct time_range *r = arena_array(v->arena, struct time_range, e->n);
    for (uint32_t i = 0; i < e->n; i++)
        r[i] = (struct time_range){{e->v[i].from_ns}, {e->v[i].to_ns}};
    finding_when(v, f, r, e->n);
}

/* ==== windows ==== */

/* Which window it is, and how much was seen of it. */
struct windows_extent {
    int64_t index;     /* counted from where the rule begins to count */
    int64_t length_ns; /* another when the sampling interval was changed */
    int64_t period_ns;
    uint64_t n; /* sweeps */
};

struct rule_window {
    struct windows_extent is;
    size_t columns;
    struct hist h[];
};

static size_t window_bytes(size_t columns)
{
    return sizeof(struct rule_window) + columns * sizeof(struct hist);
}

static struct rule_window *window_new(size_t columns)
{
    struct rule_window *w = xcalloc(1, window_bytes(columns));
    w->columns = columns;
    return w;
}

static struct rule_window *window_copy(const struct rule_window *w)
{
    return memcpy(window_new(w->columns), w, window_bytes(w->columns));
}

/* A few sweeps may be missing. */
static bool windows_is_full(const struct windows_extent *w)
{
    return (int64_t)w->n * w->period_ns >= w->length_ns / 10 * 9;
}

static void judge_window(struct windows *w, const struct windows_spec *spec,
                         const struct rule_view *c, const struct rule_window *x)
{
    const unsigned class = spec->classify(x->h, c->p);
    const wall_ns at = {c->from.ns + x->is.index * x->is.length_ns};
    w->judged++;
    w->in_class[class]++;
    if (class)
        episodes_add(&w->episodes[class], at, (int64_t)x->is.n * x->is.period_ns);
}

static void judge_if_full(struct windows *w, const struct windows_spec *spec,
                          const struct rule_view *c, const struct rule_window *x)
{
    if (windows_is_full(&x->is))
        judge_window(w, spec, c, x);
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

static struct rule_window *windows_window_at(struct windows *w, const struct windows_spec *spec,
                                             const struct rule_view *c,
                                             const struct windows_extent *which)
{
    struct rule_window *x = w->last ? w->last : w->first;
    if (!x || x->is.index != which->index || x->is.length_ns != which->length_ns) {
        x = window_new(spec->columns);
        x->is = *which;
        windows_end_latest(w, spec, c);
        *(w->first ? &w->last : &w->first) = x;
    }
    return x;
}

void windows_add(struct windows *w, const struct windows_spec *spec, const struct rule_view *c,
                 const struct sweeps *s, const float *const *cols)
{
    const int64_t length = param_ns(&c->p[spec->points], s->period_ns);
    for (size_t i = 0, to; i < s->n; i = to) {
        const int64_t index = (s->at[i].ns - c->from.ns) / length;
        const int64_t end = c->from.ns + (index + 1) * length;
        to = i + 1 + sweeps_from(s->at + i + 1, s->n - i - 1, end);
        struct rule_window *x =
            windows_window_at(w, spec, c,
                              &(struct windows_extent){
                                  .index = index, .length_ns = length, .period_ns = s->period_ns});
        x->is.n += to - i;
        for (size_t k = 0; k < spec->columns; k++)
            if (shared_tenths(s, cols[k]))
                hist_add_tenths(&x->h[k], shared_tenths(s, cols[k]) + i, to - i);
            else
                hist_add(&x->h[k], cols[k] + i, to - i);
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
    struct rule_window *all = window_copy(w->first);
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

void windows_memory(struct windows *w, enum state_op op)
{
    state_memory(op, &w->first, w->first ? window_bytes(w->first->columns) : 0);
    state_memory(op, &w->last, w->last ? window_bytes(w->last->columns) : 0);
    for (size_t k = 0; k < WINDOW_CLASSES; k++)
        episodes_memory(&w->episodes[k], op);
}

/* ==== rises ==== */

static void rises_put(struct rises *r, const struct rise *x)
{
    struct rise *last = r->n ? &r->v[r->n - 1] : NULL;
    if (last && x->from_ns - last->to_ns <= EPISODE_GAP_NS) {
        last->to_ns = x->to_ns;
        last->count += x->count;
        last->after = x->after;
        return;
    }
    *VEC_ADD(r->v, r->n, r->cap) = *x;
}

/* Half of the readings are enough for a mean. */
static bool rises_is_full(const struct rise_window *w)
{
    return w->n > 0 && (int64_t)w->n * w->period_ns >= w->length_ns / 2;
}

static double rises_mean_of(const struct rise_window *w)
{
    return (double)w->sum / (double)w->n / 10;
}

static int64_t rises_begin_of(const struct rise_window *w, const struct rule_view *c)
{
    return c->from.ns + w->index * w->length_ns;
}

static void compare_any(struct rises *r, const struct rises_spec *spec, const struct rule_view *c,
                        const struct rise_window *a, const struct rise_window *b)
{
    r->compared++;
    if (a->n == b->n && a->sum >= b->sum) /* no rise, which is what most are: spares divisions */
        return;
    const double before = rises_mean_of(a), after = rises_mean_of(b);
    if (after - before > c->p[spec->increase].v)
        rises_put(r, &(struct rise){rises_begin_of(a, c), rises_begin_of(b, c) + b->length_ns, 1,
                                    before, after});
}

static void rises_compare(struct rises *r, const struct rises_spec *spec, const struct rule_view *c,
                          const struct rise_window *a, const struct rise_window *b)
{
    if (b->index == a->index + 1 && a->length_ns == b->length_ns && rises_is_full(a) &&
        rises_is_full(b))
        compare_any(r, spec, c, a, b);
}

/* A window that follows all others: the one before it has nothing to come. */
static void rises_append(struct rises *r, const struct rises_spec *spec, const struct rule_view *c,
                         const struct rise_window *x)
{
    if (r->n_windows == RISE_WINDOWS) {
        rises_compare(r, spec, c, &r->w[0], &r->w[1]);
        r->w[0] = r->w[1];
    } else {
        r->n_windows++;
    }
    r->w[r->n_windows - 1] = *x;
}

static struct rise_window *rises_window_at(struct rises *r, const struct rises_spec *spec,
                                           const struct rule_view *c, int64_t index)
{
    if (r->n_windows == 0 || r->w[r->n_windows - 1].index != index)
        rises_append(r, spec, c, &(struct rise_window){.index = index});
    return &r->w[r->n_windows - 1];
}

void rises_add(struct rises *r, const struct rises_spec *spec, const struct rule_view *c,
               const struct sweeps *s, const float *v)
{
    const int64_t length = param_ns(&c->p[spec->window], s->period_ns);
    for (size_t i = 0; i < s->n;) {
        const int64_t index = (s->at[i].ns - c->from.ns) / length,
                      end = c->from.ns + (index + 1) * length;
        struct rise_window *w = rises_window_at(r, spec, c, index);
        w->length_ns = length;
        w->period_ns = s->period_ns;
        for (; i < s->n && s->at[i].ns < end; i++)
            if (!isnan(v[i])) {
                w->n++;
                w->sum += tenths_of(v[i]);
            }
    }
}

static void rises_put_all(struct rises *r, const struct rises *from)
{
    r->compared += from->compared;
    for (uint32_t i = 0; i < from->n; i++)
        rises_put(r, &from->v[i]);
}

struct rises rises_ended(const struct rises *r, const struct rises_spec *spec,
                         const struct rule_view *c, bool short_ok)
{
    struct rises out = {0};
    rises_put_all(&out, r);
    if (r->n_windows < RISE_WINDOWS)
        return out;
    rises_compare(&out, spec, c, &r->w[0], &r->w[1]);
    if (short_ok && out.compared == 0 && r->w[0].n && r->w[1].n)
        compare_any(&out, spec, c, &r->w[0], &r->w[1]);
    return out;
}

void rises_memory(struct rises *r, enum state_op op)
{
    STATE_VEC(op, r);
}
