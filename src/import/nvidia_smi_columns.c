/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia_smi_columns.c - columns of nvidia-smi's CSV and their values. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/mem.h"
#include "import/nvidia_smi.h"

#define MIB 1048576.0

/* The titles of a column, without the unit. Names of old and new drivers. `counts`: see
 * metrics.def; powers are in mW there, bytes in bytes. */
static const struct {
    const char *title;
    struct smi_column is;
} columns[] = {
    {"timestamp", {.role = SMI_TIME}},
    {"index", {.role = SMI_INDEX}},
    {"uuid", {.role = SMI_IDENTITY, .rank = 1}},
    {"gpu_uuid", {.role = SMI_IDENTITY, .rank = 1}},
    {"pci.bus_id", {.role = SMI_IDENTITY, .rank = 2}},
    {"gpu_bus_id", {.role = SMI_IDENTITY, .rank = 2}},
    {"serial", {.role = SMI_IDENTITY, .rank = 3}},
    {"gpu_serial", {.role = SMI_IDENTITY, .rank = 3}},
    {"name", {.role = SMI_ABOUT}},
    {"gpu_name", {.role = SMI_ABOUT}},
    {"count", {.role = SMI_ABOUT}},
    {"driver_version", {.role = SMI_ABOUT}},
    {"vbios_version", {.role = SMI_ABOUT}},
    {"persistence_mode", {.role = SMI_ABOUT}},
    {"compute_mode", {.role = SMI_ABOUT}},
    {"compute_cap", {.role = SMI_ABOUT}},

    {"utilization.gpu", {SMI_METRIC, M_GPU_UTIL, 1, 0, 0}},
    {"utilization.memory", {SMI_METRIC, M_GPU_MEM_CTRL, 1, 0, 0}},
    {"memory.used", {SMI_METRIC, M_GPU_MEM_USED, MIB, 0, 0}},
    {"memory.total", {SMI_METRIC, M_GPU_MEM_TOTAL, MIB, 0, 0}},
    {"memory.reserved", {SMI_METRIC, M_GPU_MEM_RESERVED, MIB, 0, 0}},
    {"power.draw", {SMI_METRIC, M_GPU_POWER, 1000, 0, 0}},
    {"power.draw.instant", {SMI_METRIC, M_GPU_POWER, 1000, 0, 1}},
    {"power.draw.average", {SMI_METRIC, M_GPU_POWER, 1000, 0, 2}},
    {"enforced.power.limit", {SMI_METRIC, M_GPU_POWER_LIMIT, 1000, 0, 0}},
    {"power.limit", {SMI_METRIC, M_GPU_POWER_LIMIT, 1000, 0, 1}},
    {"clocks.current.sm", {SMI_METRIC, M_GPU_CLOCK_SM, 1, 0, 0}},
    {"clocks.sm", {SMI_METRIC, M_GPU_CLOCK_SM, 1, 0, 0}},
    {"clocks.current.memory", {SMI_METRIC, M_GPU_CLOCK_MEM, 1, 0, 0}},
    {"clocks.mem", {SMI_METRIC, M_GPU_CLOCK_MEM, 1, 0, 0}},
    {"temperature.gpu", {SMI_METRIC, M_GPU_TEMP, 1, 0, 0}},
    {"temperature.memory", {SMI_METRIC, M_GPU_TEMP_MEM, 1, 0, 0}},
    {"clocks_event_reasons.active", {SMI_METRIC, M_GPU_THROTTLE, 1, 0, 0}},
    {"clocks_throttle_reasons.active", {SMI_METRIC, M_GPU_THROTTLE, 1, 0, 0}},
};

/* Behind "clocks_throttle_reasons." or "clocks_event_reasons."; bits as the driver's library has
 * them, which is what gpu.throttle holds. */
static const struct {
    const char *word;
    uint64_t bit;
} reasons[] = {
    {"gpu_idle", 0x1},
    {"applications_clocks_setting", 0x2},
    {"sw_power_cap", 0x4},
    {"hw_slowdown", 0x8},
    {"sync_boost", 0x10},
    {"sw_thermal_slowdown", 0x20},
    {"hw_thermal_slowdown", 0x40},
    {"hw_power_brake_slowdown", 0x80},
};

static bool field_is(struct smi_field f, const char *word)
{
    return strlen(word) == f.len && strncasecmp(f.p, word, f.len) == 0;
}

static struct smi_field nvidia_smi_columns_trimmed(const char *p, const char *end)
{
    while (p < end && isspace((unsigned char)*p))
        p++;
    while (end > p && isspace((unsigned char)end[-1]))
        end--;
    return (struct smi_field){p, (size_t)(end - p)};
}

/* ---- titles ---- */

static struct smi_column reason_of(struct smi_field name)
{
    static const char *const prefixes[] = {"clocks_throttle_reasons.", "clocks_event_reasons."};
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        const size_t n = strlen(prefixes[i]);
        if (name.len <= n || strncasecmp(name.p, prefixes[i], n) != 0)
            continue;
        for (size_t k = 0; k < COUNT_OF(reasons); k++)
            if (field_is((struct smi_field){name.p + n, name.len - n}, reasons[k].word))
                return (struct smi_column){.role = SMI_REASON, .bit = reasons[k].bit};
    }
    return (struct smi_column){.role = SMI_UNKNOWN};
}

struct smi_column smi_column_of(struct smi_field title)
{
    const char *unit = memchr(title.p, '[', title.len);
    const struct smi_field name =
        nvidia_smi_columns_trimmed(title.p, unit ? unit : title.p + title.len);
    for (size_t i = 0; i < COUNT_OF(columns); i++)
        if (field_is(name, columns[i].title))
            return columns[i].is;
    return reason_of(name);
}

bool smi_is_title(struct smi_field f)
{
    return smi_column_of(f).role != SMI_UNKNOWN;
}

/* ---- values ---- */

/* Units that may stand behind a number; what they are worth of the unit that the column has when
 * none stands there. */
static const struct {
    const char *unit;
    double factor;
} units[] = {
    {"", 1},  {"%", 1},     {"MiB", 1}, {"GiB", 1024}, {"KiB", 1.0 / 1024},
    {"W", 1}, {"mW", 1e-3}, {"MHz", 1}, {"C", 1},
};

/* What stands for a value that there is none of. Brackets say so too. */
static const char *const absents[] = {"", "N/A", "Not Supported", "Unknown Error", "Unknown"};

static bool is_absent(struct smi_field f)
{
    for (size_t i = 0; i < COUNT_OF(absents); i++)
        if (field_is(f, absents[i]))
            return true;
    return f.len >= 2 && f.p[0] == '[' && f.p[f.len - 1] == ']';
}

enum smi_value smi_number(const struct smi_column *c, struct smi_field f, double *out)
{
    char text[64], *end;
    if (is_absent(f))
        return SMI_ABSENT;
    if (f.len >= sizeof text)
        return SMI_BAD;
    memcpy(text, f.p, f.len);
    text[f.len] = '\0';
    const bool hex = strncmp(text, "0x", 2) == 0;
    double v = hex ? (double)strtoull(text, &end, 16) : strtod(text, &end);
    const struct smi_field unit = nvidia_smi_columns_trimmed(end, text + f.len);
    if (end == text || !isfinite(v))
        return SMI_BAD;
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (field_is(unit, units[i].unit)) {
            *out = v * units[i].factor * c->counts;
            return SMI_GOOD;
        }
    return SMI_BAD;
}

enum smi_value smi_reason(struct smi_field f, bool *active)
{
    *active = field_is(f, "Active");
    if (*active || field_is(f, "Not Active"))
        return SMI_GOOD;
    return is_absent(f) ? SMI_ABSENT : SMI_BAD;
}

/* ---- times ---- */

static bool date_is_good(const struct tm *t)
{
    return t->tm_year >= 70 && t->tm_year < 300 && t->tm_mon >= 0 && t->tm_mon < 12 &&
           t->tm_mday >= 1 && t->tm_mday <= 31 && t->tm_hour >= 0 && t->tm_hour < 24 &&
           t->tm_min >= 0 && t->tm_min < 60 && t->tm_sec >= 0 && t->tm_sec <= 60;
}

/* Digits behind the point, as nanoseconds. */
static bool fraction_ns(const char *p, int64_t *out)
{
    int64_t unit = NS_PER_S / 10;
    *out = 0;
    if (*p == '\0')
        return true;
    if (*p++ != '.')
        return false;
    for (; isdigit((unsigned char)*p); p++, unit /= 10)
        *out += (*p - '0') * unit;
    return *p == '\0';
}

bool smi_time(struct smi_field f, bool zone, wall_ns *out)
{
    char text[40];
    struct tm t = {.tm_isdst = -1};
    int used = 0;
    int64_t fraction;
    if (f.len == 0 || f.len >= sizeof text)
        return false;
    memcpy(text, f.p, f.len);
    text[f.len] = '\0';
    if (sscanf(text, "%4d/%2d/%2d %2d:%2d:%2d%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour,
               &t.tm_min, &t.tm_sec, &used) != 6)
        return false;
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    if (!date_is_good(&t) || !fraction_ns(text + used, &fraction))
        return false;
    const time_t s = zone ? mktime(&t) : timegm(&t);
    out->ns = (int64_t)s * NS_PER_S + fraction;
    return s >= 0;
}

/* ---- lines ---- */

size_t smi_split(const char *line, size_t len, struct smi_field *out, size_t most)
{
    size_t n = 0;
    const char *const end = line + len;
    for (const char *p = line;; p++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        if (n < most)
            out[n] = nvidia_smi_columns_trimmed(p, comma ? comma : end);
        n++;
        if (!comma)
            return n;
        p = comma;
    }
}
