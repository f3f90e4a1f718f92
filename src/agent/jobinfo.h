/* SPDX-License-Identifier: Apache-2.0 */
/* jobinfo.h - the identity of a job: its launcher, the names of runs, nodes and processes, and the
 * commit of its code. */
#ifndef AGENT_JOBINFO_H
#define AGENT_JOBINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/nodefile.h"
#include "run/rundir.h"

/* ---- launchers ---- */

/* The launcher of the job and which part of it this is, from the environment.
 * Pure: the environment comes in as a function. */

/* As getenv, with a context. */
typedef const char *(*launcher_env)(void *ctx, const char *name);

/* The first launcher of the table whose variables are there gives rank and sizes; the
 * scheduler around it (torchrun under srun) decides about job and node. */
void launcher_find(struct launcher *out, launcher_env env, void *ctx);

/* ---- names of runs and nodes ---- */

/* What runs and nodes are called. Pure. */

/* "train" for `python -u train.py`, else the command's base name; only letters that are safe in a
 * file name. Never empty. */
void run_name_of(char out[RUN_NAME_LEN], const char *const command[]);
/* The id that all nodes of a launcher's job share; false when there is only this one.
 *     <name>-[<cluster>-]<job>[.<step>][-<day of the job's start>]
 * `job`: for run.json; its texts are those of `l`. */
bool run_id_of_launcher(char out[RUN_ID_LEN], const struct launcher *l, const char *name,
                        struct run_job *job);
/* The scheduler's name of the node (SLURMD_NODENAME, POD_NAME), else the host's, followed by the
 * local rank where a launcher starts a recorder per rank. */
void node_id_default(char out[NODE_ID_LEN], const char *host, const struct launcher *l);

/* ---- the commit ---- */

/* The commit a folder is at, read from its files; no process is started. */

enum { GIT_COMMIT_LEN = 65 }; /* 64 hex digits of SHA-256 and a NUL */

/* Looks in `folder` and above it, also through the `gitdir:` file of worktrees and submodules.
 * Empty when it is in no repository or the repository has no commit. */
void git_commit_of(const char *folder, char out[GIT_COMMIT_LEN]);

/* ---- names of processes ---- */

/* A process in few words: "python train.py". */

/* From the arguments of a command line, `len` bytes with a NUL after each. Pure. */
void command_label(char *out, size_t size, const char *args, size_t len);
/* Of a living process; "process 123" when that cannot be read (`proc` NULL, or it has ended). */
void process_label(char *out, size_t size, const char *proc, uint32_t pid);

#endif
