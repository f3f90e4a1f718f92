/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - characters of texts that end with a NUL and may be anything. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
