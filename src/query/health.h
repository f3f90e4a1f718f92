/* SPDX-License-Identifier: Apache-2.0 */
/* health.h - training health of a run: scalars by step, and statistics of tensors by sample.
 *
 * The values are events on tracks of the kind TRACK_HEALTH (record/event.h). A value that was not
 * measured is absent; one that is NaN or infinite was measured, and is counted wherever values are
 * merged. Arrays and texts are in the caller's arena and survive run_close. */
#ifndef QUERY_HEALTH_H
#define QUERY_HEALTH_H

#include <assert.h>

#include "query/events.h"

enum { HEALTH_NO_STEP = -1 };

/* ---- one value after the other ---- */

struct health_value {
    wall_ns at;
    int64_t step; /* HEALTH_NO_STEP: of none */
    const struct run_process *process;
    int64_t rank; /* as in struct health_rank */
    enum health_id stat;
    const char *name;    /* of the scalar, parameter or module */
    uint32_t name_index; /* the same text has the same number, from 0, in one health_read */
    enum event_mode mode;
    struct event event; /* its kind and value; see health_number */
};

struct health_ask {
    int64_t rank;     /* -1: all */
    uint64_t stats;   /* bits of enum health_id */
    wall_ns from, to; /* 0: open */
};

static_assert(HEALTH_N <= 64, "statistics are bits of a word");
#define HEALTH_STAT(id) ((uint64_t)1 << (id))
#define HEALTH_ALL      UINT64_MAX

typedef void health_fn(void *ctx, const struct health_value *v);

/* By rank, process and statistic, each in order of time. Names live in the arena, everything else
 * until the function returns. */
MUST_CHECK int health_read(struct run *r, const struct health_ask *ask, struct arena *a,
                           health_fn *fn, void *ctx, struct err *e);

/* ---- what there is ---- */

/* A rank with health data. A process without a rank gets the first number that is free. */
struct health_rank {
    const struct run_process *process;
    int64_t rank;
};

struct health_scalar { /* of one rank and mode */
    const char *name;
    int64_t rank;
    enum event_mode mode;
    uint64_t count, nonfinite;
    int64_t first_step, last_step; /* HEALTH_NO_STEP: none has a step */
    wall_ns first_at, last_at;
    double first, last;         /* NAN, infinite: so it was */
    double min, max;            /* of the finite ones; NAN: there are none */
    int64_t min_step, max_step; /* where they were first */
    int64_t nonfinite_step;     /* of the first that was not finite; HEALTH_NO_STEP: none */
};

/* What the hooks record for rules, not for people: hashes of batches, where samples were added. */
bool health_is_internal(const struct health_scalar *s);

struct health_statistic { /* of one rank */
    enum health_id stat;
    int64_t rank;
    uint64_t values;
    size_t tensors; /* different names */
    wall_ns first_at, last_at;
};

/* A tensor that was saved in a step; its values are in a file of the node, if that is there. */
struct health_saved {
    const char *name;
    int64_t rank, step;
    uint64_t bytes;
};

struct health_index {
    struct health_rank *ranks;
    size_t n_ranks;
    struct health_scalar *scalars; /* by rank, in the order in which they first came */
    size_t n_scalars;
    struct health_statistic *stats;
    size_t n_stats;
    const char **tensors; /* names of parameters and modules, in the order in which they came */
    size_t n_tensors;
    uint64_t values;            /* of all kinds */
    struct health_saved *saved; /* by rank and step */
    size_t n_saved;
};

/* Scalars are read, of tensors only the names. A run without health data gives an empty index. */
MUST_CHECK int health_index(struct run *r, struct arena *a, struct health_index *out,
                            struct err *e);

/* ---- a scalar as a curve ---- */

struct health_point {
    int64_t step, last_step; /* of its first and last value */
    wall_ns at;              /* of the first */
    double mean, min, max;   /* of finite values; NAN: there are none */
    double last;             /* as it was */
    uint32_t count, nonfinite;
};

struct health_curve_ask {
    int64_t rank; /* -1: the first that has the scalar */
    const char *name;
    int mode;                   /* enum event_mode; -1: all */
    int64_t from_step, to_step; /* to_step is not included; 0: open */
    wall_ns from, to;           /* 0: open */
    size_t points;              /* at most so many; 0: one for each value */
};

/* In order of time. Points have equally many values, but the last. */
struct health_curve {
    struct health_point *v;
    size_t n;
    uint64_t values, nonfinite;
    int64_t rank; /* -1: there are no values */
};

MUST_CHECK int health_curve(struct run *r, const struct health_curve_ask *ask, struct arena *a,
                            struct health_curve *out, struct err *e);

/* The curve of each scalar of the index, in its order, by one reading. */
MUST_CHECK int health_curves(struct run *r, const struct health_index *index, size_t points,
                             struct arena *a, struct health_curve **out, struct err *e);

/* ---- a statistic as a heat map: tensor x sample ----
 *
 * Of a histogram ("gradient.exponents") the rows are powers of two ("2^-12"), of the first tensor
 * that is wanted, and the cells numbers of elements. "0" has what is smaller than 2^-126. */

enum { HEALTH_BINS = 256, HEALTH_BIN_SPECIAL = 255, HEALTH_BIN_BITS = 48 };

static inline unsigned health_bin_exponent(int64_t value)
{
    return (unsigned)((uint64_t)value >> HEALTH_BIN_BITS & (HEALTH_BINS - 1));
}

static inline uint64_t health_bin_count(int64_t value)
{
    return (uint64_t)value & ((UINT64_C(1) << HEALTH_BIN_BITS) - 1);
}

struct health_column {
    int64_t step, last_step;
    wall_ns at;       /* of the first sample in it */
    uint32_t samples; /* that became this column */
};

struct health_matrix_ask {
    int64_t rank; /* -1: the first that has the statistic */
    enum health_id stat;
    const char *pattern; /* extended regular expression, searched in the name; NULL: all */
    int64_t from_step, to_step;
    size_t columns; /* at most so many; 0: one for each sample, up to HEALTH_CELLS_MOST cells */
    size_t rows;    /* at most so many tensors; 0: HEALTH_ROWS_MOST */
};

enum { HEALTH_ROWS_MOST = 10000, HEALTH_CELLS_MOST = 1 << 20, HEALTH_PATTERN_MOST = 200 };

struct health_matrix {
    const char **names; /* in the order in which they came */
    size_t n_rows;
    struct health_column *columns;
    size_t n_columns;
    float *cells; /* [row * n_columns + column]; NAN: not measured; INFINITY: a value of it was not
                   * finite */
    uint64_t values, nonfinite, samples;
    size_t more_rows; /* tensors that were left out */
    int64_t rank;     /* -1: there are no values */
};

MUST_CHECK int health_matrix(struct run *r, const struct health_matrix_ask *ask, struct arena *a,
                             struct health_matrix *out, struct err *e);

static inline float health_cell(const struct health_matrix *m, size_t row, size_t column)
{
    return m->cells[row * m->n_columns + column];
}

#endif
