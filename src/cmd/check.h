/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - the evaluation of rules by `footplate check` and `footplate report`: settings, prices,
 * which rules are shown, the verdicts. */
#ifndef CMD_CHECK_H
#define CMD_CHECK_H

#include "cmd/cmd.h"
#include "query/run.h"
#include "rules/feed_run.h"
#include "userrules/user_rules.h"

/* Options of the commands that evaluate rules. */
#define OPT_ROW_MACHINE                                                                            \
    "machine", 0, "NAME", OPT_STRING,                                                              \
        .help = "Override the machine type; its price is looked up in the machine table."
#define OPT_ROW_PRICE                                                                              \
    "price", 0, "PER_HOUR", OPT_STRING, .help = "Override the hourly price of each node."
#define OPT_ROW_RULE_CONFIG                                                                        \
    "config", 0, "FILE", OPT_FILE,                                                                 \
        .help = "Read rule settings from this file (default: footplate.yaml in the current "       \
                "folder)."
#define OPT_ROW_RULE_FILE                                                                          \
    "rule-file", 0, "FILE", OPT_FILE, .repeat = true, .help = "Custom rules in Python."
#define OPT_ROW_RULE_LIMIT                                                                         \
    "rule-limit", 0, "TIME", OPT_DURATION, .lo = NS_PER_S / 10, .hi = 3600 * NS_PER_S,             \
                                           .otherwise = "60s",                                     \
                                           .help = "Time limit for each Python rule."

struct check {
    const struct run_info *info;
    struct arena *arena;
    struct rule_params params;
    struct pricing pricing;
    struct checked checked;
    const struct right_size *right_size; /* NULL: none is proposed */
    bool shown[RULE_N];                  /* by --rule */
    bool unsupported[RULES_UNSUPPORTED]; /* named by the user */
    const struct opt_value *requested;   /* --rule: the names of rules to show; none: all */
    struct user_rule_set user;
    struct verdict *v; /* all that are shown: those of rules.def, then the user's */
    const struct param_value **p;
    size_t n_v;
};

/* In the arena of the arguments, with the parameters and custom rules of footplate.yaml, the
 * environment and the options. */
MUST_CHECK int check_open(struct check **out, const struct cmd_args *args, struct err *e);
/* Loads the table of machines and applies --machine and --price; both may be NULL. */
MUST_CHECK int check_choose_pricing(struct check *c, const char *machine, const char *price,
                                    struct err *e);
MUST_CHECK int check_choose_rules(struct check *c, const struct opt_value *requested,
                                  struct err *e);
/* Fills c->v after the built-in rules were evaluated; evaluates the user's rules. */
MUST_CHECK int check_collect(struct check *c, struct run *r, struct err *e);

#endif
