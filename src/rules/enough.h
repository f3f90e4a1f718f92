/* SPDX-License-Identifier: Apache-2.0 */
/* enough.h - whether there is enough to judge, and the sentence that says that there is not. */
#ifndef RULES_ENOUGH_H
#define RULES_ENOUGH_H

#include "rules/rule.h"

/* Whether no node has `least` sweeps that count; then the verdict is "needs 1000 data points, has
 * 312", patience included where it applied, or "needs 20 data points of the training loop, has 7"
 * where what came before the loop does not count. */
bool judge_is_short(const struct judge *j, uint64_t least, struct verdict *out);

#endif
