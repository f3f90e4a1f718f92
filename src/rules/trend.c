/* SPDX-License-Identifier: Apache-2.0 */
/* trend.c - see trend.h. */
#include "rules/trend.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "rules/hist.h"

#define MESH_NS (100 * NS_PER_MS) /* the finest */

/* The least number of blocks for a fit over the whole loop. */
enum { FIT_LEAST = 8 };

/* A single step in the middle is explained by a line to 0.75, two even steps to 0.89. */
static const double STEADY_R2 = 0.9;
/* Memory that fills up and stays there climbs as well, but less and less. */
static const double STILL_CLIMBS = 0.5;

static void add_block(struct trend *t, uint32_t to, uint64_t n, int64_t sum)
{
    t->block[to].n += n;
    t->block[to].sum += sum;
}

/* Doubles the mesh; a block never moves up, so this is done in place. */
static void coarsen(struct trend *t)
{
    const int64_t first = t->first / 2;
    uint32_t last = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        const uint64_t n = t->block[i].n;
        const int64_t sum = t->block[i].sum;
        t->block[i].n = 0;
        t->block[i].sum = 0;
        last = (uint32_t)((t->first + i) / 2 - first);
        add_block(t, last, n, sum);
    }
    t->first = first;
    t->n = last + 1;
    t->length_ns *= 2;
}

/* Room for the block of this moment; returns its place. */
static uint32_t trend_place_of(struct trend *t, int64_t at_ns)
{
    if (t->n == 0) {
        t->length_ns = MAX_OF(t->length_ns, MESH_NS);
        t->first = at_ns / t->length_ns;
    }
    while (at_ns / t->length_ns - t->first >= TREND_BLOCKS)
        coarsen(t);
    const uint32_t place = (uint32_t)MAX_OF(at_ns / t->length_ns - t->first, 0);
    t->n = MAX_OF(t->n, place + 1);
    return place;
}

void trend_add(struct trend *t, const wall_ns *at, const float *v, size_t n, float scale)
{
    for (size_t i = 0, j; i < n; i = j) {
        if (isnan(v[i])) {
            j = i + 1;
            continue;
        }
        const uint32_t place = trend_place_of(t, at[i].ns);
        const int64_t end = (t->first + place + 1) * t->length_ns;
        uint64_t many = 0;
        int64_t sum = 0;
        for (j = i; j < n && (j == i || at[j].ns < end); j++)
            if (!isnan(v[j])) {
                many++;
                sum += llrintf(v[j] * scale);
            }
        add_block(t, place, many, sum);
    }
}

/* ---- fits ---- */

struct trend_points {
    double x[TREND_BLOCKS], y[TREND_BLOCKS], w[TREND_BLOCKS];
    uint32_t at[TREND_BLOCKS]; /* the block */
    uint32_t n;
};

/* x in s since the middle of the first block. */
static struct trend_points points_of(const struct trend *t, float scale)
{
    struct trend_points p = {.n = 0};
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->block[i].n == 0)
            continue;
        p.x[p.n] = (double)i * (double)t->length_ns / 1e9;
        p.w[p.n] = (double)t->block[i].n;
        p.y[p.n] = (double)t->block[i].sum / p.w[p.n] / (double)scale;
        p.at[p.n++] = i;
    }
    return p;
}

struct trend_line {
    double w, x, y;    /* weight and middle */
    double xx, xy, yy; /* weighted squares about the middle */
};

static struct trend_line trend_line_of(const struct trend_points *p, uint32_t from)
{
    struct trend_line l = {0};
    for (uint32_t i = from; i < p->n; i++) {
        l.w += p->w[i];
        l.x += p->w[i] * p->x[i];
        l.y += p->w[i] * p->y[i];
    }
    l.x /= l.w;
    l.y /= l.w;
    for (uint32_t i = from; i < p->n; i++) {
        const double dx = p->x[i] - l.x, dy = p->y[i] - l.y;
        l.xx += p->w[i] * dx * dx;
        l.xy += p->w[i] * dx * dy;
        l.yy += p->w[i] * dy * dy;
    }
    return l;
}

struct trend_fit trend_fit_of(const struct trend *t, float scale)
{
    const struct trend_points p = points_of(t, scale);
    struct trend_fit f = {p.n, NAN, NAN, NAN, NAN, NAN, NAN};
    if (p.n < 3)
        return f;
    const struct trend_line all = trend_line_of(&p, 0), late = trend_line_of(&p, p.n * 2 / 3);
    f.seconds = p.x[p.n - 1] - p.x[0];
    f.per_s = all.xy / all.xx;
    f.late_per_s = late.xx > 0 ? late.xy / late.xx : NAN;
    f.from = all.y + f.per_s * (p.x[0] - all.x);
    f.to = all.y + f.per_s * (p.x[p.n - 1] - all.x);
    f.r2 = all.yy > 0 ? all.xy * all.xy / (all.xx * all.yy) : 0;
    return f;
}

bool trend_is_climb(const struct trend_fit *f)
{
    return f->blocks >= FIT_LEAST && f->per_s > 0 && f->r2 >= STEADY_R2 &&
           f->late_per_s >= STILL_CLIMBS * f->per_s;
}

void finding_over(struct verdict *v, struct finding *f, const struct trend *t)
{
    const int64_t from = t->first * t->length_ns;
    finding_when(v, f, &(struct time_range){{from}, {from + t->n * t->length_ns}}, 1);
}

void trend_plot(const struct trend *t, float scale, wall_ns zero, const char *title,
                const char *unit, struct verdict *v)
{
    const struct trend_points p = points_of(t, scale);
    double *edges = arena_array(v->arena, double, MAX_OF(p.n, 1));
    for (uint32_t i = 0; i < p.n; i++)
        edges[i] = (double)((t->first + p.at[i]) * t->length_ns + t->length_ns / 2 - zero.ns) / 1e9;
    struct plot *plot = verdict_plot(v, PLOT_SERIES, title, unit);
    plot->edges = edges;
    plot->n_edges = p.n;
    plot_row(v, plot, title, p.y, p.n);
}
