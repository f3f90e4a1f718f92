/* SPDX-License-Identifier: Apache-2.0 */
/* health_out.c - see health_out.h.
 *
 *     health_out_put -> room in the ring, nothing waits -> health_send -> STEP AT TEXT.. REAL
 *                    -> else -> items: STEP AT REAL REAL ... -> health_out_flush -> health_send
 *
 * A group is sent when its first value is, and again when another thread sends its next values: a
 * ring is read by itself. Names wait in their table, not among the items. */
#include "health_out.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SLOTS_OF_VALUE = 36, /* that one value may take: its group, its name, itself */
    TEXT_BYTES = 8,
    HEAD_BYTES = 160, /* of a long name that is cut */
    FIRST_ITEMS = 4096,
    FIRST_NAMES = 256,
};

_Static_assert(RING_HEALTH_NAME_LEN / TEXT_BYTES + 1 + 3 < SLOTS_OF_VALUE, "slots of a value");
_Static_assert(HEALTH_OUT_RING > 4 * SLOTS_OF_VALUE, "a ring has room for values");
_Static_assert(RING_COUNT <= 64, "rings are bits of a word");

/* ---- names ---- */

static uint32_t health_hash(const char *text, size_t len)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)text[i]) * 16777619u;
    return h;
}

/* Room for `least` items of `size` bytes. False: there is no memory. */
static bool health_room(void **items, uint32_t *cap, uint32_t least, size_t size)
{
    if (least <= *cap)
        return true;
    const uint32_t more = *cap ? 2 * *cap : FIRST_NAMES;
    void *p = realloc(*items, (size_t)more * size);
    if (!p)
        return false;
    *items = p;
    *cap = more;
    return true;
}

static uint32_t *health_slot(const struct health_out *o, const char *text, size_t len,
                             uint32_t hash)
{
    for (uint32_t at = hash;; at++) {
        uint32_t *slot = &o->index[at & (o->n_index - 1)];
        const struct health_name *n = &o->names[*slot];
        if (!*slot || (n->hash == hash && strncmp(o->texts + n->at, text, len) == 0 &&
                       o->texts[n->at + len] == '\0'))
            return slot;
    }
}

static bool health_grow_index(struct health_out *o)
{
    if (o->n_index && 2 * (o->n_names + 1) <= o->n_index)
        return true;
    const uint32_t n = o->n_index ? 2 * o->n_index : 2 * FIRST_NAMES;
    uint32_t *index = calloc(n, sizeof *index);
    if (!index)
        return false;
    for (uint32_t i = 1; i < o->n_names; i++) {
        uint32_t at = o->names[i].hash;
        while (index[at & (n - 1)])
            at++;
        index[at & (n - 1)] = i;
    }
    free(o->index);
    o->index = index;
    o->n_index = n;
    return true;
}

static bool health_add_text(struct health_out *o, const char *text, size_t len)
{
    const size_t need = o->n_texts + len + 1;
    if (need > HEALTH_OUT_TEXT_BYTES)
        return false;
    if (need > o->cap_texts) {
        const size_t cap = o->cap_texts ? 2 * o->cap_texts : (size_t)FIRST_NAMES * 64;
        char *p = realloc(o->texts, cap);
        if (!p)
            return false;
        o->texts = p;
        o->cap_texts = cap;
    }
    memcpy(o->texts + o->n_texts, text, len);
    o->texts[o->n_texts + len] = '\0';
    o->n_texts = need;
    return true;
}

static uint32_t health_add_name(struct health_out *o, const char *text, size_t len)
{
    const uint32_t hash = health_hash(text, len);
    if (!o->n_names)
        o->n_names = 1;
    if (!health_room((void **)&o->names, &o->cap_names, o->n_names + 1, sizeof *o->names) ||
        !health_grow_index(o))
        return 0;
    uint32_t *slot = health_slot(o, text, len, hash);
    if (*slot)
        return *slot;
    const uint32_t at = (uint32_t)o->n_texts;
    if (o->n_names == RING_HEALTH_NAMES || !health_add_text(o, text, len))
        return 0;
    o->names[o->n_names] = (struct health_name){.at = at, .hash = hash};
    return *slot = o->n_names++;
}

/* A long name keeps its begin and its end: what distinguishes parameters is mostly there. */
uint32_t health_out_name(struct health_out *o, const char *text, size_t len)
{
    char cut[RING_HEALTH_NAME_LEN];
    if (len > RING_HEALTH_NAME_LEN) {
        const size_t tail = RING_HEALTH_NAME_LEN - HEAD_BYTES - 1;
        memcpy(cut, text, HEAD_BYTES);
        cut[HEAD_BYTES] = '~';
        memcpy(cut + HEAD_BYTES + 1, text + len - tail, tail);
        text = cut;
        len = sizeof cut;
    }
    const uint32_t number = len ? health_add_name(o, text, strnlen(text, len)) : 0;
    if (len && !number)
        health_out_lost(o, RING_HEALTH_MANY_NAMES, 1);
    return number;
}

/* ---- the ring ---- */

static uint8_t *health_map(void)
{
    return __atomic_load_n(&fp_writer_.live->map, __ATOMIC_RELAXED);
}

/* Another file than before: a child of fork, or another recording. What waits is not its. */
static void health_follow(struct health_out *o)
{
    uint8_t *map = health_map();
    if (map == o->map)
        return;
    if (o->map) {
        for (uint32_t i = 0; i < o->n_names; i++)
            o->names[i].rings = 0;
        memset(o->lost, 0, sizeof o->lost);
        o->first = o->n = 0;
    }
    o->sent_in = NULL;
    o->map = map;
}

static bool health_attached(const struct health_out *o)
{
    return o->map && fp_thread_.map == o->map;
}

/* Slots of this thread's ring that health may use now. A thread without a ring tries to get one by
 * emitting. */
static size_t health_free(const struct health_out *o)
{
    if (!health_attached(o))
        return HEALTH_OUT_RING;
    const uint64_t used = __atomic_load_n(&fp_thread_.ring->head, __ATOMIC_RELAXED) -
                          __atomic_load_n(&fp_thread_.ring->tail, __ATOMIC_ACQUIRE);
    return used < HEALTH_OUT_RING ? HEALTH_OUT_RING - (size_t)used : 0;
}

static void health_emit(enum ring_kind kind, unsigned mode, uint32_t name, uint64_t value)
{
    emit_here(fp_said_((uint32_t)kind | mode << 8, name), value);
}

static unsigned health_mode(const struct health_out *o)
{
    return o->sent.mode | (unsigned)o->number << RING_HEALTH_MODE_BITS;
}

static bool health_same_group(const struct health_group *a, const struct health_group *b)
{
    return a->step == b->step && a->at_ns == b->at_ns && a->mode == b->mode;
}

static size_t health_send_group(struct health_out *o, const struct health_group *g)
{
    if (health_attached(o) && o->sent_in == fp_thread_.ring && health_same_group(&o->sent, g))
        return 0;
    o->sent = *g;
    o->number = (o->number + 1) & 0x3f;
    health_emit(RING_HEALTH_STEP, health_mode(o), 0, g->step);
    health_emit(RING_HEALTH_AT, health_mode(o), 0, (uint64_t)g->at_ns);
    if (!o->map)
        health_follow(o); /* the file was made by this */
    o->sent_in = health_attached(o) ? fp_thread_.ring : NULL;
    return 2;
}

static size_t health_send_name(struct health_out *o, uint32_t number)
{
    const size_t from = (size_t)((uint8_t *)fp_thread_.ring - o->map) - RING_HEADS_AT;
    struct health_name *n = &o->names[number];
    const uint64_t bit = (uint64_t)1 << (from / sizeof(struct ring_head) & 63);
    const char *text = o->texts + n->at;
    const size_t len = strlen(text);
    if (++n->uses && (n->rings & bit))
        return 0;
    for (uint32_t i = 0; i <= len / TEXT_BYTES; i++) {
        char bytes[TEXT_BYTES] = "";
        uint64_t value;
        const size_t left = len - (size_t)i * TEXT_BYTES;
        memcpy(bytes, text + (size_t)i * TEXT_BYTES, left < TEXT_BYTES ? left : TEXT_BYTES);
        memcpy(&value, bytes, sizeof value);
        health_emit(RING_HEALTH_TEXT, 0, number << 16 | i, value);
    }
    n->rings |= bit;
    return len / TEXT_BYTES + 1;
}

/* How many slots it took. A thread without a ring loses the value. */
static size_t health_send(struct health_out *o, const struct health_group *g,
                          struct ring_payload item)
{
    size_t slots = health_send_group(o, g);
    if (!o->sent_in) {
        health_out_lost(o, RING_HEALTH_FULL, 1);
        return slots;
    }
    slots += health_send_name(o, (uint32_t)item.what >> 16);
    health_emit((enum ring_kind)(item.what >> 32), health_mode(o), (uint32_t)item.what, item.value);
    return slots + 1;
}

static void health_emit_lost(struct health_out *o)
{
    for (uint32_t i = 0; i < RING_HEALTH_LOST_N; i++) {
        if (!o->lost[i])
            continue;
        health_emit(RING_HEALTH_LOST, 0, i, o->lost[i]);
        o->lost[i] = 0;
    }
}

/* ---- what waits ---- */

static struct ring_payload *health_item(const struct health_out *o, uint32_t i)
{
    return &o->items[(o->first + i) & (o->cap - 1)];
}

static bool health_grow_items(struct health_out *o)
{
    const uint32_t cap = o->cap ? 2 * o->cap : FIRST_ITEMS;
    struct ring_payload *items =
        cap <= HEALTH_OUT_WAITING ? malloc((size_t)cap * sizeof *items) : NULL;
    if (!items)
        return false;
    for (uint32_t i = 0; i < o->n; i++)
        items[i] = *health_item(o, i);
    free(o->items);
    o->items = items;
    o->cap = cap;
    o->first = 0;
    return true;
}

static void health_push(struct health_out *o, uint32_t what, uint32_t name, uint64_t value)
{
    o->items[(o->first + o->n++) & (o->cap - 1)] = ring_payload_of(what, name, value);
}

/* With its group when that is another one than the last that waits. */
static void health_wait(struct health_out *o, struct ring_payload item)
{
    if (o->n + 3 > o->cap && !health_grow_items(o)) {
        health_out_lost(o, RING_HEALTH_FULL, 1);
        return;
    }
    if (o->n == 0 || !health_same_group(&o->queued, &o->in)) {
        health_push(o, RING_HEALTH_STEP | (uint32_t)o->in.mode << 8, 0, o->in.step);
        health_push(o, RING_HEALTH_AT, 0, (uint64_t)o->in.at_ns);
        o->queued = o->in;
    }
    o->items[(o->first + o->n++) & (o->cap - 1)] = item;
}

static struct ring_payload health_pop(struct health_out *o)
{
    const struct ring_payload item = *health_item(o, 0);
    o->first = (o->first + 1) & (o->cap - 1);
    o->n--;
    return item;
}

/* Sends the first item; how many slots it took. */
static size_t health_send_first(struct health_out *o)
{
    const struct ring_payload item = health_pop(o);
    switch (item.what >> 32 & 0xff) {
    case RING_HEALTH_STEP:
        o->next.step = item.value;
        o->next.mode = (uint8_t)(item.what >> 40);
        return 0;
    case RING_HEALTH_AT:
        o->next.at_ns = (int64_t)item.value;
        return 0;
    default:
        return health_send(o, &o->next, item);
    }
}

/* ---- for callers ---- */

static int64_t health_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void health_out_begin(struct health_out *o, struct health_group g)
{
    o->in = g;
    o->begun = true;
}

void health_out_lost(struct health_out *o, enum ring_health_lost why, uint64_t n)
{
    o->lost[why] += n;
}

void health_out_put(struct health_out *o, enum ring_kind kind, uint32_t stat, uint32_t name,
                    uint64_t value)
{
    if (!fp_enabled() || name == 0 || name >= o->n_names)
        return;
    const struct ring_payload item =
        ring_payload_of((uint32_t)kind, name << 16 | (stat & 0xffff), value);
    health_follow(o);
    if (!o->begun)
        health_out_begin(o, (struct health_group){UINT64_MAX, health_now_ns(), 0});
    if (o->n == 0 && health_free(o) >= SLOTS_OF_VALUE)
        health_send(o, &o->in, item);
    else
        health_wait(o, item);
}

size_t health_out_flush(struct health_out *o)
{
    if (!fp_enabled())
        return 0;
    health_follow(o);
    for (size_t sent = 0; o->n && sent < HEALTH_OUT_FLUSH && health_free(o) >= SLOTS_OF_VALUE;)
        sent += health_send_first(o);
    if (health_free(o) >= RING_HEALTH_LOST_N)
        health_emit_lost(o);
    return o->n;
}

size_t health_out_drop(struct health_out *o)
{
    size_t values = 0;
    if (!fp_enabled())
        return 0;
    health_follow(o);
    while (o->n) {
        const unsigned kind = health_pop(o).what >> 32 & 0xff;
        values += kind == RING_HEALTH_REAL || kind == RING_HEALTH_COUNT;
    }
    health_out_lost(o, RING_HEALTH_FULL, values);
    health_emit_lost(o);
    return values;
}
