/* SPDX-License-Identifier: Apache-2.0 */
/* compare_json.c - a comparison as `footplate compare --json`, the server and the Python package
 * give it; see compare_rows.def. */
#include <math.h>

#include "base/mem.h"
#include "compare/compare.h"
#include "rules/rule.h"

/* compared_use.v of one side. */
struct compared_quantiles {
    double v[COMPARE_QUANTILES];
};

struct compared_part_row {
    const struct compared_part *part;
    const char *clock;
};

static double diff_share(const double v[COMPARE_SIDES])
{
    return v[COMPARE_A] > 0 ? v[COMPARE_B] / v[COMPARE_A] - 1 : NAN;
}

static const char *severity_of(const struct compared_finding *f, int side)
{
    return f->runs[side] ? severity_names[f->severity[side]] : NULL;
}

static struct row_cell parts_cell(const char *clock, const struct compared_part *v, size_t n,
                                  struct arena *a)
{
    struct compared_part_row *rows = arena_array(a, struct compared_part_row, n + 1);
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct compared_part_row){&v[i], clock};
    return row_list(rows, n, NULL);
}

static struct row_cell findings_cell(const struct compared *c, enum finding_change change,
                                     struct arena *a)
{
    struct compared_finding *rows = arena_array(a, struct compared_finding, c->n_findings + 1);
    size_t n = 0;
    for (size_t i = 0; i < c->n_findings; i++)
        if (c->findings[i].change == change)
            rows[n++] = c->findings[i];
    return row_list(rows, n, NULL);
}

#define ROWS_FILE "compare/compare_rows.def"
#include "base/row_expand.h"

void compare_json(struct jw *j, const struct compared *c)
{
    struct arena a = {0};
    row_fields_json(j, &row_Compare, c, &a);
    arena_free(&a);
}
