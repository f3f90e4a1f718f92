/* SPDX-License-Identifier: Apache-2.0 */
/* api_rows.c - see api_rows.h. */
#include "serve/api_rows.h"

#include "control/control_client.h"
#include "query/eventsum.h"
#include "rules/verdict_json.h"
#include "tables/opsview.h"
#include "tables/statview.h"
#include "tables/stepsview.h"

static struct row_cell entity_at(const void *x, size_t i, const char **key)
{
    (void)key;
    return row_text(((const struct series_key *)x)[i].entity);
}

static struct row_cell outlier_at(const void *x, size_t i, const char **key)
{
    (void)key;
    return row_object(((const struct step_hist *)x)->outliers[i]);
}

#define ROWS_FILE "serve/api_rows.def"
#include "base/row_expand.h"
