/* SPDX-License-Identifier: Apache-2.0 */
/* json_value.c - what the texts of items mean: characters, whole numbers, times, doubles. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "json/json_internal.h"

/* ---- escapes ---- */

/* The four digits after \u, or -1. */
static int32_t escape_hex_4(const uint8_t *p, size_t n)
{
    int32_t v = 0;
    if (n < 4)
        return -1;
    for (unsigned i = 0; i < 4; i++) {
        const int d = hex_digit((char)p[i]);
        if (d < 0)
            return -1;
        v = v << 4 | d;
    }
    return v;
}

/* p[0] is 'u'. Bytes taken, 0 when it makes no sense; a pair of surrogates is one character. */
static size_t escape_unicode(const uint8_t *p, size_t n, uint32_t *out)
{
    const int32_t first = escape_hex_4(p + 1, n - 1);
    if (first < 0 || (first >= 0xdc00 && first <= 0xdfff))
        return 0;
    *out = (uint32_t)first;
    if (first < 0xd800 || first > 0xdbff)
        return 5;
    if (n < 11 || p[5] != '\\' || p[6] != 'u')
        return 0;
    const int32_t second = escape_hex_4(p + 7, n - 7);
    if (second < 0xdc00 || second > 0xdfff)
        return 0;
    *out = 0x10000 + ((uint32_t)(first - 0xd800) << 10) + (uint32_t)(second - 0xdc00);
    return 11;
}

/* p is after the backslash. Bytes taken, 0 when the escape is not known. */
static size_t escape_at(const uint8_t *p, size_t n, uint32_t *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (n == 0)
        return 0;
    if (*p == 'u')
        return escape_unicode(p, n, out);
    const char *at = *p ? strchr(from, *p) : NULL;
    if (!at)
        return 0;
    *out = (uint8_t)to[at - from];
    return 1;
}

/* One character of the text: its bytes in `to` (room for 4), how many bytes were taken. */
static size_t value_decode_one(const uint8_t *p, size_t n, char *to, unsigned *made,
                               struct json_faults *f)
{
    uint32_t c = 0xfffd;
    if (*p == '\\') {
        const size_t k = escape_at(p + 1, n - 1, &c);
        f->escapes += k == 0;
        *made = (unsigned)utf8_put(to, k ? c : '\\');
        return 1 + k;
    }
    size_t k = utf8_len(p); /* a byte that is none of a character follows every text */
    k = k <= n ? k : 0;
    f->utf8 += k == 0;
    if (k)
        memcpy(to, p, k);
    *made = (unsigned)(k ? k : utf8_put(to, c));
    return k ? k : 1;
}

size_t json_decode(const struct json_text *t, char *to, size_t room, struct json_faults *f)
{
    struct json_faults seen = {0};
    size_t len = 0;
    if (room == 0 || t->len == 0) {
        if (room)
            to[0] = '\0';
        return 0;
    }
    const uint8_t *p = (const uint8_t *)t->p, *const end = p + t->len;
    if (!t->escaped && !t->high) {
        len = MIN_OF(t->len, room - 1);
        memcpy(to, p, len);
        p = end;
    }
    while (p < end) {
        char bytes[4];
        unsigned made;
        p += value_decode_one(p, (size_t)(end - p), bytes, &made, &seen);
        if (len + made >= room)
            break;
        memcpy(to + len, bytes, made);
        len += made;
    }
    to[len] = '\0';
    if (f) {
        f->escapes += seen.escapes > 0;
        f->utf8 += seen.utf8 > 0;
    }
    return len;
}

/* ---- numbers ---- */

enum { DIGITS_MOST = 36 }; /* that fit into a 128-bit number with room to scale */

/* A decimal of any length: sign, mantissa x 10^exponent. Digits beyond DIGITS_MOST are dropped. */
struct json_decimal {
    unsigned __int128 mantissa;
    int64_t exponent;
    bool minus;
};

static const char *decimal_exponent(const char *p, const char *end, int64_t *out)
{
    const bool minus = p < end && *p == '-';
    int64_t v = 0;
    p += p < end && (*p == '-' || *p == '+');
    const char *const first = p;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        v = MIN_OF(v * 10 + (*p - '0'), 1000000);
    *out += minus ? -v : v;
    return p > first ? p : NULL;
}

static bool decimal_of(const char *p, size_t len, struct json_decimal *out)
{
    const char *const end = p + len;
    unsigned digits = 0, any = 0;
    bool point = false;
    *out = (struct json_decimal){.minus = len && *p == '-'};
    p += len && (*p == '-' || *p == '+');
    for (; p < end && ((*p >= '0' && *p <= '9') || (*p == '.' && !point)); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        any++;
        const bool fits = digits < DIGITS_MOST;
        if (fits) {
            out->mantissa = out->mantissa * 10 + (unsigned)(*p - '0');
            digits += out->mantissa != 0;
        }
        out->exponent += (fits ? 0 : 1) - (point ? 1 : 0);
    }
    if (any && p < end && (*p | 0x20) == 'e')
        p = decimal_exponent(p + 1, end, &out->exponent);
    return any && p == end;
}

/* Rounded half away from zero. False when it does not fit. */
static bool decimal_to_int(struct json_decimal d, int64_t *out)
{
    unsigned __int128 v = d.mantissa;
    if (v == 0) {
        *out = 0;
        return true;
    }
    for (; d.exponent > 0; d.exponent--) {
        v *= 10;
        if (v > (unsigned __int128)INT64_MAX + 1)
            return false;
    }
    unsigned last = 0;
    for (; d.exponent < 0 && (v || last); d.exponent++) {
        last = (unsigned)(v % 10);
        v /= 10;
    }
    v += d.exponent == 0 && last >= 5;
    if (v > (unsigned __int128)INT64_MAX + d.minus)
        return false;
    *out = d.minus ? (int64_t)(0 - (uint64_t)v) : (int64_t)v;
    return true;
}

bool json_odd_int(const struct json_item *it, int64_t *out)
{
    const struct json_number *n = &it->number;
    struct json_decimal d;
    if (it->kind != JS_NUMBER)
        return false;
    if (n->fraction || memchr(it->text.p, 'e', it->text.len) ||
        memchr(it->text.p, 'E', it->text.len))
        return false;
    return decimal_of(it->text.p, it->text.len, &d) && decimal_to_int(d, out);
}

bool json_scaled(const struct json_item *it, unsigned digits, int64_t *out)
{
    const struct json_number *n = &it->number;
    struct json_decimal d;
    if (it->kind != JS_NUMBER && it->kind != JS_STRING)
        return false;
    if (it->kind == JS_NUMBER && n->plain && n->fraction <= digits) {
        uint64_t v = n->mantissa;
        for (unsigned i = n->fraction; i < digits; i++)
            if (__builtin_mul_overflow(v, 10, &v))
                return false;
        *out = n->minus ? -(int64_t)v : (int64_t)v;
        return v <= INT64_MAX;
    }
    if (!decimal_of(it->text.p, it->text.len, &d))
        return false;
    d.exponent += digits;
    return decimal_to_int(d, out);
}

/* strtod in the C locale, whatever the program's is. */
static bool value_strtod(const struct json_text *t, double *out)
{
    char small[64];
    char *const copy = t->len < sizeof small ? small : xmalloc(t->len + 1ul);
    memcpy(copy, t->p, t->len);
    copy[t->len] = '\0';
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    *out = plain ? strtod_l(copy, NULL, plain) : strtod(copy, NULL);
    if (plain)
        freelocale(plain);
    if (copy != small)
        free(copy);
    return isfinite(*out);
}

bool json_double(const struct json_item *it, double *out)
{
    static const double tens[] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                  1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
    const struct json_number *n = &it->number;
    if (it->kind != JS_NUMBER)
        return false;
    /* Both are exact, so the one rounding of the division is the right one. */
    if (n->plain && n->mantissa <= 1ull << 53) {
        const double v = (double)n->mantissa / tens[n->fraction];
        *out = n->minus ? -v : v;
        return true;
    }
    return value_strtod(&it->text, out);
}
