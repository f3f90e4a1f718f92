/* SPDX-License-Identifier: Apache-2.0 */
/* params.h - parameters of rules: bounded, with a unit and a sentence, set by users as
 * "Rule.param=value" or "ProfilerReport.Rule_param=value". */
#ifndef RULES_PARAMS_H
#define RULES_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum param_unit {
    PARAM_PERCENT,
    PARAM_POINTS, /* sweeps; a duration ("60s") is fine too */
    PARAM_COUNT,
    PARAM_SECONDS, /* plain numbers are seconds; "20min" is fine too */
    PARAM_MINUTES,
    PARAM_RATIO,
    PARAM_SIGMAS,
    PARAM_WORD, /* one of `words` */
    PARAM_UNIT_N
};

struct param {
    const char *name; /* NULL ends the table */
    double otherwise, lo, hi;
    enum param_unit unit;
    const char *help;
    const char *const *words; /* of PARAM_WORD: ends with NULL; values count from 0 */
};

struct param_value {
    double v;         /* in the unit; of a PARAM_POINTS given as a duration: nanoseconds */
    bool is_duration; /* see v */
    bool set;         /* by the user */
};

/* "%", "readings", "s", ...; "" for counts, ratios and words. */
const char *param_unit_name(enum param_unit u);
/* "70 %", "1000 readings", "24 h", "train": as people read it. Returns buf. */
enum { PARAM_TEXT_LEN = 48 };
const char *param_text(const struct param *p, const struct param_value *v, char *buf, size_t size);
/* PARAM_POINTS as points at this period, at least 1. */
int64_t param_points(const struct param_value *p, int64_t period_ns);
/* PARAM_POINTS as time at this period. */
int64_t param_ns(const struct param_value *p, int64_t period_ns);

struct rule;

enum { RULE_PARAMS_MOST = 12 };

/* Values of all rules' parameters: v[enum rule_id][index]. */
struct rule_params {
    struct param_value (*v)[RULE_PARAMS_MOST];
};

/* All defaults, in the arena. */
void rule_params_init(struct rule_params *p, struct arena *a);
/* "CPUBottleneck.threshold=40" or "ProfilerReport.CPUBottleneck_threshold=40". ERR_USAGE with a
 * sentence that names what exists; nothing has changed then. Rules and parameters of SageMaker
 * Debugger that have no use here are accepted: rule.h. */
MUST_CHECK int rule_params_set(struct rule_params *p, const char *text, struct err *e);
/* The same from a name and a value. */
MUST_CHECK int rule_params_set_one(struct rule_params *p, const char *rule, const char *param,
                                   const char *value, struct err *e);

#endif
