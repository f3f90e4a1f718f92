/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - see clock.h. */
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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
     * both say the same. */
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
