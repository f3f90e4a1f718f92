/* SPDX-License-Identifier: Apache-2.0 */
/* huffman_code.c - the code of a frame, from how it is described there.
 *
 * A byte of weight w > 0 has 2^(w - 1) of the 2^bits cells, and so a code of bits + 1 - w bits. The
 * weights are coded as well: by a machine of 32 or 64 states of which each stands for a weight, and
 * says how many bits to read for the next. Two of them take turns. */
#include <string.h>

#include "base/mem.h"
#include "store/huffman_own.h"

enum {
    STATES_LOG_LEAST = 5,
    STATES_LOG_MOST = 6,
    STATES_MOST = 1 << STATES_LOG_MOST,
    WEIGHTS_MOST = 255, /* that are told; one more follows from them */
    WEIGHT_KINDS = HUFFMAN_BITS_MOST + 1,
    DIRECT_FROM = 128, /* in the first byte: weights of four bits, else the bytes they take */
    PAD = 8,
};

/* ---- weights by states ---- */

struct state {
    uint8_t weight, bits;
    uint16_t next; /* this and the value of that many bits make the next state */
};

/* The bytes of the weights, with zeros around them so that any eight can be read. */
struct packed {
    uint8_t room[PAD + DIRECT_FROM + PAD];
    uint32_t at, end; /* bits, from the first byte */
};

static uint32_t peek(const struct packed *in, unsigned n)
{
    return (uint32_t)(load_64(in->room + PAD + in->at / 8) >> in->at % 8) & ((1u << n) - 1);
}

static uint32_t take(struct packed *in, unsigned n)
{
    const uint32_t v = peek(in, n);
    in->at += n;
    return v;
}

/* A number of 0 to `most`. The smallest take one bit less where there is room for that. */
static uint32_t take_up_to(struct packed *in, uint32_t most)
{
    const unsigned n = bits_in(most);
    const uint32_t half = 1u << (n - 1), spare = 2 * half - 1 - most;
    const uint32_t v = peek(in, n);
    in->at += n - (v % half < spare);
    return v % half < spare ? v % half : v < half ? v : v - spare;
}

/* How many states each weight has; -1: one, that all bits are read after. False: not so. */
static bool get_shares(struct packed *in, unsigned log, int8_t share[WEIGHT_KINDS])
{
    int32_t left = 1 << log;
    memset(share, 0, WEIGHT_KINDS);
    for (unsigned w = 0; left > 0; w++) {
        if (w >= WEIGHT_KINDS || in->at >= in->end)
            return false;
        share[w] = (int8_t)((int32_t)take_up_to(in, (uint32_t)left + 1) - 1);
        left -= share[w] < 0 ? 1 : share[w];
        for (uint32_t more = share[w] == 0 ? 3 : 0; more == 3; w += more)
            more = take(in, 2);
    }
    in->at = (in->at + 7) / 8 * 8;
    return left == 0 && in->at < in->end;
}

/* Which weight each state is of: those of one state at the end, the others far from each other. */
static void spread(const int8_t *share, uint32_t states, uint8_t *weight)
{
    const uint32_t stride = states / 2 + states / 8 + 3;
    uint32_t ends = states, at = 0;
    for (uint8_t w = 0; w < WEIGHT_KINDS; w++)
        if (share[w] < 0)
            weight[--ends] = w;
    for (uint8_t w = 0; w < WEIGHT_KINDS; w++)
        for (int8_t i = 0; i < share[w]; i++) {
            weight[at] = w;
            do
                at = (at + stride) & (states - 1);
            while (at >= ends);
        }
}

static void make_states(const int8_t *share, unsigned log, struct state *out)
{
    const uint32_t states = 1u << log;
    uint8_t weight[STATES_MOST], seen[WEIGHT_KINDS];
    spread(share, states, weight);
    for (unsigned w = 0; w < WEIGHT_KINDS; w++)
        seen[w] = (uint8_t)(share[w] < 0 ? 1 : share[w]);
    for (uint32_t i = 0; i < states; i++) {
        const uint32_t x = seen[weight[i]]++;
        const unsigned bits = log + 1 - bits_in(x);
        out[i] = (struct state){weight[i], (uint8_t)bits, (uint16_t)((x << bits) - states)};
    }
}

/* Bits are read from the last one down. */
struct reading {
    const struct state *states;
    const uint8_t *room; /* PAD before the first byte */
    uint64_t bits;       /* the next ones on top */
    int32_t left;        /* bits; below 0: more was read than there is */
};

static void refill(struct reading *r)
{
    const int32_t end = (r->left + 7) / 8;
    r->bits = load_64(r->room + end) << (end * 8 - r->left);
}

static uint32_t read_bits(struct reading *r, unsigned n)
{
    const uint32_t v = (uint32_t)(r->bits >> 1 >> (63 - n));
    r->bits <<= n;
    r->left -= (int32_t)n;
    return v;
}

static uint8_t step(struct reading *r, uint32_t *state)
{
    const struct state s = r->states[*state];
    *state = s.next + read_bits(r, s.bits);
    return s.weight;
}

enum { PAIRS = 4 }; /* whose bits are in one load */

/* Their number; 0: too many, or not so. */
static size_t read_weights(struct reading *r, unsigned log, uint8_t *out)
{
    size_t n = 0;
    refill(r);
    uint32_t one = read_bits(r, log), two = read_bits(r, log);
    while (r->left >= 0 && n < WEIGHTS_MOST) {
        refill(r);
        for (unsigned i = 0; i < PAIRS; i++) {
            out[n++] = step(r, &one);
            if (r->left < 0) {
                out[n++] = r->states[two].weight;
                return n <= WEIGHTS_MOST ? n : 0;
            }
            out[n++] = step(r, &two);
            if (r->left < 0) {
                out[n++] = r->states[one].weight;
                return n <= WEIGHTS_MOST ? n : 0;
            }
        }
    }
    return 0;
}

static size_t weights_by_states(struct cur *in, uint32_t bytes, uint8_t *out)
{
    struct packed packed = {.end = bytes * 8};
    struct state states[STATES_MOST];
    int8_t share[WEIGHT_KINDS];
    const uint8_t *p = cur_take(in, bytes);
    if (!p || bytes == 0 || p[bytes - 1] == 0)
        return 0;
    memcpy(packed.room + PAD, p, bytes);
    const unsigned log = STATES_LOG_LEAST + take(&packed, 4);
    if (log > STATES_LOG_MOST || !get_shares(&packed, log, share))
        return 0;
    make_states(share, log, states);
    /* The highest bit of the last byte only says where they end. */
    const uint32_t first = packed.at / 8;
    struct reading r = {.states = states,
                        .room = packed.room + first,
                        .left = (int32_t)((bytes - first) * 8 - 9 + bits_in(p[bytes - 1]))};
    memset(packed.room + first, 0, PAD);
    return read_weights(&r, log, out);
}

/* ---- weights as they are ---- */

static size_t weights_direct(struct cur *in, size_t n, uint8_t *out)
{
    const uint8_t *p = cur_take(in, (n + 1) / 2);
    for (size_t i = 0; p && i < n; i++)
        out[i] = i % 2 ? p[i / 2] & 15 : p[i / 2] >> 4;
    return p ? n : 0;
}

/* ---- cells ---- */

enum { COUNTS = 16, WORD = 8 };

/* By byte. Few bytes occur, mostly: only those are looked at again. */
struct weights {
    uint8_t of[WEIGHTS_MOST + 2 * PAIRS + WORD];
    size_t n;
    uint8_t used[WEIGHTS_MOST + 1]; /* bytes of a weight above 0 */
    size_t n_used;
    uint32_t count[COUNTS]; /* how many of them have a weight */
};

static void use(struct weights *w, size_t byte)
{
    w->used[w->n_used++] = (uint8_t)byte;
    w->count[w->of[byte]]++;
}

/* A word at a time, and of it one after the other that is not 0. */
static void find_used(struct weights *w)
{
    w->n_used = 0;
    memset(w->count, 0, sizeof w->count);
    memset(w->of + w->n, 0, WORD);
    for (size_t i = 0; i < w->n; i += WORD)
        for (uint64_t left = load_64(w->of + i); left;) {
            const unsigned at = (unsigned)__builtin_ctzll(left) / 8;
            left &= ~(UINT64_C(0xff) << 8 * at);
            use(w, i + at);
        }
}

/* The last one is what is missing to a power of two. */
static bool complete(struct weights *w, unsigned *bits)
{
    uint32_t cells = 0;
    find_used(w);
    for (unsigned c = 1; c < COUNTS; c++)
        cells += w->count[c] << (c - 1);
    *bits = bits_in(cells);
    if (cells == 0 || *bits > HUFFMAN_BITS_MOST)
        return false;
    const uint32_t last = (1u << *bits) - cells;
    w->of[w->n] = (uint8_t)bits_in(last);
    use(w, w->n++);
    /* Of the longest codes there are two at least, and always an even number. */
    return (last & (last - 1)) == 0 && w->count[1] >= 2 && w->count[1] % 2 == 0;
}

/* Bytes by weight. */
static void sort_bytes(const struct weights *w, uint8_t *out)
{
    uint32_t at[COUNTS];
    for (uint32_t c = 1, next = 0; c < COUNTS; next += w->count[c++])
        at[c] = next;
    for (size_t i = 0; i < w->n_used; i++)
        out[at[w->of[w->used[i]]]++] = w->used[i];
}

static void fill_run(uint32_t *to, uint32_t cell, uint32_t n)
{
    const uint32_t run[HUFFMAN_RUN] = {cell, cell, cell, cell};
    for (uint32_t i = 0; i < n; i += HUFFMAN_RUN)
        memcpy(to + i, run, sizeof run);
}

/* In order of the cells and HUFFMAN_RUN at a time: what is too much is written over by the next. */
static void fill_cells(const struct weights *w, struct huffman *h)
{
    uint8_t bytes[WEIGHTS_MOST + 1];
    const uint8_t *byte = bytes;
    size_t at = 0;
    sort_bytes(w, bytes);
    for (unsigned k = 1; k <= h->bits; k++) {
        h->from[k] = (uint32_t)at;
        for (uint32_t i = 0, n = 1u << (k - 1); i < w->count[k]; i++, at += n, byte++) {
            const uint32_t cell = 1 << 8 | (h->bits + 1 - k);
            fill_run(h->first + at, cell | (uint32_t)*byte << 16, n);
        }
    }
    h->from[h->bits + 1] = (uint32_t)at;
}

bool huffman_code_get(struct huffman *h, struct cur *in)
{
    struct weights w;
    const uint8_t first = cur_u8(in);
    w.n = first < DIRECT_FROM ? weights_by_states(in, first, w.of)
                              : weights_direct(in, (size_t)first - DIRECT_FROM + 1, w.of);
    if (in->bad || w.n == 0 || !complete(&w, &h->bits))
        return false;
    fill_cells(&w, h);
    return true;
}
