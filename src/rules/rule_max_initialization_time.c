/* SPDX-License-Identifier: Apache-2.0 */
/* MaxInitializationTime: the job ran for long before its first step. */
#include <math.h>

#include "base/mem.h"
#include "rules/judging.h"

enum { THRESHOLD };

static const struct param params[] = {
    [THRESHOLD] = {"threshold", 20, 0, 100000, PARAM_MINUTES,
                   "maximum time from the start of the job to its first step"},
    {0},
};

/* Without a word of the framework nothing is known about steps either. */
struct rule_max_initialization_time_state {
    bool heard;
};

static void rule_max_initialization_time_events(void *state, const struct rule_view *c,
                                                const struct rule_event *v, size_t n)
{
    (void)c;
    (void)v;
    ((struct rule_max_initialization_time_state *)state)->heard |= n > 0;
}

/* ---- judging ---- */

static bool was_heard(const struct judge *j)
{
    for (size_t i = 0; i < j->n_nodes; i++)
        if (((const struct rule_max_initialization_time_state *)j->nodes[i].state)->heard)
            return true;
    return j->run->has_steps;
}

static void rule_max_initialization_time_find(const struct judge *j, struct verdict *v,
                                              wall_ns until, double took_s)
{
    char took[32], limit[32];
    const double limit_s = j->p[THRESHOLD].v * 60;
    struct finding *f = verdict_find(v, "", "");
    finding_when(v, f, &(struct time_range){j->run->job_start, until}, 1);
    duration_text(took_s, took, sizeof took);
    duration_text(limit_s, limit, sizeof limit);
    if (j->run->has_steps)
        finding_say(v, f, "the first step began %s after the start of the job (threshold %s)", took,
                    limit);
    else
        finding_say(v, f, "no step began within %s of the start of the job (threshold %s)", took,
                    limit);
    f->refute =
        "the hooks cannot detect the steps of this program; mark them with footplate.step()";
    finding_number(v, f, "initialization", took_s, "s");
    finding_number(v, f, "threshold", limit_s, "s");
    f->lost_s = took_s;
    f->lost_gpu_s = judge_gpus(j) ? took_s * (double)judge_gpus(j) : NAN;
    v->triggered = v->violations = 1;
    v->last_triggered = until;
}

static void rule_max_initialization_time_judge(const struct judge *j, struct verdict *out)
{
    const wall_ns until = j->run->has_steps ? j->run->loop_start : j->run->job_end;
    const double took_s = (double)(until.ns - j->run->job_start.ns) / 1e9;
    char took[32];
    out->datapoints = 1;
    if (!was_heard(j)) {
        out->datapoints = 0;
        verdict_not_evaluated(
            out, "no framework events were recorded, so the time of the first step is not known");
        return;
    }
    if (took_s > j->p[THRESHOLD].v * 60) {
        rule_max_initialization_time_find(j, out, until, took_s);
        return;
    }
    duration_text(took_s, took, sizeof took);
    if (j->run->has_steps)
        verdict_why(out, "the first step began %s after the start of the job", took);
    else if (j->run->ended)
        verdict_not_evaluated(out, "the job ended after %s without a step", took);
    else
        verdict_why(out, "no step yet, %s after the start of the job", took);
}

static const struct number_label labels[] = {
    {"initialization", "Initialization time"},
    {"threshold", "Threshold"},
    {0},
};

const struct rule rule_max_initialization_time = {
    .name = "MaxInitializationTime",
    .title = "Initialization time",
    .description = "Checks the time from the start of the job to its first step.",
    .recommendation = "Stream or cache the data instead of copying it first. Keep container images "
                      "and compiled graphs cached.",
    .params = params,
    .labels = labels,
    .patience = -1,
    .whole_job = true,
    .state_size = sizeof(struct rule_max_initialization_time_state),
    .events = rule_max_initialization_time_events,
    .judge = rule_max_initialization_time_judge,
};
