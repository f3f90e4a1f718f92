/* SPDX-License-Identifier: Apache-2.0 */
/* python_host.h - evaluates rules written in Python, in a separate process. */
#ifndef USERRULES_PYTHON_HOST_H
#define USERRULES_PYTHON_HOST_H

#include "rules/verdict_json.h"

struct python_host_ask {
    const char *const *files; /* of the rules, one at least */
    size_t n_files;
    const char *run;         /* folder */
    const char *const *sets; /* "Rule.param=value" for them */
    size_t n_sets;
    const char *const *only; /* the names of rules to evaluate; none: all */
    size_t n_only;
    int64_t limit_ns; /* for each rule */
};

/* A failure of a rule, or of Python, becomes a verdict with the reason. ERR_USAGE when one of
 * `sets` is invalid. */
MUST_CHECK int python_host_check(const struct python_host_ask *ask, struct arena *a,
                                 struct hosted **out, size_t *n, struct err *e);

#endif
