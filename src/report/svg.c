/* SPDX-License-Identifier: Apache-2.0 */
/* svg.c - the parts of charts (svg_internal.h), then rings, bars, boxes, histograms and stacks
 * (svg.h). Lines over time are in svg_lines.c. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/stat.h"
#include "base/table.h"
#include "base/text.h"
#include "base/vec.h"
#include "report/doc.h"
#include "report/svg_internal.h"

void svg_hint(struct buf *b, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    va_end(ap);
    buf_text(b, "<title>");
    html_text(b, text, 300);
    buf_text(b, "</title>");
    free(text);
}

void svg_begin(struct buf *b, const struct svg_words *w, double width, double height,
               const char *cls, const char *extra)
{
    buf_printf(b, "<svg class=\"%s\" viewBox=\"0 0 %.0f %.0f\" role=\"img\"%s aria-label=\"", cls,
               width, height, extra ? extra : "");
    html_text(b, w->title, 300);
    if (w->desc) {
        buf_text(b, ". ");
        html_text(b, w->desc, 600);
    }
    buf_text(b, "\">");
    svg_hint(b, "%s", w->title);
    buf_text(b, "<desc>");
    html_text(b, w->desc ? w->desc : w->title, 600);
    buf_text(b, "</desc>\n");
}

void svg_end(struct buf *b)
{
    buf_text(b, "</svg>\n");
}

static const char *const anchors[] = {[ANCHOR_START] = "",
                                      [ANCHOR_MIDDLE] = " text-anchor=\"middle\"",
                                      [ANCHOR_END] = " text-anchor=\"end\""};

static void svg_open_text(struct buf *b, double x, double y, enum svg_anchor anchor,
                          const char *cls)
{
    buf_printf(b, "<text x=\"%.1f\" y=\"%.1f\"%s", x, y, anchors[anchor]);
    if (*cls)
        buf_printf(b, " class=\"%s\"", cls);
    buf_text(b, ">");
}

void svg_label(struct buf *b, double x, double y, enum svg_anchor anchor, const char *cls,
               const char *text)
{
    svg_open_text(b, x, y, anchor, cls);
    html_text(b, text, 0);
    buf_text(b, "</text>\n");
}

/* Bytes of the first `most` characters. */
static size_t svg_bytes_of(const char *text, size_t most)
{
    const unsigned char *s = (const unsigned char *)text;
    for (; *s && most > 0; most--) {
        const size_t n = utf8_len(s);
        s += n ? n : 1;
    }
    return (size_t)((const char *)s - text);
}

void svg_name(struct buf *b, double x, double y, enum svg_anchor anchor, const char *text)
{
    const size_t n = svg_bytes_of(text, LABEL_MOST);
    svg_open_text(b, x, y, anchor, "");
    if (text[n])
        svg_hint(b, "%s", text);
    html_text(b, text, text[n] ? n : 0);
    buf_text(b, "</text>\n");
}

void svg_rule(struct buf *b, const char *cls, double x1, double y1, double x2, double y2)
{
    buf_printf(b, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", cls, x1,
               y1, x2, y2);
}

double svg_width_of(const char *text)
{
    const double each = 7.8; /* of a letter of 12 px in a wide font: a name is cut off otherwise */
    const size_t n = text_columns(text);
    return each * (double)MIN_OF(n, (size_t)LABEL_MOST + 1);
}

double svg_key(struct buf *b, int color, double x, int y, const char *label)
{
    buf_printf(b, "<rect class=\"c%d\" x=\"%.0f\" y=\"%d\" width=\"11\" height=\"11\" rx=\"2\"/>",
               color, x, y);
    svg_name(b, x + 17, y + 10, ANCHOR_START, label);
    return x + 17 + svg_width_of(label);
}

static int svg_color(int color, size_t place)
{
    return color >= 0 ? color : (int)(place % SVG_COLORS);
}

const char *svg_unit(const struct svg_words *w)
{
    return w->unit ? w->unit : "";
}

/* ---- axes ---- */

static double round_step(double least)
{
    const double ten = pow(10, floor(log10(least)));
    const double of_ten = least / ten;
    return ten * (of_ten <= 1.0001 ? 1 : of_ten <= 2.0001 ? 2 : of_ten <= 5.0001 ? 5 : 10);
}

double round_up(double v)
{
    static const double steps[] = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10};
    if (!(v > 0) || !isfinite(v))
        return 1;
    const double ten = pow(10, floor(log10(v)));
    const size_t at = FIND_FIRST(i, COUNT_OF(steps), v <= ten * steps[i] * (1 + 1e-9));
    return at < COUNT_OF(steps) ? ten * steps[at] : ten * 10;
}

static struct ticks with_step(double lo, double hi, double step)
{
    struct ticks t = {.step = step, .first = ceil(lo / step - 1e-9) * step};
    t.n = hi >= t.first ? (size_t)floor((hi - t.first) / step + 1e-9) + 1 : 0;
    t.n = MIN_OF(t.n, (size_t)50);
    return t;
}

struct ticks ticks_of(double lo, double hi, size_t about)
{
    if (!(hi > lo))
        return (struct ticks){0};
    return with_step(lo, hi, round_step((hi - lo) / (double)about));
}

struct ticks ticks_of_time(double lo, double hi, size_t about)
{
    static const double steps[] = {1,   2,   5,    10,   15,   30,    60,    120,  300,
                                   600, 900, 1800, 3600, 7200, 10800, 21600, 43200};
    const double least = (hi - lo) / (double)about;
    if (!(hi > lo) || least < 1)
        return ticks_of(lo, hi, about);
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        if (steps[i] >= least)
            return with_step(lo, hi, steps[i]);
    return with_step(lo, hi, 86400 * round_step(least / 86400));
}

const char *tick_time_text(double s, const struct ticks *t, char *buf, size_t size)
{
    static const struct {
        double least, one;
        const char *unit;
    } units[] = {{86400, 86400, "d"}, {1800, 3600, "h"},  {60, 60, "min"},
                 {1, 1, "s"},         {1e-3, 1e-3, "ms"}, {0, 1e-6, "µs"}};
    const double last = t->first + t->step * (double)t->n;
    size_t i = 0;
    while (t->step < units[i].least)
        i++;
    while (i > 0 && last >= 1e4 * units[i].one) /* "17.5 s", not "1.75e+04 ms" */
        i--;
    snprintf(buf, size, "%.4g %s", s / units[i].one, units[i].unit);
    return buf;
}

const char *tick_text(double v, const char *unit, char *buf, size_t size)
{
    if (strcmp(unit, "%") != 0)
        return human_value(v, unit, buf, size);
    snprintf(buf, size, "%g %%", v);
    return buf;
}

/* ---- rings, bars, boxes, histograms ---- */

static const double PI = 3.14159265358979323846;

enum { ROW = 26, AXIS = 26, VALUE_ROOM = 76 };

/* ---- pie ---- */

static double positive_sum(const struct svg_part *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i].v > 0 ? v[i].v : 0;
    return sum;
}

static void percents(const struct svg_part *v, size_t n, double *out)
{
    double values[PERCENTS_MOST] = {0};
    for (size_t i = 0; i < n; i++)
        values[i] = v[i].v;
    percents_of(values, n, out);
}

/* A part of the ring from one share of the turn to another, clockwise from the top. A whole turn
 * is two halves: an arc to where it began is nothing. */
static void put_ring(struct buf *b, double from, double to, int color)
{
    const double cx = 90, cy = 90, outer = 82, inner = 50;
    if (to - from > 0.9999) {
        buf_printf(b,
                   "<circle class=\"ring l%d\" cx=\"%.0f\" cy=\"%.0f\" r=\"%.0f\" fill=\"none\" "
                   "stroke-width=\"%.0f\" stroke-dasharray=\"none\">",
                   color, cx, cy, (outer + inner) / 2, outer - inner);
        return;
    }
    const double a = 2 * PI * from, c = 2 * PI * to;
    const int large = to - from > 0.5;
    buf_printf(b,
               "<path class=\"edge c%d\" d=\"M%.2f %.2fA%.0f %.0f 0 %d 1 %.2f %.2fL%.2f %.2fA%.0f "
               "%.0f 0 %d 0 %.2f %.2fZ\">",
               color, cx + outer * sin(a), cy - outer * cos(a), outer, outer, large,
               cx + outer * sin(c), cy - outer * cos(c), cx + inner * sin(c), cy - inner * cos(c),
               inner, inner, large, cx + inner * sin(a), cy - inner * cos(a));
}

static void put_slice(struct buf *b, const struct svg_part *p, double from, double to, int color,
                      const char *words)
{
    put_ring(b, from, to, color);
    svg_hint(b, "%s: %s", p->label, words);
    buf_text(b, to - from > 0.9999 ? "</circle>\n" : "</path>\n");
}

/* Values in percent are not repeated. */
static void pie_words(double v, double percent, const char *unit, char *out, size_t size)
{
    char text[HUMAN_LEN];
    if (strcmp(unit, "%") == 0)
        snprintf(out, size, "%.1f %%", percent);
    else
        snprintf(out, size, "%s, %.1f %%", human_value(v, unit, text, sizeof text), percent);
}

static void put_legend(struct buf *b, const struct svg_part *p, int color, double y,
                       const char *words)
{
    buf_printf(b, "<rect class=\"c%d\" x=\"204\" y=\"%.1f\" width=\"11\" height=\"11\" rx=\"2\"/>",
               color, y - 10);
    svg_name(b, 222, y, ANCHOR_START, p->label);
    svg_label(b, SVG_HALF - 2, y, ANCHOR_END, "", words);
}

void svg_pie(struct buf *b, const struct svg_words *w, const struct svg_part *v, size_t n)
{
    double pct[PERCENTS_MOST], from = 0;
    n = MIN_OF(n, (size_t)PERCENTS_MOST);
    const double sum = positive_sum(v, n);
    const double legend = 22 * (double)n, height = fmax(180, legend + 8);
    char total[HUMAN_LEN], words[2 * HUMAN_LEN];
    percents(v, n, pct);
    human_value(sum, svg_unit(w), total, sizeof total);
    svg_begin(b, w, SVG_HALF, height, "part", NULL);
    if (sum <= 0)
        buf_text(b, "<circle class=\"track\" cx=\"90\" cy=\"90\" r=\"82\"/>");
    for (size_t i = 0; i < n; i++) {
        const double share = v[i].v > 0 && sum > 0 ? v[i].v / sum : 0;
        const int color = svg_color(v[i].color, i);
        pie_words(v[i].v, pct[i], svg_unit(w), words, sizeof words);
        if (share > 0)
            put_slice(b, &v[i], from, from + share, color, words);
        from += share;
        put_legend(b, &v[i], color, (height - legend) / 2 + 16 + 22 * (double)i, words);
    }
    if (strcmp(svg_unit(w), "%") != 0)
        svg_label(b, 90, 96, ANCHOR_MIDDLE, strlen(total) > 8 ? "m" : "s", total);
    svg_end(b);
}

/* ---- an axis below, from lo to hi ---- */

struct plot_area {
    double left, right, top, bottom; /* pixels */
    double lo, hi;                   /* values across */
    const char *unit;
};

static double x_of(const struct plot_area *a, double v)
{
    const double share = (v - a->lo) / (a->hi - a->lo);
    return a->left + fmin(fmax(share, 0), 1) * (a->right - a->left);
}

static void put_axis(struct buf *b, const struct plot_area *a)
{
    const bool time = strcmp(a->unit, "s") == 0;
    const struct ticks t = time ? ticks_of_time(a->lo, a->hi, 4) : ticks_of(a->lo, a->hi, 5);
    char text[HUMAN_LEN];
    double free_from = 0;
    for (size_t i = 0; i < t.n; i++) {
        const double v = t.first + t.step * (double)i, x = x_of(a, v);
        if (time)
            tick_time_text(v, &t, text, sizeof text);
        else
            tick_text(v, a->unit, text, sizeof text);
        const double width = svg_width_of(text);
        const bool inside = x + width / 2 <= SVG_HALF;
        const double left = inside ? x - width / 2 : x - width;
        svg_rule(b, "grid", x, a->top, x, a->bottom);
        if (left < free_from && i > 0)
            continue;
        svg_label(b, x, a->bottom + 16, inside ? ANCHOR_MIDDLE : ANCHOR_END, "q", text);
        free_from = left + width + 4;
    }
    buf_text(b, "\n");
}

static double left_of(double widest)
{
    return fmin(fmax(widest + 12, 40), 226);
}

/* ---- bars ---- */

void svg_bars(struct buf *b, const struct svg_words *w, const struct svg_part *v, size_t n)
{
    double most = 0, widest = 0;
    char text[HUMAN_LEN];
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, v[i].v); /* fmax leaves out NAN */
        widest = fmax(widest, svg_width_of(v[i].label));
    }
    const struct plot_area a = {.left = left_of(widest),
                                .right = SVG_HALF - VALUE_ROOM,
                                .top = 4,
                                .bottom = 4 + ROW * (double)n,
                                .hi = round_up(most),
                                .unit = svg_unit(w)};
    svg_begin(b, w, SVG_HALF, a.bottom + AXIS, "part", NULL);
    put_axis(b, &a);
    for (size_t i = 0; i < n; i++) {
        const double y = a.top + ROW * (double)i;
        const double x = v[i].v > 0 ? x_of(&a, v[i].v) : a.left;
        svg_name(b, a.left - 8, y + 17, ANCHOR_END, v[i].label);
        buf_printf(b,
                   "<rect class=\"c%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
                   "rx=\"2\"/>",
                   svg_color(v[i].color, 0), a.left, y + 5, x - a.left, ROW - 10);
        svg_label(b, x + 6, y + 17, ANCHOR_START, "",
                  isnan(v[i].v) ? "not measured" : human_value(v[i].v, a.unit, text, sizeof text));
    }
    svg_end(b);
}

/* ---- boxes ---- */

static void put_box(struct buf *b, const struct plot_area *a, const struct svg_box *v, double y)
{
    const double mid = y + ROW / 2.0, p5 = x_of(a, v->p5), p25 = x_of(a, v->p25),
                 p50 = x_of(a, v->p50), p75 = x_of(a, v->p75), p95 = x_of(a, v->p95);
    char t[5][HUMAN_LEN];
    buf_text(b, "<g>");
    svg_hint(b, "%s: p5 %s, p25 %s, median %s, p75 %s, p95 %s", v->label,
             human_value(v->p5, a->unit, t[0], HUMAN_LEN),
             human_value(v->p25, a->unit, t[1], HUMAN_LEN),
             human_value(v->p50, a->unit, t[2], HUMAN_LEN),
             human_value(v->p75, a->unit, t[3], HUMAN_LEN),
             human_value(v->p95, a->unit, t[4], HUMAN_LEN));
    svg_rule(b, "whisker", p5, mid, p95, mid);
    svg_rule(b, "whisker", p5, mid - 5, p5, mid + 5);
    svg_rule(b, "whisker", p95, mid - 5, p95, mid + 5);
    buf_printf(b, "<rect class=\"box c0\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\"/>",
               p25, mid - 7, fmax(p75 - p25, 0.5));
    svg_rule(b, "median", p50, mid - 8, p50, mid + 8);
    buf_text(b, "</g>\n");
}

void svg_box_plot(struct buf *b, const struct svg_words *w, const struct svg_box *v, size_t n,
                  double lo, double hi)
{
    double widest = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        widest = fmax(widest, svg_width_of(v[i].label));
        most = fmax(most, v[i].p95);
    }
    const struct plot_area a = {.left = left_of(widest),
                                .right = SVG_HALF - 14,
                                .top = 4,
                                .bottom = 4 + ROW * (double)n,
                                .lo = hi > lo ? lo : 0,
                                .hi = hi > lo ? hi : round_up(most),
                                .unit = svg_unit(w)};
    svg_begin(b, w, SVG_HALF, a.bottom + AXIS, "part", NULL);
    put_axis(b, &a);
    for (size_t i = 0; i < n; i++) {
        const double y = a.top + ROW * (double)i;
        svg_name(b, a.left - 8, y + 17, ANCHOR_END, v[i].label);
        if (isnan(v[i].p50))
            svg_label(b, a.left + 4, y + 17, ANCHOR_START, "q", "not measured");
        else
            put_box(b, &a, &v[i], y);
    }
    svg_end(b);
}

/* ---- histograms ---- */

enum { HIST_HEIGHT = 64 };

static double largest(const double *v, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, v[i]);
    return most;
}

static void put_bins(struct buf *b, const struct plot_area *a, const double *edges, size_t bins,
                     const struct svg_counts *v, int color)
{
    const double most = largest(v->counts, bins);
    char from[HUMAN_LEN], to[HUMAN_LEN], count[HUMAN_LEN];
    for (size_t k = 0; most > 0 && k < bins; k++) {
        if (!(v->counts[k] > 0))
            continue;
        const double x = x_of(a, edges[k]), end = x_of(a, edges[k + 1]);
        const double h = fmax(v->counts[k] / most * HIST_HEIGHT, 1);
        buf_printf(b, "<rect class=\"c%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">",
                   color, x, a->bottom - h, fmax(end - x - 0.6, 0.8), h);
        svg_hint(b, "%s to %s: %s", human_value(edges[k], a->unit, from, sizeof from),
                 human_value(edges[k + 1], a->unit, to, sizeof to),
                 human_count((uint64_t)v->counts[k], count, sizeof count));
        buf_text(b, "</rect>");
    }
    svg_rule(b, "axis", a->left, a->bottom, a->right, a->bottom);
    human_count((uint64_t)most, count, sizeof count);
    svg_label(b, a->left - 6, a->bottom - HIST_HEIGHT + 9, ANCHOR_END, "q", count);
}

/* The bins that something fell into, of any of the rows. */
static void used_bins(const struct svg_counts *v, size_t n, size_t bins, size_t *first, size_t *end)
{
    *first = bins;
    *end = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < bins; k++)
            if (v[i].counts[k] > 0) {
                *first = MIN_OF(*first, k);
                *end = MAX_OF(*end, k + 1);
            }
    if (*end == 0)
        *first = 0, *end = bins;
}

void svg_histogram(struct buf *b, const struct svg_words *w, const double *edges, size_t n_edges,
                   const struct svg_counts *v, size_t n)
{
    const double each = HIST_HEIGHT + 26;
    const size_t bins = n_edges ? n_edges - 1 : 0;
    size_t first = 0, end = bins;
    const bool percent = strcmp(svg_unit(w), "%") == 0;
    struct plot_area a = {.left = 58, .right = SVG_HALF - 14, .top = 0, .unit = svg_unit(w)};
    if (!percent)
        used_bins(v, n, bins, &first, &end);
    a.lo = bins ? edges[first] : 0;
    a.hi = bins ? edges[end] : 1;
    svg_begin(b, w, SVG_HALF, each * (double)n + AXIS, "part", NULL);
    a.bottom = each * (double)n;
    put_axis(b, &a);
    for (size_t i = 0; i < n; i++) {
        a.bottom = each * (double)(i + 1);
        svg_name(b, a.left, a.bottom - HIST_HEIGHT - 7, ANCHOR_START, v[i].label);
        put_bins(b, &a, edges, bins, &v[i], (int)(i % SVG_COLORS));
        buf_text(b, "\n");
    }
    svg_end(b);
}

/* ---- stacks: bars of parts one upon the other ---- */

enum { LEFT = 66, RIGHT = 12, TOP = 28, PLOT = 150, BELOW = 24, LABELS = 16 };

static double height_of(const struct svg_stack *s, size_t bar)
{
    double sum = 0;
    for (size_t k = 0; k < s->n_parts; k++)
        sum += fmax(s->v[bar * s->n_parts + k], 0);
    return sum;
}

static void put_bar(struct buf *b, const struct svg_stack *s, size_t bar, double x, double width,
                    double most, const char *unit)
{
    double y = TOP + PLOT;
    char text[HUMAN_LEN];
    for (size_t k = 0; k < s->n_parts; k++) {
        const double v = s->v[bar * s->n_parts + k], h = v / most * PLOT;
        if (!(v > 0))
            continue;
        y -= h;
        buf_printf(b, "<rect class=\"c%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">",
                   (int)s->parts[k].colour, x, y, width, h);
        svg_hint(b, "%s, %s: %s", s->labels[bar], s->parts[k].title,
                 human_value(v, unit, text, sizeof text));
        buf_text(b, "</rect>");
    }
    buf_text(b, "\n");
}

static void put_scale(struct buf *b, double most, const char *unit)
{
    const struct ticks t = ticks_of(0, most, 4);
    char text[HUMAN_LEN];
    for (size_t i = 0; i < t.n; i++) {
        const double v = t.first + t.step * (double)i, y = TOP + PLOT - v / most * PLOT;
        svg_rule(b, "grid", LEFT, y, SVG_FULL - RIGHT, y);
        svg_label(b, LEFT - 8, y + 4, ANCHOR_END, "q", human_value(v, unit, text, sizeof text));
    }
}

static void svg_stack_put_parts(struct buf *b, const struct svg_stack *s)
{
    double x = LEFT;
    for (size_t k = 0; k < s->n_parts; k++)
        x = svg_key(b, (int)s->parts[k].colour, x, 4, s->parts[k].title) + 20;
}

void svg_stack(struct buf *b, const struct svg_words *w, const struct svg_stack *s)
{
    const double each = (SVG_FULL - LEFT - RIGHT) / (double)MAX_OF(s->n, (size_t)1);
    const double width = fmin(each * 0.78, 60);
    const size_t skip = (s->n + LABELS - 1) / LABELS;
    double most = 0;
    for (size_t i = 0; i < s->n; i++)
        most = fmax(most, height_of(s, i));
    most = round_up(most);
    svg_begin(b, w, SVG_FULL, TOP + PLOT + BELOW, "", NULL);
    svg_stack_put_parts(b, s);
    put_scale(b, most, svg_unit(w));
    for (size_t i = 0; i < s->n; i++) {
        const double x = LEFT + each * ((double)i + 0.5);
        put_bar(b, s, i, x - width / 2, width, most, svg_unit(w));
        if (i % skip == 0)
            svg_label(b, x, TOP + PLOT + 17, ANCHOR_MIDDLE, "q", s->labels[i]);
    }
    svg_rule(b, "axis", LEFT, TOP + PLOT, SVG_FULL - RIGHT, TOP + PLOT);
    svg_end(b);
}

/* ---- names and colours ---- */

static const struct report_look looks[] = {
#define COLOUR(name, light, dark)
#define LOOK(key, title, colour) {#key, title, COLOUR_##colour},
#include "report/colours.def"
#undef COLOUR
#undef LOOK
};

const struct report_look *look_find(const char *name)
{
    return FIND_ITEM(x, looks, COUNT_OF(looks),
                     strcmp(x->key, name) == 0 || strcasecmp(x->title, name) == 0);
}

struct report_look look_of(const char *key)
{
    const struct report_look *known = look_find(key);
    return known ? *known : (struct report_look){key, key, COLOUR_c_other};
}
