/* SPDX-License-Identifier: Apache-2.0 */
/* json_write.c - see json_write.h. */
#include "base/json_write.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

static void json_write_put_text(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s));
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void put_special(struct buf *b, const unsigned char *s, size_t n)
{
    if (n == 0)
        json_write_put_text(b, "\xef\xbf\xbd");
    else if (*s == '"' || *s == '\\')
        buf_printf(b, "\\%c", *s);
    else if (*s == '\n')
        json_write_put_text(b, "\\n");
    else if (*s < 0x20 || *s == 0x7f)
        buf_printf(b, "\\u%04x", *s);
    else
        buf_put(b, s, n);
}

void json_put_text(struct buf *b, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    buf_u8(b, '"');
    while (*s) {
        const unsigned char *plain = s;
        while (is_plain(*s))
            s++;
        buf_put(b, plain, (size_t)(s - plain));
        if (!*s)
            break;
        const size_t n = utf8_len(s);
        put_special(b, s, n);
        s += n ? n : 1;
    }
    buf_u8(b, '"');
}

static void new_line(struct jw *j)
{
    if (j->indent > 0)
        buf_printf(j->out, "\n%*s", j->indent * j->depth, "");
}

static void before_value(struct jw *j, const char *key)
{
    if (j->keyed) {
        j->keyed = false;
        return;
    }
    if (j->depth > 0) {
        if (j->some[j->depth])
            buf_u8(j->out, ',');
        j->some[j->depth] = true;
        new_line(j);
    }
    if (key) {
        json_put_text(j->out, key);
        json_write_put_text(j->out, j->indent ? ": " : ":");
    }
}

static void open_level(struct jw *j, const char *key, bool array)
{
    before_value(j, key);
    buf_u8(j->out, array ? '[' : '{');
    j->depth++;
    assert(j->depth < JW_DEPTH);
    j->some[j->depth] = false;
    j->array[j->depth] = array;
}

void jw_object(struct jw *j, const char *key)
{
    open_level(j, key, false);
}

void jw_array(struct jw *j, const char *key)
{
    open_level(j, key, true);
}

void jw_end(struct jw *j)
{
    assert(j->depth > 0);
    const bool some = j->some[j->depth], array = j->array[j->depth];
    j->depth--;
    if (some)
        new_line(j);
    buf_u8(j->out, array ? ']' : '}');
    if (j->depth == 0 && j->indent > 0)
        buf_u8(j->out, '\n');
}

void jw_key(struct jw *j, const char *key)
{
    before_value(j, key);
    j->keyed = true;
}

void jw_str(struct jw *j, const char *key, const char *v)
{
    before_value(j, key);
    if (v)
        json_put_text(j->out, v);
    else
        json_write_put_text(j->out, "null");
}

void jw_int(struct jw *j, const char *key, int64_t v)
{
    before_value(j, key);
    buf_int(j->out, v);
}

/* Most numbers have few decimals: true when v is a thousandth of a whole number, and written. */
static bool put_thousandths(struct buf *b, double v)
{
    const double k = nearbyint(v * 1000);
    if (!(fabs(k) < 9e15) || k / 1000 != v || v == 0)
        return false;
    const uint64_t n = (uint64_t)fabs(k);
    unsigned rest = (unsigned)(n % 1000);
    if (v < 0)
        buf_u8(b, '-');
    buf_int(b, (int64_t)(n / 1000));
    if (rest)
        buf_u8(b, '.');
    for (unsigned unit = 100; rest; rest %= unit, unit /= 10)
        buf_u8(b, (uint8_t)('0' + rest / unit));
    return true;
}

void json_put_number(struct buf *b, double v)
{
    char text[40];
    if (put_thousandths(b, v))
        return;
    if (v == floor(v) && fabs(v) < 1e15) {
        buf_int(b, (int64_t)v);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    json_write_put_text(b, text);
}

void jw_num(struct jw *j, const char *key, double v)
{
    if (!isfinite(v)) {
        jw_null(j, key);
        return;
    }
    before_value(j, key);
    json_put_number(j->out, v);
}

void jw_texts(struct jw *j, const char *key, const char *const *v, size_t n)
{
    jw_array(j, key);
    for (size_t i = 0; i < n; i++)
        jw_str(j, NULL, v[i]);
    jw_end(j);
}

void jw_bool(struct jw *j, const char *key, bool v)
{
    before_value(j, key);
    json_write_put_text(j->out, v ? "true" : "false");
}

void jw_null(struct jw *j, const char *key)
{
    before_value(j, key);
    json_write_put_text(j->out, "null");
}

/* ------------------------------------------------------------------------------------------------
 * Numbers of charts: four digits are more than a screen shows, and a hundred thousand of them are
 * written in a few milliseconds. */

enum { DIGITS = 4, LOW = -8, HIGH = 18 }; /* powers of ten that are written without an exponent */

/* 10^(LOW - DIGITS) .. 10^(HIGH + DIGITS) */
static const double powers[] = {
    1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1,
    1e0,   1e1,   1e2,   1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12,  1e13,  1e14,  1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

static double power(int exponent)
{
    return powers[exponent - LOW + DIGITS];
}

/* The largest e with 10^e <= v. */
static int exponent_of(double v)
{
    int e = v >= 1 ? 0 : LOW;
    while (v >= power(e + 1))
        e++;
    return e;
}

/* `n` digits of v, then zeros or a point where they belong. Zeros after the point are left out. */
static char *put_digits(char *p, uint64_t v, int exponent)
{
    char digits[DIGITS];
    int n = DIGITS;
    for (int i = DIGITS; i-- > 0; v /= 10)
        digits[i] = (char)('0' + v % 10);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    if (exponent < 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = -1; i > exponent; i--)
            *p++ = '0';
    }
    for (int i = 0; i < n; i++) {
        if (i && i == exponent + 1)
            *p++ = '.';
        *p++ = digits[i];
    }
    for (int i = n; i <= exponent; i++)
        *p++ = '0';
    return p;
}

void json_put_rounded(struct buf *b, double v)
{
    buf_reserve(b, 32);
    char *const begin = (char *)b->p + b->len, *p = begin;
    const double size = fabs(v);
    if (!isfinite(v)) {
        buf_put(b, "null", 4);
        return;
    }
    if (size != 0 && (size < power(LOW) || size >= power(HIGH))) {
        b->len += (size_t)snprintf(p, 32, "%.3e", v);
        return;
    }
    if (v < 0)
        *p++ = '-';
    if (size == 0) {
        *p++ = '0';
    } else {
        int e = exponent_of(size);
        double scaled =
            e < DIGITS - 1 ? size * power(DIGITS - 1 - e) : size / power(e - DIGITS + 1);
        scaled = floor(scaled + 0.5);
        if (scaled >= power(DIGITS)) {
            scaled /= 10;
            e++;
        }
        p = put_digits(p, (uint64_t)scaled, e);
    }
    b->len += (size_t)(p - begin);
}
