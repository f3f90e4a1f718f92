/* SPDX-License-Identifier: Apache-2.0 */
/* python_env.h - where the Python package of this program is, and the environment of processes that
 * are started with it: the job, whose Python processes load the hooks at their start, and the one
 * that evaluates rules written in Python. */
#ifndef CONFIG_PYTHON_ENV_H
#define CONFIG_PYTHON_ENV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/file.h"

/* A copy of `base` in which each of the n variables of `set` ("NAME=value") takes the place of the
 * one of that name. Ends with NULL. */
char **env_with(struct arena *a, char *const base[], const char *const set[], size_t n);
/* The same with the ring's folder and, in front of PYTHONPATH, the folder whose sitecustomize loads
 * the hooks (NULL: none). */
char **job_env(struct arena *a, char *const base[], const char *ring, const char *bootstrap);
/* The program that runs; "": not known. */
void program_path(char out[PATH_LEN]);
/* Where the Python hooks lie: $FOOTPLATE_HOOKS, else beside the program that runs. False when they
 * are nowhere. */
bool hooks_find(char out[PATH_LEN]);
/* What the build makes and the package around that folder lacks, so that its hooks cannot be loaded
 * or report anything; NULL: nothing. */
const char *hooks_lack(const char *bootstrap);

/* ---- the script of a command, after its interpreters and launchers ---- */

/* The script of a command, after its interpreters and launchers. Pure. */

struct script {
    const char *name; /* a word of the command; NULL: a program text (-c), or nothing known */
    bool is_file;     /* else a module (-m) */
};

/* "sub/train.py" of `python -u sub/train.py --lr 1` or `torchrun --nproc-per-node 2 sub/train.py`,
 * "pkg.train" of `python -m pkg.train`. argv ends with NULL. */
struct script script_find(const char *const argv[]);

#endif
