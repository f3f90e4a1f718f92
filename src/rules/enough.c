/* SPDX-License-Identifier: Apache-2.0 */
/* enough.c - see enough.h. */
#include "rules/enough.h"

#include "base/human.h"
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

const char *judge_time_of(const struct judge *j, uint64_t readings, bool training)
{
    int64_t period_ns = 0;
    char took[HUMAN_LEN];
    for (size_t i = 0; i < j->n_nodes; i++)
        period_ns = MAX_OF(period_ns, j->nodes[i].facts->period_ns);
    if (period_ns <= 0)
        return "";
    const double s = (double)readings * (double)period_ns / 1e9;
    return arena_printf(j->arena, " (%s%s)", human_value(s, "s", took, sizeof took),
                        training && j->run->has_steps ? " of training" : "");
}

bool judge_is_short(const struct judge *j, uint64_t least, struct verdict *out)
{
    uint64_t has = 0, patience = 0, before = 0;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct judged_node *n = &j->nodes[i];
        const uint64_t waits = patience_of(j, n);
        if (n->sweeps >= least)
            return false;
        has = MAX_OF(has, n->sweeps + (waits ? n->before : 0));
        patience = MAX_OF(patience, waits);
        before = MAX_OF(before, n->before);
    }
    const uint64_t needed = has < patience ? patience : patience + least;
    verdict_not_evaluated(out, "needs %llu readings%s%s, has %llu", (unsigned long long)needed,
                          before && !patience ? " of the training loop" : "",
                          judge_time_of(j, needed, !patience && !before), (unsigned long long)has);
    return true;
}
