/* SPDX-License-Identifier: Apache-2.0 */
/* detail_window.h - which steps or times are recorded in detail, and how that is written. Pure.
 *
 *     5:2          two steps from step 5 on; "5" is one step
 *     now:3        three steps from now on
 *     now:10s      ten seconds from now on
 *     +60s:10s     ten seconds, 60 seconds after the start; "+60s" is the one step that comes then
 *     @1700000000:10s      the same with seconds since the epoch
 *
 * Lists have commas between. A window of a Python profile may name profiler and timer:
 * "9:3:cprofile:cpu_time". What window_print writes, window_list_parse reads back as the same. */
#ifndef CONFIG_DETAIL_WINDOW_H
#define CONFIG_DETAIL_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

enum { WINDOWS_MOST = 32 };

#define WINDOW_STEP_MOST     ((int64_t)1000000000000)
#define WINDOW_STEPS_MOST    ((int64_t)1000000)
#define WINDOW_AFTER_MOST_NS (366 * 86400 * NS_PER_S)
#define WINDOW_SPAN_MOST_NS  (86400 * NS_PER_S)
#define WINDOW_WALL_LEAST_S  ((int64_t)1000000000) /* 2001: smaller numbers are not such a time */
#define WINDOW_WALL_MOST_S   ((int64_t)9000000000) /* fits 64 bits as nanoseconds */

enum window_start {
    START_STEP,  /* `at` is a step */
    START_AFTER, /* `at` is ns since the start of the job */
    START_WALL,  /* `at` is ns since the epoch */
    START_NOW,   /* as soon as the job learns of it */
};

enum python_profiler { PROFILER_CPROFILE, PROFILER_SAMPLING, PROFILER_N };
/* What a profile's times are. TIMER_EACH: by turns, a third of the window each. */
enum python_timer { TIMER_TOTAL, TIMER_CPU, TIMER_OFF_CPU, TIMER_EACH, TIMER_N };

struct window {
    enum window_start start;
    int64_t at;
    int64_t steps;                 /* how many; 0: by span_ns. Always 1 with a start at a time. */
    int64_t span_ns;               /* 0: by steps */
    enum python_profiler profiler; /* of a Python profile, as the next */
    enum python_timer timer;
};

struct window_list {
    size_t n;
    struct window v[WINDOWS_MOST];
};

extern const char *const python_profiler_names[PROFILER_N];
extern const char *const python_timer_names[TIMER_N];

/* The most entries of a list. */
enum window_kinds {
    WINDOWS_OF_STEPS, /* steps and now */
    WINDOWS_OF_TIMES, /* times; a bare number is seconds since the epoch */
    WINDOWS_OF_BOTH,
};

/* Appends to what is there; on failure the list is as it was. ERR_USAGE names what is wrong.
 * `python`: of Python profiles, which have more fields. */
MUST_CHECK int window_list_parse(struct window_list *l, const char *text, enum window_kinds kinds,
                                 bool python, struct err *e);
/* Whether it begins at a time rather than at a step. */
bool window_is_timed(const struct window *w);
void window_print(struct buf *out, const struct window *w);
void python_window_print(struct buf *out, const struct window *w);

#endif
