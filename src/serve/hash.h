/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h - the hash that tables, versions and tags of the server are made with. */
#ifndef SERVE_HASH_H
#define SERVE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t hash_bytes(const void *p, size_t n)
{
    return XXH3_64bits(p, n);
}

/* A text, and what came before it. */
static inline uint64_t hash_text(const char *text, uint64_t before)
{
    return XXH3_64bits_withSeed(text, strlen(text), before);
}

#endif
