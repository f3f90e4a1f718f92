/* SPDX-License-Identifier: Apache-2.0 */
/* json_stretch.c - see json_stretch.h. */
#include "base/json_stretch.h"

uint32_t json_stretch_learn(struct json_stretches *all, const uint8_t *from, const uint8_t *to)
{
    const size_t len = (size_t)(to - from);
    if (len > STRETCH_LEN || all->learnt >= STRETCHES_LEARNT_MOST)
        return STRETCHES;
    uint32_t least = 0;
    for (uint32_t i = 1; i < all->n; i++)
        if (all->v[i].found < all->v[least].found)
            least = i;
    const uint32_t i = all->n < STRETCHES ? all->n++ : least;
    struct json_stretch *s = &all->v[i];
    *s = (struct json_stretch){.len = (uint32_t)len};
    memcpy(s->bytes, from, len);
    s->beyond = len < STRETCH_LEN ? UINT64_MAX << len : 0;
    all->learnt++;
    return i;
}
