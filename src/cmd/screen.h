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
/* Size of the terminal; 80 x 24 when it does not say. */
void screen_size(size_t *columns, size_t *rows);

MUST_CHECK int screen_open(struct screen *s, struct err *e);
void screen_close(struct screen *s);
/* n lines, at most s->rows of them, without '\n' and none wider than the screen. False: the
 * terminal is gone. */
bool screen_draw(struct screen *s, const char *const *lines, size_t n);

enum screen_event {
    SCREEN_KEY,
    SCREEN_RESIZED, /* or the program continued: draw again */
    SCREEN_WOKEN,   /* `wake` can be read */
    SCREEN_TIME,    /* `until` has come */
    SCREEN_ENDED,   /* a signal, or the terminal is gone */
};

struct screen_input {
    enum screen_event event;
    int key;    /* of SCREEN_KEY */
    int signal; /* of SCREEN_ENDED; 0: the terminal is gone */
};

struct screen_input screen_wait(struct screen *s, int wake, mono_ns until);

/* The first key in n bytes as a terminal sends them, and how many bytes it is. KEY_NONE: of no
 * interest. */
int screen_key_of(const char *bytes, size_t n, size_t *used);

/* The bytes that make the terminal show `lines` where it shows `old`, appended to `out`. `old`
 * NULL: it may show anything. */
void screen_diff(struct buf *out, char *const *old, size_t n_old, const char *const *lines,
                 size_t n);

#endif
