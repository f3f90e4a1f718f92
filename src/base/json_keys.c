/* SPDX-License-Identifier: Apache-2.0 */
/* json_keys.c - keys by number. */
#include <assert.h>

#include "base/json_scan_own.h"
#include "base/mem.h"

/* Three bytes tell most keys apart; what is the same in all of them is compared anyway. */
static uint32_t hash_of(const char *p, size_t len)
{
    const uint8_t *b = (const uint8_t *)p;
    return len ? (uint32_t)len + b[0] * 3u + b[len / 2] * 61u + b[len - 1] * 17u : 0;
}

static uint32_t slot_of(const struct json_keys *k, const char *p, size_t len)
{
    uint32_t i = hash_of(p, len) % COUNT_OF(k->slots);
    for (; k->slots[i]; i = (i + 1) % COUNT_OF(k->slots)) {
        const uint32_t at = k->slots[i] - 1u;
        if (k->lens[at] == len && memcmp(k->names[at], p, len) == 0)
            break;
    }
    return i;
}

void json_keys_init(struct json_keys *k, const char *const *names, size_t n)
{
    assert(n <= JSON_KEYS_MOST);
    *k = (struct json_keys){.names = names, .n = (uint32_t)n};
    for (size_t i = 0; i < n; i++) {
        k->lens[i] = (uint32_t)strlen(names[i]);
        k->slots[slot_of(k, names[i], k->lens[i])] = (uint8_t)(i + 1);
    }
}

uint32_t json_key_number(const struct json_keys *k, const struct json_text *t)
{
    return t->len ? k->slots[slot_of(k, t->p, t->len)] : 0;
}

void json_keys_ignore(struct json_keys *k, uint32_t number)
{
    k->ignored[number] = 1;
}
