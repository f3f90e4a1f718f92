/* SPDX-License-Identifier: Apache-2.0 */
/* healthview.h - training health as `health`, the API and the Python package show it. */
#ifndef TABLES_HEALTHVIEW_H
#define TABLES_HEALTHVIEW_H

#include "base/row_table.h"
#include "query/health.h"

/* A curve with its request. */
struct health_curve_row {
    const char *name;
    int mode; /* -1: all */
    const struct health_curve *curve;
};

struct health_matrix_row {
    const struct health_matrix *m;
    size_t row;
};

struct health_matrix_view {
    struct health_matrix m;
    enum health_id stat;
    struct health_matrix_row *rows;
};

/* The newest value of each statistic of a tensor. */
struct health_layer {
    const char *name;
    int64_t rank, step;
    double v[HEALTH_N];     /* NAN: not measured */
    double worst[HEALTH_N]; /* the largest finite one */
    int64_t worst_step[HEALTH_N];
    uint32_t count[HEALTH_N]; /* values */
    uint64_t nonfinite;
};

struct health_layers {
    struct health_layer *v; /* by rank, in the order in which they came */
    size_t n;
    size_t more; /* that were left out */
};

enum { HEALTH_LAYERS_MOST = 20000 };

extern const struct row_table row_HealthIndex, row_HealthRank, row_HealthScalar,
    row_HealthStatistic, row_HealthSaved, row_HealthCurve, row_HealthMatrix, row_HealthLayer;

/* A statistic of tensors by its name; HEALTH_N: there is none. */
enum health_id healthview_statistic(const char *name);
MUST_CHECK int healthview_matrix(struct run *r, const struct health_matrix_ask *ask,
                                 struct arena *a, struct health_matrix_view *out, struct err *e);
/* `step`: values of that step alone; -1: the newest of all. `rank`: -1: all. */
MUST_CHECK int healthview_layers(struct run *r, int64_t rank, int64_t step, struct arena *a,
                                 struct health_layers *out, struct err *e);

/* ---- the loss of each step ---- */

struct health_loss {
    int64_t rank, step;
    enum event_mode mode;
    wall_ns at;
    double v;
};

struct health_losses {
    struct health_loss *v; /* sorted */
    size_t n;
};

/* The scalar "loss" of all steps from a time on (0: all). Of a step with several values, the last.
 */
MUST_CHECK int health_losses_read(struct run *r, wall_ns from, struct arena *a,
                                  struct health_losses *out, struct err *e);
/* NAN: the step has none. */
double health_loss_at(const struct health_losses *l, int64_t rank, enum event_mode mode,
                      int64_t step);

#endif
