/* SPDX-License-Identifier: Apache-2.0 */
/* huffman.c - see huffman.h.
 *
 * A block's bytes are four parts that are coded one by one, or one part if they are few. Bits are
 * read from the end of a part towards its begin; the highest bit of its last byte only says where
 * they end. Four parts are decoded side by side, since each byte has to wait for the one before. */
#include "store/huffman.h"

#include <assert.h>
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "store/huffman_own.h"

/* ---- parts ---- */

enum {
    WORD = 8,   /* bytes loaded at once */
    GROUP = 5,  /* codes that a load has at least: its bits less a byte, and less the mark */
    STRIDE = 7, /* bytes at most that one load lies before the one before */
    PARTS = 4,
};

static_assert(8 * WORD - 9 >= GROUP * HUFFMAN_BITS_MOST, "a group of codes comes from one load");

struct part {
    uint64_t bits; /* the next ones on top, then a 1 as a mark, then 0s: as many as were taken */
    const uint8_t *at, *from; /* where the bits were loaded, where the part begins */
    uint8_t *out, *end;       /* where its next byte goes, where they end */
};

static bool part_begin(struct part *s, const uint8_t *lowest, const uint8_t *p, size_t n)
{
    if (n == 0 || p[n - 1] == 0 || (size_t)(p + n - lowest) < WORD)
        return false;
    s->from = p;
    s->at = p + n - WORD;
    s->bits = (load_64(s->at) | 1) << (9 - bits_in(p[n - 1]));
    return true;
}

static inline __attribute__((always_inline)) void reload(struct part *s)
{
    const unsigned taken = (unsigned)__builtin_ctzll(s->bits);
    s->at -= taken / 8;
    s->bits = (load_64(s->at) | 1) << taken % 8;
}

/* One or two bytes, where there is room for two. At most GROUP between two loads. */
static inline __attribute__((always_inline)) void next_pair(const struct huffman *h, unsigned shift,
                                                            struct part *s)
{
    const uint32_t pair = h->pairs[s->bits >> shift];
    const uint16_t bytes = (uint16_t)(pair >> 16);
    s->bits <<= pair & 63;
    memcpy(s->out, &bytes, sizeof bytes);
    s->out += pair >> 8 & 3;
}

static inline __attribute__((always_inline)) void next_group(const struct huffman *h,
                                                             unsigned shift, struct part *s)
{
    for (unsigned i = 0; i < GROUP; i++)
        next_pair(h, shift, s);
    reload(s);
}

/* The last bytes of a part; nothing may be left of it. */
static bool part_end(const struct huffman *h, struct part *s, const uint8_t *lowest)
{
    const unsigned shift = 64 - h->bits;
    for (; s->end - s->out >= 2; reload(s)) {
        if (s->at - lowest < STRIDE)
            return false;
        for (unsigned i = 0; i + 1 < GROUP && s->end - s->out >= 2; i++)
            next_pair(h, shift, s);
    }
    if (s->out < s->end) {
        const uint32_t cell = h->first[s->bits >> shift];
        s->bits <<= cell & 63;
        *s->out = (uint8_t)(cell >> 16);
    }
    return (s->at + WORD - s->from) * 8 == __builtin_ctzll(s->bits);
}

/* How many groups of all parts there surely is room for, and bytes to load from. */
static size_t sure_groups(const struct part s[PARTS], const uint8_t *lowest)
{
    size_t loads = (size_t)(s[0].at - lowest), room = (size_t)(s[0].end - s[0].out);
    for (unsigned k = 1; k < PARTS; k++) {
        loads = MIN_OF(loads, (size_t)(s[k].at - lowest));
        room = MIN_OF(room, (size_t)(s[k].end - s[k].out));
    }
    return MIN_OF(loads / STRIDE, room / (2 * GROUP));
}

/* Of all bytes whose code takes so many bits. Each has cells for what may follow; codes that are
 * short enough to fit stand at the end. */
static inline __attribute__((always_inline)) void pair_bytes(struct huffman *h, unsigned taken)
{
    const uint32_t *restrict first = h->first;
    uint32_t *restrict pairs = h->pairs;
    const unsigned weight = h->bits + 1 - taken;
    const uint32_t each = 1u << (weight - 1), none = h->from[taken + 1] >> taken;
    const uint32_t end = h->from[weight + 1];
    for (uint32_t at = h->from[weight]; at < end; at += each) {
        const uint32_t one = first[at];
        for (uint32_t i = 0; i < none; i++)
            pairs[at + i] = one;
        for (uint32_t i = none; i < each; i++) {
            const uint32_t two = first[i << taken];
            pairs[at + i] = one + (two & 0x1ff) + ((two & 0xff0000) << 8);
        }
    }
}

static inline __attribute__((always_inline)) void pairs_with(struct huffman *h)
{
    const uint32_t cells = 1u << h->bits;
    unsigned taken = h->bits;
    while (taken > 1 && h->from[taken] == cells) /* nothing fits behind codes as long as that */
        taken--;
    memcpy(h->pairs, h->first, h->from[h->bits + 1 - taken] * sizeof *h->pairs);
    for (; taken > 0; taken--)
        pair_bytes(h, taken);
}

static inline __attribute__((always_inline)) void
groups_with(const struct huffman *h, struct part s[PARTS], const uint8_t *lowest)
{
    const unsigned shift = 64 - h->bits;
    for (size_t n; (n = sure_groups(s, lowest)) > 0;) {
        struct part a = s[0], b = s[1], c = s[2], d = s[3];
        for (; n > 0; n--) {
            next_group(h, shift, &a);
            next_group(h, shift, &b);
            next_group(h, shift, &c);
            next_group(h, shift, &d);
        }
        s[0] = a, s[1] = b, s[2] = c, s[3] = d;
    }
}

#ifdef __x86_64__
__attribute__((target("bmi2"))) static void groups_bmi2(const struct huffman *h,
                                                        struct part s[PARTS], const uint8_t *lowest)
{
    groups_with(h, s, lowest);
}

__attribute__((target("bmi2"))) static void pairs_bmi2(struct huffman *h)
{
    pairs_with(h);
}
#endif

static void make_pairs(struct huffman *h)
{
#ifdef __x86_64__
    if (CPU_BMI2) {
        pairs_bmi2(h);
        return;
    }
#endif
    pairs_with(h);
}

static void all_groups(const struct huffman *h, struct part s[PARTS], const uint8_t *lowest)
{
#ifdef __x86_64__
    if (CPU_BMI2) {
        groups_bmi2(h, s, lowest);
        return;
    }
#endif
    groups_with(h, s, lowest);
}

/* ---- blocks ---- */

/* Bytes that are coded, and where they go. */
struct coded {
    const uint8_t *lowest; /* of what may be read */
    const uint8_t *p;
    size_t len;
    uint8_t *out;
    size_t n;
};

static bool one_part(const struct huffman *h, const struct coded *c)
{
    struct part s = {.out = c->out, .end = c->out + c->n};
    return part_begin(&s, c->lowest, c->p, c->len) && part_end(h, &s, c->lowest);
}

/* Before the parts stand the lengths of the first three. */
static bool begin_parts(struct part s[PARTS], const struct coded *c)
{
    struct cur in = cur_of(c->p, c->len);
    size_t len[PARTS];
    for (unsigned k = 0; k + 1 < PARTS; k++)
        len[k] = cur_u16(&in);
    for (unsigned k = 0; k + 1 < PARTS; k++) {
        const uint8_t *p = cur_take(&in, len[k]);
        if (!p || !part_begin(&s[k], c->lowest, p, len[k]))
            return false;
    }
    return part_begin(&s[PARTS - 1], c->lowest, in.p, cur_left(&in));
}

static bool four_parts(const struct huffman *h, const struct coded *c)
{
    struct part s[PARTS];
    const size_t each = (c->n + PARTS - 1) / PARTS;
    if (c->n < (PARTS - 1) * each || !begin_parts(s, c))
        return false;
    for (unsigned k = 0; k < PARTS; k++) {
        s[k].out = c->out + k * each;
        s[k].end = k + 1 < PARTS ? s[k].out + each : c->out + c->n;
    }
    all_groups(h, s, c->lowest);
    for (unsigned k = 0; k < PARTS; k++)
        if (!part_end(h, &s[k], c->lowest))
            return false;
    return true;
}

enum { CODED = 2 }; /* of the four kinds of literals */

/* Both lengths stand in the same number of bits, behind four bits that say how many. */
struct literals_head {
    unsigned kind;
    bool one;
    size_t n, len;
};

static bool get_head(struct cur *in, struct literals_head *out)
{
    static const uint8_t bits[] = {10, 10, 14, 18};
    uint64_t v = 0;
    if (cur_left(in) < 1)
        return false;
    const unsigned form = in->p[0] >> 2 & 3, w = bits[form];
    const uint8_t *p = cur_take(in, (4 + 2 * w + 7) / 8);
    if (!p)
        return false;
    memcpy(&v, p, (4 + 2 * w + 7) / 8);
    *out = (struct literals_head){v & 3, form == 0, v >> 4 & ((1u << w) - 1),
                                  v >> (4 + w) & ((1u << w) - 1)};
    return true;
}

/* All of a block. Behind the literals there is a zero, for no matches. */
static bool get_block(struct huffman *h, const uint8_t *lowest, struct cur *in, uint8_t *out,
                      size_t n)
{
    struct literals_head head;
    if (!get_head(in, &head) || head.kind != CODED || head.n != n || cur_left(in) != head.len + 1 ||
        in->p[head.len] != 0)
        return false;
    struct cur literals = cur_of(in->p, head.len);
    if (!huffman_code_get(h, &literals))
        return false;
    make_pairs(h);
    const struct coded c = {lowest, literals.p, cur_left(&literals), out, n};
    return head.one ? one_part(h, &c) : four_parts(h, &c);
}

enum {
    LAST_BLOCK_OF_LITERALS = 5,
    BLOCK_MOST = 1 << 14, /* bytes; libzstd is as good at longer ones */
    WINDOW_LOG_LEAST = 10,
    WINDOW_LOG_MOST = 27,
};

/* The window, which no match looks into, still says how long a block may be. */
static size_t block_most(unsigned window)
{
    const unsigned log = WINDOW_LOG_LEAST + (window >> 3);
    const size_t size = (size_t)(8 + (window & 7)) << (log - 3);
    return log < WINDOW_LOG_MOST ? MIN_OF(size, (size_t)BLOCK_MOST) : 0;
}

bool huffman_decode(struct huffman *h, const uint8_t *p, size_t len, uint8_t *out, size_t n)
{
    struct cur in = cur_of(p, len);
    uint32_t head = 0;
    const bool plain = cur_u8(&in) == 0; /* no length of the whole, no checksum, no dictionary */
    const size_t most = block_most(cur_u8(&in));
    cur_get(&in, &head, 3);
    return plain && !in.bad && (head & 7) == LAST_BLOCK_OF_LITERALS && head >> 3 == cur_left(&in) &&
           cur_left(&in) <= most && n <= most && n > 0 && get_block(h, p, &in, out, n);
}
