/* SPDX-License-Identifier: Apache-2.0 */
/* ship_targets.h - the targets that ship.c selects by their address. */
#ifndef SHIP_SHIP_TARGETS_H
#define SHIP_SHIP_TARGETS_H

#include "ship/ship.h"

MUST_CHECK int ship_hub_check(const struct ship_target_ask *ask, struct err *e);
MUST_CHECK int ship_hub_open(struct ship_target **out, const struct ship_target_ask *ask,
                             const char *run, struct err *e);
MUST_CHECK int ship_s3_check(const struct ship_target_ask *ask, struct err *e);
MUST_CHECK int ship_s3_open(struct ship_target **out, const struct ship_target_ask *ask,
                            const char *run, struct err *e);

/* The error of a target that does not have what was removed here. */
int ship_gone(struct ship_target *t, const struct ship_file *f, struct err *e);
/* The error of a target that has a run of another job under this name. */
int ship_another_run(struct ship_target *t, const char *run, struct err *e);

#endif
