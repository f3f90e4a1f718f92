/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_read.h - verdicts that another process wrote as JSON: rules in Python, and verdict_json.
 *
 * They may come from rules that users wrote: anything may be missing or of another type. */
#ifndef RULES_VERDICT_READ_H
#define RULES_VERDICT_READ_H

#include "rules/rule.h"

/* A verdict, and the values that it was evaluated with. */
struct hosted {
    struct verdict v;
    const struct param_value *p;
};

/* {"verdicts": [...]}, or {"error": text}, which is ERR_USAGE. Everything lives in the arena. */
MUST_CHECK int verdicts_read(const char *text, size_t len, struct arena *a, struct hosted **out,
                             size_t *n, struct err *e);

#endif
