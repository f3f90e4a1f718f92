/* SPDX-License-Identifier: Apache-2.0 */
/* findings_file.h - findings.json of a run: what all rules said when they were last evaluated. */
#ifndef RULES_FINDINGS_FILE_H
#define RULES_FINDINGS_FILE_H

#include "rules/engine.h"
#include "rules/verdict_read.h"

/* `own`: of rules of the user's own. The file is replaced whole or not at all. */
MUST_CHECK int findings_write(const char *folder, const struct verdicts *v,
                              const struct rule_params *p, const struct hosted *own, size_t n_own,
                              struct err *e);

#endif
