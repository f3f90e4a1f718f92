/* SPDX-License-Identifier: Apache-2.0 */
/* rank_time.c - see rank_time.h. */
#include "rules/rank_time.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "query/steps.h"

/* ---- sums ---- */

static void rank_time_add_step(struct rank_time *t, const struct step *s)
{
    const int64_t iteration_ns = step_iteration_ns(s);
    t->steps++;
    t->step_ns += s->dur_ns;
    t->iteration_ns += iteration_ns < 0 ? s->dur_ns : iteration_ns;
    t->between_sync_ns += iteration_ns < 0 ? 0 : s->between_sync_ns;
    for (size_t k = 0; k < STEP_PARTS_MOST; k++)
        t->part_ns[k] += s->part_ns[k];
}

void rank_time_add(struct rank_time *t, wall_ns from, const struct step *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].mode == MODE_TRAIN && step_is_steady(&v[i]) && v[i].start.ns >= from.ns)
            rank_time_add_step(t, &v[i]);
}

/* ---- seconds ---- */

double rank_time_iterations_s(const struct rank_time *t)
{
    return (double)t->iteration_ns / 1e9;
}

double rank_time_part_s(const struct rank_time *t, const char *part)
{
    for (size_t k = 0; k < step_parts(); k++)
        if (strcmp(step_part_name(k), part) == 0)
            return (double)t->part_ns[k] / 1e9;
    return 0;
}

double rank_time_waits_s(const struct rank_time *t)
{
    return rank_time_part_s(t, event_words[EV_SYNC].part) + (double)t->between_sync_ns / 1e9;
}

double rank_time_launch_s(const struct rank_time *t)
{
    static const enum event_id others[] = {EV_DATA, EV_SYNC, EV_COMM, EV_COMPILE, EV_CHECKPOINT};
    double s = (double)t->step_ns / 1e9;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        s -= rank_time_part_s(t, event_words[others[i]].part);
    return fmax(s, 0);
}

/* ---- the loop ---- */

double judge_steady_s(const struct judge *j)
{
    const int64_t from = MAX_OF(j->run->steady_start.ns, j->run->loop_start.ns);
    return (double)(j->run->loop_end.ns - from) / 1e9;
}

double rank_time_gpu_use(const struct judge *j, const struct rank_time *t, double mean)
{
    const double launch_s = rank_time_launch_s(t);
    if (isnan(mean) || launch_s <= 0)
        return NAN;
    return fmin(mean * judge_steady_s(j) / launch_s, 100);
}
