/* SPDX-License-Identifier: Apache-2.0 */
/* reader_internal.h - the parts of opening a store: reader.c finds the blocks and the tail,
 * catalog.c parses their heads and lists their contents. */
#ifndef STORE_READER_INTERNAL_H
#define STORE_READER_INTERNAL_H

#include "base/vec.h"
#include "record/event.h"
#include "store/reader.h"

/* ---- names of tracks ----
 *
 * A track may be named late, after events of it were sealed, and perhaps when no more come. So the
 * latest name that is not empty counts, in the order of the file, for all of its blocks. */

struct track_names {
    struct track *v;
    uint32_t n, cap;
    struct hash_index index;
};

/* An empty name changes nothing. */
void track_names_add(struct track_names *k, const struct track *t);
/* Gives `t`, which was added, its names. */
void track_names_apply(struct track_names *k, struct track *t);
void track_names_free(struct track_names *k);

/* ---- blocks become series, logs become losses, marks and ties ---- */

struct catalog {
    struct store *store;
    size_t cap_losses, cap_marks, cap_ties, cap_series;
    struct hash_index index;  /* of store->series */
    struct track_names names; /* of event blocks and logs, in the order of the file */
};

/* What is in the catalog of a file without its tail. */
struct catalog_mark {
    uint32_t blocks, series, marks, ties;
    struct loss *losses; /* a copy, because their counts grow */
    uint32_t n_losses;
};

void catalog_set_mark(const struct catalog *c, struct catalog_mark *m);
/* Forgets what was added after the mark. Names of tracks stay: the blocks that a tail becomes have
 * the same names. */
void catalog_return(struct catalog *c, const struct catalog_mark *m);
void catalog_free(struct catalog *c);

/* The records of a log block; false when they are not. Words this version does not know are
 * skipped. */
bool catalog_log(struct catalog *c, const uint8_t *p, size_t n);
/* Adds to the count of the same loss, or a new one. */
void catalog_loss(struct catalog *c, const struct loss *l);
/* A tie out of range (clock_fits) is left out. */
void catalog_tie(struct catalog *c, struct clock_tie tie);
/* Of the ties, those from which on time is mapped anew. After it store_wall may be used. */
void catalog_find_steps(struct store *s, struct arena *a);
/* Whether a span of monotonic time maps to wall time that fits, not only to the nearest one. */
bool store_wall_fits(const struct store *s, int64_t first_us, int64_t last_us);
/* After all blocks are in the store, in order of time: adds those from `first` on to the list of
 * series. */
void catalog_finish(struct catalog *c, uint32_t first);

/* ---- the head of a block of rows ---- */

/* False: damaged. The bytes from `payload` on must stay. */
bool rows_block_get(const struct block_header *h, const uint8_t *payload, struct arena *a,
                    struct rows_block *out);
/* Frees its columns, which are read again when they are needed. */
void rows_block_forget(struct rows_block *b);
size_t rows_block_memory(const struct rows_block *b);

#endif
