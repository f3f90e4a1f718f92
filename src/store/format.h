/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - headers of the files of a node (docs/format.md), their limits, and the bits of events.
 */
#ifndef STORE_FORMAT_H
#define STORE_FORMAT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "record/event.h"

enum {
    FORMAT_MAJOR = 1,
    MINOR_FIRST = 0,
    MINOR_EVENTS = 1, /* of files with events */
    FILE_HEADER_LEN = 64,
    FILE_ID_LEN = 16,
    BLOCK_HEADER_LEN = 48,
    BLOCK_ALIGN = 8,
    BAD_BLOCKS_MOST = 1000, /* after which the rest of a damaged file is not read */
    FILE_END_LEN = 16,
    FRAME_HEADER_LEN = 8,
    LEVEL1 = 40, /* values in a summary bucket */
    LEVEL2 = 240,
    HIST_MOST = 128,        /* a block with at most so many different values has a histogram */
    ROWS_MOST = 65536,      /* rows in a block */
    COLUMNS_MOST = 1 << 16, /* columns in a block */
    NAME_LEN = 64,          /* longest metric, unit, entity or group name, with its NUL */
    /* Bytes of texts at which an events block ends; a reader takes twice as many. */
    TEXT_BYTES_MOST = 16 << 20,
};

/* Names of the files in a node's folder. Stem and end are separated by the number of the session,
 * from the second on: metrics.fp, metrics-2.fp, node-2.json. */
#define STORE_METRICS "metrics"
#define STORE_EVENTS  "events"
#define STORE_SEALED  "fp"
#define STORE_TAIL    "tail"
#define STORE_LOCK    "lock" /* locked by the recorder that writes in the folder */

enum { SESSIONS_MOST = 10000 }; /* recorders of one node, one after the other */

void store_file_name(char *out, size_t size, const char *stem, unsigned session, const char *end);

/* Far from where times overflow, in ns too: 2^52 us are 142 years. */
#define TIME_MOST_NS CLOCK_MOST_NS
#define TIME_MOST_US (CLOCK_MOST_NS / NS_PER_US)

#define BLOCK_PAYLOAD_MOST ((uint32_t)1 << 30)
#define FRAME_MOST         ((uint32_t)1 << 26)
#define BLOCK_MAGIC        UINT32_C(0x4b425046) /* "FPBK" */
#define FILE_END_MAGIC     "FPINDEX1"

enum file_kind { FILE_SEALED, FILE_TAIL };

struct file_header {
    enum file_kind kind;
    uint16_t major, minor;
    uint64_t segment; /* tail: the segment it will become */
    struct clock_tie tie;
    uint8_t id[FILE_ID_LEN];
};

enum block_kind { BLOCK_ROWS = 1, BLOCK_LOG = 2, BLOCK_INDEX = 3, BLOCK_EVENTS = 4 };
enum { BLOCK_LAST = 1 }; /* flag: last block of its segment */

struct block_header {
    uint16_t kind, flags;
    uint32_t payload_len, head_len;
    int64_t t_first_us, t_last_us;
    uint32_t segment, rows;
};

enum record_tag {
    TAG_GROUP = 1,
    TAG_SLOT,
    TAG_DROP,
    TAG_ROW,
    TAG_LOSS,
    TAG_MARK,
    TAG_TIE,
    TAG_TRACK,
    TAG_NAME,
    TAG_EVENTS,
};

/* Columns of an events block; the numbers are in the file. */
enum event_column {
    COLUMN_AT,
    COLUMN_DUR,
    COLUMN_NAME,
    COLUMN_WHAT, /* kind, mode, end and category */
    COLUMN_VALUE,
    COLUMN_LINK,
    COLUMN_PARENT,
    COLUMN_ARGS,
    EVENT_COLUMN_N
};

/* Records from here on carry their length, so that a reader steps over kinds it does not know. */
enum { TAG_WITH_LENGTH = TAG_LOSS };

enum { CELL_SMALL_MOST = 251, CELL_GAP = 252, CELL_U16 = 253, CELL_U32 = 254, CELL_U64 = 255 };

uint64_t format_sum(const void *p, size_t n);
uint32_t format_sum32(const void *p, size_t n, uint64_t seed);

void file_header_put(struct buf *out, const struct file_header *h);
/* ERR_FORMAT: not such a file or damaged. ERR_VERSION: from a newer program. */
MUST_CHECK int file_header_get(struct file_header *out, const uint8_t *p, size_t n,
                               const char *name, struct err *e);

/* Appends header, head, data and padding; `h` has the rest. */
void block_put(struct buf *out, const struct block_header *h, const struct buf *head,
               const struct buf *data);
/* False when there is no whole block with a right checksum at p. */
bool block_get(struct block_header *out, const uint8_t *p, size_t n);

/* The next whole block from `at` on; n: none. It gives up after BAD_BLOCKS_MOST wrong checksums,
 * which `tries` counts. */
size_t format_next_block(const uint8_t *p, size_t at, size_t n, unsigned *tries);
/* Of the bytes of a sealed file, how many are final: header, whole segments, and all of a closed
 * file. What follows may still be cut by its writer. `from`: what an earlier call returned, or 0.
 */
size_t format_final_len(const uint8_t *p, size_t n, size_t from);
/* Whether a file ends as a closed one does; `end` are its last FILE_END_LEN bytes. */
bool format_is_closed(const uint8_t *end, uint64_t file_len);

/* A record with a length: what is put between begin and end is its content. */
size_t record_begin(struct buf *b, enum record_tag tag);
void record_end(struct buf *b, size_t begun);
/* The content of the record whose tag was just read; turns `in` bad when it is cut short. */
struct cur record_content(struct cur *in);

static inline size_t block_size(const struct block_header *h)
{
    return (BLOCK_HEADER_LEN + (size_t)h->payload_len + BLOCK_ALIGN - 1) / BLOCK_ALIGN *
           BLOCK_ALIGN;
}

/* ---- an event in the tail and in a block ---- */

/* Its fields as numbers, and how kind, mode, end and category share one of them (docs/format.md,
 * "Events block" and "Tail"). */

/* Names and arguments are numbers of texts. */
struct bare_event {
    int64_t at, dur; /* ns */
    int64_t value;
    uint64_t link, parent;
    uint32_t name;
    uint32_t args; /* 0: none, else 1 + number */
    uint16_t what;
};

/* Fields of an event in the tail, after its first byte. */
enum {
    HAS_WHAT = 1,
    HAS_DUR = 2,
    HAS_VALUE = 4,
    HAS_LINK = 8,
    HAS_PARENT = 16,
    HAS_ARGS = 32,
    HAS_END_SHIFT = 6,
};

enum {
    WHAT_KIND_BITS = 4,
    WHAT_MODE_SHIFT = 4,
    WHAT_MODE_BITS = 4,
    WHAT_END_SHIFT = 8,
    WHAT_END_BITS = 2,
    WHAT_CATEGORY_SHIFT = 10,
    WHAT_CATEGORY_BITS = 6,
    WHAT_MOST = UINT16_MAX,
};

static_assert(EVENT_KIND_N <= 1 << WHAT_KIND_BITS, "kinds have four bits");
static_assert(MODE_N <= 1 << WHAT_MODE_BITS, "modes have four bits");
static_assert(END_OPEN < 1 << WHAT_END_BITS, "ends have two bits");
static_assert(CAT_N <= 1 << WHAT_CATEGORY_BITS, "categories have six bits");

static inline uint16_t what_of(const struct event *v)
{
    return (uint16_t)((unsigned)v->kind | (unsigned)v->mode << WHAT_MODE_SHIFT |
                      (unsigned)v->end << WHAT_END_SHIFT |
                      (unsigned)v->category << WHAT_CATEGORY_SHIFT);
}

static inline unsigned what_part(unsigned what, unsigned shift, unsigned bits)
{
    return what >> shift & ((1u << bits) - 1);
}

static inline unsigned what_end(unsigned what)
{
    return what_part(what, WHAT_END_SHIFT, WHAT_END_BITS);
}

static inline unsigned what_without_end(unsigned what)
{
    return what & ~(((1u << WHAT_END_BITS) - 1) << WHAT_END_SHIFT);
}

/* What is unknown is at least no thread of a program, so no steps are searched in it. */
static inline enum track_kind track_kind_of(uint8_t kind)
{
    return kind == TRACK_THREAD || kind == TRACK_HEALTH ? (enum track_kind)kind : TRACK_DEVICE;
}

/* Begin and end are times in the valid range. */
static inline bool event_fits(int64_t at, uint64_t dur)
{
    return at >= -TIME_MOST_NS && at <= TIME_MOST_NS && dur <= (uint64_t)(TIME_MOST_NS - at);
}

#endif
