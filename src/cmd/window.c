/* SPDX-License-Identifier: Apache-2.0 */
/* window.c - see window.h. */
#include "cmd/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Exactly n digits at *p, moved past them; -1 when they are not there. */
static int window_take_digits(const char **p, int n)
{
    int v = 0;
    for (int i = 0; i < n; i++, (*p)++) {
        if (!is_digit(**p))
            return -1;
        v = v * 10 + (**p - '0');
    }
    return v;
}

static bool take_char(const char **p, const char *any)
{
    if (!**p || !strchr(any, **p))
        return false;
    (*p)++;
    return true;
}

/* ".125" in ns; digits after the ninth are dropped. */
static bool take_fraction(const char **p, int64_t *ns)
{
    *ns = 0;
    if (!take_char(p, "."))
        return true;
    if (!is_digit(**p))
        return false;
    for (int64_t unit = NS_PER_S / 10; is_digit(**p); unit /= 10, (*p)++)
        *ns += unit * (**p - '0');
    return true;
}

/* "Z", "+02:00", "+0200"; nothing means local. */
static bool take_zone(const char **p, bool *local, int *offset_s)
{
    *offset_s = 0;
    *local = **p == '\0';
    if (*local || take_char(p, "Zz"))
        return true;
    const int sign = **p == '-' ? -1 : 1;
    if (!take_char(p, "+-"))
        return false;
    const int h = window_take_digits(p, 2);
    take_char(p, ":");
    const int m = window_take_digits(p, 2);
    *offset_s = sign * (h * 3600 + m * 60);
    return h >= 0 && h < 24 && m >= 0 && m < 60;
}

static bool take_clock(const char **p, struct tm *tm)
{
    tm->tm_hour = window_take_digits(p, 2);
    bool ok = take_char(p, ":");
    tm->tm_min = window_take_digits(p, 2);
    if (take_char(p, ":"))
        tm->tm_sec = window_take_digits(p, 2);
    return ok && tm->tm_hour >= 0 && tm->tm_hour < 24 && tm->tm_min >= 0 && tm->tm_min < 60 &&
           tm->tm_sec >= 0 && tm->tm_sec <= 60;
}

static bool take_date(const char **p, struct tm *tm)
{
    tm->tm_year = window_take_digits(p, 4) - 1900;
    bool ok = take_char(p, "-");
    tm->tm_mon = window_take_digits(p, 2) - 1;
    ok = take_char(p, "-") && ok;
    tm->tm_mday = window_take_digits(p, 2);
    return ok && tm->tm_year >= 70 && tm->tm_mon >= 0 && tm->tm_mon < 12 && tm->tm_mday >= 1 &&
           tm->tm_mday <= 31;
}

static bool parse_date(const char *p, wall_ns *out)
{
    struct tm tm = {.tm_isdst = -1};
    int64_t ns;
    bool local;
    int offset_s;
    if (!take_date(&p, &tm) || !take_char(&p, "Tt ") || !take_clock(&p, &tm) ||
        !take_fraction(&p, &ns))
        return false;
    take_char(&p, " ");
    if (!take_zone(&p, &local, &offset_s) || *p)
        return false;
    const int day = tm.tm_mday;
    const time_t s = local ? mktime(&tm) : timegm(&tm);
    if (tm.tm_mday != day) /* the 31st of a shorter month */
        return false;
    if (s > CLOCK_MOST_NS / NS_PER_S) /* the year 9999 has too many ns */
        return false;
    out->ns = ((int64_t)s - offset_s) * NS_PER_S + ns;
    return true;
}

static bool parse_epoch(const char *text, wall_ns *out)
{
    char *end;
    errno = 0;
    out->ns = strtoll(text, &end, 10);
    return is_digit(*text) && *end == '\0' && errno == 0;
}

static int not_a_moment(const char *text, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "'%.100s' is not a time (examples: 2026-11-15T09:36:02Z, nanoseconds since the "
                   "epoch, +10s after the start, -30s before the end)",
                   text);
}

int window_moment(const char *text, wall_ns start, wall_ns end, wall_ns *out, struct err *e)
{
    if (*text == '+' || *text == '-') {
        int64_t ns;
        if (duration_parse(text + 1, &ns, e) != 0)
            return not_a_moment(text, e);
        const bool over = *text == '+' ? __builtin_add_overflow(start.ns, ns, &out->ns)
                                       : __builtin_sub_overflow(end.ns, ns, &out->ns);
        return over || !clock_fits(out->ns) ? not_a_moment(text, e) : 0;
    }
    if ((parse_epoch(text, out) || parse_date(text, out)) && clock_fits(out->ns))
        return 0;
    return not_a_moment(text, e);
}

int window_of(const struct opt_value *from, const struct opt_value *to, const struct run_info *info,
              wall_ns out[2], struct err *e)
{
    out[0] = out[1] = (wall_ns){0};
    if (from->given && window_moment(from->text, info->start, info->end, &out[0], e) != 0)
        return err_in(e, "--from");
    if (to->given && window_moment(to->text, info->start, info->end, &out[1], e) != 0)
        return err_in(e, "--to");
    if (from->given && to->given && out[0].ns >= out[1].ns)
        return err_set(e, ERR_USAGE, "--from %s is not before --to %s", from->text, to->text);
    return 0;
}

/* ---- steps ---- */

static const char *window_take_number(const char *p, int64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoll(p, &end, 10);
    return *p >= '0' && *p <= '9' && errno == 0 ? end : NULL;
}

int step_range(const char *text, int64_t out[2], struct err *e)
{
    const char *p = window_take_number(text, &out[0]);
    out[1] = out[0];
    if (p && *p == ':')
        p = window_take_number(p + 1, &out[1]);
    if (!p || *p || out[1] < out[0])
        return err_set(e, ERR_USAGE, "'%.100s' is not a range of steps (examples: 10:20 or 10)",
                       text);
    return 0;
}
