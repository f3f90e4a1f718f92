/* SPDX-License-Identifier: Apache-2.0 */
/* screen.h - a terminal that one command has for itself: lines out, keys in. This is the only code
 * that sends escape sequences to move the cursor.
 *
 *     screen_open     alternate screen, cursor hidden, keys without Enter and echo
 *     screen_draw     a frame; only lines that changed are sent, in one write
 *     screen_wait     until a key, a resize, a signal, a wake-up or a moment
 *     screen_close    the terminal is as it was before
 *
 * The terminal is restored on every way out: signals that end the program come through screen_wait,
 * a crash is caught, Ctrl-Z gives the terminal back until the program continues. */
#ifndef CMD_SCREEN_H
#define CMD_SCREEN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

/* Keys that are no character; characters are themselves. */
enum screen_key {
    KEY_NONE = 0,
    KEY_UP = 256,
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_HOME,
    KEY_END,
};

enum { SCREEN_KEYS = 64 }; /* bytes of keys that wait */

struct screen {
    int in, out, signals;
    struct termios before; /* of `in`, when it is a terminal */
    bool has_keys;         /* it is one, and has not ended */
    sigset_t mask;         /* before it was opened */
    size_t columns, rows;
    char **lines; /* that the terminal shows; NULL: nothing is known of it */
    size_t n_lines;
    struct buf frame;
    char keys[SCREEN_KEYS];
    size_t n_keys;
};

/* Whether stdout is a terminal that can move its cursor (TERM=dumb cannot). */
bool screen_can_open(void);

MUST_CHECK int screen_open(struct screen *s, struct err *e);
void screen_close(struct screen *s);
/* n lines, at most s->rows of them, without '\n' and none wider than the screen. False: the
 * terminal has closed. */
bool screen_draw(struct screen *s, const char *const *lines, size_t n);

enum screen_event {
    SCREEN_KEY,
    SCREEN_RESIZED, /* or the program continued: draw again */
    SCREEN_WOKEN,   /* `wake` can be read */
    SCREEN_TIME,    /* `until` has come */
    SCREEN_ENDED,   /* a signal, or the terminal has closed */
};

struct screen_input {
    enum screen_event event;
    int key;    /* of SCREEN_KEY */
    int signal; /* of SCREEN_ENDED; 0: the terminal has closed */
};

struct screen_input screen_wait(struct screen *s, int wake, mono_ns until);

/* The first key in n bytes as a terminal sends them, and how many bytes it is. KEY_NONE: of no
 * interest. */
int screen_key_of(const char *bytes, size_t n, size_t *used);

/* The bytes that make the terminal show `lines` where it shows `old`, appended to `out`. `old`
 * NULL: it may show anything. */
void screen_diff(struct buf *out, char *const *old, size_t n_old, const char *const *lines,
                 size_t n);

/* ---- lines of a frame, written from left to right: styles, columns, bars, wrapped words ----
 *
 * Text from outside is made safe for a terminal, and nothing goes past the width. */

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
