/* SPDX-License-Identifier: Apache-2.0 */
/* svg_lines.c - lines over time and the bar of phases of svg.h. The lines lie in a separate
 * drawing, 1000 across and 100 high, which the page's script zooms into by its viewBox. */
#include <math.h>
#include <stdio.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/vec.h"
#include "report/doc.h"
#include "report/svg_internal.h"

enum { LEFT = 66, RIGHT = 12, TOP = 26, PLOT = 140, BELOW = 24, SPANS_NAMED = 12 };

static const double WIDTH = SVG_FULL - LEFT - RIGHT;

/* Where the values lie. */
struct scale_of {
    double from, to, lo, hi;
};

static double across(const struct scale_of *s, double t)
{
    return 1000 * (t - s->from) / (s->to - s->from);
}

static double upward(const struct scale_of *s, double v)
{
    return 100 - 100 * fmin(fmax((v - s->lo) / (s->hi - s->lo), 0), 1);
}

static struct scale_of scale_for(const struct svg_lines *l)
{
    struct scale_of s = {l->from, l->to, l->lo, l->hi};
    double first = INFINITY, last = -INFINITY, most = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct svg_line *x = &l->v[i];
        for (size_t k = 0; k < x->n; k++) {
            first = fmin(first, x->t[k]);
            last = fmax(last, x->t[k]);
            most = fmax(most, x->max ? x->max[k] : x->v[k]);
        }
    }
    if (!(s.to > s.from) && last >= first)
        s.from = first, s.to = last > first ? last : first + 1;
    if (!(s.to > s.from))
        s.to = s.from + 1;
    if (!(s.hi > s.lo))
        s.lo = 0, s.hi = round_up(most);
    return s;
}

/* ---- the drawing inside ---- */

static void put_point(struct buf *b, char letter, double x, double y)
{
    buf_printf(b, "%c%.1f %.1f", letter, x, y);
}

static void put_line_path(struct buf *b, const struct scale_of *s, const struct svg_line *l)
{
    bool gap = true;
    for (size_t k = 0; k < l->n; k++) {
        if (!isnan(l->v[k]))
            put_point(b, gap ? 'M' : 'L', across(s, l->t[k]), upward(s, l->v[k]));
        gap = isnan(l->v[k]);
    }
}

/* Each run of values without a gap is a polygon: along the maxima, back along the minima. */
static void put_band(struct buf *b, const struct scale_of *s, const struct svg_line *l, int color)
{
    buf_printf(b, "<path class=\"band c%d\" d=\"", color);
    for (size_t k = 0; k < l->n;) {
        size_t end = k;
        while (end < l->n && !isnan(l->min[end]) && !isnan(l->max[end]))
            end++;
        for (size_t i = k; i < end; i++)
            put_point(b, i == k ? 'M' : 'L', across(s, l->t[i]), upward(s, l->max[i]));
        for (size_t i = end; i > k; i--)
            put_point(b, 'L', across(s, l->t[i - 1]), upward(s, l->min[i - 1]));
        if (end > k)
            buf_text(b, "Z");
        k = end + 1;
    }
    buf_text(b, "\"/>");
}

/* The values as they are read under the pointer: no script makes numbers. */
static void svg_lines_put_line(struct buf *b, const struct scale_of *s, const struct svg_line *l,
                               const char *unit, int color)
{
    char text[HUMAN_LEN];
    bool some = false;
    buf_printf(b, "<path class=\"line l%d\" data-label=\"", color);
    html_text(b, l->label, 60);
    buf_text(b, "\" d=\"");
    put_line_path(b, s, l);
    buf_text(b, "\" data-v=\"");
    for (size_t k = 0; k < l->n; k++) {
        if (isnan(l->v[k]))
            continue;
        if (some)
            buf_text(b, "\t"); /* html_text lets none through, whatever the unit is called */
        html_text(b, human_value(l->v[k], unit, text, sizeof text), 0);
        some = true;
    }
    buf_text(b, "\"/>\n");
}

static void put_spans(struct buf *b, const struct scale_of *s, const struct svg_span *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double x = fmax(across(s, v[i].from), 0), end = fmin(across(s, v[i].to), 1000);
        if (end > x)
            buf_printf(b,
                       "<rect class=\"span c%d\" x=\"%.2f\" y=\"0\" width=\"%.2f\" "
                       "height=\"100\"/>",
                       v[i].color, x, end - x);
    }
    buf_text(b, "\n");
}

static void put_inside(struct buf *b, const struct svg_lines *l, const struct scale_of *s,
                       const char *unit)
{
    buf_printf(b,
               "<svg x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"%d\" viewBox=\"0 0 1000 100\" "
               "preserveAspectRatio=\"none\">\n",
               LEFT, TOP, WIDTH, PLOT);
    put_spans(b, s, l->spans, l->n_spans);
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].min && l->v[i].max)
            put_band(b, s, &l->v[i], (int)(i % SVG_COLORS));
    buf_text(b, "\n");
    for (size_t i = 0; i < l->n; i++)
        svg_lines_put_line(b, s, &l->v[i], unit, (int)(i % SVG_COLORS));
    buf_text(b, "</svg>\n");
}

/* ---- around it ---- */

static void put_upward_axis(struct buf *b, const struct scale_of *s, const char *unit)
{
    const struct ticks t = ticks_of(s->lo, s->hi, 5);
    char text[HUMAN_LEN];
    for (size_t i = 0; i < t.n; i++) {
        const double v = t.first + t.step * (double)i, y = TOP + upward(s, v) * PLOT / 100;
        svg_rule(b, "grid", LEFT, y, SVG_FULL - RIGHT, y);
        tick_text(v, unit, text, sizeof text);
        svg_label(b, LEFT - 8, y + 4, ANCHOR_END, "q", text);
    }
}

static void put_across_axis(struct buf *b, const struct scale_of *s, enum svg_axis axis, double top,
                            const char *what)
{
    const struct ticks t =
        axis == SVG_TIME ? ticks_of_time(s->from, s->to, 8) : ticks_of(s->from, s->to, 8);
    char text[HUMAN_LEN];
    buf_text(b, "<g class=\"tick\">");
    for (size_t i = 0; i < t.n; i++) {
        const double v = t.first + t.step * (double)i;
        const double x = LEFT + across(s, v) * WIDTH / 1000;
        const bool last = x > SVG_FULL - RIGHT - 24;
        svg_rule(b, "axis", x, top, x, top + 4);
        if (axis == SVG_COUNT)
            snprintf(text, sizeof text, i == 0 && what ? "%2$s %1$.0f" : "%1$.0f", v,
                     what ? what : "");
        svg_label(b, x, top + 17,
                  last     ? ANCHOR_END
                  : i == 0 ? ANCHOR_START
                           : ANCHOR_MIDDLE,
                  "q", axis == SVG_TIME ? tick_time_text(v, &t, text, sizeof text) : text);
    }
    buf_text(b, "</g>\n");
}

static void put_keys(struct buf *b, const struct svg_lines *l)
{
    double x = LEFT;
    for (size_t i = 0; i < l->n && x < SVG_FULL - 150; i++) {
        buf_printf(b, "<line class=\"line l%d\" x1=\"%.0f\" y1=\"11\" x2=\"%.0f\" y2=\"11\"/>",
                   (int)(i % SVG_COLORS), x, x + 22);
        svg_name(b, x + 28, 15, ANCHOR_START, l->v[i].label);
        x += 28 + svg_width_of(l->v[i].label) + 20;
    }
    buf_text(b, "\n");
}

void svg_lines(struct buf *b, const struct svg_words *w, const struct svg_lines *l)
{
    const struct scale_of s = scale_for(l);
    struct buf extra = {0};
    buf_printf(&extra,
               " data-axis=\"%s\" data-from=\"%.9g\" data-to=\"%.9g\" "
               "data-bottom=\"%d\" data-x=\"%s\"",
               l->axis == SVG_TIME ? "time" : "count", s.from, s.to, TOP + PLOT + 17,
               w->x ? w->x : "");
    if (l->axis == SVG_TIME)
        buf_text(&extra, " data-sync=\"time\"");
    buf_u8(&extra, 0);
    svg_begin(b, w, SVG_FULL, TOP + PLOT + BELOW, "lines", (const char *)extra.p);
    put_keys(b, l);
    put_upward_axis(b, &s, svg_unit(w));
    put_inside(b, l, &s, svg_unit(w));
    svg_rule(b, "axis", LEFT, TOP + PLOT, SVG_FULL - RIGHT, TOP + PLOT);
    put_across_axis(b, &s, l->axis, TOP + PLOT, w->x);
    svg_end(b);
    buf_free(&extra);
}

/* ---- the bar of phases ---- */

static void svg_lines_put_span(struct buf *b, const struct svg_span *v, double x, double end)
{
    char from[HUMAN_LEN], took[HUMAN_LEN];
    buf_printf(b, "<rect class=\"c%d\" x=\"%.1f\" y=\"2\" width=\"%.1f\" height=\"26\">", v->color,
               x, fmax(end - x, 0.8));
    svg_hint(b, "%s, %s from %s on", v->label, duration_text(v->to - v->from, took, sizeof took),
             duration_text(v->from, from, sizeof from));
    buf_text(b, "</rect>\n");
}

/* The kinds that occur, each once. */
static size_t kinds_of(const struct svg_span *v, size_t n, const struct svg_span **out, size_t most)
{
    size_t kinds = 0;
    for (size_t i = 0; i < n && kinds < most; i++) {
        const size_t k = FIND_FIRST(at, kinds, strcmp(out[at]->label, v[i].label) == 0);
        if (k == kinds)
            out[kinds++] = &v[i];
    }
    return kinds;
}

void svg_progress(struct buf *b, const struct svg_words *w, const struct svg_span *v, size_t n,
                  double from, double to)
{
    const struct scale_of s = {.from = from, .to = to > from ? to : from + 1};
    const struct svg_span *kinds[SPANS_NAMED];
    const size_t n_kinds = kinds_of(v, n, kinds, COUNT_OF(kinds));
    double x = LEFT;
    svg_begin(b, w, SVG_FULL, 80, "", NULL);
    for (size_t i = 0; i < n; i++)
        svg_lines_put_span(b, &v[i], LEFT + across(&s, v[i].from) * WIDTH / 1000,
                           LEFT + across(&s, v[i].to) * WIDTH / 1000);
    put_across_axis(b, &s, SVG_TIME, 28, NULL);
    for (size_t i = 0; i < n_kinds; i++)
        x = svg_key(b, kinds[i]->color, x, 62, kinds[i]->label) + 22;
    svg_end(b);
}
