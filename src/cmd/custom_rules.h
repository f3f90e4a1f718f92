/* SPDX-License-Identifier: Apache-2.0 */
/* custom_rules.h - the custom rules that the settings have, understood. */
#ifndef CMD_CUSTOM_RULES_H
#define CMD_CUSTOM_RULES_H

#include "rules/custom.h"

struct action_setting;

struct custom_list {
    struct custom_rule v[CUSTOM_MOST];
    size_t n;
};

bool custom_list_has(const struct custom_list *l, const char *name);
/* Adds one. ERR_USAGE, with where it stands, when it is wrong. Its texts live as long as the
 * settings. */
MUST_CHECK int custom_list_add(struct custom_list *l, const struct action_setting *from,
                               struct err *e);

#endif
