/* SPDX-License-Identifier: Apache-2.0 */
/* svg.c - see svg_internal.h: what all charts are made of. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "report/page.h"
#include "report/svg_internal.h"

void svg_put(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s));
}

void svg_hint(struct buf *b, const char *text)
{
    svg_put(b, "<title>");
    html_text(b, text, 300);
    svg_put(b, "</title>");
}

void svg_begin(struct buf *b, const struct svg_words *w, double width, double height,
               const char *cls, const char *extra)
{
    buf_printf(b, "<svg class=\"%s\" viewBox=\"0 0 %.0f %.0f\" role=\"img\"%s aria-label=\"", cls,
               width, height, extra ? extra : "");
    html_text(b, w->title, 300);
    if (w->desc) {
        svg_put(b, ". ");
        html_text(b, w->desc, 600);
    }
    svg_put(b, "\">");
    svg_hint(b, w->title);
    svg_put(b, "<desc>");
    html_text(b, w->desc ? w->desc : w->title, 600);
    svg_put(b, "</desc>\n");
}

void svg_end(struct buf *b)
{
    svg_put(b, "</svg>\n");
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
    svg_put(b, ">");
}

void svg_label(struct buf *b, double x, double y, enum svg_anchor anchor, const char *cls,
               const char *text)
{
    svg_open_text(b, x, y, anchor, cls);
    html_text(b, text, 0);
    svg_put(b, "</text>\n");
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
        svg_hint(b, text);
    html_text(b, text, text[n] ? n : 0);
    svg_put(b, "</text>\n");
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

int svg_color(int color, size_t place)
{
    return color >= 0 ? color % SVG_COLORS : (int)(place % SVG_COLORS);
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
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        if (v <= ten * steps[i] * (1 + 1e-9))
            return ten * steps[i];
    return ten * 10;
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
    size_t i = 0;
    while (t->step < units[i].least)
        i++;
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
