/* SPDX-License-Identifier: Apache-2.0 */
/* judging.c - see judging.h. */
#include "rules/judging.h"

#include "base/human.h"

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

const char *rank_entity(const struct judge *j, const struct rank_sight *who)
{
    return arena_printf(j->arena, "rank %lld", (long long)who->rank);
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
