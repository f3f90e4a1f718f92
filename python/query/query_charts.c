/* SPDX-License-Identifier: Apache-2.0 */
/* query_charts.c - numbers as text and charts as SVG for notebooks, by the code of the program and
 * its report: base/human.h, report/svg.h. Pictures of three kinds occur only in notebooks and are
 * drawn here from the same parts: dots, lanes, heat.
 *
 * A chart is one <svg> with panels in columns. It carries its own style, which applies to nothing
 * else on the page; it has no script and no address outside of it. Every text is escaped. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/human.h"
#include "base/mem.h"
#include "base/table.h"
#include "query.h"
#include "report/doc.h"
#include "report/doc_internal.h"
#include "report/svg_internal.h"

/* ---- numbers ---- */

PyObject *query_human_value(PyObject *module, PyObject *args)
{
    double v;
    const char *unit;
    char text[4 * HUMAN_LEN]; /* an unknown unit is printed as it is */
    (void)module;
    if (!PyArg_ParseTuple(args, "ds:human_value", &v, &unit))
        return NULL;
    const struct query_locale l = query_locale_begin();
    human_value(v, unit, text, sizeof text);
    query_locale_end(&l);
    return query_str(text);
}

PyObject *query_human_duration(PyObject *module, PyObject *args)
{
    double seconds;
    char text[HUMAN_LEN];
    (void)module;
    if (!PyArg_ParseTuple(args, "d:human_duration", &seconds))
        return NULL;
    const struct query_locale l = query_locale_begin();
    duration_text(seconds, text, sizeof text);
    query_locale_end(&l);
    return query_str(text);
}

PyObject *query_human_price(PyObject *module, PyObject *args)
{
    double v;
    const char *currency;
    char number[HUMAN_LEN];
    (void)module;
    if (!PyArg_ParseTuple(args, "dz:human_price", &v, &currency))
        return NULL;
    const struct query_locale l = query_locale_begin();
    human_money(v, number, sizeof number);
    query_locale_end(&l);
    if (isnan(v) || !currency)
        return query_str(number);
    return PyUnicode_FromFormat("%s %s", number, currency_name(currency));
}

PyObject *query_human_count(PyObject *module, PyObject *args)
{
    long long n;
    char text[HUMAN_LEN];
    (void)module;
    if (!PyArg_ParseTuple(args, "L:human_count", &n))
        return NULL;
    const uint64_t size = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    return PyUnicode_FromFormat("%s%s", n < 0 ? "-" : "", human_count(size, text, sizeof text));
}

/* ---- data of a panel: lists of Python as arrays, in the chart's arena ---- */

/* NULL with an exception. `n` may be NULL. */
static double *chart_doubles(PyObject *list, struct arena *a, size_t *n)
{
    const Py_ssize_t len = PyList_Size(list);
    if (len < 0)
        return NULL;
    double *out = arena_array(a, double, (size_t)len + 1);
    for (Py_ssize_t i = 0; i < len; i++) {
        out[i] = PyFloat_AsDouble(PyList_GetItem(list, i));
        if (out[i] == -1 && PyErr_Occurred())
            return NULL;
    }
    if (n)
        *n = (size_t)len;
    return out;
}

/* Texts, which live as long as the list. NULL with an exception. */
static const char **chart_texts(PyObject *list, struct arena *a, size_t *n)
{
    const Py_ssize_t len = PyList_Size(list);
    if (len < 0)
        return NULL;
    const char **out = arena_array(a, const char *, (size_t)len + 1);
    for (Py_ssize_t i = 0; i < len; i++) {
        out[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL);
        if (!out[i])
            return NULL;
    }
    *n = (size_t)len;
    return out;
}

/* What a panel is drawn from. */
struct chart_panel {
    struct svg_words words;
    PyObject *data; /* a tuple; the kind knows what is in it */
    struct arena *a;
};

/* ---- kinds that the report has too ---- */

static int chart_histogram(struct buf *b, const struct chart_panel *p)
{
    PyObject *edges, *rows, *counts;
    size_t n_edges, n;
    if (!PyArg_ParseTuple(p->data, "OO:histogram", &edges, &rows))
        return -1;
    const double *at = chart_doubles(edges, p->a, &n_edges);
    const Py_ssize_t len = at ? PyList_Size(rows) : -1;
    if (len < 0)
        return -1;
    struct svg_counts *v = arena_array(p->a, struct svg_counts, (size_t)len + 1);
    for (Py_ssize_t i = 0; i < len; i++) {
        if (!PyArg_ParseTuple(PyList_GetItem(rows, i), "sO", &v[i].label, &counts))
            return -1;
        v[i].counts = chart_doubles(counts, p->a, &n);
        if (!v[i].counts)
            return -1;
        if (n + 1 != n_edges) {
            PyErr_SetString(PyExc_ValueError, "a histogram has one edge more than counts");
            return -1;
        }
    }
    svg_histogram(b, &p->words, at, n_edges, v, (size_t)len);
    return 0;
}

static int chart_bars(struct buf *b, const struct chart_panel *p)
{
    PyObject *rows;
    if (!PyArg_ParseTuple(p->data, "O:bars", &rows))
        return -1;
    const Py_ssize_t len = PyList_Size(rows);
    if (len < 0)
        return -1;
    struct svg_part *v = arena_array(p->a, struct svg_part, (size_t)len + 1);
    for (Py_ssize_t i = 0; i < len; i++)
        if (!PyArg_ParseTuple(PyList_GetItem(rows, i), "sdi", &v[i].label, &v[i].v, &v[i].color))
            return -1;
    svg_bars(b, &p->words, v, (size_t)len);
    return 0;
}

static int chart_boxes(struct buf *b, const struct chart_panel *p)
{
    PyObject *rows;
    double most;
    if (!PyArg_ParseTuple(p->data, "dO:boxes", &most, &rows))
        return -1;
    const Py_ssize_t len = PyList_Size(rows);
    if (len < 0)
        return -1;
    struct svg_box *v = arena_array(p->a, struct svg_box, (size_t)len + 1);
    for (Py_ssize_t i = 0; i < len; i++)
        if (!PyArg_ParseTuple(PyList_GetItem(rows, i), "sddddd", &v[i].label, &v[i].p5, &v[i].p25,
                              &v[i].p50, &v[i].p75, &v[i].p95))
            return -1;
    svg_box_plot(b, &p->words, v, (size_t)len, 0, most);
    return 0;
}

/* An array as long as the others. */
static const double *chart_column(PyObject *list, size_t n, struct arena *a)
{
    size_t got;
    const double *v = chart_doubles(list, a, &got);
    if (v && got != n) {
        PyErr_SetString(PyExc_ValueError, "the columns of a line have different lengths");
        return NULL;
    }
    return v;
}

static int chart_lines(struct buf *b, const struct chart_panel *p)
{
    PyObject *t, *v, *min, *max;
    struct svg_line line = {0};
    struct svg_lines l = {.v = &line, .n = 1, .axis = SVG_TIME};
    if (!PyArg_ParseTuple(p->data, "sOOOOddd:line", &line.label, &t, &v, &min, &max, &l.from, &l.to,
                          &l.hi))
        return -1;
    line.t = chart_doubles(t, p->a, &line.n);
    line.v = line.t ? chart_column(v, line.n, p->a) : NULL;
    if (!line.v)
        return -1;
    if (min != Py_None && max != Py_None) {
        line.min = chart_column(min, line.n, p->a);
        line.max = line.min ? chart_column(max, line.n, p->a) : NULL;
        if (!line.max)
            return -1;
    }
    svg_lines(b, &p->words, &l);
    return 0;
}

/* ---- kinds of notebooks alone: a frame with time across ---- */

enum { FRAME_RIGHT = SVG_FULL - 12, FRAME_TOP = 26, FRAME_BELOW = 24, DOTS_HEIGHT = 200 };

struct chart_frame {
    double left, top, bottom; /* pixels */
    double from, to;          /* seconds across */
};

static double frame_x(const struct chart_frame *f, double t)
{
    const double share = f->to > f->from ? (t - f->from) / (f->to - f->from) : 0;
    return f->left + fmin(fmax(share, 0), 1) * (FRAME_RIGHT - f->left);
}

static void frame_axis(struct buf *b, const struct chart_frame *f)
{
    const struct ticks t = ticks_of_time(f->from, f->to, 8);
    char text[HUMAN_LEN];
    svg_rule(b, "axis", f->left, f->bottom, FRAME_RIGHT, f->bottom);
    for (size_t i = 0; i < t.n; i++) {
        const double v = t.first + t.step * (double)i, x = frame_x(f, v);
        svg_rule(b, "axis", x, f->bottom, x, f->bottom + 4);
        svg_label(b, x, f->bottom + 17, x > FRAME_RIGHT - 24 ? ANCHOR_END : ANCHOR_MIDDLE, "q",
                  tick_time_text(v, &t, text, sizeof text));
    }
}

/* Names with their colours, above the frame. */
static void frame_legend(struct buf *b, const struct chart_frame *f, const char *const *names,
                         size_t n)
{
    double x = f->left;
    for (size_t i = 0; i < n && x < FRAME_RIGHT - 100; i++)
        x = svg_key(b, (int)(i % SVG_COLORS), x, 4, names[i]) + 20;
}

/* Room for the widest of the names. */
static double frame_left(const char *const *names, size_t n)
{
    double widest = 0;
    for (size_t i = 0; i < n; i++)
        widest = fmax(widest, svg_width_of(names[i]));
    return fmin(fmax(widest + 12, 66), 226);
}

/* Dots of several kinds: each is its kind, x, y and a hint. */
static int chart_dots(struct buf *b, const struct chart_panel *p)
{
    struct chart_frame f = {66, FRAME_TOP, FRAME_TOP + DOTS_HEIGHT, 0, 0};
    PyObject *kinds, *dots;
    double most;
    size_t n_kinds;
    char text[HUMAN_LEN];
    if (!PyArg_ParseTuple(p->data, "dddOO:dots", &f.from, &f.to, &most, &kinds, &dots))
        return -1;
    const char **names = chart_texts(kinds, p->a, &n_kinds);
    const Py_ssize_t len = names ? PyList_Size(dots) : -1;
    if (len < 0)
        return -1;
    most = round_up(most);
    svg_begin(b, &p->words, SVG_FULL, f.bottom + FRAME_BELOW, "", NULL);
    frame_legend(b, &f, names, n_kinds);
    const struct ticks t = ticks_of(0, most, 5);
    for (size_t i = 0; i < t.n; i++) {
        const double v = t.first + t.step * (double)i, y = f.bottom - v / most * DOTS_HEIGHT;
        svg_rule(b, "grid", f.left, y, FRAME_RIGHT, y);
        svg_label(b, f.left - 8, y + 4, ANCHOR_END, "q",
                  tick_text(v, svg_unit(&p->words), text, sizeof text));
    }
    frame_axis(b, &f);
    for (Py_ssize_t i = 0; i < len; i++) {
        int kind;
        double x, y;
        const char *hint;
        if (!PyArg_ParseTuple(PyList_GetItem(dots, i), "idds", &kind, &x, &y, &hint))
            return -1;
        buf_printf(b, "<circle class=\"c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"2\">",
                   abs(kind) % SVG_COLORS, frame_x(&f, x), f.bottom - y / most * DOTS_HEIGHT);
        svg_hint(b, "%s", hint);
        buf_text(b, "</circle>\n");
    }
    svg_end(b);
    return 0;
}

/* Rows with bars of time: each bar is its row, its kind, from, to and a hint. */
static int chart_lanes(struct buf *b, const struct chart_panel *p)
{
    enum { LANE = 20 };
    struct chart_frame f = {.top = FRAME_TOP};
    PyObject *labels, *kinds, *bars;
    size_t n_rows, n_kinds;
    if (!PyArg_ParseTuple(p->data, "dOOO:lanes", &f.to, &labels, &kinds, &bars))
        return -1;
    const char **rows = chart_texts(labels, p->a, &n_rows);
    const char **names = rows ? chart_texts(kinds, p->a, &n_kinds) : NULL;
    const Py_ssize_t len = names ? PyList_Size(bars) : -1;
    if (len < 0)
        return -1;
    f.left = frame_left(rows, n_rows);
    f.bottom = f.top + LANE * (double)n_rows;
    svg_begin(b, &p->words, SVG_FULL, f.bottom + FRAME_BELOW, "", NULL);
    frame_legend(b, &f, names, n_kinds);
    for (size_t i = 0; i < n_rows; i++)
        svg_name(b, f.left - 6, f.top + LANE * (double)i + 14, ANCHOR_END, rows[i]);
    for (Py_ssize_t i = 0; i < len; i++) {
        int row, kind;
        double from, to;
        const char *hint;
        if (!PyArg_ParseTuple(PyList_GetItem(bars, i), "iidds", &row, &kind, &from, &to, &hint))
            return -1;
        const double x = frame_x(&f, from);
        buf_printf(b,
                   "<rect class=\"c%d\" fill-opacity=\"0.6\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                   "height=\"%d\">",
                   abs(kind) % SVG_COLORS, x, f.top + LANE * row + 2,
                   fmax(frame_x(&f, to) - x, 0.6), LANE - 4);
        svg_hint(b, "%s", hint);
        buf_text(b, "</rect>\n");
    }
    frame_axis(b, &f);
    svg_end(b);
    return 0;
}

/* A picture whose rows have names; the names are left out where rows are too low for each. */
static int chart_heat(struct buf *b, const struct chart_panel *p)
{
    struct chart_frame f = {.top = 4};
    PyObject *labels;
    const char *picture;
    size_t n;
    if (!PyArg_ParseTuple(p->data, "dOs:heat", &f.to, &labels, &picture))
        return -1;
    const char **names = chart_texts(labels, p->a, &n);
    if (!names)
        return -1;
    const double row = n <= 40 ? 14 : 6;
    const size_t every = n <= 40 ? 1 : 2;
    f.left = frame_left(names, n);
    f.bottom = f.top + row * (double)n;
    svg_begin(b, &p->words, SVG_FULL, f.bottom + FRAME_BELOW, "", NULL);
    buf_printf(b,
               "<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
               "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"",
               f.left, f.top, FRAME_RIGHT - f.left, f.bottom - f.top);
    html_text(b, picture, 0);
    buf_text(b, "\"/>\n");
    for (size_t i = 0; i < n; i += every)
        svg_name(b, f.left - 6, f.top + row * ((double)i + 0.5) + 4, ANCHOR_END, names[i]);
    frame_axis(b, &f);
    svg_end(b);
    return 0;
}

/* The title alone: why there is no chart. */
static int chart_note(struct buf *b, const struct chart_panel *p)
{
    svg_begin(b, &p->words, SVG_FULL, 12, "", NULL);
    svg_end(b);
    return 0;
}

static const struct {
    const char *kind;
    int (*draw)(struct buf *b, const struct chart_panel *p); /* -1: an exception is set */
} chart_kinds[] = {
    {"histogram", chart_histogram}, {"bars", chart_bars}, {"boxes", chart_boxes},
    {"line", chart_lines},          {"dots", chart_dots}, {"lanes", chart_lanes},
    {"heat", chart_heat},           {"note", chart_note},
};

/* ---- the whole chart ---- */

enum { TITLE_HEIGHT = 26, PANEL_GAP = 8 };

/* One palette for light and dark pages: a notebook does not say which it is. */
static const char chart_palette[] =
    ".fp-chart{--text:currentColor;--text-2:#888;--line:#8884;--surface:transparent;--surface-2:#"
    "8882;"
    "--c1:#3b7dd8;--c2:#d9822b;--c3:#3a9e6f;--c4:#b5485d;--c5:#7c5cc4;--c6:#8a7a2c;--c7:#2b9aa0;"
    "--c8:#c25ba8}\n";

/* The rules for charts of the report's style sheet: lines that begin with "svg " or with the first
 * of the colours. Each rule gets the chart's class in front, because a notebook has other pictures.
 */
static void chart_style(struct buf *b)
{
    static const char *const starts[] = {"svg ", ".c0{", ".l0{"};
    const char *at = (const char *)page_css, *end = at + page_css_len;
    buf_text(b, "<style>");
    buf_text(b, chart_palette);
    while (at < end) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        eol = eol ? eol + 1 : end;
        bool chart = false;
        for (size_t i = 0; i < COUNT_OF(starts); i++)
            chart |= eol - at > 4 && memcmp(at, starts[i], 4) == 0;
        for (bool first = true; chart && at < eol; at++) {
            if (first && *at != '\n')
                buf_text(b, ".fp-chart ");
            if (first && memcmp(at, "svg ", 4) == 0)
                at += 4;
            buf_u8(b, (uint8_t)*at);
            first = *at == '}';
        }
        at = eol;
    }
    buf_text(b, "</style>\n");
}

struct chart_cell {
    const char *title;
    struct buf svg;
    double width, height; /* of the picture, with its title */
};

/* The size that a picture states in its viewBox. */
static void chart_size_of(struct chart_cell *c)
{
    static const char box[] = "viewBox=\"0 0 ";
    buf_u8(&c->svg, 0);
    c->svg.len--;
    const char *at = strstr((const char *)c->svg.p, box);
    char *end = NULL;
    assert(at);
    c->width = strtod(at + sizeof box - 1, &end);
    c->height = strtod(end, NULL) + (*c->title ? TITLE_HEIGHT : 0);
}

static int chart_draw(struct chart_cell *c, PyObject *panel, struct arena *a)
{
    struct chart_panel p = {.a = a};
    const char *kind;
    if (!PyArg_ParseTuple(panel, "sssO!:panel", &kind, &c->title, &p.words.unit, &PyTuple_Type,
                          &p.data))
        return -1;
    p.words.title = c->title;
    for (size_t i = 0; i < COUNT_OF(chart_kinds); i++)
        if (strcmp(chart_kinds[i].kind, kind) == 0) {
            if (chart_kinds[i].draw(&c->svg, &p) != 0)
                return -1;
            chart_size_of(c);
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "there is no chart '%s'", kind);
    return -1;
}

/* Puts the panels into rows and columns; returns the height of all. */
static double chart_place(struct buf *b, const struct chart_cell *v, size_t n, size_t columns,
                          double width)
{
    double y = 0, row = 0;
    for (size_t i = 0; i < n; i++) {
        const double x = width * (double)(i % columns);
        const double title = *v[i].title ? TITLE_HEIGHT : 0;
        if (i % columns == 0)
            y += row, row = 0;
        if (*v[i].title)
            svg_label(b, x + 4, y + 17, ANCHOR_START, "m", v[i].title);
        buf_printf(b, "<svg x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\">\n", x, y + title,
                   v[i].width, v[i].height - title);
        buf_put(b, v[i].svg.p, v[i].svg.len);
        buf_text(b, "</svg>\n");
        row = fmax(row, v[i].height + PANEL_GAP);
    }
    return y + row;
}

static void chart_put(struct buf *out, const char *label, const struct chart_cell *v, size_t n,
                      size_t columns)
{
    struct buf inside = {0};
    double width = 1;
    for (size_t i = 0; i < n; i++) /* 8.2: of a letter of a title, about */
        width =
            fmax(width, fmax(v[i].width, fmin(8.2 * (double)text_columns(v[i].title), SVG_FULL)));
    const double height = chart_place(&inside, v, n, columns, width);
    width *= (double)MIN_OF(columns, MAX_OF(n, (size_t)1));
    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fp-chart\" "
               "viewBox=\"0 0 %.0f %.0f\" style=\"width:100%%;max-width:%.0fpx\" role=\"img\" "
               "aria-label=\"",
               width, height, width);
    html_text(out, label, 300);
    buf_text(out, "\">\n");
    chart_style(out);
    buf_put(out, inside.p, inside.len);
    svg_end(out);
    buf_free(&inside);
}

PyObject *query_chart(PyObject *module, PyObject *args)
{
    const char *label;
    PyObject *panels, *text = NULL;
    struct arena a = {0};
    struct buf out = {0};
    int columns;
    (void)module;
    if (!PyArg_ParseTuple(args, "siO!:chart", &label, &columns, &PyList_Type, &panels))
        return NULL;
    const size_t n = (size_t)PyList_Size(panels);
    struct chart_cell *v = arena_array(&a, struct chart_cell, n + 1);
    size_t drawn = 0;
    const struct query_locale l = query_locale_begin();
    while (drawn < n && chart_draw(&v[drawn], PyList_GetItem(panels, (Py_ssize_t)drawn), &a) == 0)
        drawn++;
    if (drawn == n)
        chart_put(&out, label, v, n, (size_t)MAX_OF(columns, 1));
    query_locale_end(&l);
    if (drawn == n)
        text = PyUnicode_DecodeUTF8((const char *)out.p, (Py_ssize_t)out.len, "replace");
    for (size_t i = 0; i < n; i++)
        buf_free(&v[i].svg);
    buf_free(&out);
    arena_free(&a);
    return text;
}
