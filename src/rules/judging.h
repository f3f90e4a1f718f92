/* SPDX-License-Identifier: Apache-2.0 */
/* judging.h - what several rules ask when they judge. */
#ifndef RULES_JUDGING_H
#define RULES_JUDGING_H

#include "rules/rule.h"

/* GPUs of all nodes. */
size_t judge_gpus(const struct judge *j);
double judge_loop_s(const struct judge *j);
double judge_job_s(const struct judge *j);
/* "rank 3" */
const char *rank_entity(const struct judge *j, const struct rank_sight *who);

/* "47.5 ms", in the judge's arena. */
const char *judge_time(const struct judge *j, double seconds);

#endif
