/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_words.c - see verdict_words.h. */
#include "cmd/verdict_words.h"

#include <math.h>
#include <stdlib.h>

#include "base/human.h"

static double cost_of(const struct verdict *v)
{
    return isnan(v->lost_s) ? -1 : v->lost_s;
}

static int by_cost(const void *a, const void *b)
{
    const struct verdict *x = *(const struct verdict *const *)a,
                         *y = *(const struct verdict *const *)b;
    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    if (cost_of(x) != cost_of(y))
        return cost_of(x) > cost_of(y) ? -1 : 1;
    return (x > y) - (x < y);
}

void verdicts_worst_first(const struct verdict **v, size_t n)
{
    qsort(v, n, sizeof *v, by_cost);
}

void verdict_size_words(struct buf *b, const struct verdict *v, bool has_steps)
{
    char lost[HUMAN_LEN];
    buf_printf(b, "%s", severity_names[v->severity]);
    if (!isnan(v->lost_s))
        buf_printf(b, ", %s lost", duration_text(v->lost_s, lost, sizeof lost));
    if (!isnan(v->lost_share))
        buf_printf(b, ", %.1f %% of the %s", v->lost_share * 100,
                   has_steps ? "training loop" : "job");
    if (!isnan(v->lost_cost))
        buf_printf(b, ", at a cost of %.2f", v->lost_cost);
}
