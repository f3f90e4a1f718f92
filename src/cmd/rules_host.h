/* SPDX-License-Identifier: Apache-2.0 */
/* rules_host.h - rules written in Python, evaluated in a process of their own. */
#ifndef CMD_RULES_HOST_H
#define CMD_RULES_HOST_H

#include "rules/verdict_json.h"

struct rules_host_ask {
    const char *const *files; /* of the rules, one at least */
    size_t n_files;
    const char *run;         /* folder */
    const char *const *sets; /* "Rule.param=value" for them */
    size_t n_sets;
    const char *const *only; /* the names of rules to evaluate; none: all */
    size_t n_only;
    int64_t limit_ns; /* for each rule */
};

/* What goes wrong with a rule, or with Python, is a verdict that says so. ERR_USAGE when one of
 * `sets` is wrong. */
MUST_CHECK int rules_host_check(const struct rules_host_ask *ask, struct arena *a,
                                struct hosted **out, size_t *n, struct err *e);

#endif
