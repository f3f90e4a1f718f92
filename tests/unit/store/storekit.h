/* SPDX-License-Identifier: Apache-2.0 */
/* storekit.h - what tests of the store share: files as bytes, tails made by hand, and a whole store
 * read back as a flat list of samples. Everything fails the test at once when it cannot. */
#ifndef TESTS_STOREKIT_H
#define TESTS_STOREKIT_H

#include "base/buf.h"
#include "record/group.h"
#include "store/reader.h"
#include "store/writer.h"

/* ---- numbers that look random and are the same in every run ---- */

struct kit_random {
    uint64_t state;
};

uint64_t kit_next(struct kit_random *r);
uint64_t kit_below(struct kit_random *r, uint64_t n); /* 0 .. n-1 */

/* ---- files ---- */

const char *kit_path(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* in a ring */
void kit_mkdir(const char *path);
void kit_load(struct buf *out, const char *path);
void kit_save(const char *path, const void *p, size_t n);
void kit_copy(const char *to, const char *from);

/* ---- records of a tail, made by hand ---- */

void kit_group(struct buf *out, unsigned group, const char *name, int64_t period_ns,
               int64_t t_before_us);
void kit_slot(struct buf *out, unsigned group, unsigned slot, const char *metric, const char *unit,
              const char *entity, double step);
void kit_drop(struct buf *out, unsigned group, unsigned slot);
/* off_us: how much later than one period after the row before. Cells follow by kit_cell. */
void kit_row(struct buf *out, unsigned group, int64_t off_us);
void kit_cell(struct buf *out, int64_t difference);
void kit_gap(struct buf *out);
void kit_tie(struct buf *out, int64_t mono_ns, int64_t wall_ns);
void kit_loss(struct buf *out, const char *name, uint64_t count, const char *what, const char *why);
void kit_mark(struct buf *out, const char *name, int64_t t_us, int64_t number, const char *text);

struct kit_id {
    uint8_t b[FILE_ID_LEN];
};

void kit_header(struct buf *out, enum file_kind kind, uint64_t segment, struct clock_tie tie,
                struct kit_id id);
void kit_frame(struct buf *out, const struct buf *payload, uint64_t segment);
/* metrics.fp with nothing but its header, and a tail of one frame. */
void kit_save_tail(const char *dir, const struct buf *payload, struct clock_tie tie);
/* Gives the file header at `path` another id and tie. */
void kit_restamp(const char *path, struct clock_tie tie, struct kit_id id);
/* Changes two bytes of the header (the version) and makes its checksum right again. */
void kit_set_version(const char *path, uint16_t major, uint16_t minor);

/* ---- a store as a list ---- */

struct kit_sample {
    const char *metric, *entity; /* of the store's arena or the caller's */
    int64_t t_us;
    double value;
};

struct kit_dump {
    struct arena arena;
    struct kit_sample *v;
    size_t n, cap;
};

void kit_add(struct kit_dump *d, const char *metric, const char *entity, int64_t t_us, double v);
void kit_sort(struct kit_dump *d);
/* Everything that can be shown, sorted by metric, entity, time. Damaged columns are left out. */
struct kit_dump kit_dump_store(struct store *s);
/* Opens, dumps and closes. */
struct kit_dump kit_dump_path(const char *path);
void kit_free(struct kit_dump *d);
bool kit_same(const struct kit_dump *a, const struct kit_dump *b);
/* Every sample of `part` is in `all`, each once. Both sorted. */
bool kit_within(const struct kit_dump *part, const struct kit_dump *all);

/* The count of a loss in the store; 0: not there. */
uint64_t kit_count_loss(const struct store *s, enum loss_id id);

#endif
