/* SPDX-License-Identifier: Apache-2.0 */
/* boxes.h - rows of a PLOT_BOX. */
#ifndef RULES_BOXES_H
#define RULES_BOXES_H

#include "rules/hist.h"
#include "rules/verdict.h"

/* p5, p25, p50, p75, p95 of the values. */
void plot_box(struct verdict *v, struct plot *p, const char *label, const struct hist *h);

#endif
