/* SPDX-License-Identifier: Apache-2.0 */
/* enough.c - see enough.h. */
#include "rules/enough.h"

#include "base/mem.h"

/* The sweeps of a node that were left out on purpose. */
static uint64_t patience_of(const struct judge *j, const struct judged_node *n)
{
    if (j->rule->patience < 0 || n->facts->period_ns <= 0)
        return 0;
    const struct param_value *p = &j->p[j->rule->patience];
    if (p->v <= 0 || (j->run->has_steps && !p->set))
        return 0;
    return (uint64_t)param_points(p, n->facts->period_ns);
}

bool judge_is_short(const struct judge *j, uint64_t least, struct verdict *out)
{
    uint64_t has = 0, patience = 0;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct judged_node *n = &j->nodes[i];
        if (n->sweeps >= least)
            return false;
        has = MAX_OF(has, n->sweeps + n->before);
        patience = MAX_OF(patience, patience_of(j, n));
    }
    verdict_not_evaluated(out, "needs %llu data points, has %llu",
                          (unsigned long long)(has < patience ? patience : patience + least),
                          (unsigned long long)has);
    return true;
}
