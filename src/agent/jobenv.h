/* SPDX-License-Identifier: Apache-2.0 */
/* jobenv.h - the environment of the job: the recorder's own, plus where to say what it does. */
#ifndef AGENT_JOBENV_H
#define AGENT_JOBENV_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"

/* A copy of `base` with the ring's folder (NULL: none) and, in front of PYTHONPATH, the folder
 * whose sitecustomize loads the hooks (NULL: none). Ends with NULL. */
char **job_env(struct arena *a, char *const base[], const char *ring, const char *bootstrap);

/* Where the Python hooks lie: $FOOTPLATE_HOOKS, else beside the program that runs. False when they
 * are nowhere. */
bool hooks_find(char out[PATH_LEN]);
/* What the build makes and the package around that folder lacks, so that its hooks cannot be loaded
 * nor say so; NULL: nothing. */
const char *hooks_lack(const char *bootstrap);

#endif
