/* SPDX-License-Identifier: Apache-2.0 */
/* svg.h - charts as SVG that is part of an HTML document (doc.h): drawn here, coloured by its style
 * sheet.
 *
 * Every chart has a title and a description for screen readers, shows its numbers as text or on
 * hover (<title>), and distinguishes its parts by more than colour: labels, dashes, order. Lines
 * carry their values, so that the page's script can show them under the pointer and zoom. Missing
 * values are NAN and leave a gap. */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include "base/buf.h"
#include "base/clock.h"

/* ---- names and colours of phases of a job and parts of a step (colours.def) ---- */

enum colour {
#define COLOUR(name, light, dark) COLOUR_##name,
#define LOOK(key, title, colour)
#include "report/colours.def"
#undef COLOUR
#undef LOOK
    COLOUR_N
};

struct report_look {
    const char *key, *title;
    enum colour colour;
};

/* By its key or its title, in capitals or not. NULL: not known. */
const struct report_look *look_find(const char *name);
/* One that is not known is called `key`, in the colour of "other". */
struct report_look look_of(const char *key);

/* ---- charts ---- */

enum { SVG_COLORS = 8 }; /* of series: classes c0 .. c7 of the style sheet, dashes alike */

struct svg_words {
    const char *title; /* what it is of */
    const char *desc;  /* what is seen, in a sentence; NULL: the title is enough */
    const char *unit;  /* of the values, as human_value takes it; NULL: "" */
    const char *x;     /* what the axis across is; NULL: none */
};

struct svg_part {
    const char *label;
    double v;
    int color; /* of the style sheet (enum colour); -1: by its place */
};

/* A ring with a legend that has value and percent of each; parts that are not positive are only in
 * the legend. The percentages shown sum to 100 (base/stat.h). */
void svg_pie(struct buf *b, const struct svg_words *w, const struct svg_part *v, size_t n);
/* Lying bars from zero, one per label. */
void svg_bars(struct buf *b, const struct svg_words *w, const struct svg_part *v, size_t n);

struct svg_box {
    const char *label;
    double p5, p25, p50, p75, p95;
};

/* Whiskers at p5 and p95. `lo`..`hi` of the axis; both 0: as the values have it. */
void svg_box_plot(struct buf *b, const struct svg_words *w, const struct svg_box *v, size_t n,
                  double lo, double hi);

struct svg_counts {
    const char *label;
    const double *counts; /* one per bin */
};

/* One small histogram per label on common axes; n_edges is bins + 1. */
void svg_histogram(struct buf *b, const struct svg_words *w, const double *edges, size_t n_edges,
                   const struct svg_counts *v, size_t n);

/* Values over x. t ascends. min and max make a band; NULL: none. */
struct svg_line {
    const char *label;
    const double *t, *v, *min, *max;
    size_t n;
};

/* A range of the x axis with a colour and a name, such as a phase. */
struct svg_span {
    const char *label;
    double from, to;
    int color;
};

enum svg_axis { SVG_TIME, SVG_COUNT }; /* across: seconds since the start; numbers of steps */

struct svg_lines {
    const struct svg_line *v;
    size_t n;
    const struct svg_span *spans; /* drawn below the lines */
    size_t n_spans;
    enum svg_axis axis;
    double from, to; /* across; equal: as the values have it */
    double lo, hi;   /* upward; equal: from 0 to what the values need */
};

void svg_lines(struct buf *b, const struct svg_words *w, const struct svg_lines *l);

/* Vertical bars, each a stack of parts: v[bar * n_parts + part]. */
struct svg_stack {
    const struct report_look *parts;
    size_t n_parts;
    const char *const *labels; /* of the bars */
    const double *v;
    size_t n;
};

void svg_stack(struct buf *b, const struct svg_words *w, const struct svg_stack *s);

/* One bar from `from` to `to`, coloured by its spans, with an axis of time. */
void svg_progress(struct buf *b, const struct svg_words *w, const struct svg_span *v, size_t n,
                  double from, double to);

#endif
