/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - see clock.h. */
#include "base/clock.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/vec.h"

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

mono_ns clock_mono(void)
{
    return (mono_ns){read_clock(CLOCK_MONOTONIC)};
}

wall_ns clock_wall(void)
{
    return (wall_ns){read_clock(CLOCK_REALTIME)};
}

struct clock_tie clock_tie_now(void)
{
    /* Wall between two mono readings, the tightest of a few tries: a preemption in between would
     * otherwise shift the tie by a time slice. */
    struct clock_tie best = {0};
    int64_t best_gap = INT64_MAX;
    for (int i = 0; i < 4; i++) {
        int64_t before = read_clock(CLOCK_MONOTONIC);
        int64_t wall = read_clock(CLOCK_REALTIME);
        int64_t gap = read_clock(CLOCK_MONOTONIC) - before;
        if (gap < best_gap) {
            best_gap = gap;
            best = (struct clock_tie){{before + gap / 2}, {wall}};
        }
    }
    return best;
}

const char *wall_text(wall_ns t, char *buf, size_t size)
{
    /* Milliseconds, by the arithmetic of code that has the time as a double from JSON
     * (web/src/format.ts): what is less than 250 ns before a whole one counts as that one, so that
     * both print the same. */
    const int64_t all = (int64_t)floor((double)t.ns / (double)NS_PER_MS + 0.00025);
    const int64_t a_second = NS_PER_S / NS_PER_MS;
    int64_t s = all / a_second, ms = all % a_second;
    if (ms < 0) {
        ms += a_second;
        s--;
    }
    const time_t secs = (time_t)s;
    struct tm tm;
    char date[32] = "?", zone[8] = "";
    if (localtime_r(&secs, &tm)) {
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &tm);
        strftime(zone, sizeof zone, "%z", &tm);
    }
    snprintf(buf, size, "%s.%03d %s", date, (int)ms, zone);
    return buf;
}

const char *wall_text_beside(wall_ns t, wall_ns shown, char *buf, size_t size)
{
    char other[64];
    wall_text(t, buf, size);
    wall_text(shown, other, sizeof other);
    char *zone = strrchr(buf, ' '), *other_zone = strrchr(other, ' ');
    if (zone && other_zone && strcmp(zone, other_zone) == 0)
        *zone = 0;
    return buf;
}

const char *duration_text(double seconds, char *buf, size_t size)
{
    const double s = fabs(seconds);
    const char *sign = seconds < 0 && s * 1e3 > 0.5 ? "-" : ""; /* there is no "-0 ms" */
    if (!isfinite(seconds))
        snprintf(buf, size, "?");
    else if (s < 0.9995) /* what would round up to 1000 ms is a second */
        snprintf(buf, size, "%s%.0f ms", sign, s * 1e3);
    else if (s < 120)
        snprintf(buf, size, "%s%.1f s", sign, s);
    else if (s < 7200)
        snprintf(buf, size, "%s%.0f min %02.0f s", sign, floor(s / 60), floor(fmod(s, 60)));
    else
        snprintf(buf, size, "%s%.0f h %02.0f min", sign, floor(s / 3600),
                 floor(fmod(s, 3600) / 60));
    return buf;
}

/* ---- spans of time as users type them ---- */

/* Digits are read by hand: strtod would follow the locale and take
 * "0x1p3", "inf" and "nan". */

struct time_unit {
    const char *name;
    double ns;
};

static const struct time_unit units[] = {
    {"", 1e6},     {"us", 1e3}, {"µs", 1e3},   {"ms", 1e6},    {"s", 1e9},
    {"min", 6e10}, {"m", 6e10}, {"h", 3.6e12}, {"d", 8.64e13},
};

static const struct time_unit *unit_of(const char *name)
{
    while (*name == ' ')
        name++;
    return FIND_ITEM(x, units, COUNT_OF(units), strcmp(x->name, name) == 0);
}

/* Reads "12" or "0.5" or ".5"; returns what follows, or NULL when there is no digit. */
static const char *duration_read_number(const char *p, double *out)
{
    double v = 0, place = 1;
    bool any = false, point = false;
    for (;; p++) {
        if (*p == '.' && !point) {
            point = true;
        } else if (*p >= '0' && *p <= '9') {
            any = true;
            v = v * 10 + (*p - '0');
            if (point)
                place *= 10;
        } else {
            break;
        }
    }
    *out = v / place;
    return any ? p : NULL;
}

int duration_parse(const char *text, int64_t *ns, struct err *e)
{
    double number;
    const char *rest = strlen(text) < 40 ? duration_read_number(text, &number) : NULL;
    const struct time_unit *u = rest ? unit_of(rest) : NULL;
    if (!u)
        return err_set(e, ERR_USAGE, "'%.40s' is not a duration (examples: 100ms, 0.5s, 1min)",
                       text);
    const double v = number * u->ns;
    if (v > 9e18)
        return err_set(e, ERR_USAGE, "'%.40s' is too long", text);
    *ns = (int64_t)(v + 0.5);
    return 0;
}

bool duration_lacks_unit(const char *text)
{
    return *text && text[strspn(text, "0123456789.")] == '\0';
}

int duration_parse_within(const char *what, const char *text, int64_t lo_ns, int64_t hi_ns,
                          int64_t *ns, struct err *e)
{
    int64_t v;
    if (duration_parse(text, &v, e))
        return err_in(e, "%s", what);
    if (v < lo_ns || v > hi_ns) {
        char lo[32], hi[32];
        return err_set(e, ERR_USAGE, "%s: '%s' is not between %s and %s", what, text,
                       duration_text((double)lo_ns / 1e9, lo, sizeof lo),
                       duration_text((double)hi_ns / 1e9, hi, sizeof hi));
    }
    *ns = v;
    return 0;
}
