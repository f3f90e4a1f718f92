/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.h - who started the job and which part of it this is, from the environment.
 * Pure: the environment comes in as a function. */
#ifndef AGENT_LAUNCHER_H
#define AGENT_LAUNCHER_H

#include <stdint.h>

enum { LAUNCHER_TEXT = 96 };

/* Numbers are -1 and texts empty when they are not known. */
struct launcher {
    char name[24];              /* "torchrun", "slurm", ...; empty: none recognized */
    char source[32];            /* the variable that the rank was taken from */
    char job_id[LAUNCHER_TEXT]; /* the scheduler's, the same on all nodes */
    char step[LAUNCHER_TEXT];   /* which start within the job; empty: there is only one */
    int64_t rank, world_size;
    int64_t local_rank, local_size;
    int64_t node_rank, nodes;
};

/* As getenv, with a context. */
typedef const char *(*launcher_env)(void *ctx, const char *name);

/* The first launcher of the table whose variables are there gives rank and sizes; the
 * scheduler around it (torchrun under srun) has the last word on job and node. */
void launcher_find(struct launcher *out, launcher_env env, void *ctx);

#endif
