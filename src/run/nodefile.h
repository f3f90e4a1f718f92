/* SPDX-License-Identifier: Apache-2.0 */
/* nodefile.h - node.json: what this recorder knows about its machine and how its run went.
 * Several threads add to it; nodefile_write may be called by any. */
#ifndef RUN_NODEFILE_H
#define RUN_NODEFILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "record/machine.h"
#include "run/rundir.h"
#include "store/writer.h"

enum { LAUNCHER_TEXT = 96 };

/* How the job was started. Numbers are -1 and texts empty when they are not known. */
struct launcher {
    char name[24];               /* "torchrun", "slurm", ...; empty: none recognized */
    char source[32];             /* the variable that the rank was taken from */
    char job_id[LAUNCHER_TEXT];  /* the scheduler's, the same on all nodes */
    char step[LAUNCHER_TEXT];    /* which start within the job; empty: there is only one */
    char cluster[LAUNCHER_TEXT]; /* that counts the job ids */
    char launch[16];             /* any text that another start of this job id does not have */
    char node[LAUNCHER_TEXT];    /* what the scheduler calls this node */
    int64_t job_start_s;         /* since the epoch, the same on all nodes */
    int64_t restarts;            /* how often the job was requeued before this start */
    bool job_id_repeats;         /* it is no counter: another job may get the same one soon */
    int64_t rank, world_size;
    int64_t local_rank, local_size;
    int64_t node_rank, nodes;
};

struct node_about {
    const char *id;
    unsigned session;
    enum run_status status;
    char why[192];
    struct hostinfo host;
    struct gpu_info *gpus;
    unsigned n_gpus;
    bool gpus_known;        /* false: the query is not finished */
    const char *gpu_absent; /* NULL: there are some */
    struct launcher launcher;
    int pid;
    const char *machine_type; /* as the user, or the table of machines, calls it; NULL: not set */
    double price_per_hour;    /* 0: not known */
    const char *currency;     /* of the price; NULL: not set */
    int64_t interval_ns;
    int64_t ship_interval_ns; /* between two uploads, or signs of life; 0: the default, or none */
    wall_ns start, end;       /* end.ns 0: still running */
    int exit_status;          /* -1: none */
    bool attached;            /* to a job that ran already */
    double cpu_s;             /* negative: not known yet */
    struct writer_stats stats;
};

struct nodefile {
    pthread_mutex_t lock;
    struct node_about about; /* under the lock */
    bool dirty;              /* changed since it was last written; under the lock */
    const struct rundir *dir;
};

/* `dir`: the run that it is written into; it outlives `f`. */
void nodefile_init(struct nodefile *f, const struct rundir *dir, const struct node_about *about);
/* For changes: lock, change f->about, unlock. Unlocking marks it for writing. */
struct node_about *nodefile_lock(struct nodefile *f);
void nodefile_unlock(struct nodefile *f);
/* Writes it when it changed since; after a failure (full disk) the next call tries again. */
MUST_CHECK int nodefile_write(struct nodefile *f, struct err *e);

#endif
