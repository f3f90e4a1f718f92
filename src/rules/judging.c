/* SPDX-License-Identifier: Apache-2.0 */
/* judging.c - see judging.h. */
#include "rules/judging.h"

#include <string.h>

#include "base/human.h"
#include "base/mem.h"
#include "query/steps.h"
#include "rules/per_entity.h"

size_t judge_gpus(const struct judge *j)
{
    size_t n = 0;
    for (size_t i = 0; i < j->n_nodes; i++)
        n += j->nodes[i].facts->n_gpus;
    return n;
}

wall_ns judge_loop_start(const struct judge *j)
{
    const wall_ns from = j->run->steady_start;
    return from.ns > 0 && from.ns < j->run->loop_end.ns ? from : j->run->loop_start;
}

double judge_counted_s(const struct judge *j)
{
    return wall_span_s(judge_loop_start(j), j->run->loop_end);
}

double judge_loop_s(const struct judge *j)
{
    return wall_span_s(j->run->loop_start, j->run->loop_end);
}

double judge_job_s(const struct judge *j)
{
    return (double)(j->run->job_end.ns - j->run->job_start.ns) / 1e9;
}

bool run_is_much(const struct run_facts *run, double seconds)
{
    return seconds >= 1 && seconds >= wall_span_s(run->job_start, run->job_end) / 100;
}

bool judge_is_much(const struct judge *j, double seconds)
{
    return run_is_much(j->run, seconds);
}

const char *rank_entity(const struct judge *j, const void *rank)
{
    const struct rank_head *h = rank;
    return arena_printf(j->arena, "rank %lld", (long long)h->who.rank);
}

const char *judge_gpu_name(const struct judge *j, const struct judged_node *node, const void *gpu)
{
    const struct gpu_head *h = gpu;
    return arena_printf(j->arena, "%s %s", node->facts->id, h->entity);
}

const char *judge_time(const struct judge *j, double seconds)
{
    char text[HUMAN_LEN];
    const bool tiny = seconds > 0 && seconds < 1e-3; /* which would read "0 ms" */
    return arena_strdup(j->arena, tiny ? human_value(seconds, "s", text, sizeof text)
                                       : duration_text(seconds, text, sizeof text));
}

const char *held_back_by(const struct verdict *v)
{
    for (size_t k = 0; k < RULE_N; k++)
        if (!rules[k]->summary && k != RULE_low_gpu_utilization && k != RULE_batch_size &&
            v[k].severity > SEVERITY_INFO && verdict_is_cause(&v[k]))
            return rules[k]->title;
    return NULL;
}

/* ==== enough readings ==== */

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
