/* SPDX-License-Identifier: Apache-2.0 */
/* MaxInitializationTime: the job ran for long before its first step. */
#include <math.h>

#include "base/mem.h"
#include "rules/per_entity.h"

enum { THRESHOLD }; /* parameters */

/* Without a word of the framework nothing is known about steps either. */
struct init_state {
    bool heard;
};

static void init_events(void *state, const struct rule_view *c, const struct rule_event *v,
                        size_t n)
{
    (void)c;
    (void)v;
    ((struct init_state *)state)->heard |= n > 0;
}

/* ---- judging ---- */

static void init_find(const struct judge *j, struct verdict *v, wall_ns until, double took_s)
{
    const double limit_s = j->p[THRESHOLD].v * 60;
    struct finding *f = verdict_find(v, "", "");
    finding_when(v, f, &(struct time_range){j->run->job_start, until}, 1);
    if (j->run->has_steps)
        finding_say(v, f, "the first step began %s after the start of the job (threshold %s)",
                    judge_time(j, took_s), judge_time(j, limit_s));
    else
        finding_say(v, f, "no step began within %s of the start of the job (threshold %s)",
                    judge_time(j, took_s), judge_time(j, limit_s));
    f->refute =
        "the hooks cannot detect the steps of this program; mark them with footplate.step()";
    FINDING_NUMBERS(v, f, took_s, limit_s);
    finding_lost(f, took_s, judge_gpus(j));
    finding_count(v, f, 1, 1);
}

static void init_judge(const struct judge *j, struct verdict *out)
{
    const wall_ns until = j->run->has_steps ? j->run->loop_start : j->run->job_end;
    const double took_s = wall_span_s(j->run->job_start, until);
    bool heard = j->run->has_steps;
    for (size_t i = 0; i < j->n_nodes; i++)
        heard |= ((const struct init_state *)j->nodes[i].state)->heard;
    out->datapoints = heard;
    if (!heard)
        verdict_not_evaluated(
            out, "no framework events were recorded, so the time of the first step is not known");
    else if (took_s > j->p[THRESHOLD].v * 60)
        init_find(j, out, until, took_s);
    else if (j->run->has_steps)
        verdict_why(out, "the first step began %s after the start of the job",
                    judge_time(j, took_s));
    else if (j->run->ended)
        verdict_not_evaluated(out, "the job ended after %s without a step", judge_time(j, took_s));
    else
        verdict_why(out, "no step yet, %s after the start of the job", judge_time(j, took_s));
}

const struct rule rule_max_initialization_time = {
    .name = "MaxInitializationTime",
    .title = "Initialization time",
    .description = "Checks the time from the start of the job to its first step.",
    .recommendation = "Stream or cache the data instead of copying it first. Keep container images "
                      "and compiled graphs cached.",
    RULE_PARAMS([THRESHOLD] = {"threshold", 20, 0, 100000, PARAM_MINUTES,
                               "maximum time from the start of the job to its first step"}),
    .labels = {{"initialization", "s", "Initialization time"}, {"threshold", "s", "Threshold"}},
    .whole_job = true,
    .state_size = sizeof(struct init_state),
    .events = init_events,
    .judge = init_judge,
};
