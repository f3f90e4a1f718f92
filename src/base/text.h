/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - how texts begin and end, in which order they come, their characters, and which of
 * several is meant by a misspelled one. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool text_starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Whether it is one of the n texts. */
static inline bool text_among(const char *text, const char *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i], text) == 0)
            return true;
    return false;
}

static inline bool text_ends(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Of an array of texts, for SORT. */
int text_compare(const void *a, const void *b);

/* As strcmp, but digits compare by their value: cpu2 before cpu10. */
int name_compare(const char *a, const char *b);

/* Length of the valid UTF-8 sequence at s, or 0. Overlong forms and surrogates are not valid. */
static inline size_t utf8_len(const unsigned char *s)
{
    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xc2 && s[0] < 0xe0)
        return (s[1] & 0xc0) == 0x80 ? 2 : 0;
    if (s[0] >= 0xe0 && s[0] < 0xf0) {
        const bool low = s[0] == 0xe0 && s[1] < 0xa0, surrogate = s[0] == 0xed && s[1] >= 0xa0;
        return !low && !surrogate && (s[1] & 0xc0) == 0x80 && (s[2] & 0xc0) == 0x80 ? 3 : 0;
    }
    if (s[0] >= 0xf0 && s[0] < 0xf5) {
        const bool low = s[0] == 0xf0 && s[1] < 0x90, high = s[0] == 0xf4 && s[1] >= 0x90;
        const bool tail = (s[1] & 0xc0) == 0x80 && (s[2] & 0xc0) == 0x80 && (s[3] & 0xc0) == 0x80;
        return !low && !high && tail ? 4 : 0;
    }
    return 0;
}

/* The UTF-8 bytes of a character; returns how many. */
enum { UTF8_MOST = 4 };
size_t utf8_put(char to[UTF8_MOST], uint32_t c);

/* 0 to 15, or -1: it is no hexadecimal digit. */
static inline int hex_digit(char c)
{
    const int lower = c | 0x20;
    return c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* "Did you mean": the candidate that is the fewest typing mistakes away.
 * `struct nearest n = nearest_to(typed);`, nearest_offer for every candidate, then n.best, which is
 * NULL when nothing is near enough to be what was meant. */
struct nearest {
    const char *word;
    const char *best;
    size_t distance; /* of best; at first one more than what is near enough */
};

struct nearest nearest_to(const char *word);
void nearest_offer(struct nearest *n, const char *candidate);

#endif
