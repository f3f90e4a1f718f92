/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_json.h - verdicts and the catalogue of rules as JSON, for all that report them; see
 * verdict_rows.def. */
#ifndef RULES_VERDICT_JSON_H
#define RULES_VERDICT_JSON_H

#include "base/row_table.h"
#include "rules/engine.h"
#include "rules/rule.h"

extern const struct row_table row_Verdict, row_Rule, row_RightSize;

/* One object. `p`: the values that the rule was evaluated with. */
void verdict_json(struct jw *j, const char *key, const struct verdict *v,
                  const struct param_value *p);
/* A rule of the catalogue, as one object. */
void rule_json(struct jw *j, const char *key, const struct rule *r);
/* As one object; NULL: null. */
void right_size_json(struct jw *j, const char *key, const struct right_size *r);

/* ---- reading ---- */

/* Verdicts that another process wrote as JSON: rules in Python, and verdict_json.
 *
 * They may come from rules that users wrote: anything may be missing or of another type. */

/* A verdict, and the values that it was evaluated with. */
struct hosted {
    struct verdict v;
    const struct param_value *p;
};

/* {"verdicts": [...]}, or {"error": text}, which is ERR_USAGE. Everything lives in the arena. */
MUST_CHECK int verdicts_read(const char *text, size_t len, struct arena *a, struct hosted **out,
                             size_t *n, struct err *e);

/* ---- the file of a run ---- */

/* Findings.json of a run: the results of all rules when they were last evaluated. */

/* `own`: of user rules. The file is replaced whole or not at all. */
MUST_CHECK int findings_write(const char *folder, const struct verdicts *v,
                              const struct rule_params *p, const struct hosted *own, size_t n_own,
                              struct err *e);

#endif
