/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - what the terminal is like, and one line on it for work that takes more than a
 * second.
 *
 * progress_start, progress_at any number of times, progress_end, which wipes the line. Nothing is
 * printed when stderr is not a terminal, in the first second, or more often than ten times a
 * second.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/clock.h"

/* Columns of the terminal of `f`; 0 when it is not a terminal. */
size_t term_width(FILE *f);
/* A terminal, and the user did not request plain text (NO_COLOR, TERM=dumb). */
bool term_color(FILE *f);

struct progress {
    FILE *to;
    const char *what; /* "export"; owned by the caller */
    size_t width;     /* of the terminal; 0: stay silent */
    mono_ns start, drawn;
    bool shown;
};

void progress_start(struct progress *p, FILE *to, size_t width, const char *what, mono_ns now);
void progress_at(struct progress *p, double share, mono_ns now); /* share: 0..1 */
void progress_end(struct progress *p);

#endif
