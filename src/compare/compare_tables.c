/* SPDX-License-Identifier: Apache-2.0 */
/* compare_tables.c - throughput, phases and utilization of both sides. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compare/compare_internal.h"

/* ---- numbers ---- */

void compare_number(struct comparing *c, struct compared_number n,
                    double (*of)(const struct compare_reading *, size_t), size_t arg)
{
    const char *why = n.why[COMPARE_A];
    bool some = false;
    for (int s = 0; s < COMPARE_SIDES; s++) {
        n.v[s] = side_mean(&c->side[s], of, arg);
        n.why[s] = isnan(n.v[s]) ? why : NULL;
        some |= !isnan(n.v[s]);
    }
    if (some && c->out->n_numbers < COMPARE_NUMBERS_MOST)
        c->out->numbers[c->out->n_numbers++] = n;
}

static double throughput_of(const struct compare_reading *r, size_t overall)
{
    return overall ? r->throughput_overall : r->throughput_steady;
}

/* Other numbers of the loop belong here: energy of a sample, tensor activity, share of peak. */
static void fill_numbers(struct comparing *c)
{
    static const char why[] = "the batch sizes are not known";
    compare_number(c,
                   (struct compared_number){.key = "throughput_steady",
                                            .title = "Throughput, steady",
                                            .unit = "samples/s",
                                            .why = {why}},
                   throughput_of, false);
    compare_number(c,
                   (struct compared_number){.key = "throughput_overall",
                                            .title = "Throughput, overall",
                                            .unit = "samples/s",
                                            .why = {why}},
                   throughput_of, true);
    for (int s = 0; s < COMPARE_SIDES; s++) {
        c->out->side[s].throughput_steady = side_mean(&c->side[s], throughput_of, false);
        c->out->side[s].throughput_overall = side_mean(&c->side[s], throughput_of, true);
        if (isnan(c->out->side[s].throughput_steady) && c->out->side[s].steps.count)
            compare_lose(c, "throughput", why, s);
    }
}

/* ---- phases ---- */

static double phase_of(const struct compare_reading *r, size_t k)
{
    return r->has_phases ? r->phase_s[k] : NAN;
}

static double job_of(const struct compare_reading *r, size_t unused)
{
    (void)unused;
    return r->job_s;
}

static void fill_phase(struct comparing *c, const char *name,
                       double (*of)(const struct compare_reading *, size_t), size_t k)
{
    struct compared_phase p = {.phase = name};
    for (int s = 0; s < COMPARE_SIDES; s++)
        p.s[s] = side_mean(&c->side[s], of, k);
    /* A phase that occurs in neither is not worth a line. */
    if (p.s[COMPARE_A] != 0 || p.s[COMPARE_B] != 0)
        c->out->phases[c->out->n_phases++] = p;
}

static void fill_phases(struct comparing *c)
{
    c->out->phases = arena_array(c->arena, struct compared_phase, PHASE_N + 1);
    for (size_t k = 0; k < PHASE_N; k++)
        fill_phase(c, phase_name((enum phase_kind)k), phase_of, k);
    fill_phase(c, "total", job_of, 0);
}

/* ---- utilization ---- */

const char *const compare_quantile_names[COMPARE_QUANTILES] = {"min", "mean", "p50", "p90",
                                                               "p95", "p99",  "max"};

static void compare_tables_add_line(double v[COMPARE_QUANTILES], const struct series_stats *s,
                                    bool first)
{
    const double of[COMPARE_QUANTILES] = {s->min, s->mean, s->p50, s->p90, s->p95, s->p99, s->max};
    for (size_t q = 0; q < COMPARE_QUANTILES; q++)
        v[q] = first ? of[q] : v[q] + of[q];
    if (!first) { /* the outermost of all, not their sum */
        v[0] = fmin(v[0] - s->min, s->min);
        v[COMPARE_QUANTILES - 1] = fmax(v[COMPARE_QUANTILES - 1] - s->max, s->max);
    }
}

/* All nodes of all runs: least, largest, and the means of their quantiles. */
static void fill_use(struct comparing *c, int side, const struct summary_row *row,
                     struct compared_use *out)
{
    size_t n = 0;
    for (size_t i = 0; i < c->side[side].n; i++) {
        const struct compare_reading *r = &c->side[side].v[i];
        for (size_t k = 0; k < r->n_lines; k++) {
            const struct summary_line *l = &r->lines[k];
            if (strcmp(l->row->name, row->name) != 0)
                continue;
            out->unit = l->unit;
            if (l->stats.count)
                compare_tables_add_line(out->v[side], &l->stats, n++ == 0);
            else if (!out->why[side])
                out->why[side] = arena_strdup(c->arena, l->why);
        }
    }
    for (size_t q = 0; q < COMPARE_QUANTILES; q++)
        out->v[side][q] = n == 0                                 ? NAN
                          : q == 0 || q == COMPARE_QUANTILES - 1 ? out->v[side][q]
                                                                 : out->v[side][q] / (double)n;
    if (n)
        out->why[side] = NULL;
}

static void fill_uses(struct comparing *c)
{
    const struct compare_reading *first = &c->side[COMPARE_A].v[0];
    size_t rows = 0; /* the lines of a node stand together, and each node has all */
    while (rows < first->n_lines && first->lines[rows].node == first->lines[0].node)
        rows++;
    c->out->uses = arena_array(c->arena, struct compared_use, rows + 1);
    for (size_t k = 0; k < rows; k++) {
        struct compared_use *u = &c->out->uses[c->out->n_uses++];
        const struct summary_row *row = first->lines[k].row;
        *u = (struct compared_use){.metric = row->name, .title = row->title};
        for (int s = 0; s < COMPARE_SIDES; s++)
            fill_use(c, s, row, u);
        u->diff = u->v[COMPARE_B][2] - u->v[COMPARE_A][2];
    }
}

void compare_tables(struct comparing *c)
{
    fill_numbers(c);
    fill_phases(c);
    fill_uses(c);
}
