/* SPDX-License-Identifier: Apache-2.0 */
/* ring_text.c - see ring_text.h. */
#include "ring/ring_text.h"

#include <stdbool.h>
#include <string.h>

struct utf8_form { /* of characters with this many bytes */
    uint8_t mask, lead;
    uint32_t least; /* smaller ones have a shorter form, which is the only one allowed */
};

static const struct utf8_form forms[] = {
    {0x80, 0x00, 0x20},
    {0xe0, 0xc0, 0xa0}, /* 0x80 to 0x9f are controls */
    {0xf0, 0xe0, 0x800},
    {0xf8, 0xf0, 0x10000},
};

static bool is_printable(uint32_t c)
{
    return c != 0x7f && !(c >= 0xd800 && c <= 0xdfff) && c <= 0x10ffff;
}

/* How many bytes the character at p has, 0 when there is none. */
static size_t char_length(const uint8_t *p, size_t left)
{
    for (size_t n = 1; n <= sizeof forms / sizeof forms[0]; n++) {
        const struct utf8_form *f = &forms[n - 1];
        if ((p[0] & f->mask) != f->lead)
            continue;
        uint32_t c = p[0] & (uint8_t)~f->mask;
        if (n > left)
            return 0;
        for (size_t i = 1; i < n; i++) {
            if ((p[i] & 0xc0) != 0x80)
                return 0;
            c = c << 6 | (p[i] & 0x3f);
        }
        return c >= f->least && is_printable(c) ? n : 0;
    }
    return 0;
}

void ring_text_clean(char *out, const char *text, size_t len)
{
    if (len > RING_NAME_LEN)
        len = RING_NAME_LEN;
    for (size_t at = 0; at < len;) {
        const size_t n = char_length((const uint8_t *)text + at, len - at);
        if (n)
            memcpy(out + at, text + at, n);
        else
            out[at] = '?';
        at += n ? n : 1;
    }
    out[len] = '\0';
}
