/* SPDX-License-Identifier: Apache-2.0 */
/* step_async.c - see step_async.h. */
#include "query/step_async.h"

#include <stdlib.h>

#include "base/mem.h"

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

static bool step_async_is_short(int64_t ns, double mean)
{
    return ns >= 0 && (double)ns < mean / 2;
}

static size_t short_until(const int64_t *ns, size_t n, size_t i, double mean)
{
    while (i < n && step_async_is_short(ns[i], mean))
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

static void step_async_fit(struct step_pace *p, size_t n)
{
    if (n <= p->cap)
        return;
    p->cap = MAX_OF(2 * p->cap, n);
    p->ns = xrealloc(p->ns, p->cap, sizeof *p->ns);
    p->mode = xrealloc(p->mode, p->cap, sizeof *p->mode);
}

void step_pace_see(struct step_pace *p, const struct step *v, size_t n)
{
    step_async_fit(p, p->n + n);
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

void steps_set_pace(struct step *v, size_t n)
{
    struct step_pace p = {0};
    step_pace_see(&p, v, n);
    step_pace_done(&p);
    step_pace_give(&p, 0, v, n);
    step_pace_free(&p);
}
