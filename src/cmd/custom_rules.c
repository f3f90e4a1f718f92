/* SPDX-License-Identifier: Apache-2.0 */
/* custom_rules.c - see custom_rules.h. */
#include "cmd/custom_rules.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "config/settings.h"

static_assert((int)CUSTOM_MOST >= (int)CUSTOM_RULES_MOST,
              "room for all that the settings can hold");

bool custom_list_has(const struct custom_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].name, name) == 0)
            return true;
    return false;
}

int custom_list_add(struct custom_list *l, const struct action_setting *from, struct err *e)
{
    struct custom_rule r = custom_rule_new();
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < from->n; i++)
        rc = custom_rule_set(&r, from->v[i].key, from->v[i].value, e);
    if (rc == 0)
        rc = custom_rule_done(&r, e);
    if (rc == 0 && custom_list_has(l, r.name))
        rc = err_set(e, ERR_USAGE, "custom rule '%s' is already defined", r.name);
    if (rc != 0)
        return err_in(e, "%s", from->from.where);
    l->v[l->n++] = r;
    return 0;
}
