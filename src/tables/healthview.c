/* SPDX-License-Identifier: Apache-2.0 */
/* healthview.c - see healthview.h. */
#include "tables/healthview.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "record/event.h"

/* ---- arrays of curves and heat maps ---- */

#define POINT_AT(name, cell)                                                                       \
    static struct row_cell health_point_##name##_at(const void *x, size_t i, const char **key)     \
    {                                                                                              \
        const struct health_point *p = &((const struct health_curve *)x)->v[i];                    \
        (void)key;                                                                                 \
        return cell;                                                                               \
    }

POINT_AT(step, row_int_or_null(p->step))
POINT_AT(time, row_int(p->at.ns))
POINT_AT(mean, row_number(p->mean))
POINT_AT(min, row_number(p->min))
POINT_AT(max, row_number(p->max))
POINT_AT(bad, row_int(p->nonfinite))

static struct row_cell health_column_step_at(const void *x, size_t i, const char **key)
{
    (void)key;
    return row_int_or_null(((const struct health_matrix *)x)->columns[i].step);
}

static struct row_cell health_column_time_at(const void *x, size_t i, const char **key)
{
    (void)key;
    return row_int(((const struct health_matrix *)x)->columns[i].at.ns);
}

static struct row_cell health_matrix_value_at(const void *x, size_t i, const char **key)
{
    const struct health_matrix_row *row = x;
    (void)key;
    return row_number((double)health_cell(row->m, row->row, i));
}

static struct row_cell health_matrix_bad_at(const void *x, size_t i, const char **key)
{
    const struct health_matrix_row *row = x;
    (void)key;
    return isinf(health_cell(row->m, row->row, i)) ? row_int((int64_t)i) : row_absent();
}

#define ROWS_FILE "tables/health_rows.def"
#include "base/row_expand.h"

enum health_id healthview_statistic(const char *name)
{
    const enum health_id id = health_find(name);
    return id == HEALTH_SCALAR ? HEALTH_N : id;
}

int healthview_matrix(struct run *r, const struct health_matrix_ask *ask, struct arena *a,
                      struct health_matrix_view *out, struct err *e)
{
    TRY(health_matrix(r, ask, a, &out->m, e));
    out->stat = ask->stat;
    out->rows = arena_array(a, struct health_matrix_row, out->m.n_rows + 1);
    for (size_t i = 0; i < out->m.n_rows; i++)
        out->rows[i] = (struct health_matrix_row){&out->m, i};
    return 0;
}

/* ---- tensors one by one ---- */

struct layer_listing {
    struct health_layers *out;
    struct arena *arena;
    size_t cap;
    int64_t rank, step;
    uint32_t *of; /* by number of the name: 1 + its layer of this rank */
    size_t n_of;
};

static struct health_layer *layer_of(struct layer_listing *l, const struct health_value *v)
{
    VEC_ZEROED(l->of, l->n_of, (size_t)v->name_index + 1);
    if (l->rank != v->rank)
        memset(l->of, 0, l->n_of * sizeof *l->of);
    l->rank = v->rank;
    uint32_t *place = &l->of[v->name_index];
    if (*place)
        return &l->out->v[*place - 1];
    if (l->out->n == HEALTH_LAYERS_MOST) {
        l->out->more++;
        return NULL;
    }
    struct health_layer *x = ARENA_ADD(l->arena, l->out->v, l->out->n, l->cap);
    *place = (uint32_t)l->out->n;
    *x = (struct health_layer){.name = v->name, .rank = v->rank, .step = HEALTH_NO_STEP};
    for (size_t i = 0; i < HEALTH_N; i++) {
        x->v[i] = x->worst[i] = NAN;
        x->worst_step[i] = HEALTH_NO_STEP;
    }
    return x;
}

static bool layer_counts_bad(enum health_id stat)
{
    return stat == HEALTH_GRADIENT_NONFINITE || stat == HEALTH_WEIGHT_NONFINITE ||
           stat == HEALTH_OUTPUT_NONFINITE || stat == HEALTH_INPUT_NONFINITE;
}

static void layer_take(void *ctx, const struct health_value *v)
{
    struct layer_listing *l = ctx;
    if (l->step >= 0 && v->step != l->step)
        return;
    struct health_layer *x = layer_of(l, v);
    const double number = health_number(&v->event);
    if (!x)
        return;
    x->v[v->stat] = number;
    x->count[v->stat]++;
    x->step = MAX_OF(x->step, v->step);
    if (layer_counts_bad(v->stat) && number > 0)
        x->nonfinite += (uint64_t)fmin(number, 1e18);
    x->nonfinite += isfinite(number) ? 0 : 1;
    if (isfinite(number) && !(number <= x->worst[v->stat])) {
        x->worst[v->stat] = number;
        x->worst_step[v->stat] = v->step;
    }
}

int healthview_layers(struct run *r, int64_t rank, int64_t step, struct arena *a,
                      struct health_layers *out, struct err *e)
{
    const struct health_ask ask = {.rank = rank,
                                   .stats = HEALTH_ALL & ~(HEALTH_STAT(HEALTH_SCALAR) |
                                                           HEALTH_STAT(HEALTH_SAVED_BYTES) |
                                                           HEALTH_STAT(HEALTH_GRADIENT_EXPONENTS) |
                                                           HEALTH_STAT(HEALTH_WEIGHT_EXPONENTS) |
                                                           HEALTH_STAT(HEALTH_OUTPUT_EXPONENTS))};
    struct layer_listing l = {.out = out, .arena = a, .rank = -1, .step = step};
    *out = (struct health_layers){0};
    const int rc = health_read(r, &ask, a, layer_take, &l, e);
    free(l.of);
    return rc;
}

/* ---- the loss of each step ---- */

struct loss_gathering {
    struct health_loss *v;
    size_t n, cap;
};

static void loss_take(void *ctx, const struct health_value *v)
{
    struct loss_gathering *g = ctx;
    if (v->step >= 0 && strcmp(v->name, "loss") == 0)
        *VEC_ADD(g->v, g->n, g->cap) =
            (struct health_loss){v->rank, v->step, v->mode, v->at, health_number(&v->event)};
}

static int loss_compare(const void *a, const void *b)
{
    const struct health_loss *x = a, *y = b;
    return COMPARE(x->rank, y->rank) ?: COMPARE(x->mode, y->mode) ?: COMPARE(x->step, y->step);
}

static int loss_compare_times(const void *a, const void *b)
{
    const struct health_loss *x = a, *y = b;
    return loss_compare(a, b) ?: COMPARE(x->at.ns, y->at.ns);
}

/* The newest value of each step. */
static size_t loss_unique(struct health_loss *v, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        kept -= kept && loss_compare(&v[kept - 1], &v[i]) == 0;
        v[kept++] = v[i];
    }
    return kept;
}

int health_losses_read(struct run *r, wall_ns from, struct arena *a, struct health_losses *out,
                       struct err *e)
{
    const struct health_ask ask = {.rank = -1, .stats = HEALTH_STAT(HEALTH_SCALAR), .from = from};
    struct loss_gathering g = {0};
    const int rc = health_read(r, &ask, a, loss_take, &g, e);
    SORT(g.v, g.n, loss_compare_times);
    out->n = loss_unique(g.v, g.n);
    out->v = ARENA_COPY(a, g.v, out->n);
    free(g.v);
    return rc;
}

double health_loss_at(const struct health_losses *l, int64_t rank, enum event_mode mode,
                      int64_t step)
{
    const struct health_loss key = {.rank = rank, .step = step, .mode = mode};
    const struct health_loss *found =
        l->n ? bsearch(&key, l->v, l->n, sizeof key, loss_compare) : NULL;
    return found ? found->v : NAN;
}
