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

double judge_loop_s(const struct judge *j)
{
    return (double)(j->run->loop_end.ns - j->run->loop_start.ns) / 1e9;
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
