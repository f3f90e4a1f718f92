/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_json.h - verdicts and the catalogue of rules as JSON, for all who hand them out; see
 * verdict_rows.def. */
#ifndef RULES_VERDICT_JSON_H
#define RULES_VERDICT_JSON_H

#include "base/row_table.h"
#include "rules/engine.h"

extern const struct row_table row_Verdict, row_Rule, row_RightSize;

/* One object. `p`: the values that the rule was evaluated with. */
void verdict_json(struct jw *j, const char *key, const struct verdict *v,
                  const struct param_value *p);
/* A rule of the catalogue, as one object. */
void rule_json(struct jw *j, const char *key, const struct rule *r);
/* As one object; NULL: null. */
void right_size_json(struct jw *j, const char *key, const struct right_size *r);

#endif
