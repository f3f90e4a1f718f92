/* SPDX-License-Identifier: Apache-2.0 */
/* rightsize_advise.h - right-sizing (cost/rightsize.h) of a run that was evaluated. */
#ifndef RULES_RIGHTSIZE_ADVISE_H
#define RULES_RIGHTSIZE_ADVISE_H

#include "cost/rightsize.h"
#include "rules/feed_run.h"

/* NULL for a run of less than a minute, too. The verdicts about use get the advice. */
const struct right_size *rightsize_advise(struct checked *c, const struct machines *t,
                                          struct arena *a);

#endif
