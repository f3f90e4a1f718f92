/* SPDX-License-Identifier: Apache-2.0 */
/* human.c - see human.h. */
#include "base/human.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"

/* Whether a text is a zero. */
static bool is_zero(const char *text)
{
    return text[strcspn(text, "123456789")] == '\0';
}

/* "%.*f", where what rounds to zero has no sign. */
static const char *fixed(double v, int places, char buf[HUMAN_LEN])
{
    snprintf(buf, HUMAN_LEN, "%.*f", places, v);
    return buf + (*buf == '-' && is_zero(buf));
}

/* Digits after the point that make three significant ones of a value below 1000. */
static int decimals(double v)
{
    v = fabs(v);
    if (v == 0 || v >= 99.95)
        return 0;
    if (v >= 9.995)
        return 1;
    return v >= 0.9995 ? 2 : 3;
}

/* v in the largest prefix of the ladder that leaves at least one whole. The next prefix is taken as
 * soon as v would be printed with a fourth digit. */
static const char *scaled(double v, double base, const char *const *prefixes, size_t n_prefixes,
                          const char *unit, char *buf, size_t size)
{
    size_t i = 0;
    while (i + 1 < n_prefixes && fabs(v) >= 999.5) {
        v /= base;
        i++;
    }
    const int places = i == 0 && v == floor(v) ? 0 : decimals(v);
    char number[HUMAN_LEN];
    snprintf(buf, size, "%s %s%s", fixed(v, places, number), prefixes[i], unit);
    return buf;
}

static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
static const char *const decimal[] = {"", "k", "M", "G"};

const char *human_bytes(double bytes, char *buf, size_t size)
{
    return scaled(bytes, 1024, binary, COUNT_OF(binary), "B", buf, size);
}

/* A whole number, its digits in groups of three when there are five or more. */
static const char *grouped(const char *digits, char *buf, size_t size)
{
    enum { PLAIN_MOST = 4 };
    const size_t sign = *digits == '-', len = strlen(digits + sign);
    size_t out = 0;
    for (size_t i = 0; i < sign + len && out + 2 < size; i++) {
        if (len > PLAIN_MOST && i > sign && (sign + len - i) % 3 == 0)
            buf[out++] = ' ';
        buf[out++] = digits[i];
    }
    buf[out] = '\0';
    return buf;
}

bool bytes_parse(const char *text, const char *per, uint64_t *out)
{
    static const struct {
        const char *unit;
        double bytes;
    } units[] = {
        {"", 1},      {"B", 1},        {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
        {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
    };
    char *unit;
    if (*text < '0' || *text > '9')
        return false;
    const double v = strtod(text, &unit);
    const size_t n = strlen(unit), m = strlen(per);
    if (n < m || strcmp(unit + n - m, per) != 0)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].unit) == n - m && memcmp(units[i].unit, unit, n - m) == 0 &&
            v * units[i].bytes < 0x1p62) {
            *out = (uint64_t)(v * units[i].bytes);
            return true;
        }
    return false;
}

const char *human_count(uint64_t n, char *buf, size_t size)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, n);
    return grouped(digits, buf, size);
}

static const char *rate(double v, char *buf, size_t size)
{
    return scaled(v, 1000, decimal, COUNT_OF(decimal), "/s", buf, size);
}

static const char *human_percent(double v, char *buf, size_t size)
{
    char number[HUMAN_LEN];
    snprintf(buf, size, "%s %%", fixed(v, 1, number));
    return buf;
}

static const char *human_seconds(double v, char *buf, size_t size)
{
    if (v == 0 || fabs(v) >= 0.9995) /* what would round up to 1000 ms is a second */
        return duration_text(v, buf, size);
    const bool small = fabs(v) < 999.5e-6;
    const double scaled_v = v * (small ? 1e6 : 1e3);
    /* The product of a round number need not be round. */
    const bool whole = fabs(scaled_v - round(scaled_v)) < 1e-9;
    char number[HUMAN_LEN];
    snprintf(buf, size, "%s %s", fixed(scaled_v, whole ? 0 : decimals(scaled_v), number),
             small ? "µs" : "ms");
    return buf;
}

static const char *plain(double v, char *buf, size_t size)
{
    char number[HUMAN_LEN];
    if ((v == floor(v) || fabs(v) >= 999.5) && fabs(v) < 1e18)
        return grouped(fixed(v, 0, number), buf, size);
    snprintf(buf, size, "%.3g", v);
    return buf;
}

static const char *human_bits(double v, char *buf, size_t size)
{
    snprintf(buf, size, "0x%" PRIx64, v > 0 && v < 0x1p63 ? (uint64_t)v : 0);
    return buf;
}

static const char *celsius(double v, char *buf, size_t size)
{
    char number[HUMAN_LEN];
    snprintf(buf, size, "%s °C", fixed(v, 0, number));
    return buf;
}

static const struct {
    const char *unit;
    const char *(*text)(double v, char *buf, size_t size);
} by_unit[] = {
    {"", plain},          {"%", human_percent}, {"B", human_bytes},   {"1/s", rate},
    {"s", human_seconds}, {"C", celsius},       {"bits", human_bits},
};

const char *human_value(double v, const char *unit, char *buf, size_t size)
{
    if (isnan(v)) {
        snprintf(buf, size, "-");
        return buf;
    }
    if (v == 0)
        v = 0; /* there is no "-0" */
    for (size_t i = 0; i < COUNT_OF(by_unit); i++)
        if (strcmp(by_unit[i].unit, unit) == 0)
            return by_unit[i].text(v, buf, size);
    if (strncmp(unit, "B/", 2) == 0) /* by the second, the hour or the step */
        return scaled(v, 1024, binary, COUNT_OF(binary), unit, buf, size);
    char number[HUMAN_LEN];
    snprintf(buf, size, "%s %s", plain(v, number, sizeof number), unit);
    return buf;
}

const char *human_money(double v, char *buf, size_t size)
{
    char number[HUMAN_LEN];
    snprintf(buf, size, "%s", isnan(v) ? "-" : fixed(v, fabs(v) < 1 ? 4 : 2, number));
    return buf;
}

const char *currency_name(const char *currency)
{
    return currency && *currency ? currency : CURRENCY_DEFAULT;
}

const char *human_price(double v, const char *currency, char *buf, size_t size)
{
    char number[HUMAN_LEN];
    if (isnan(v))
        return human_money(v, buf, size);
    snprintf(buf, size, "%s %s", human_money(v, number, sizeof number), currency_name(currency));
    return buf;
}

const char *human_signed(double v, const char *text, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s", is_zero(text) ? "" : v < 0 ? "-" : "+", text);
    return buf;
}

const char *human_points(double v, char *buf, size_t size)
{
    char number[HUMAN_LEN], text[HUMAN_LEN + 8];
    if (isnan(v))
        return human_value(v, "", buf, size);
    snprintf(text, sizeof text, "%s points", fixed(fabs(v), 1, number));
    return human_signed(v, text, buf, size);
}

const char *human_age(double s, char *buf, size_t size)
{
    s = s > 0 ? s : 0;
    if (s < 120)
        snprintf(buf, size, "%.0f s ago", floor(s));
    else if (s < 7200)
        snprintf(buf, size, "%.0f min ago", floor(s / 60));
    else if (s < 172800)
        snprintf(buf, size, "%.0f h ago", floor(s / 3600));
    else
        snprintf(buf, size, "%.0f d ago", floor(s / 86400));
    return buf;
}

const char *value_text(struct arena *a, double v, const char *unit)
{
    char text[HUMAN_LEN];
    return arena_strdup(a, human_value(v, unit, text, sizeof text));
}

const char *count_text(struct arena *a, uint64_t n)
{
    char text[HUMAN_LEN];
    return arena_strdup(a, human_count(n, text, sizeof text));
}

const char *bytes_text(struct arena *a, double bytes)
{
    char text[HUMAN_LEN];
    return arena_strdup(a, human_bytes(bytes, text, sizeof text));
}
