/* SPDX-License-Identifier: Apache-2.0 */
/* health_book.h - what rules know about the health of a training: losses, gradients, weights and
 * activations of each rank, reduced while the health events of a node are read.
 *
 *     struct health_book *b = health_book_open();
 *     health_book_add(b, &value);            each event once, those of a track in stored order
 *     struct health_book *c = health_book_copy(b);
 *     health_book_close(b);
 *
 * The result depends on the order of the events of one track, but not on how tracks are interleaved
 * and not on how a track is cut into parts: every reduction is about one track of one rank. So a
 * book that grows with its run equals one that reads all of it.
 *
 * Memory is bounded: a curve has at most CURVE_BUCKETS buckets and a table at most TABLE_CELLS
 * cells. When they are full, two buckets become one, and every second sample is dropped. */
#ifndef QUERY_HEALTH_BOOK_H
#define QUERY_HEALTH_BOOK_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/vec.h"
#include "query/run.h"
#include "record/event.h"

enum {
    CURVE_BUCKETS = 1024,
    TABLE_ROWS = 512,
    TABLE_CELLS = 1 << 20,
    SPIKE_WINDOW = 128, /* values before a spike that it is compared with */
    SPIKES_KEPT = 64,
    FIRST_LOSSES = 10, /* whose median is the first loss */
    HASHES_KEPT = 1000,
    HASHES_COMPARED = 512, /* with those of other ranks */
    EVALS_KEPT = 1 << 16,
    BAD_KEPT = 4096, /* steps of a track */
    SKIPS_KEPT = 1024,
    SCALE_WINDOW = 200,
    LR_PARTS = 512,
};

/* One health event. */
struct book_value {
    uint64_t track; /* its statistic, src/record/health.def */
    uint32_t pid;
    int64_t rank; /* -1: not known */
    enum event_mode mode;
    int64_t step; /* -1: none */
    wall_ns at;
    const char *name;
    double v;
    int64_t count; /* of a whole number; the same as v otherwise */
};

/* Sums of consecutive values. */
struct curve_bucket {
    double sum, squares;
    uint32_t n;
};

struct book_curve {
    struct curve_bucket *v;
    size_t n, cap;
    uint32_t each; /* values per bucket */
    uint64_t values;
};

/* Mean of the values from share `from` to share `to` of the curve. */
struct curve_part {
    double mean, error; /* standard error of the mean; NAN: fewer than two values */
    uint64_t n;
};
struct curve_part book_curve_part(const struct book_curve *c, double from, double to);

struct book_spike {
    int64_t step;
    wall_ns at;
    double value, usual; /* usual: the median before it */
    int64_t back;        /* the step at which it was over; -1: it is not */
};

/* The last values, sorted and in their order. */
struct book_window {
    double sorted[SPIKE_WINDOW], order[SPIKE_WINDOW];
    size_t n, next;
};

struct book_spikes {
    struct book_window window;
    struct book_spike v[SPIKES_KEPT]; /* the first ones */
    uint64_t n;
    /* A spike that is not over, or that may be one. */
    struct book_spike now;
    bool open, sure;
    double above; /* what a value must exceed to belong to it */
    unsigned after, after_above;
    bool looked; /* a value had enough values before it to compare it with */
};

struct book_eval {
    int64_t step;
    wall_ns at;
    double value;
    double train; /* mean training loss since the evaluation before; NAN: none */
};

struct book_loss {
    uint64_t n; /* finite ones */
    double first[FIRST_LOSSES];
    double least; /* of them; of none 0 */
    bool others;  /* another loss came: that of a second optimizer */
    bool several; /* and this one after it: they are trained in turn */
    struct book_curve curve;
    struct book_spikes spikes;
    int64_t first_step, last_step;
    double last;
    double since_sum; /* of the training loss since the last evaluation */
    uint64_t since_n;
    struct book_eval *evals;
    size_t n_evals, cap_evals;
};

struct book_place {
    int64_t step;
    wall_ns at;
};

/* The first value of a step and track that is not finite. */
struct book_bad {
    int64_t step;
    wall_ns at;
    uint64_t track;
    uint32_t name; /* in health_rank.names */
    double count;
};

/* Tracks whose values may be not finite. */
enum bad_tracks { BAD_LOSS, BAD_GRADIENT, BAD_WEIGHT, BAD_OUTPUT, BAD_TRACK_N };

/* Of one track: the first steps. */
struct book_bads {
    struct book_bad *v;
    size_t n, cap;
};

/* Consecutive steps that loss scaling skipped. */
struct book_skips {
    int64_t first, last;
};

/* One statistic of all tensors: a row per sample. */
struct table_row {
    int64_t step;
    wall_ns at;
    uint32_t n; /* cells; a tensor beyond them has none */
    double *v;  /* by name; NAN: not measured. weight.sum: the bits of an int64_t */
};

struct book_table {
    struct table_row *rows;
    size_t n, cap;
    uint64_t every, samples; /* one in `every` is stored; samples so far */
    bool skipping;           /* the sample that is being read is not stored */
    int64_t skip_step;
};

/* Statistics that are stored as tables. */
enum book_tables {
    TABLE_GRADIENT_L2,
    TABLE_GRADIENT_ZEROS,
    TABLE_WEIGHT_L2,
    TABLE_WEIGHT_SUM,
    TABLE_UPDATE_RATIO,
    TABLE_UPDATE_UNCHANGED,
    TABLE_OUTPUT_DEAD,
    TABLE_OUTPUT_SATURATED,
    TABLE_INPUT_STD,
    HEALTH_TABLE_N
};

struct book_batch {
    int64_t step, hash;
};

struct book_rank {
    int64_t rank;
    uint32_t pid;
    struct book_loss loss;
    uint64_t grad_norms; /* values */
    int64_t grad_since;  /* the step of the first one */
    double grad_first[FIRST_LOSSES];
    struct book_spikes grad;
    double lr_peak, lr_last;
    uint64_t lr_n;
    float lr_most[LR_PARTS]; /* the largest of lr_each steps; 0: none is known */
    int64_t lr_each;
    /* Loss scaling. */
    uint64_t scales, skipped, run, longest_run; /* updates; those that were skipped */
    double scale_first, scale_last, scale_least;
    int64_t scale_least_step;
    wall_ns scale_least_at;
    unsigned char scale_flags[SCALE_WINDOW];
    uint32_t scale_recent, scale_most;   /* skipped of the last SCALE_WINDOW; most of any */
    struct book_skips skips[SKIPS_KEPT]; /* the first ones */
    size_t n_skips;
    uint64_t recorded; /* steps with a learning rate, or without any gradient */
    int64_t recorded_step;
    /* Steps without any gradient; a run: no step with one was recorded between. */
    uint64_t missing, missing_run, missing_longest, missing_recorded;
    struct book_place missing_begin, missing_first; /* of the last run; of the longest */
    double missing_parameters;
    /* Batches of an epoch, or of HASHES_KEPT steps. */
    int64_t hashes[HASHES_KEPT];
    uint32_t n_hashes;
    uint64_t batches, distinct;       /* of the worst part that is long enough; 0: none */
    int64_t batches_step;             /* where that part begins */
    int64_t hashes_step, hashes_last; /* of the part that is being read */
    struct book_batch first_batches[HASHES_COMPARED]; /* by step */
    uint32_t n_first_batches;
    /* What is not finite. */
    struct book_bads bad[BAD_TRACK_N];
    uint64_t n_bad;      /* values */
    int64_t origin_step; /* -1: not known */
    wall_ns origin_at;
    uint32_t origin; /* "forward/encoder.2", a name; 0: not known */
    /* Tensors. */
    char **names; /* from 1 on */
    uint32_t n_names, cap_names;
    struct hash_index by_name;
    unsigned char *dims; /* by name, cap_names of them; 0: not known */
    struct book_table tables[HEALTH_TABLE_N];
};

struct health_book {
    struct book_rank **ranks; /* in the order in which they were first seen */
    size_t n, cap;
};

struct health_book *health_book_open(void);
void health_book_close(struct health_book *b); /* NULL is fine */
struct health_book *health_book_copy(const struct health_book *b);
void health_book_add(struct health_book *b, const struct book_value *v);

/* ---- questions of rules ---- */

/* Median of the first losses; NAN: there are fewer than FIRST_LOSSES. */
double health_first_loss(const struct book_rank *r);
/* Why the losses of the rank have no level that must fall and that a spike is above: adversaries
 * are trained in turn, or a loss is negative. NULL: they have one. */
const char *health_loss_without_level(const struct book_rank *r);
/* The optimizer step was skipped because of loss scaling. */
bool health_step_skipped(const struct book_rank *r, int64_t step);
/* The learning rate at about the step, as a share of its peak; NAN: not known. */
double health_lr_share(const struct book_rank *r, int64_t step);
/* Ends the part of the batches that is being read, as an epoch does. */
void health_close_hashes(struct book_rank *r);
/* The row of the same step; NULL: none. */
const struct table_row *health_table_row(const struct book_table *t, int64_t step);
/* NAN: not measured. */
static inline double table_cell(const struct table_row *row, uint32_t name)
{
    return row && name < row->n ? row->v[name] : (double)NAN;
}
/* Tensors with two or more dimensions. */
static inline bool health_is_matrix(const struct book_rank *r, uint32_t name)
{
    return name < r->n_names && r->dims[name] >= 2;
}
/* Median of n numbers, which it sorts; NAN: n is 0. */
double health_median(double *v, size_t n);

/* ---- reading (health_book_read.c) ---- */

/* What was read of sealed blocks. They do not change, so they are read once; the rows of a tail are
 * read each time, into a copy. */
struct health_memory;

struct health_memory *health_memory_open(void);
void health_memory_close(struct health_memory *m); /* NULL is fine */

/* The book of all health events of the node, the caller's to close; NULL: there are none. `ranks`:
 * the rank of each process of the run, in the order of events_processes. `m` NULL: nothing is
 * cached. */
MUST_CHECK int health_book_read(struct run *r, const char *node, const int64_t *ranks,
                                struct health_memory *m, struct health_book **out, struct err *e);

#endif
