/* SPDX-License-Identifier: Apache-2.0 */
/* enough.h - whether there is enough to judge, and the sentence that says that there is not. */
#ifndef RULES_ENOUGH_H
#define RULES_ENOUGH_H

#include "rules/rule.h"

/* Whether no node has `least` sweeps that count; then the verdict is "needs 1000 readings (500 s),
 * has 312", patience included where it applied, or "needs 20 readings of the training loop (10 s),
 * has 7" where what came before the loop does not count. */
bool judge_is_short(const struct judge *j, uint64_t least, struct verdict *out);
/* " (50 s of training)": how long taking so many readings lasts; "" where that is not known. */
const char *judge_time_of(const struct judge *j, uint64_t readings, bool training);

#endif
