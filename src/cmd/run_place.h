/* SPDX-License-Identifier: Apache-2.0 */
/* run_place.h - where a run that is made of something else is to be. */
#ifndef CMD_RUN_PLACE_H
#define CMD_RUN_PLACE_H

#include "base/file.h"

/* The folder that holds it, and its name there; "": any new one. */
struct run_place {
    char dir[PATH_LEN], id[PATH_LEN];
};

/* wanted: the folder it is to be, which must not be there; NULL: a new one in the folder of runs,
 * of which `runs` is the value of --dir and may be NULL. */
MUST_CHECK int run_place_of(struct run_place *p, const char *wanted, const char *runs,
                            struct err *e);

#endif
