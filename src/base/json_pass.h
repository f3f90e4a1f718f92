/* SPDX-License-Identifier: Apache-2.0 */
/* json_pass.h - to the end of an object or array, 64 bytes at a time; for the scanner's own files.
 *
 * Which bytes lie in texts follows from the quotes: a prefix xor turns the bits of the quotes into
 * runs of ones. Brackets outside are then counted, not visited. Only a block with a backslash is
 * gone through byte by byte. What lies inside is not checked, but a text that holds a newline is no
 * text: quotes went wrong before, and going on would lose everything behind. */
#ifndef BASE_JSON_PASS_H
#define BASE_JSON_PASS_H

#include "base/json_scan_own.h"

struct pass {
    uint32_t depth;     /* of brackets open since the start, the first one included */
    bool text, escaped; /* the last byte so far was inside of a text; was a backslash there */
    bool broken;
};

static inline uint64_t runs_between(uint64_t quotes)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        quotes ^= quotes << shift;
    return quotes;
}

/* Number of the bit where the depth falls to zero, or 64. */
INLINE unsigned where_closed(uint64_t open, uint64_t close, uint32_t depth)
{
    unsigned closed = 0;
    for (uint64_t left = close; left; left &= left - 1) {
        const unsigned at = (unsigned)__builtin_ctzll(left);
        const uint64_t before = (1ull << at) - 1;
        closed++;
        if (depth + (unsigned)__builtin_popcountll(open & before) == closed)
            return at;
    }
    return 64;
}

/* Goes through n bytes one by one. Returns where the end is, or 64. */
unsigned json_pass_bytes(struct pass *k, const uint8_t *p, unsigned n);

/* The same for up to 64 bytes. Returns where the end is, or 64. `wide`: the machine has AVX2; a
 * constant. */
INLINE unsigned pass_block(struct pass *k, const uint8_t *p, unsigned n, bool wide)
{
    struct json_bits b;
#ifdef __x86_64__
    if (wide)
        bits_64_wide(p, &b);
    else
#endif
        bits_64(p, &b);
    (void)wide;
    const uint64_t mask = n == 64 ? ~0ull : (1ull << n) - 1;
    if (__builtin_expect((b.backslash & mask) || k->escaped, 0))
        return json_pass_bytes(k, p, n);
    const uint64_t inside = runs_between(b.quote & mask) ^ (k->text ? ~0ull : 0);
    const uint64_t open = b.open & ~inside & mask, close = b.close & ~inside & mask;
    const unsigned closes = (unsigned)__builtin_popcountll(close);
    const unsigned at = closes >= k->depth ? where_closed(open, close, k->depth) : 64;
    const uint64_t before = at < 64 ? (1ull << at) - 1 : mask;
    k->broken = (b.newline & inside & before) != 0;
    if (at < 64 || k->broken)
        return k->broken ? 64 : at;
    k->depth += (unsigned)__builtin_popcountll(open) - closes;
    k->text = inside >> (n - 1) & 1;
    return 64;
}

#endif
