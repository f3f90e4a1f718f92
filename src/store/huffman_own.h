/* SPDX-License-Identifier: Apache-2.0 */
/* huffman_own.h - for huffman.c and huffman_code.c alone. */
#ifndef STORE_HUFFMAN_OWN_H
#define STORE_HUFFMAN_OWN_H

#include "base/buf.h"
#include "store/huffman.h"

/* Takes the description of a code from `in`. False: it is none that zstd would write. */
bool huffman_code_get(struct huffman *h, struct cur *in);

static inline uint64_t load_64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline unsigned bits_in(uint32_t v)
{
    return v ? 32 - (unsigned)__builtin_clz(v) : 0;
}

#endif
