/* SPDX-License-Identifier: Apache-2.0 */
/* json_rounded.c - numbers of charts: four digits are more than a screen shows, and a hundred
 * thousand of them are written in a few milliseconds. */
#include <math.h>
#include <stdio.h>

#include "base/json_write.h"

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

/* `n` digits of v, then zeros or a point where they belong. Zeros behind the point are left out. */
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
