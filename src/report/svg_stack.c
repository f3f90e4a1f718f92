/* SPDX-License-Identifier: Apache-2.0 */
/* svg_stack.c - bars that stand, each of parts one upon the other. */
#include <math.h>
#include <stdio.h>

#include "base/human.h"
#include "base/mem.h"
#include "report/svg_internal.h"

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
    char text[HUMAN_LEN], hint[300];
    for (size_t k = 0; k < s->n_parts; k++) {
        const double v = s->v[bar * s->n_parts + k], h = v / most * PLOT;
        if (!(v > 0))
            continue;
        y -= h;
        buf_printf(b, "<rect class=\"c%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">",
                   (int)(k % SVG_COLORS), x, y, width, h);
        snprintf(hint, sizeof hint, "%s, %s: %s", s->labels[bar], s->parts[k],
                 human_value(v, unit, text, sizeof text));
        svg_hint(b, hint);
        svg_put(b, "</rect>");
    }
    svg_put(b, "\n");
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
    for (size_t k = 0; k < s->n_parts; k++) {
        buf_printf(b,
                   "<rect class=\"c%d\" x=\"%.0f\" y=\"4\" width=\"11\" height=\"11\" rx=\"2\"/>",
                   (int)(k % SVG_COLORS), x);
        svg_name(b, x + 17, 14, ANCHOR_START, s->parts[k]);
        x += 17 + svg_width_of(s->parts[k]) + 20;
    }
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
