/* SPDX-License-Identifier: Apache-2.0 */
/* doc.c - see doc.h. HTML goes to page.h; text and Markdown share the tables and the charts, which
 * become tables, and differ in the functions of struct doc_form (doc_text.c). */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/human.h"
#include "base/mem.h"
#include "base/stat.h"
#include "report/doc_internal.h"
#include "report/svg.h"
#include "rules/verdict.h"

/* ---- figures ---- */

/* What a chart can hold and still be read; the rows that are left out are in report.json. */
enum { ROWS_MOST = 32, HISTOGRAMS_MOST = 8, LINES_MOST = 8, PARTS_MOST = 16 };

/* ---- drawing ---- */

static void figure_svg(struct buf *b, const struct figure *f)
{
    switch (f->kind) {
    case FIGURE_PIE:
        svg_pie(b, &f->words, f->parts, f->n);
        break;
    case FIGURE_BARS:
        svg_bars(b, &f->words, f->parts, f->n);
        break;
    case FIGURE_BOXES:
        svg_boxes(b, &f->words, f->boxes, f->n, f->lo, f->hi);
        break;
    case FIGURE_HISTOGRAM:
        svg_histogram(b, &f->words, f->edges, f->n_edges, f->counts, f->n);
        break;
    case FIGURE_LINES:
        svg_lines(b, &f->words, &f->lines);
        break;
    case FIGURE_STACK:
        svg_stack(b, &f->words, &f->stack);
        break;
    case FIGURE_PROGRESS:
        svg_progress(b, &f->words, f->spans, f->n, f->from, f->to);
        break;
    case FIGURE_N:
        break;
    }
}

/* ---- plots of verdicts ---- */

static void figure_of_parts(const struct plot *p, struct arena *a, struct figure *out)
{
    struct svg_part *v = arena_array(a, struct svg_part, p->n_rows + 1);
    const size_t most = out->kind == FIGURE_PIE ? PARTS_MOST : ROWS_MOST;
    for (size_t i = 0; i < p->n_rows && out->n < most; i++)
        if (p->rows[i].n > 0)
            v[out->n++] = (struct svg_part){p->rows[i].label, p->rows[i].v[0], -1};
    out->parts = v;
}

static void figure_of_boxes(const struct plot *p, struct arena *a, struct figure *out)
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

static void figure_of_histogram(const struct plot *p, struct arena *a, struct figure *out)
{
    struct svg_counts *v = arena_array(a, struct svg_counts, p->n_rows + 1);
    for (size_t i = 0; i < p->n_rows && out->n < HISTOGRAMS_MOST; i++)
        if (p->n_edges > 1 && p->rows[i].n + 1 >= p->n_edges)
            v[out->n++] = (struct svg_counts){p->rows[i].label, p->rows[i].v};
    out->edges = p->edges;
    out->n_edges = p->n_edges;
    out->counts = v;
}

static void figure_of_series(const struct plot *p, struct arena *a, struct figure *out)
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
        [PLOT_HISTOGRAM] = {FIGURE_HISTOGRAM, figure_of_histogram},
        [PLOT_BOX] = {FIGURE_BOXES, figure_of_boxes},
        [PLOT_PIE] = {FIGURE_PIE, figure_of_parts},
        [PLOT_BARS] = {FIGURE_BARS, figure_of_parts},
        [PLOT_SERIES] = {FIGURE_LINES, figure_of_series},
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

/* ---- documents ---- */

static bool doc_is_html(const struct doc *d)
{
    return !d->form;
}

/* Writes one of the two. */
static void doc_put(struct doc *d, const char *html, const char *text)
{
    const char *s = doc_is_html(d) ? html : text;
    buf_put(d->out, s, strlen(s));
}

void doc_open(struct doc *d, enum doc_kind kind, struct buf *out, struct arena *a,
              const struct page_head *head)
{
    static const struct doc_form *const forms[] = {
        [DOC_HTML] = NULL, [DOC_TEXT] = &doc_plain, [DOC_MARKDOWN] = &doc_markdown};
    *d = (struct doc){.form = forms[kind], .out = out, .arena = a};
    if (doc_is_html(d))
        page_open(&d->page, d->out, head);
    else
        d->form->open(d, head);
}

void doc_close(struct doc *d, const char *foot)
{
    if (doc_is_html(d))
        page_close(&d->page, foot);
    else
        d->form->close(d, foot);
}

void doc_contents(struct doc *d, const struct page_link *links)
{
    if (doc_is_html(d))
        page_contents(&d->page, links);
}

void doc_section(struct doc *d, const char *id, const char *title)
{
    if (doc_is_html(d))
        page_section(&d->page, id, title);
    else
        d->form->section(d, title);
}

void doc_section_end(struct doc *d)
{
    if (doc_is_html(d))
        page_section_end(&d->page);
}

void doc_part(struct doc *d, const char *id, const char *title)
{
    if (doc_is_html(d))
        page_part(&d->page, id, title);
    else
        d->form->part(d, title);
}

/* ---- sentences ---- */

__attribute__((format(printf, 2, 0))) static const char *doc_format(struct doc *d, const char *fmt,
                                                                    va_list ap)
{
    char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    const char *copy = arena_strdup(d->arena, text);
    free(text);
    return copy;
}

void doc_text(struct doc *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = doc_format(d, fmt, ap);
    va_end(ap);
    if (doc_is_html(d))
        page_text(&d->page, text);
    else
        d->form->text(d, text);
}

void doc_note(struct doc *d, enum tone tone, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = doc_format(d, fmt, ap);
    va_end(ap);
    if (doc_is_html(d))
        page_note(&d->page, tone, text);
    else
        d->form->note(d, tone, text);
}

/* ---- facts ---- */

void doc_facts(struct doc *d)
{
    doc_put(d, "<dl class=\"facts\">\n", "");
}

void doc_fact(struct doc *d, const char *name, double v, const char *text)
{
    if (doc_is_html(d))
        page_fact_number(&d->page, name, v, text);
    else
        d->form->fact(d, name, text);
}

void doc_facts_end(struct doc *d)
{
    doc_put(d, "</dl>\n", "\n");
}

void doc_tiles(struct doc *d)
{
    doc_put(d, "<dl class=\"tiles\">\n", "");
}

void doc_tile(struct doc *d, const char *name, const char *text, const char *below)
{
    if (doc_is_html(d))
        page_tile(&d->page, name, text, below);
    else
        d->form->fact(d, name, below ? arena_printf(d->arena, "%s (%s)", text, below) : text);
}

void doc_tiles_end(struct doc *d)
{
    doc_put(d, "</dl>\n", "\n");
}

/* ---- tables: text and Markdown collect the cells before they write them ---- */

void doc_table(struct doc *d, const char *caption, const struct page_column *columns)
{
    size_t n = 0;
    if (doc_is_html(d)) {
        page_table(&d->page, caption, columns);
        return;
    }
    while (columns[n].title)
        n++;
    d->caption = caption;
    d->columns = arena_array(d->arena, struct table_column, n + 1);
    for (size_t i = 0; i < n; i++)
        d->columns[i] = (struct table_column){columns[i].title, columns[i].right, false};
    table_init(&d->table, d->arena, d->columns);
}

void doc_cell(struct doc *d, const char *text)
{
    doc_number(d, NAN, text);
}

void doc_number(struct doc *d, double v, const char *text)
{
    if (doc_is_html(d))
        page_number(&d->page, v, text);
    else
        table_cell(&d->table, "%s", text);
}

void doc_value(struct doc *d, double v, const char *unit)
{
    char text[HUMAN_LEN];
    doc_number(d, v, human_value(v, unit, text, sizeof text));
}

void doc_count(struct doc *d, uint64_t n)
{
    char text[HUMAN_LEN];
    doc_number(d, (double)n, human_count(n, text, sizeof text));
}

void doc_bar(struct doc *d, double share, double v, const char *text)
{
    if (doc_is_html(d))
        page_bar(&d->page, share, v, text);
    else
        table_cell(&d->table, "%s", text);
}

void doc_badge(struct doc *d, enum tone tone, const char *text)
{
    if (doc_is_html(d))
        page_badge(&d->page, tone, text);
    else
        table_cell(&d->table, "%s", text);
}

void doc_link(struct doc *d, const char *id, const char *text)
{
    if (doc_is_html(d))
        page_link_cell(&d->page, id, text);
    else
        table_cell(&d->table, "%s", text);
}

void doc_rest(struct doc *d, const char *text)
{
    if (doc_is_html(d))
        page_rest(&d->page, text);
    else
        table_rest(&d->table, "%s", text);
}

void doc_table_end(struct doc *d)
{
    if (doc_is_html(d))
        page_table_end(&d->page);
    else
        d->form->table_end(d);
}

/* ---- charts ---- */

void doc_columns(struct doc *d)
{
    doc_put(d, "<div class=\"columns\">\n", "");
}

void doc_columns_end(struct doc *d)
{
    doc_put(d, "</div>\n", "");
}

static void doc_pie(struct doc *d, const struct figure *f, const char *unit)
{
    static const struct page_column columns[] = {
        {"PART"}, {"VALUE", .right = true}, {"SHARE", .right = true}, {0}};
    double v[PERCENTS_MOST] = {0}, pct[PERCENTS_MOST];
    const size_t n = MIN_OF(f->n, (size_t)PERCENTS_MOST);
    for (size_t i = 0; i < n; i++)
        v[i] = f->parts[i].v;
    percents_of(v, n, pct);
    doc_table(d, f->words.title, columns);
    for (size_t i = 0; i < n; i++) {
        doc_cell(d, f->parts[i].label);
        doc_value(d, v[i], unit);
        doc_number(d, pct[i], arena_printf(d->arena, "%.1f %%", pct[i]));
    }
    doc_table_end(d);
}

static void doc_bars(struct doc *d, const struct figure *f, const char *unit)
{
    static const struct page_column columns[] = {{"ITEM"}, {"VALUE", .right = true}, {0}};
    doc_table(d, f->words.title, columns);
    for (size_t i = 0; i < f->n; i++) {
        doc_cell(d, f->parts[i].label);
        doc_value(d, f->parts[i].v, unit);
    }
    doc_table_end(d);
}

static void doc_boxes(struct doc *d, const struct figure *f, const char *unit)
{
    static const struct page_column columns[] = {
        {"ITEM"},
        {"P5", .right = true},
        {"P25", .right = true},
        {"P50", .right = true},
        {"P75", .right = true},
        {"P95", .right = true},
        {0},
    };
    doc_table(d, f->words.title, columns);
    for (size_t i = 0; i < f->n; i++) {
        const struct svg_box *x = &f->boxes[i];
        const double v[] = {x->p5, x->p25, x->p50, x->p75, x->p95};
        doc_cell(d, x->label);
        for (size_t k = 0; k < COUNT_OF(v); k++)
            doc_value(d, v[k], unit);
    }
    doc_table_end(d);
}

void doc_figure(struct doc *d, const struct figure *f)
{
    const char *unit = f->words.unit ? f->words.unit : "";
    if (doc_is_html(d)) {
        page_figure(&d->page, f->words.title);
        figure_svg(d->out, f);
        page_figure_end(&d->page, f->caption);
    } else if (f->in_table) {
        return;
    } else if (f->kind == FIGURE_PIE) {
        doc_pie(d, f, unit);
    } else if (f->kind == FIGURE_BARS) {
        doc_bars(d, f, unit);
    } else if (f->kind == FIGURE_BOXES) {
        doc_boxes(d, f, unit);
    }
}
