/* SPDX-License-Identifier: Apache-2.0 */
/* huffman.h - zstd frames of one block of entropy-coded bytes without matches, which is what
 * columns of samples are (RFC 8878, sections 3.1.1.3.1 and 4.2).
 *
 * Columns are a few hundred bytes long, so what counts is how soon the first byte comes out. Any
 * other frame, and all that is not right, is left to libzstd. */
#ifndef STORE_HUFFMAN_H
#define STORE_HUFFMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HUFFMAN_BITS_MOST = 11, HUFFMAN_RUN = 4, HUFFMAN_CELLS = 1 << HUFFMAN_BITS_MOST };

/* The code of the frame that is being read. By the next `bits` bits: what they begin with, as
 * second byte << 24 | first byte << 16 | bytes << 8 | bits taken. */
struct huffman {
    unsigned bits;                               /* of the longest code */
    uint32_t from[HUFFMAN_BITS_MOST + 2];        /* by weight: the first of its cells */
    uint32_t first[HUFFMAN_CELLS + HUFFMAN_RUN]; /* one byte */
    uint32_t pairs[HUFFMAN_CELLS];               /* two, where both codes are in the bits */
};

/* A frame without magic number of exactly n bytes. False: another kind, or damaged; `out` may have
 * been written to. */
bool huffman_decode(struct huffman *h, const uint8_t *p, size_t len, uint8_t *out, size_t n);

#endif
