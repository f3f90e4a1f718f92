/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_words.c - see verdict_words.h. */
#include "view/verdict_words.h"

#include <math.h>

#include "base/human.h"

static double cost_of(const struct verdict *v)
{
    return isnan(v->lost_s) ? -1 : v->lost_s;
}

static bool is_worse(const struct verdict *x, const struct verdict *y)
{
    return x->severity != y->severity ? x->severity > y->severity : cost_of(x) > cost_of(y);
}

/* By insertion: they are few, and equal ones keep their order. */
void verdicts_worst_first(const struct verdict **v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct verdict *one = v[i];
        size_t at = i;
        for (; at > 0 && is_worse(one, v[at - 1]); at--)
            v[at] = v[at - 1];
        v[at] = one;
    }
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
