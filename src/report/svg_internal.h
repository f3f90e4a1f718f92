/* SPDX-License-Identifier: Apache-2.0 */
/* svg_internal.h - what the files of svg.h share: frames, texts, axes. */
#ifndef REPORT_SVG_INTERNAL_H
#define REPORT_SVG_INTERNAL_H

#include "base/err.h"
#include "report/svg.h"

enum {
    SVG_HALF = 520,  /* width of a chart with others beside it */
    SVG_FULL = 1000, /* and of one that has the page's width */
    LABEL_MOST = 26, /* characters of a name in a chart; hovering shows all */
};

/* extra: more attributes, or NULL. */
void svg_begin(struct buf *b, const struct svg_words *w, double width, double height,
               const char *cls, const char *extra);
void svg_end(struct buf *b);

enum svg_anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END };

/* cls: of the style sheet, "" for plain, "q" for quiet. */
void svg_label(struct buf *b, double x, double y, enum svg_anchor anchor, const char *cls,
               const char *text);
/* A name that is cut when it is too long; then it has all of it as a hint. */
void svg_name(struct buf *b, double x, double y, enum svg_anchor anchor, const char *text);
/* <title> of the element around it */
void svg_hint(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A small box of the colour, and its name; returns where the next one can be. */
double svg_key(struct buf *b, int color, double x, int y, const char *label);
void svg_rule(struct buf *b, const char *cls, double x1, double y1, double x2, double y2);
/* Pixels that a name takes, about. */
double svg_width_of(const char *text);
const char *svg_unit(const struct svg_words *w);

/* Round marks between lo and hi. */
struct ticks {
    double first, step;
    size_t n;
};

struct ticks ticks_of(double lo, double hi, size_t about);
/* The same for seconds: 1, 2, 5, 10, 15, 30 s, min, h. */
struct ticks ticks_of_time(double lo, double hi, size_t about);
/* "90 s", "1.5 h": short, in the unit that suits the step. */
const char *tick_time_text(double s, const struct ticks *t, char *buf, size_t size);
/* A value at a mark: percentages without decimals, else as human_value has it. */
const char *tick_text(double v, const char *unit, char *buf, size_t size);
/* The least round number that is not below v. */
double round_up(double v);

#endif
