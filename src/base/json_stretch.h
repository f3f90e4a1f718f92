/* SPDX-License-Identifier: Apache-2.0 */
/* json_stretch.h - members that come with the same values again and again, taken at once.
 *
 * A stretch is the text of some members in a row, from behind the one before, or from behind the
 * bracket, up to the comma behind the last. Where it stands again, what it says is known without
 * reading it. What that is, the caller has kept; the few stretches that are found most often stay.
 */
#ifndef BASE_JSON_STRETCH_H
#define BASE_JSON_STRETCH_H

#include "base/json_scan_own.h"

enum { STRETCH_LEN = 64, STRETCHES = 4, STRETCHES_LEARNT_MOST = 1000 };

struct json_stretch {
    uint8_t bytes[STRETCH_LEN];
    uint64_t beyond; /* one bit for each that is not of it */
    uint32_t len;    /* with the comma */
    uint32_t found;  /* how often */
};

/* Of one place in objects. */
struct json_stretches {
    uint32_t n, learnt;
    struct json_stretch v[STRETCHES];
};

/* Keeps it in place of the one that was found least often: its number. STRETCHES: it is too long,
 * or others come all the time. `to` is behind the comma. */
uint32_t json_stretch_learn(struct json_stretches *all, const uint8_t *from, const uint8_t *to);

INLINE bool stretch_is(const struct json_stretch *s, const uint8_t *p, bool wide)
{
#ifdef __x86_64__
    if (wide) {
        const uint64_t low = same_32(p, s->bytes), high = same_32(p + 32, s->bytes + 32);
        return (low | high << 32 | s->beyond) == UINT64_MAX;
    }
#endif
    (void)wide;
    return memcmp(p, s->bytes, s->len) == 0;
}

/* Which one stands at p; STRETCHES: none. Bytes of the pad are never a comma. */
INLINE uint32_t json_stretch_at(struct json_stretches *all, const uint8_t *p, bool wide)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (stretch_is(&all->v[i], p, wide)) {
            all->v[i].found++;
            return i;
        }
    return STRETCHES;
}

/* Where what follows it begins: at its comma. */
INLINE const uint8_t *json_stretch_behind(const struct json_stretches *all, uint32_t i,
                                          const uint8_t *p)
{
    return p + all->v[i].len - 1;
}

#endif
