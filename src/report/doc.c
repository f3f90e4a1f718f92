/* SPDX-License-Identifier: Apache-2.0 */
/* doc.c - see doc.h. Each element in its three forms; their longer parts are in doc_forms.c. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/human.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/stat.h"
#include "report/doc_internal.h"
#include "report/svg.h"
#include "rules/verdict.h"

/* ---- figures ---- */

/* What fits into a readable chart; the rows that are left out are in report.json. */
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
        svg_box_plot(b, &f->words, f->boxes, f->n, f->lo, f->hi);
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

/* A pie of phases or parts of a step has their colours. */
static void figure_color_parts(struct svg_part *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!look_find(v[i].label))
            return;
    for (size_t i = 0; i < n; i++)
        v[i].color = (int)look_of(v[i].label).colour;
}

static void figure_of_parts(const struct plot *p, struct arena *a, struct figure *out)
{
    struct svg_part *v = arena_array(a, struct svg_part, p->n_rows + 1);
    const size_t most = out->kind == FIGURE_PIE ? PARTS_MOST : ROWS_MOST;
    for (size_t i = 0; i < p->n_rows && out->n < most; i++)
        if (p->rows[i].n > 0)
            v[out->n++] = (struct svg_part){p->rows[i].label, p->rows[i].v[0], -1};
    if (out->kind == FIGURE_PIE)
        figure_color_parts(v, out->n);
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

static const char *const tone_names[TONE_N] = {"none", "good", "info", "warning", "bad"};
/* The meaning of the colour, for screen readers and print. */
static const char *const tone_signs[TONE_N] = {"", "\u2713", "i", "!", "\u2715"};

/* One of them, as it is, by the form. */
static void doc_put(struct doc *d, const char *html, const char *plain, const char *markdown)
{
    const char *const forms[] = {[DOC_HTML] = html, [DOC_TEXT] = plain, [DOC_MARKDOWN] = markdown};
    buf_text(d->out, forms[d->kind]);
}

static void doc_put_html(struct doc *d, const char *html)
{
    doc_put(d, html, "", "");
}

/* A text of HTML or Markdown between two strings of markup. */
static void doc_wrap(struct doc *d, const char *before, const char *text, size_t most,
                     const char *after)
{
    buf_text(d->out, before);
    if (d->kind == DOC_HTML)
        html_text(d->out, text, most);
    else
        doc_markdown_text(d, text);
    buf_text(d->out, after);
}

void doc_open(struct doc *d, enum doc_kind kind, struct buf *out, struct arena *a,
              const struct page_head *head)
{
    *d = (struct doc){.kind = kind, .out = out, .arena = a};
    if (kind == DOC_HTML)
        doc_html_open(d, head);
    else if (kind == DOC_TEXT)
        doc_plain_heading(d, head->title, '=');
    else
        doc_wrap(d, "# ", head->title, 0, "\n\n");
    if (head->lead && kind == DOC_TEXT)
        doc_plain_wrap(d, head->lead, 0, 0);
    else if (head->lead)
        doc_wrap(d, kind == DOC_HTML ? "<p class=\"lead\">" : "", head->lead, TEXT_MOST,
                 kind == DOC_HTML ? "</p>\n" : "\n");
    doc_put_html(d, "</header>\n<main>\n");
}

void doc_close(struct doc *d, const char *foot)
{
    doc_put(d, "</main>\n", "\n", "");
    if (foot && d->kind == DOC_TEXT)
        doc_plain_wrap(d, foot, 0, 0);
    else if (foot)
        doc_wrap(d, d->kind == DOC_HTML ? "<footer><p>" : "\n---\n\n", foot, TEXT_MOST,
                 d->kind == DOC_HTML ? "</p></footer>\n" : "\n");
    if (d->kind == DOC_HTML)
        doc_html_end(d);
}

void doc_contents(struct doc *d, const struct page_link *links)
{
    doc_put_html(d, "<nav aria-label=\"Contents\"><ol>\n");
    for (; d->kind == DOC_HTML && links->id; links++) {
        buf_printf(d->out, "<li><a href=\"#%s\">", links->id);
        doc_wrap(d, "", links->title, HEAD_MOST, "</a></li>\n");
    }
    doc_put_html(d, "</ol></nav>\n");
}

void doc_section(struct doc *d, const char *id, const char *title)
{
    if (d->kind == DOC_HTML)
        buf_printf(d->out, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">",
                   id, id, id);
    doc_put(d, "", "\n\n", "\n## ");
    if (d->kind == DOC_TEXT)
        doc_plain_heading(d, title, '-');
    else
        doc_wrap(d, "", title, HEAD_MOST, d->kind == DOC_HTML ? "</h2>\n" : "\n\n");
}

void doc_section_end(struct doc *d)
{
    doc_put_html(d, "</section>\n");
}

void doc_part(struct doc *d, const char *id, const char *title)
{
    if (d->kind == DOC_TEXT)
        buf_printf(d->out, "\n%s\n", text_safe(d->arena, title));
    else if (d->kind == DOC_MARKDOWN)
        doc_wrap(d, "\n### ", title, 0, "\n\n");
    else
        doc_wrap(d, id ? arena_printf(d->arena, "<h3 id=\"%s\">", id) : "<h3>", title, HEAD_MOST,
                 "</h3>\n");
}

/* ---- sentences ---- */

void doc_text(struct doc *d, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(d->arena, fmt, ap);
    va_end(ap);
    if (d->kind == DOC_TEXT)
        doc_plain_wrap(d, text, 0, 0);
    else if (d->kind == DOC_MARKDOWN)
        doc_wrap(d, "", text, 0, "\n\n");
    else
        doc_wrap(d, "<p>", text, TEXT_MOST, "</p>\n");
}

static const char *doc_sign(struct doc *d, enum tone tone)
{
    return tone == TONE_NONE
               ? ""
               : arena_printf(d->arena, "<span class=\"sign\" aria-hidden=\"true\">%s</span>",
                              tone_signs[tone]);
}

void doc_note(struct doc *d, enum tone tone, const char *fmt, ...)
{
    static const char signs[TONE_N] = {' ', '+', ' ', '!', '!'};
    static const char *const names[TONE_N] = {[TONE_INFO] = "**Note:** ",
                                              [TONE_WARNING] = "**Warning:** ",
                                              [TONE_BAD] = "**Important:** "};
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(d->arena, fmt, ap);
    va_end(ap);
    if (d->kind == DOC_HTML) {
        buf_printf(d->out, "<p class=\"note %s\">%s<span>", tone_names[tone], doc_sign(d, tone));
        doc_wrap(d, "", text, TEXT_MOST, "</span></p>\n");
    } else if (d->kind == DOC_TEXT) {
        buf_printf(d->out, "%c ", signs[tone]);
        doc_plain_wrap(d, text, 2, 2);
    } else {
        buf_printf(d->out, "> %s", names[tone] ? names[tone] : "");
        doc_wrap(d, "", text, 0, "\n\n");
    }
}

/* ---- facts ---- */

/* The number as JSON has it, for readers of the page and for sorting. */
static void doc_put_value(struct doc *d, double v)
{
    if (!isfinite(v))
        return;
    doc_put_html(d, " data-v=\"");
    json_put_number(d->out, v);
    doc_put_html(d, "\"");
}

void doc_facts(struct doc *d)
{
    doc_put_html(d, "<dl class=\"facts\">\n");
}

void doc_fact(struct doc *d, const char *name, double v, const char *text)
{
    if (d->kind == DOC_HTML) {
        doc_wrap(d, "<div><dt>", name, HEAD_MOST, "</dt><dd");
        doc_put_value(d, v);
        doc_wrap(d, ">", text, CELL_MOST, "</dd></div>\n");
    } else if (d->kind == DOC_TEXT) {
        doc_plain_fact(d, name, text);
    } else {
        doc_wrap(d, "- **", name, 0, ":** ");
        doc_wrap(d, "", text, 0, "\n");
    }
}

void doc_tiles(struct doc *d)
{
    doc_put_html(d, "<dl class=\"tiles\">\n");
}

void doc_tile(struct doc *d, const char *name, const char *text, const char *below)
{
    if (d->kind != DOC_HTML) {
        doc_fact(d, name, NAN, below ? arena_printf(d->arena, "%s (%s)", text, below) : text);
        return;
    }
    doc_wrap(d, "<div><dt>", name, HEAD_MOST, "</dt><dd>");
    doc_wrap(d, "", text, HEAD_MOST, "</dd>");
    if (below)
        doc_wrap(d, "<dd class=\"below\">", below, CELL_MOST, "</dd>");
    doc_put_html(d, "</div>\n");
}

void doc_facts_end(struct doc *d)
{
    doc_put(d, "</dl>\n", "\n", "\n");
}

/* ---- tables: text and Markdown collect the cells before they write them ---- */

static const char *doc_class(const struct table_column *c)
{
    return c->right ? " class=\"n\"" : c->gives ? " class=\"wide\"" : "";
}

static void doc_begin_table(struct doc *d, const char *caption)
{
    size_t prose = 0; /* several columns of it need smaller letters */
    d->caption = caption;
    d->column = 0;
    if (d->kind != DOC_HTML)
        return;
    for (size_t i = 0; i < d->table.n_columns; i++)
        prose += d->table.columns[i].gives;
    doc_wrap(d, "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"", caption,
             HEAD_MOST,
             prose > 1 ? "\"><table class=\"prose\">\n<caption>" : "\"><table>\n<caption>");
    doc_wrap(d, "", caption, HEAD_MOST, "</caption>\n<thead><tr>");
    for (size_t i = 0; i < d->table.n_columns; i++) {
        buf_printf(d->out, "<th scope=\"col\"%s>", doc_class(&d->table.columns[i]));
        doc_wrap(d, "", d->table.columns[i].title, HEAD_MOST, "</th>");
    }
    doc_put_html(d, "</tr></thead>\n<tbody>\n");
}

void doc_table(struct doc *d, const char *caption, const char *columns)
{
    table_init(&d->table, d->arena, columns);
    doc_begin_table(d, caption);
}

void doc_table_of(struct doc *d, const char *caption, struct table_column *columns, size_t n)
{
    d->table = (struct table){.arena = d->arena, .columns = columns, .n_columns = n};
    doc_begin_table(d, caption);
}

/* An HTML cell over `span` columns: its attributes, its text between two strings of markup. */
static void doc_html_cell(struct doc *d, size_t span, const char *attributes, double v,
                          const char *before, const char *text, const char *after)
{
    const bool head = d->column == 0;
    buf_printf(d->out, "%s%s", head ? "<tr><th scope=\"row\"" : "<td", attributes);
    doc_put_value(d, v);
    doc_wrap(d, before, text, CELL_MOST, after);
    doc_put_html(d, head ? "</th>" : "</td>");
    d->column = (d->column + span) % d->table.n_columns;
    if (d->column == 0)
        doc_put_html(d, "</tr>\n");
}

static void doc_put_cell(struct doc *d, double v, const char *before, const char *text,
                         const char *after)
{
    if (d->kind == DOC_HTML)
        doc_html_cell(d, 1, doc_class(&d->table.columns[d->column]), v, before, text, after);
    else
        table_cell(&d->table, "%s", text);
}

void doc_cell(struct doc *d, const char *text)
{
    doc_number(d, NAN, text);
}

void doc_number(struct doc *d, double v, const char *text)
{
    doc_put_cell(d, v, ">", text, "");
}

void doc_value(struct doc *d, double v, const char *unit)
{
    doc_number(d, v, value_text(d->arena, v, unit));
}

void doc_values(struct doc *d, const char *unit, const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        doc_value(d, v[i], unit);
}

void doc_cells(struct doc *d, const char *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        doc_cell(d, v[i]);
}

void doc_count(struct doc *d, uint64_t n)
{
    doc_number(d, (double)n, count_text(d->arena, n));
}

void doc_bar(struct doc *d, double share, const char *text)
{
    const double shown = share >= 0 ? fmin(share, 1) : 0; /* NAN is left out */
    doc_put_cell(
        d, share,
        arena_printf(
            d->arena,
            "><svg class=\"bar\" width=\"64\" height=\"10\" viewBox=\"0 0 64 10\" "
            "aria-hidden=\"true\"><rect class=\"track\" width=\"64\" height=\"10\" rx=\"2\"/>"
            "<rect class=\"c0\" width=\"%.1f\" height=\"10\" rx=\"2\"/></svg>",
            shown * 64),
        text, "");
}

void doc_badge(struct doc *d, enum tone tone, const char *text)
{
    doc_put_cell(
        d, tone,
        arena_printf(d->arena, "><span class=\"badge %s\">%s", tone_names[tone], doc_sign(d, tone)),
        text, "</span>");
}

void doc_link(struct doc *d, const char *id, const char *text)
{
    doc_put_cell(d, NAN, arena_printf(d->arena, "><a href=\"#%s\">", id), text, "</a>");
}

void doc_rest(struct doc *d, const char *text)
{
    const size_t left = d->table.n_columns - d->column;
    if (d->kind == DOC_HTML)
        doc_html_cell(d, left, arena_printf(d->arena, " class=\"wide rest\" colspan=\"%zu\"", left),
                      NAN, ">", text, "");
    else
        table_rest(&d->table, "%s", text);
}

void doc_table_end(struct doc *d)
{
    while (d->column != 0)
        doc_cell(d, "");
    doc_put_html(d, "</tbody></table></div>\n");
    if (d->kind == DOC_TEXT)
        doc_plain_table(d);
    else if (d->kind == DOC_MARKDOWN)
        doc_markdown_table(d);
}

/* ---- charts ---- */

void doc_columns(struct doc *d)
{
    doc_put_html(d, "<div class=\"columns\">\n");
}

void doc_columns_end(struct doc *d)
{
    doc_put_html(d, "</div>\n");
}

static void doc_pie(struct doc *d, const struct figure *f, const char *unit)
{
    double v[PERCENTS_MOST] = {0}, pct[PERCENTS_MOST];
    const size_t n = MIN_OF(f->n, (size_t)PERCENTS_MOST);
    for (size_t i = 0; i < n; i++)
        v[i] = f->parts[i].v;
    percents_of(v, n, pct);
    doc_table(d, f->words.title, "PART|>VALUE|>SHARE");
    for (size_t i = 0; i < n; i++) {
        doc_cell(d, f->parts[i].label);
        doc_value(d, v[i], unit);
        doc_number(d, pct[i], arena_printf(d->arena, "%.1f %%", pct[i]));
    }
    doc_table_end(d);
}

static void doc_bars(struct doc *d, const struct figure *f, const char *unit)
{
    doc_table(d, f->words.title, "ITEM|>VALUE");
    for (size_t i = 0; i < f->n; i++) {
        doc_cell(d, f->parts[i].label);
        doc_value(d, f->parts[i].v, unit);
    }
    doc_table_end(d);
}

static void doc_boxes(struct doc *d, const struct figure *f, const char *unit)
{
    doc_table(d, f->words.title, "ITEM|>P5|>P25|>P50|>P75|>P95");
    for (size_t i = 0; i < f->n; i++) {
        const struct svg_box *x = &f->boxes[i];
        doc_cell(d, x->label);
        DOC_VALUES(d, unit, x->p5, x->p25, x->p50, x->p75, x->p95);
    }
    doc_table_end(d);
}

void doc_figure(struct doc *d, const struct figure *f)
{
    static void (*const tables[FIGURE_N])(struct doc * d, const struct figure *f,
                                          const char *unit) = {
        [FIGURE_PIE] = doc_pie, [FIGURE_BARS] = doc_bars, [FIGURE_BOXES] = doc_boxes};
    if (d->kind != DOC_HTML) {
        if (!f->in_table && tables[f->kind])
            tables[f->kind](d, f, f->words.unit ? f->words.unit : "");
        return;
    }
    doc_put_html(d, "<figure>\n");
    if (f->words.title)
        doc_wrap(d, "<p class=\"figure-title\">", f->words.title, HEAD_MOST, "</p>\n");
    figure_svg(d->out, f);
    if (f->caption)
        doc_wrap(d, "<figcaption>", f->caption, TEXT_MOST, "</figcaption>\n");
    doc_put_html(d, "</figure>\n");
}
