/* SPDX-License-Identifier: Apache-2.0 */
/* judging.h - what several rules ask when they judge. */
#ifndef RULES_JUDGING_H
#define RULES_JUDGING_H

#include "rules/rule.h"

/* What several rules ask when they judge. */

/* GPUs of all nodes. */
size_t judge_gpus(const struct judge *j);
/* Where the loop begins that rules are about: after its warm-up, or with its first step where all
 * of it is warm-up. */
wall_ns judge_loop_start(const struct judge *j);
double judge_counted_s(const struct judge *j); /* from there to the end of the loop */
double judge_loop_s(const struct judge *j);    /* with its warm-up */
double judge_job_s(const struct judge *j);
/* At least a second and 1 % of the job: less is never more than information, and to most rules no
 * finding. */
bool run_is_much(const struct run_facts *run, double seconds);
bool judge_is_much(const struct judge *j, double seconds);
/* "rank 3"; `rank` begins with a rank_head. */
const char *rank_entity(const struct judge *j, const void *rank);
/* "node1 gpu0"; `gpu` begins with a gpu_head. */
const char *judge_gpu_name(const struct judge *j, const struct judged_node *node, const void *gpu);

/* Of the verdicts by enum rule_id: the title of the first rule that found what holds the run back,
 * and more than a little; NULL: none did. Low use, and room for a larger batch, only say that there
 * is room. */
const char *held_back_by(const struct verdict *v);

/* "47.5 ms", in the judge's arena. */
const char *judge_time(const struct judge *j, double seconds);

/* ---- enough readings ---- */

/* Whether there is enough to judge, and the sentence that says that there is not. */

/* Whether no node has `least` sweeps that count; then the verdict is "needs 1000 readings (500 s),
 * has 312", patience included where it applied, or "needs 20 readings of the training loop (10 s),
 * has 7" where what came before the loop does not count. */
bool judge_is_short(const struct judge *j, uint64_t least, struct verdict *out);
/* " (50 s of training)": how long taking so many readings lasts; "" where that is not known. */
const char *judge_time_of(const struct judge *j, uint64_t readings, bool training);

#endif
