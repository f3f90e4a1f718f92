/* SPDX-License-Identifier: Apache-2.0 */
/* rises.c - see rises.h. */
#include "rules/rises.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "rules/episodes.h"
#include "rules/shared.h"
#include "rules/tenths.h"

static void rises_put(struct rises *r, const struct rise *x)
{
    struct rise *last = r->n ? &r->v[r->n - 1] : NULL;
    if (last && x->from_ns - last->to_ns <= EPISODE_GAP_NS) {
        last->to_ns = x->to_ns;
        last->count += x->count;
        last->after = x->after;
        return;
    }
    if (r->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 4;
        r->v = xrealloc(r->v, r->cap, sizeof *r->v);
    }
    r->v[r->n++] = *x;
}

/* Half of the readings say enough about a mean. */
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

/* What was read of the values from `i` to that of the first sweep that is not before `end_ns`,
 * whose place is returned. `known`: the same values as tenths, or NULL. */
static size_t rises_add_values(struct rise_window *w, const struct sweeps *s, const float *v,
                               const uint16_t *known, size_t i, int64_t end_ns)
{
    uint32_t n = 0, sum = 0; /* of a batch */
    if (known)
        for (; i < s->n && s->at[i].ns < end_ns; i++) {
            n += known[i] != TENTHS_NAN;
            sum += known[i] != TENTHS_NAN ? known[i] : 0;
        }
    for (; i < s->n && s->at[i].ns < end_ns; i++)
        if (!isnan(v[i])) {
            n++;
            sum += (uint32_t)tenths(v[i]);
        }
    w->n += n;
    w->sum += sum;
    return i;
}

void rises_add(struct rises *r, const struct rises_spec *spec, const struct rule_view *c,
               const struct sweeps *s, const float *v)
{
    const int64_t length = param_ns(&c->p[spec->window], s->period_ns);
    const uint16_t *known = shared_tenths(s, v);
    int64_t index = 0, end = 0;
    for (size_t i = 0; i < s->n;) {
        const int64_t at = s->at[i].ns; /* most often in the window behind the one before */
        index = i && at < end + length ? index + 1 : (at - c->from.ns) / length;
        end = c->from.ns + (index + 1) * length;
        struct rise_window *w = rises_window_at(r, spec, c, index);
        w->length_ns = length;
        w->period_ns = s->period_ns;
        i = rises_add_values(w, s, v, known, i, end);
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

void rises_free(struct rises *r)
{
    free(r->v);
    *r = (struct rises){0};
}
