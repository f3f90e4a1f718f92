/* SPDX-License-Identifier: Apache-2.0 */
/* figure.c - see figure.h. */
#include "report/figure.h"

#include <math.h>

#include "base/mem.h"

/* What a chart can hold and still be read; the rows that are left out are in report.json. */
enum { ROWS_MOST = 32, HISTOGRAMS_MOST = 8, LINES_MOST = 8, PIECES_MOST = 16 };

/* ---- drawing ---- */

static void draw_pie(struct buf *b, const struct figure *f)
{
    svg_pie(b, &f->words, f->parts, f->n);
}

static void draw_bars(struct buf *b, const struct figure *f)
{
    svg_bars(b, &f->words, f->parts, f->n);
}

static void draw_boxes(struct buf *b, const struct figure *f)
{
    svg_boxes(b, &f->words, f->boxes, f->n, f->lo, f->hi);
}

static void draw_histogram(struct buf *b, const struct figure *f)
{
    svg_histogram(b, &f->words, f->edges, f->n_edges, f->counts, f->n);
}

static void draw_lines(struct buf *b, const struct figure *f)
{
    svg_lines(b, &f->words, &f->lines);
}

static void draw_stack(struct buf *b, const struct figure *f)
{
    svg_stack(b, &f->words, &f->stack);
}

static void draw_progress(struct buf *b, const struct figure *f)
{
    svg_progress(b, &f->words, f->spans, f->n, f->from, f->to);
}

void figure_svg(struct buf *b, const struct figure *f)
{
    static void (*const draw[FIGURE_N])(struct buf * b, const struct figure *f) = {
        [FIGURE_PIE] = draw_pie,           [FIGURE_BARS] = draw_bars,
        [FIGURE_BOXES] = draw_boxes,       [FIGURE_HISTOGRAM] = draw_histogram,
        [FIGURE_LINES] = draw_lines,       [FIGURE_STACK] = draw_stack,
        [FIGURE_PROGRESS] = draw_progress,
    };
    draw[f->kind](b, f);
}

/* ---- plots of verdicts ---- */

static void of_parts(const struct plot *p, struct arena *a, struct figure *out)
{
    struct svg_part *v = arena_array(a, struct svg_part, p->n_rows + 1);
    const size_t most = out->kind == FIGURE_PIE ? PIECES_MOST : ROWS_MOST;
    for (size_t i = 0; i < p->n_rows && out->n < most; i++)
        if (p->rows[i].n > 0)
            v[out->n++] = (struct svg_part){p->rows[i].label, p->rows[i].v[0], -1};
    out->parts = v;
}

static void of_boxes(const struct plot *p, struct arena *a, struct figure *out)
{
    struct svg_box *v = arena_array(a, struct svg_box, p->n_rows + 1);
    for (size_t i = 0; i < p->n_rows && out->n < ROWS_MOST; i++) {
        const double *q = p->rows[i].v;
        if (p->rows[i].n >= 5)
            v[out->n++] = (struct svg_box){p->rows[i].label, q[0], q[1], q[2], q[3], q[4]};
    }
    out->boxes = v;
    if (strcmp(p->unit, "%") == 0)
        out->hi = 100;
}

static void of_histogram(const struct plot *p, struct arena *a, struct figure *out)
{
    struct svg_counts *v = arena_array(a, struct svg_counts, p->n_rows + 1);
    for (size_t i = 0; i < p->n_rows && out->n < HISTOGRAMS_MOST; i++)
        if (p->n_edges > 1 && p->rows[i].n + 1 >= p->n_edges)
            v[out->n++] = (struct svg_counts){p->rows[i].label, p->rows[i].v};
    out->edges = p->edges;
    out->n_edges = p->n_edges;
    out->counts = v;
}

static void of_series(const struct plot *p, struct arena *a, struct figure *out)
{
    struct svg_line *v = arena_array(a, struct svg_line, p->n_rows + 1);
    for (size_t i = 0; i < p->n_rows && out->n < LINES_MOST; i++)
        v[out->n++] = (struct svg_line){.label = p->rows[i].label,
                                        .t = p->edges,
                                        .v = p->rows[i].v,
                                        .n = MIN_OF(p->rows[i].n, p->n_edges)};
    out->lines = (struct svg_lines){.v = v, .n = out->n, .axis = SVG_TIME};
    if (strcmp(p->unit, "%") == 0)
        out->lines.hi = 100;
}

bool figure_of_plot(const struct plot *p, struct arena *a, struct figure *out)
{
    static const struct {
        enum figure_kind kind;
        void (*fill)(const struct plot *p, struct arena *a, struct figure *out);
    } ways[] = {
        [PLOT_HISTOGRAM] = {FIGURE_HISTOGRAM, of_histogram},
        [PLOT_BOX] = {FIGURE_BOXES, of_boxes},
        [PLOT_PIE] = {FIGURE_PIE, of_parts},
        [PLOT_BARS] = {FIGURE_BARS, of_parts},
        [PLOT_SERIES] = {FIGURE_LINES, of_series},
        [PLOT_TABLE] = {FIGURE_N, NULL},
    };
    if (p->kind >= COUNT_OF(ways) || !ways[p->kind].fill)
        return false;
    *out =
        (struct figure){.kind = ways[p->kind].kind, .words = {.title = p->title, .unit = p->unit}};
    ways[p->kind].fill(p, a, out);
    if (out->n > 0 && out->n < p->n_rows)
        out->caption =
            arena_printf(a, "The first %zu of %zu; see report.json for all.", out->n, p->n_rows);
    return out->n > 0;
}
