/* SPDX-License-Identifier: Apache-2.0 */
/* top_lines.h - lines of a frame, written from left to right: styles, columns, bars, wrapped words.
 * Text from outside is made safe for a terminal, and nothing goes past the width. */
#ifndef CMD_TOP_LINES_H
#define CMD_TOP_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum { TOP_LABEL = 11 }; /* columns of a label */

enum top_style {
    STYLE_PLAIN,
    STYLE_STRONG,
    STYLE_LABEL,
    STYLE_WEAK,
    STYLE_BAR,
    STYLE_GOOD,
    STYLE_WARNING,
    STYLE_CRITICAL,
    STYLE_KEY,
    STYLES,
};

/* Lines that are done, and the one that is written. */
struct top_lines {
    struct arena *arena;
    size_t width;
    bool color;
    const char **v;
    size_t n, cap;
    struct buf line;
    size_t at; /* columns of it */
};

void top_text(struct top_lines *l, enum top_style style, const char *text);
void top_put(struct top_lines *l, enum top_style style, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Spaces up to a column. */
void top_pad(struct top_lines *l, size_t column);
/* At the right of the next `width` columns. */
void top_right(struct top_lines *l, size_t width, const char *text);
void top_label(struct top_lines *l, const char *label);
/* "[|||||      45.1 %]": share 0..1; NAN: an empty one. */
void top_bar(struct top_lines *l, size_t width, double share, const char *text);
void top_end_line(struct top_lines *l);
/* Words from the column where the line is, in as many lines as it takes; ends the last. */
void top_wrapped(struct top_lines *l, enum top_style style, const char *text);

#endif
