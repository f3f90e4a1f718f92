/* SPDX-License-Identifier: Apache-2.0 */
/* boxes.c - see boxes.h. */
#include "rules/boxes.h"

#include "base/mem.h"

static const double quantiles[] = {0.05, 0.25, 0.5, 0.75, 0.95};

void plot_box(struct verdict *v, struct plot *p, const char *label, const struct hist *h)
{
    double box[COUNT_OF(quantiles)];
    for (size_t i = 0; i < COUNT_OF(quantiles); i++)
        box[i] = hist_quantile(h, quantiles[i]);
    plot_row(v, p, label, box, COUNT_OF(box));
}
