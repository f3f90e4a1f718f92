/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - the list of rules. */
#include <string.h>

#include "rules/rule.h"

#define RULE(id) [RULE_##id] = &rule_##id,
const struct rule *const rules[RULE_N] = {
#include "rules/rules.def"
};
#undef RULE

const struct rule *rule_find(const char *name)
{
    for (size_t i = 0; i < RULE_N; i++)
        if (strcmp(rules[i]->name, name) == 0)
            return rules[i];
    return NULL;
}

const char *rule_title(const char *name)
{
    const struct rule *r = rule_find(name);
    return r ? r->title : name;
}
