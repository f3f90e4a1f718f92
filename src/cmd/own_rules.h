/* SPDX-License-Identifier: Apache-2.0 */
/* own_rules.h - rules of the user's own, of both kinds: a few lines of settings, or Python. */
#ifndef CMD_OWN_RULES_H
#define CMD_OWN_RULES_H

#include "cmd/custom_rules.h"
#include "cmd/rules_host.h"
#include "query/run.h"

struct settings;

struct own_rules {
    struct custom_list custom;
    const char *const *files; /* in Python */
    size_t n_files;
    const char **sets; /* values for the parameters of those */
    size_t n_sets;
    int64_t limit_ns; /* for each of those */
};

#define OWN_RULE_LIMIT_NS (60 * NS_PER_S)

/* The files of the settings; their texts live as long as those. */
void own_rules_files(struct own_rules *o, const struct settings *s, struct arena *a);
/* Keeps "Rule.param=value" when it is for a rule in Python: none of ours has that name. */
bool own_rules_set(struct own_rules *o, const char *text, struct arena *a);
bool own_rules_any(const struct own_rules *o);

/* Evaluates all. What is wrong with one rule is its verdict. */
MUST_CHECK int own_rules_check(const struct own_rules *o, struct run *r, struct arena *a,
                               struct hosted **out, size_t *n, struct err *e);

#endif
