/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - a file of one recorder (metrics.fp, events.fp) and its tail, open for reading.
 *
 * Opening maps the file, checks and parses the heads of its blocks, and seals a living or torn tail
 * in memory, so that everything after sees blocks only. Data is decoded on demand. What is damaged
 * is left out and counted. Once open it does not change, except by store_follow: several threads
 * may read it, each with a separate codec. */
#ifndef STORE_READER_H
#define STORE_READER_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/file.h"
#include "record/event.h"
#include "record/record.h"
#include "store/codec.h"
#include "store/column.h"

/* Where the columns of a block are. */
struct column_list {
    _Atomic(struct column *) cached; /* NULL: freed by store_forget */
    struct cur head, data;           /* where they begin in the file */
};

struct rows_block {
    struct text group;
    int64_t period_ns;
    int64_t t_first_us, t_last_us;
    uint32_t rows, l1, l2;
    bool in_tail;     /* not sealed yet: with the next rows it becomes another block */
    uint64_t samples; /* in all columns */
    struct blob times;
    int64_t *t_l2_us; /* time of every l2-th row */
    uint32_t n_t_l2;
    struct column_list *list;
    uint32_t n_columns; /* block_columns has them */
};

/* Events of one track that were recorded one after the other, sorted by begin (the longer one
 * first). */
struct events_block {
    struct track track;
    int64_t t_first_us, t_last_us; /* begin of the first, end of the last to end, rounded outward */
    uint32_t rows;
    bool in_tail;
    struct blob names; /* texts that the rows refer to */
    uint32_t n_names;
    struct blob column[EVENT_COLUMN_N]; /* len 0: all zero */
};

/* One column of one block. */
struct store_ref {
    uint32_t block, column;
};

struct store_series {
    const char *metric, *unit, *entity;
    struct store_ref *refs; /* in order of time */
    uint32_t n_refs;
    size_t cap_refs;
};

struct store {
    char path[PATH_LEN];
    struct arena arena;
    struct rows_block *blocks;
    uint32_t n_blocks;
    struct events_block *events;
    uint32_t n_events; /* blocks, in order of their first time */
    struct store_series *series;
    uint32_t n_series;
    struct loss *losses; /* recorded ones (merged), then what is wrong with the files */
    uint32_t n_losses;
    struct mark *marks;
    uint32_t n_marks;
    struct clock_tie *ties; /* the first from the file header */
    uint32_t n_ties;
    struct clock_tie *steps; /* of the ties, those that move the mapping to wall time */
    uint32_t n_steps;
    int64_t t_first_us, t_last_us; /* of any row or event; both 0: there is none */
    uint64_t rows, samples, file_bytes;
    bool closed; /* the recorder closed it properly */
    uint8_t id[FILE_ID_LEN];
    struct store_internal *own; /* mapped files and memory that the rest points into */
};

/* How the bytes of a file are reached. They may be a stranger's: links are not followed. */
struct store_source {
    /* At most `most` bytes, ERR_LIMIT when there are more. A negative `from` counts from the end.
     */
    int (*read)(const char *path, int64_t from, size_t most, struct arena *a, char **out,
                size_t *len, struct err *e);
    /* `growing`: its writer may still cut it, see fmap_open. */
    int (*map)(const char *path, bool growing, struct fmap *out, struct err *e);
    /* See fmap_follow. NULL: files that grow are opened anew. */
    int (*follow)(const char *path, struct fmap *out, struct buf *more, struct err *e);
};

extern const struct store_source store_files; /* of the local file system */

/* `path` is a <name>.fp; its tail is searched beside it. */
MUST_CHECK int store_open_from(struct store **out, const struct store_source *from,
                               const char *path, struct err *e);
/* The same from the local file system. */
MUST_CHECK int store_open(struct store **out, const char *path, struct err *e);
void store_close(struct store *s); /* NULL is fine */

/* The same for callers that open a file again and again while it grows: *s is NULL, or a store that
 * this function made and no other code uses. Afterwards it has what store_open_from would find now,
 * a long tail in more blocks, but of a healthy file that has grown only what is new is read. On
 * failure it is closed, and NULL. */
MUST_CHECK int store_follow(struct store **s, const struct store_source *from, const char *path,
                            struct err *e);

/* The n_columns of a block. They are in memory from the moment the store is opened; after
 * store_forget, from the first call on. */
const struct column *block_columns_again(const struct rows_block *b);

static inline const struct column *block_columns(const struct rows_block *b)
{
    const struct column *v = atomic_load_explicit(&b->list->cached, memory_order_acquire);
    return v ? v : block_columns_again(b);
}

/* The same for a caller that reads each block once: into `room`, of as many, unless they are in
 * memory. */
const struct column *block_columns_once(const struct rows_block *b, struct column *room);
/* Frees what can be read again: columns, and pages of the file. No other thread may use the store
 * meanwhile, and what block_columns returned is not valid any more. */
void store_forget(struct store *s);

/* All rows' times of a block, us. `out` needs rows entries. False: damaged. */
bool store_times(struct codec *c, const struct rows_block *b, int64_t *out);
/* Row number of each value of a column that has gaps; count entries. False: damaged. */
bool store_value_rows(struct codec *codec, const struct column *c, uint32_t rows, uint32_t *out);

/* The n_names texts that the rows of a block of events refer to, which live in `a`: much cheaper
 * than its events (event_columns.h), for a caller that searches a name. False: damaged. */
bool store_event_names(struct codec *c, const struct events_block *b, struct arena *a,
                       const char ***out);

/* Bytes of memory that it has allocated; mapped files do not count. */
size_t store_memory(const struct store *s);

/* Checks every checksum of the data parts; returns how many columns are damaged. */
uint64_t store_verify(struct store *s);

/* Wall time of a moment: by the ties, never running backwards. */
wall_ns store_wall(const struct store *s, int64_t mono_us);
/* The inverse: the monotonic us of a wall time. */
int64_t store_mono_us(const struct store *s, wall_ns t);

#endif
