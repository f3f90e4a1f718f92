/* SPDX-License-Identifier: Apache-2.0 */
/* ring_intern.c - names of a process, each with a small number.
 *
 * The table is the process's own, so a forked child still knows the ids that its variables hold,
 * and its new file gets all the names. Threads and signal handlers add to it without waiting for
 * each other: whoever loses a race leaves an entry that nobody uses, at worst a second id for the
 * same text, which the reader resolves to the same name. */
#include <string.h>

#include "ring/ring_make.h"

static uint32_t ring_intern_hash_of(const char *text, size_t len)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)text[i]) * 16777619u;
    return h ^ h >> 15;
}

/* Where a text that is too long can be cut without breaking a UTF-8 character. */
static size_t cut_length(const char *text)
{
    size_t len = strnlen(text, RING_NAME_LEN + 1);
    if (len <= RING_NAME_LEN)
        return len;
    len = RING_NAME_LEN;
    while (len > RING_NAME_LEN - 4 && ((uint8_t)text[len] & 0xc0) == 0x80)
        len--;
    return len;
}

static bool ring_intern_is_name(const struct ring_name *n, const char *text, size_t len)
{
    return __atomic_load_n(&n->ready, __ATOMIC_ACQUIRE) && n->len == len &&
           memcmp(n->text, text, len) == 0;
}

static void ring_intern_fill(struct ring_name *n, const char *text, size_t len)
{
    n->len = (uint8_t)len;
    memcpy(n->text, text, len);
    __atomic_store_n(&n->ready, 1, __ATOMIC_RELEASE);
}

static void copy_one(const struct ring_writer *w, uint8_t *map, uint32_t id)
{
    const struct ring_name *from = &w->names[id];
    struct ring_name *to = ring_name_of(map, id);
    uint8_t empty = 0;
    if (!__atomic_load_n(&from->ready, __ATOMIC_ACQUIRE) ||
        !__atomic_compare_exchange_n(&to->ready, &empty, 2, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return; /* not whole yet: its thread copies it; or somebody has, or has begun to */
    ring_intern_fill(to, from->text, from->len);
}

void ring_names_copy(const struct ring_writer *w, uint8_t *map)
{
    const uint32_t used = __atomic_load_n(&w->names_used, __ATOMIC_ACQUIRE);
    for (uint32_t id = 1; id <= used && id < RING_NAMES; id++)
        copy_one(w, map, id);
}

static void count_lost_name(struct ring_writer *w)
{
    uint8_t *map = __atomic_load_n(&w->live->map, __ATOMIC_ACQUIRE);
    if (map)
        __atomic_fetch_add(&ring_file_of(map)->names_lost, 1, __ATOMIC_RELAXED);
}

/* A new entry, also in the file if there is one; 0 when the table is full. */
static uint32_t ring_intern_add(struct ring_writer *w, const char *text, size_t len)
{
    uint32_t used = __atomic_load_n(&w->names_used, __ATOMIC_RELAXED);
    do {
        if (used + 1 >= RING_NAMES) {
            count_lost_name(w);
            return 0;
        }
    } while (!__atomic_compare_exchange_n(&w->names_used, &used, used + 1, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    const uint32_t id = used + 1;
    ring_intern_fill(&w->names[id], text, len);
    /* Against ring_put_slow, which announces a file and then copies what is ready: either it sees
     * this name or we see its file. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint8_t *map = __atomic_load_n(&w->live->map, __ATOMIC_ACQUIRE);
    if (map)
        copy_one(w, map, id);
    return id;
}

uint32_t ring_intern(struct ring_writer *w, const char *text)
{
    const size_t len = text ? cut_length(text) : 0;
    if (len == 0 || !w->live)
        return 0;
    uint32_t made = 0;
    for (uint32_t i = ring_intern_hash_of(text, len), n = 0; n < RING_NAME_INDEX; i++, n++) {
        uint32_t *place = &w->name_index[i % RING_NAME_INDEX];
        uint32_t id = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        if (id == 0) {
            if (made == 0 && (made = ring_intern_add(w, text, len)) == 0)
                return 0;
            if (__atomic_compare_exchange_n(place, &id, made, false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE))
                return made;
        }
        if (ring_intern_is_name(&w->names[id], text, len))
            return id;
    }
    return made;
}
