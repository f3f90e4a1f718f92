/* SPDX-License-Identifier: Apache-2.0 */
/* stepindex.c - see stepmarks_internal.h. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "query/stepmarks_internal.h"

_Static_assert(STEPS_ORDERED <= UINT16_MAX + 1, "a step of a stretch is found by 16 bits");

/* ---- runs ---- */

static struct step_run run_of(const struct step_mark *v)
{
    struct step_run out = {.end = INT64_MIN, .mode = v->mode};
    for (size_t i = 0; i < STEPS_RUN; i++) {
        out.end = MAX_OF(out.end, v[i].start + v[i].dur_ns);
        out.dur_ns += v[i].dur_ns;
        out.mixed |= v[i].mode != out.mode;
    }
    return out;
}

/* ---- sums ---- */

/* Steps from `i` on as long as they are of one mode; returns the first that is not. */
static size_t see_some(const struct rank_marks *r, size_t i, size_t end, struct step_sums *out)
{
    const enum event_mode mode = r->v[i].mode;
    const int64_t base = r->v[0].iteration_ns;
    struct spread s = out->of[mode];
    for (; i < end && r->v[i].mode == mode; i++) {
        const int64_t dur = r->v[i].iteration_ns;
        if (r->v[i].left_out)
            continue;
        if (s.n++ == 0)
            s.min = s.max = dur;
        s.min = MIN_OF(s.min, dur);
        s.max = MAX_OF(s.max, dur);
        const double above = (double)(dur - base);
        s.sum += above;
        s.squares += above * above;
    }
    out->of[mode] = s;
    return i;
}

static void see_all(const struct rank_marks *r, size_t i, size_t end, struct step_sums *out)
{
    while (i < end)
        i = see_some(r, i, end, out);
}

static void stepindex_join(struct step_sums *to, const struct step_sums *from)
{
    for (size_t m = 0; m < MODE_N; m++) {
        struct spread *s = &to->of[m];
        const struct spread *x = &from->of[m];
        if (x->n == 0)
            continue;
        s->min = s->n ? MIN_OF(s->min, x->min) : x->min;
        s->max = s->n ? MAX_OF(s->max, x->max) : x->max;
        s->n += x->n;
        s->sum += x->sum;
        s->squares += x->squares;
    }
}

void step_sums_add(const struct rank_marks *r, size_t i, size_t end, struct step_sums *out)
{
    while (i < end) {
        const size_t stop = (i / STEPS_SUMMED + 1) * STEPS_SUMMED;
        if (r->index && i % STEPS_SUMMED == 0 && stop <= end)
            stepindex_join(out, &r->index->sums[i / STEPS_SUMMED]);
        else
            see_all(r, i, MIN_OF(stop, end), out);
        i = stop;
    }
}

/* ---- orders ---- */

struct ordered {
    uint64_t above; /* the shortest */
    uint16_t at;
};

/* Eight bits at a time from the lowest, as many as the longest has; into v or spare. */
static struct ordered *stepindex_sort(struct ordered *v, struct ordered *spare, size_t n,
                                      uint64_t most)
{
    for (unsigned shift = 0; shift < 64 && most >> shift; shift += 8) {
        size_t first[257] = {0};
        for (size_t i = 0; i < n; i++)
            first[(v[i].above >> shift & 255) + 1]++;
        for (size_t i = 0; i < 256; i++)
            first[i + 1] += first[i];
        for (size_t i = 0; i < n; i++)
            spare[first[v[i].above >> shift & 255]++] = v[i];
        struct ordered *other = spare;
        spare = v;
        v = other;
    }
    return v;
}

/* The steps of a mode behind what is in the order already; v and spare have room for all. */
static size_t order_mode(const struct step_mark *from, enum event_mode mode, struct ordered *v,
                         struct ordered *spare, struct step_order *to)
{
    size_t n = 0, before = 0;
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (enum event_mode m = 0; m < mode; m++)
        before += to->n[m];
    for (size_t i = 0; i < STEPS_ORDERED; i++) {
        if (from[i].left_out || from[i].mode != mode)
            continue;
        min = MIN_OF(min, from[i].iteration_ns);
        max = MAX_OF(max, from[i].iteration_ns);
        v[n++] = (struct ordered){(uint64_t)from[i].iteration_ns, (uint16_t)i};
    }
    for (size_t i = 0; i < n; i++)
        v[i].above -= (uint64_t)min;
    v = stepindex_sort(v, spare, n, n ? (uint64_t)max - (uint64_t)min : 0);
    for (size_t i = 0; i < n; i++) {
        to->dur_ns[before + i] = (int64_t)(v[i].above + (uint64_t)min);
        to->at[before + i] = v[i].at;
    }
    return n;
}

static void order_all(const struct rank_marks *r, struct step_order *out, struct arena *a)
{
    struct ordered *v = xmalloc(2 * STEPS_ORDERED * sizeof *v);
    for (size_t i = 0; i + STEPS_ORDERED <= r->n; i += STEPS_ORDERED) {
        struct step_order *o = &out[i / STEPS_ORDERED];
        o->dur_ns = arena_array(a, int64_t, STEPS_ORDERED);
        o->at = arena_array(a, uint16_t, STEPS_ORDERED);
        for (enum event_mode m = 0; m < MODE_N; m++)
            o->n[m] = order_mode(&r->v[i], m, v, v + STEPS_ORDERED, o);
    }
    free(v);
}

const struct step_index *step_index_make(const struct rank_marks *r, struct arena *a)
{
    struct step_index *x = arena_new(a, struct step_index);
    x->runs = arena_array(a, struct step_run, r->n / STEPS_RUN + 1);
    x->sums = arena_array(a, struct step_sums, r->n / STEPS_SUMMED + 1);
    x->orders = arena_array(a, struct step_order, r->n / STEPS_ORDERED + 1);
    for (size_t i = 0; i + STEPS_RUN <= r->n; i += STEPS_RUN)
        x->runs[i / STEPS_RUN] = run_of(&r->v[i]);
    for (size_t i = 0; i + STEPS_SUMMED <= r->n; i += STEPS_SUMMED)
        see_all(r, i, i + STEPS_SUMMED, &x->sums[i / STEPS_SUMMED]);
    order_all(r, x->orders, a);
    return x;
}
