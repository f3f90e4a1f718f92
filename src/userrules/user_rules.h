/* SPDX-License-Identifier: Apache-2.0 */
/* user_rules.h - rules that users define: a few lines of settings (custom rules), or Python files.
 *
 * user_rules_files, any number of user_rules_set and user_rules_add, then user_rules_check on any
 * number of runs. Texts live as long as the settings they come from. */
#ifndef USERRULES_USER_RULES_H
#define USERRULES_USER_RULES_H

#include "query/run.h"
#include "rules/custom.h"
#include "rules/verdict_json.h"

struct action_setting;
struct settings;

struct user_rule_set {
    struct custom_rule custom[CUSTOM_MOST];
    size_t n_custom;
    const char *const *files; /* in Python */
    size_t n_files;
    const char **sets; /* "Rule.param=value" for those */
    size_t n_sets;
    int64_t limit_ns;        /* for each of those */
    const char *const *only; /* the names of rules to evaluate; none: all */
    size_t n_only;
};

#define USER_RULE_LIMIT_NS (60 * NS_PER_S)

/* Sets the files of the settings. */
void user_rules_files(struct user_rule_set *u, const struct settings *s, struct arena *a);
/* Adds a custom rule. ERR_USAGE, with its place in the settings, when it is invalid. */
MUST_CHECK int user_rules_add(struct user_rule_set *u, const struct action_setting *from,
                              struct err *e);
/* Takes "Rule.param=value" if it is for a rule in Python: no built-in rule has that name. */
bool user_rules_set(struct user_rule_set *u, const char *text, struct arena *a);
bool user_rules_any(const struct user_rule_set *u);
/* Whether the custom rules contain this name. */
bool user_rules_has(const struct user_rule_set *u, const char *name);

/* What the custom rules of a set found in a run that grows. A zeroed one is ready. */
struct user_rules_memory {
    struct custom_memory custom[CUSTOM_MOST];
};
void user_rules_forget(struct user_rules_memory *m);

/* Evaluates all. What is wrong with one rule is its verdict. Custom rules read only what is new
 * since the last time with `m`; NULL: all. Rules in Python are code, which reads what it likes. */
MUST_CHECK int user_rules_check(const struct user_rule_set *u, struct user_rules_memory *m,
                                struct run *r, struct arena *a, struct hosted **out, size_t *n,
                                struct err *e);

#endif
