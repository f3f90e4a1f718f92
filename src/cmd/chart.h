/* SPDX-License-Identifier: Apache-2.0 */
/* chart.h - a series as a line of block characters.
 * A column is as high as the largest value in its span of time, or the smallest, never the mean: so
 * neither a spike nor a dip is averaged away. A span without a reading stays empty, because missing
 * is not zero. */
#ifndef CMD_CHART_H
#define CMD_CHART_H

#include <stddef.h>

#include "base/buf.h"
#include "query/series.h"

struct chart {
    wall_ns from, to; /* the time that the columns cover */
    size_t columns;
};

/* The value of a full column: the metric's bound (100 %), else the largest value of all its series,
 * so that those can be compared. */
double chart_top(const struct series *s, size_t n, const char *metric);
/* The character for a value. One that was measured is at least the lowest block, so that zero
 * differs from absent (NAN). */
const char *chart_block(double v, double top);

enum chart_of { CHART_MAX, CHART_MIN };

/* Appends `columns` characters. */
void chart_line(const struct chart *c, const struct series *s, enum chart_of of, double top,
                struct buf *out);

#endif
