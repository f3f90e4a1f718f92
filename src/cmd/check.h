/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - what `footplate check` found, for the files that print it. */
#ifndef CMD_CHECK_H
#define CMD_CHECK_H

#include "query/run.h"
#include "rules/rightsize.h"

struct check {
    const struct run_info *info;
    struct arena *arena;
    struct rule_params params;
    struct pricing pricing;
    struct checked checked;
    const struct right_size *right_size; /* NULL: none is proposed */
    bool shown[RULE_N];                  /* that the user asked for */
};

void check_text(const struct check *c);
void check_json(const struct check *c);
void check_csv(const struct check *c);
/* One JSON file per rule in `folder`, in the shapes of SageMaker's rule outputs. */
MUST_CHECK int check_sagemaker(const struct check *c, const char *folder, struct err *e);

#endif
