/* SPDX-License-Identifier: Apache-2.0 */
/* api_health.c - training health: what there is, scalars as curves, statistics of tensors as
 * heat maps. */
#include <string.h>

#include "base/mem.h"
#include "serve/api_internal.h"
#include "tables/healthview.h"

enum { POINTS = 1000, POINTS_MOST = 100000, COLUMNS = 400, COLUMNS_MOST = 4000, ROWS_MOST = 2000 };

#define PARAM_ROW_FROM_STEP                                                                        \
    "from_step", PARAM_INT, .lo = 0, .hi = INT64_MAX / 2, .help = "First step."
#define PARAM_ROW_TO_STEP                                                                          \
    "to_step", PARAM_INT, .lo = 0, .hi = INT64_MAX / 2,                                            \
                          .help = "Step after the last (default: open)."

const struct route_param api_health_params[] = {{0}};

int api_health(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct health_index x;
    struct jw j = {.out = &out->body};
    TRY(health_index(q->run, q->arena, &x, e));
    row_json(&j, NULL, &row_HealthIndex, &x, q->arena);
    return answer_fits(&out->body, "health", e);
}

/* ---- scalars ---- */

const struct route_param api_health_scalars_params[] = {
    {"name", PARAM_TEXT, .repeat = true, .help = "The scalar: loss, lr, grad.norm."},
    {PARAM_ROW_RANK},
    {"mode", PARAM_TEXT, .help = "Only steps of this mode: train, eval or predict."},
    {PARAM_ROW_FROM_STEP},
    {PARAM_ROW_TO_STEP},
    {PARAM_ROW_FROM},
    {PARAM_ROW_TO},
    {"points", PARAM_INT, .lo = 1, .hi = POINTS_MOST,
     .help = "Maximum number of points per scalar (default: 1000); each keeps the minimum and "
             "maximum of its steps, and how many of its values are not finite."},
    {0},
};

static int health_scalars_put(const struct route_request *q, const char *name, struct jw *j,
                              struct err *e)
{
    int64_t mode = -1;
    TRY(route_word(q, "mode", event_mode_names, &mode, e));
    const struct health_curve_ask ask = {
        .rank = route_number(q, "rank", -1),
        .name = name,
        .mode = (int)mode,
        .from_step = route_number(q, "from_step", 0),
        .to_step = route_number(q, "to_step", 0),
        .from = route_time(q, "from"),
        .to = route_time(q, "to"),
        .points = (size_t)route_number(q, "points", POINTS),
    };
    struct health_curve c;
    TRY(health_curve(q->run, &ask, q->arena, &c, e));
    const struct health_curve_row row = {name, ask.mode, &c};
    row_json(j, NULL, &row_HealthCurve, &row, q->arena);
    return answer_fits(j->out, "health/scalars", e);
}

int api_health_scalars(const struct route_request *q, struct route_answer *out, struct err *e)
{
    struct jw j = {.out = &out->body};
    size_t n_requested = 0;
    jw_array(&j, NULL);
    for (size_t i = 0; i < q->n_values; i++)
        if (strcmp(q->values[i].param->name, "name") == 0) {
            n_requested++;
            TRY(health_scalars_put(q, q->values[i].text, &j, e));
        }
    jw_end(&j);
    return n_requested ? 0 : err_set(e, ERR_USAGE, "health/scalars: parameter name is missing");
}

/* ---- tensors ---- */

const struct route_param api_health_tensors_params[] = {
    {"statistic", PARAM_TEXT, .help = "The statistic: gradient.l2, update.ratio."},
    {"match", PARAM_TEXT,
     .help = "Only tensors whose name this extended regular expression finds. Of a histogram "
             "(gradient.exponents) the rows are powers of two, of the first of these tensors."},
    {PARAM_ROW_RANK},
    {PARAM_ROW_FROM_STEP},
    {PARAM_ROW_TO_STEP},
    {"columns", PARAM_INT, .lo = 1, .hi = COLUMNS_MOST,
     .help = "Maximum number of columns (default: 400, or as many as fit). Samples of one column "
             "are merged: norms by "
             "their maximum."},
    {"rows", PARAM_INT, .lo = 1, .hi = ROWS_MOST,
     .help = "Maximum number of tensors (default: 2000)."},
    {0},
};

/* A cell takes about so many bytes of JSON. */
enum { CELL_BYTES = 12 };

/* Without a number of columns in the request, as many as fit into an answer. */
static int health_tensors_fit(const struct route_request *q, struct health_matrix_ask *ask,
                              struct health_matrix_view *view, struct err *e)
{
    TRY(healthview_matrix(q->run, ask, q->arena, view, e));
    const size_t rows = MAX_OF(view->m.n_rows, 1), fits = ANSWER_MOST / CELL_BYTES / rows;
    if (route_number(q, "columns", 0) || view->m.n_columns <= fits)
        return 0;
    ask->columns = MAX_OF(fits, 1);
    return healthview_matrix(q->run, ask, q->arena, view, e);
}

int api_health_tensors(const struct route_request *q, struct route_answer *out, struct err *e)
{
    const char *name = route_text(q, "statistic");
    const enum health_id stat = name ? healthview_statistic(name) : HEALTH_N;
    struct health_matrix_view view;
    struct jw j = {.out = &out->body};
    if (!name)
        return err_set(e, ERR_USAGE, "health/tensors: parameter statistic is missing");
    if (stat == HEALTH_N)
        return err_set(e, ERR_USAGE, "health/tensors: there is no statistic '%.60s'", name);
    struct health_matrix_ask ask = {
        .rank = route_number(q, "rank", -1),
        .stat = stat,
        .pattern = route_text(q, "match"),
        .from_step = route_number(q, "from_step", 0),
        .to_step = route_number(q, "to_step", 0),
        .columns = (size_t)route_number(q, "columns", COLUMNS),
        .rows = (size_t)route_number(q, "rows", ROWS_MOST),
    };
    TRY(health_tensors_fit(q, &ask, &view, e));
    row_json(&j, NULL, &row_HealthMatrix, &view, q->arena);
    return answer_fits(&out->body, "health/tensors", e);
}
