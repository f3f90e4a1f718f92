/* SPDX-License-Identifier: Apache-2.0 */
/* import_texts.h - names and arguments, each kept once at one address, which is what makes them
 * cheap for the store. Bounded: when texts_full says so, the caller hands over what refers to them
 * and clears. */
#ifndef IMPORT_IMPORT_TEXTS_H
#define IMPORT_IMPORT_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct kept_text {
    const char *p; /* NUL behind it */
    uint32_t len, hash;
    int64_t number; /* the user's, with `tag`; 0 and 0 for a new one */
    uint32_t tag;
};

struct texts {
    struct kept_text **slots;
    uint32_t cap, n;
    size_t bytes;
    struct arena arena;
    char *room; /* of the current chunk */
    size_t room_left;
};

/* Never NULL. Good until texts_clear. */
struct kept_text *texts_keep(struct texts *t, const char *p, size_t len);
bool texts_full(const struct texts *t);
void texts_clear(struct texts *t);

#endif
