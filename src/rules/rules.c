/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - the list of rules, and the events that they receive. */
#include <string.h>

#include "base/vec.h"
#include "rules/rule.h"
#include "rules/rule_input.h"

#define RULE(id) [RULE_##id] = &rule_##id,
const struct rule *const rules[RULE_N] = {
#include "rules/rules.def"
};
#undef RULE

const struct rule *rule_find(const char *name)
{
    const char *known = rule_of_documented(name, NULL);
    const size_t at = FIND_FIRST(i, RULE_N, strcmp(rules[i]->name, known) == 0);
    return at < RULE_N ? rules[at] : NULL;
}

const char *rule_title(const char *name)
{
    const struct rule *r = rule_find(name);
    return r ? r->title : name;
}

const struct param_value *rule_patience(const struct rule *r, const struct param_value *p)
{
    for (size_t i = 0; !r->whole_job && r->params && r->params[i].name; i++)
        if (strcmp(r->params[i].name, "patience") == 0)
            return &p[i];
    return NULL;
}

/* Which events reach rules as `struct rule_event`. */

bool rules_want_event(enum event_id id)
{
    switch (id) {
    case EV_HOOKED:
    case EV_STEPS_TOTAL: /* that of `show` and `top` */
    case EV_CHECKPOINT:
    case EV_CUDA_PEAK: /* the report's */
    case EV_CUDA_RESERVED:
    case EV_CUDA_TF32:
    case EV_CUDA_ALLOCATED:
    case EV_DETAIL:
    case EV_FETCH:
    case EV_LOADER_START:
    case EV_LOADER_WORKERS:
    case EV_LOADER_BATCH:
    case EV_LOADER_PREFETCH:
    case EV_LOADER_PIN:
    case EV_LOADER_PERSISTENT:
    case EV_LOADER_MEMORY:
    case EV_LOADER_OF:
    case EV_LOADER_QUEUE:
    case EV_COMPILE:
    case EV_CPU_PROCESS:
    case EV_CPU_THREAD:
    case EV_CPU_DELAY:
    case EV_CPU_SWITCHES:
    case EV_CPU_BESIDE:
        return true;
    default:
        return false;
    }
}
