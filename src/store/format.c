/* SPDX-License-Identifier: Apache-2.0 */
/* format.c - see format.h.
 *
 * Why a file that was cut or damaged anywhere is not taken for another one:
 *
 * - Magic and bounds of a header are checked before its checksum, and no field is used before that,
 *   but for the two lengths of a block: which bytes its checksum covers depends on them. They are
 *   compared with limits and with the rest of the file first. A version counts only after the
 *   checksum: damage is never reported as "a newer program".
 * - The checksum of a block covers its header and its head, where the lengths and checksums of its
 *   data are. block_get also requires that all of the payload is there, so a block whose end was
 *   not written is no block, although its head is whole.
 * - Blocks begin at multiples of BLOCK_ALIGN. After damage the search tries only those, and each
 *   candidate must have a right checksum. Bytes of a column that look like a header are accepted
 *   only if they are a whole block.
 * - The bytes of a sealed file up to the end of a block with BLOCK_LAST are not written again: a
 *   writer that cannot append cuts the file back to where the next segment began, and not further
 *   (writer.c). So they may be sent or read while it grows, and format_final_len may continue from
 *   where it ended. At most a shipper frees the space of what it has sent. The end of a closed file
 *   is written last. */
#define XXH_INLINE_ALL
#include "store/format.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static const uint8_t magic[][8] = {
    [FILE_SEALED] = {0x89, 'F', 'P', 'L', '\r', '\n', 0x1a, '\n'},
    [FILE_TAIL] = {0x89, 'F', 'P', 'T', '\r', '\n', 0x1a, '\n'},
};

static const uint8_t zeros[BLOCK_ALIGN];

void store_file_name(char *out, size_t size, const char *stem, unsigned session, const char *end)
{
    if (session <= 1)
        snprintf(out, size, "%s.%s", stem, end);
    else
        snprintf(out, size, "%s-%u.%s", stem, session, end);
}

uint64_t format_sum(const void *p, size_t n)
{
    return XXH3_64bits(p, n);
}

uint32_t format_sum32(const void *p, size_t n, uint64_t seed)
{
    return (uint32_t)XXH3_64bits_withSeed(p, n, seed);
}

void file_header_put(struct buf *out, const struct file_header *h)
{
    const size_t start = out->len;
    assert((size_t)h->kind < COUNT_OF(magic));
    buf_put(out, magic[h->kind], sizeof magic[0]);
    buf_u16(out, FORMAT_MAJOR);
    buf_u16(out, h->minor);
    buf_u32(out, FILE_HEADER_LEN);
    buf_u64(out, h->segment);
    buf_u64(out, (uint64_t)h->tie.mono.ns);
    buf_u64(out, (uint64_t)h->tie.wall.ns);
    buf_put(out, h->id, sizeof h->id);
    assert(out->len - start == FILE_HEADER_LEN - 8);
    buf_u64(out, format_sum(out->p + start, FILE_HEADER_LEN - 8));
}

/* A file of a newer major version is refused as a whole; minor versions only add what old
 * readers skip. */
int file_header_get(struct file_header *out, const uint8_t *p, size_t n, const char *name,
                    struct err *e)
{
    if (n < FILE_HEADER_LEN)
        return err_set(e, ERR_FORMAT, "'%s' is shorter than a file header", name);
    const enum file_kind kind = memcmp(p, magic[FILE_TAIL], 8) == 0 ? FILE_TAIL : FILE_SEALED;
    if (memcmp(p, magic[kind], 8) != 0)
        return err_set(e, ERR_FORMAT, "'%s' is not a Footplate file", name);
    struct cur c = cur_of(p + 8, FILE_HEADER_LEN - 8);
    *out = (struct file_header){.kind = kind};
    out->major = cur_u16(&c);
    out->minor = cur_u16(&c);
    (void)cur_u32(&c);
    out->segment = cur_u64(&c);
    out->tie.mono.ns = (int64_t)cur_u64(&c);
    out->tie.wall.ns = (int64_t)cur_u64(&c);
    cur_get(&c, out->id, sizeof out->id);
    if (cur_u64(&c) != format_sum(p, FILE_HEADER_LEN - 8))
        return err_set(e, ERR_FORMAT, "'%s': the file header is damaged", name);
    if (out->major > FORMAT_MAJOR)
        return err_set(
            e, ERR_VERSION,
            "'%s' has format version %u; this program reads versions up to %d: use a newer program",
            name, out->major, FORMAT_MAJOR);
    return 0;
}

/* Over the header without its last field, which this is, and the head. Data has a checksum for
 * each blob, so that a reader checks only what it decodes. */
static uint64_t block_sum(const uint8_t *header, const uint8_t *head, size_t head_len)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, header, BLOCK_HEADER_LEN - 8);
    XXH3_64bits_update(&state, head, head_len);
    return XXH3_64bits_digest(&state);
}

void block_put(struct buf *out, const struct block_header *h, const struct buf *head,
               const struct buf *data)
{
    const size_t start = out->len;
    assert(start % BLOCK_ALIGN == 0 && head->len <= UINT32_MAX);
    assert(data->len <= UINT32_MAX - head->len);
    buf_u32(out, BLOCK_MAGIC);
    buf_u16(out, h->kind);
    buf_u16(out, h->flags);
    buf_u32(out, (uint32_t)(head->len + data->len));
    buf_u32(out, (uint32_t)head->len);
    buf_u64(out, (uint64_t)h->t_first_us);
    buf_u64(out, (uint64_t)h->t_last_us);
    buf_u32(out, h->segment);
    buf_u32(out, h->rows);
    assert(out->len - start == BLOCK_HEADER_LEN - 8);
    buf_u64(out, block_sum(out->p + start, head->p, head->len));
    buf_put(out, head->p, head->len);
    buf_put(out, data->p, data->len);
    buf_put(out, zeros, (BLOCK_ALIGN - (out->len - start) % BLOCK_ALIGN) % BLOCK_ALIGN);
    assert(out->len % BLOCK_ALIGN == 0); /* the next block may follow */
}

/* Bounds are checked before the checksum, and the checksum before anything is used. Padding may
 * be missing at the end of a file that was cut there. */
bool block_get(struct block_header *out, const uint8_t *p, size_t n)
{
    struct cur c = cur_of(p, n);
    if (cur_u32(&c) != BLOCK_MAGIC)
        return false;
    out->kind = cur_u16(&c);
    out->flags = cur_u16(&c);
    out->payload_len = cur_u32(&c);
    out->head_len = cur_u32(&c);
    out->t_first_us = (int64_t)cur_u64(&c);
    out->t_last_us = (int64_t)cur_u64(&c);
    out->segment = cur_u32(&c);
    out->rows = cur_u32(&c);
    const uint64_t sum = cur_u64(&c);
    if (c.bad || out->payload_len > BLOCK_PAYLOAD_MOST || out->head_len > out->payload_len ||
        cur_left(&c) < out->payload_len)
        return false;
    return block_sum(p, p + BLOCK_HEADER_LEN, out->head_len) == sum;
}

bool format_is_closed(const uint8_t *end, uint64_t file_len)
{
    struct cur c = cur_of(end, FILE_END_LEN);
    const uint64_t index = cur_u64(&c);
    return memcmp(c.p, FILE_END_MAGIC, FILE_END_LEN - sizeof index) == 0 &&
           index >= FILE_HEADER_LEN && index + FILE_END_LEN < file_len;
}

size_t format_next_block(const uint8_t *p, size_t at, size_t n, unsigned *tries)
{
    struct block_header h;
    const uint32_t begin = BLOCK_MAGIC;
    assert(at % BLOCK_ALIGN == 0);
    for (; at + BLOCK_HEADER_LEN <= n; at += BLOCK_ALIGN) {
        if (memcmp(p + at, &begin, sizeof begin) != 0)
            continue;
        if (block_get(&h, p + at, n - at))
            return at;
        if (++*tries > BAD_BLOCKS_MOST)
            break;
    }
    return n;
}

size_t format_final_len(const uint8_t *p, size_t n, size_t from)
{
    struct block_header h;
    if (n < FILE_HEADER_LEN)
        return 0;
    if (n >= FILE_HEADER_LEN + FILE_END_LEN && format_is_closed(p + n - FILE_END_LEN, n))
        return n;
    size_t last = from < FILE_HEADER_LEN ? FILE_HEADER_LEN : from;
    for (size_t at = last; at < n && block_get(&h, p + at, n - at);) {
        at += block_size(&h);
        if (h.flags & BLOCK_LAST && at <= n)
            last = at;
    }
    return last;
}

size_t record_begin(struct buf *b, enum record_tag tag)
{
    buf_u8(b, (uint8_t)tag);
    buf_u16(b, 0);
    return b->len;
}

void record_end(struct buf *b, size_t begun)
{
    const uint16_t len = (uint16_t)(b->len - begun);
    assert(begun > sizeof len && begun <= b->len && b->len - begun <= UINT16_MAX);
    memcpy(b->p + begun - sizeof len, &len, sizeof len);
}

struct cur record_content(struct cur *in)
{
    const size_t len = cur_u16(in);
    const uint8_t *p = cur_take(in, len);
    return cur_of(p, p ? len : 0);
}
