/* SPDX-License-Identifier: Apache-2.0 */
/* column.h - one series in one rows block: its directory entry, its summaries, its bytes.
 * Encoding appends to the head and data buffers of a block; reading fills a struct that points into
 * the mapped file and decodes parts on demand. */
#ifndef STORE_COLUMN_H
#define STORE_COLUMN_H

#include "store/codec.h"
#include "store/format.h"

struct column_in {
    const char *metric, *unit, *entity;
    double step;
    uint32_t first_row, count;
    const int64_t *values; /* count of them, gaps left out */
    const int64_t *runs;   /* lengths of value runs and gaps in turn; n_runs 0: no gaps */
    size_t n_runs;
};

/* What a step is worth, so that 116 steps of 0.1 are 11.6 and not 11.600000000000001: a step that
 * is one n-th is divided by. */
struct scale {
    double mul, div;
};

struct scale scale_of(double step);

static inline double scale_value(struct scale s, double steps)
{
    return s.div == 1 ? steps * s.mul : steps / s.div;
}

void column_put(struct codec *c, const struct column_in *in, struct buf *head, struct buf *data);

/* Bytes in the data part with their checksum. */
struct blob {
    const uint8_t *p;
    uint32_t len, sum;
};

void blob_put(struct buf *head, struct buf *data, const struct buf *bytes);
/* Takes the blob's place from the head and its bytes from the data cursor. */
struct blob blob_get(struct cur *head, struct cur *data);
bool blob_whole(const struct blob *b); /* the checksum is right */

struct hist_bin {
    int64_t value;
    uint64_t count;
};

/* Text inside the head, without NUL. */
struct text {
    const char *p;
    uint32_t n;
};

struct column {
    struct text metric, unit, entity;
    double step;
    uint32_t first_row, count;
    int64_t min, max, sum;
    const uint8_t *hist; /* n_hist pairs of varints */
    uint32_t hist_len, n_hist;
    bool has_gaps;
    uint32_t n_runs;
    struct blob gaps, values, level1[3]; /* min, max, sum */
    const uint8_t *level2[3];            /* codec bytes in the head */
    uint32_t level2_len[3];
};

enum { LEVEL_MIN, LEVEL_MAX, LEVEL_SUM };

static inline uint32_t bucket_count(uint32_t values, uint32_t level)
{
    return (values + level - 1) / level;
}

/* Sets head->bad when the entry is not right. l1, l2 are the block's bucket sizes. */
void column_get(struct cur *head, struct cur *data, uint32_t l1, uint32_t l2, struct column *out);

/* The histogram's bins into out[HIST_MOST]; returns how many, 0 when there is none. */
uint32_t column_hist(const struct column *c, struct hist_bin *out);

#endif
