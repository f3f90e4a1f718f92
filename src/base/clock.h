/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - two clocks with types that the compiler distinguishes.
 * mono_ns is CLOCK_MONOTONIC: what samples and durations are made of. wall_ns is nanoseconds since
 * the epoch: what people read. A clock_tie relates the two at one moment. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct {
    int64_t ns;
} mono_ns;

typedef struct {
    int64_t ns;
} wall_ns;

struct clock_tie {
    mono_ns mono;
    wall_ns wall;
};

#define NS_PER_US ((int64_t)1000)
#define NS_PER_MS ((int64_t)1000000)
#define NS_PER_S  ((int64_t)1000000000)

/* The furthest time from the epoch, on either side, that a file, a trace or a request may name:
 * 142 years. Times are compared with it where they are read. After that the difference of any two,
 * and a time moved by a few years, fit into 64 bits. */
#define CLOCK_MOST_NS (((int64_t)1 << 52) * NS_PER_US)

static inline bool clock_fits(int64_t ns)
{
    return ns >= -CLOCK_MOST_NS && ns <= CLOCK_MOST_NS;
}

/* The nearest time that fits. */
static inline int64_t clock_clamp(int64_t ns)
{
    return ns > CLOCK_MOST_NS ? CLOCK_MOST_NS : ns < -CLOCK_MOST_NS ? -CLOCK_MOST_NS : ns;
}

mono_ns clock_mono(void);
wall_ns clock_wall(void);
/* Both clocks read as closely together as the machine allows. */
struct clock_tie clock_tie_now(void);

static inline int64_t mono_diff(mono_ns later, mono_ns earlier)
{
    return later.ns - earlier.ns;
}

static inline mono_ns mono_add(mono_ns t, int64_t ns)
{
    return (mono_ns){t.ns + ns};
}

static inline double ns_to_s(int64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

static inline double wall_span_s(wall_ns from, wall_ns to)
{
    return ns_to_s(to.ns - from.ns);
}

/* "2026-11-15 09:36:02.125 +0000" in the local zone; returns buf. */
const char *wall_text(wall_ns t, char *buf, size_t size);
/* The same without the zone if `shown`, a time on the same screen, has the same one. */
const char *wall_text_beside(wall_ns t, wall_ns shown, char *buf, size_t size);
/* "1 h 03 min", "12.4 s", "350 ms"; returns buf. */
const char *duration_text(double seconds, char *buf, size_t size);

/* ---- spans of time as users type them ---- */

/* Spans of time as users type them: "100ms", "0.5s", "1min", "500" (ms). */

/* A number, a unit (us, ms, s, min, h, d; none means ms), nothing else. ERR_USAGE otherwise. */
MUST_CHECK int duration_parse(const char *text, int64_t *ns, struct err *e);
/* A number alone: the user may have meant seconds. */
bool duration_lacks_unit(const char *text);
/* As above, and ERR_USAGE when it is not within lo..hi; `what` names it in the sentence. */
MUST_CHECK int duration_parse_within(const char *what, const char *text, int64_t lo_ns,
                                     int64_t hi_ns, int64_t *ns, struct err *e);

#endif
