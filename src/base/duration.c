/* SPDX-License-Identifier: Apache-2.0 */
/* duration.c - see duration.h. Digits are read by hand: strtod would follow the locale and take
 * "0x1p3", "inf" and "nan". */
#include "base/duration.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

struct time_unit {
    const char *name;
    double ns;
};

static const struct time_unit units[] = {
    {"", 1e6},  {"us", 1e3},   {"µs", 1e3}, {"ms", 1e6},
    {"s", 1e9}, {"min", 6e10}, {"m", 6e10}, {"h", 3.6e12},
};

static const struct time_unit *unit_of(const char *name)
{
    while (*name == ' ')
        name++;
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strcmp(units[i].name, name) == 0)
            return &units[i];
    return NULL;
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
