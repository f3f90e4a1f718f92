/* SPDX-License-Identifier: Apache-2.0 */
/* import_ours.h - an export of ours made into the run that it was. */
#ifndef CMD_IMPORT_OURS_H
#define CMD_IMPORT_OURS_H

#include "cmd/importing.h"

/* Whether the one file to import is an export of ours; then nothing else is. What it is, is kept.
 */
bool import_is_ours(struct folder *from);
/* The run as `home`/`id` ("": a new name); `m` gets what import_print.h prints of it. */
MUST_CHECK int import_ours(struct importing *m, struct folder *from, const char *home,
                           const char *id, const char *name, struct rundir *dir, struct err *e);

#endif
