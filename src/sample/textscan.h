/* SPDX-License-Identifier: Apache-2.0 */
/* textscan.h - reading numbers and words out of bytes that need not be well-formed or end in NUL.
 * Every function moves *p forward, never beyond end, and answers false when what was requested
 * is not there. */
#ifndef SAMPLE_TEXTSCAN_H
#define SAMPLE_TEXTSCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline void scan_blanks(const char **p, const char *end)
{
    while (*p < end && (**p == ' ' || **p == '\t'))
        ++*p;
}

static inline bool scan_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* 19 digits always fit; a 20th is the rare case that needs the check. */
enum { SCAN_SAFE_DIGITS = 19 };

/* Blanks, then a decimal number. Too large for 64 bits is false. */
static inline bool scan_u64(const char **p, const char *end, uint64_t *out)
{
    scan_blanks(p, end);
    const char *s = *p, *start = s;
    uint64_t v = 0;
    for (; s < end && scan_is_digit(*s) && s - start < SCAN_SAFE_DIGITS; s++)
        v = v * 10 + (uint64_t)(*s - '0');
    for (; s < end && scan_is_digit(*s); s++)
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
            return false;
    if (s == start)
        return false;
    *p = s;
    *out = v;
    return true;
}

/* A number that fits in an int and is not negative: process ids, core numbers. */
static inline bool scan_int(const char **p, const char *end, int *out)
{
    uint64_t v;
    if (!scan_u64(p, end, &v) || v > INT32_MAX)
        return false;
    *out = (int)v;
    return true;
}

/* Blanks, then everything up to the next blank or line end. */
static inline bool scan_word(const char **p, const char *end, const char **word, size_t *len)
{
    scan_blanks(p, end);
    *word = *p;
    while (*p < end && **p != ' ' && **p != '\t' && **p != '\n')
        ++*p;
    *len = (size_t)(*p - *word);
    return *len > 0;
}

static inline bool scan_skip_words(const char **p, const char *end, unsigned n)
{
    const char *word;
    size_t len;
    while (n--)
        if (!scan_word(p, end, &word, &len))
            return false;
    return true;
}

static inline bool scan_starts(const char *p, const char *end, const char *prefix, size_t n)
{
    if ((size_t)(end - p) < n)
        return false;
    size_t i = 0;
    while (i < n && p[i] == prefix[i])
        i++;
    return i == n;
}

/* With a string literal. */
#define SCAN_STARTS(p, end, literal) scan_starts((p), (end), "" literal, sizeof(literal) - 1)

/* The bytes as a C string, cut to fit; what is not printable ASCII becomes '?'. */
static inline void scan_copy(char *out, size_t size, const char *p, size_t n)
{
    size_t i = 0;
    for (; i + 1 < size && i < n; i++)
        out[i] = p[i] >= ' ' && p[i] <= '~' ? p[i] : '?';
    out[i] = '\0';
}

#endif
