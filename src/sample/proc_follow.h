/* SPDX-License-Identifier: Apache-2.0 */
/* proc_follow.h - what is kept of one process of the job, beside its place in the tree.
 *
 * follow_begin when the tree has a new member; follow_cpu and follow_io to read it; follow_end. */
#ifndef SAMPLE_PROC_FOLLOW_H
#define SAMPLE_PROC_FOLLOW_H

#include <time.h>

#include "record/group.h"
#include "sample/proc_tally.h"
#include "sample/proctree.h"
#include "sample/source.h"

enum follow_slot {
    F_CPU, /* in the group "proc", the others in "procmem" */
    F_RSS,
    F_THREADS,
    F_READ,
    F_WRITE,
    F_SLOTS,
};

struct follow {
    int pid; /* 0: not in use */
    uint64_t start_ticks;

    clockid_t clock; /* of the process: all its threads, in ns */
    bool has_clock;  /* else its stat file's ticks */
    struct counter cpu_ns;
    struct heritage children_ns;

    struct source io; /* kept open only for those that are followed one by one */
    bool io_denied, io_known;
    mono_ns io_at;
    struct heritage read_bytes, write_bytes; /* own and of children waited for, in one account */

    bool has_series;
    slot_id slot[F_SLOTS];
    char comm[COMM_LEN]; /* as of the last mark */
    unsigned marks;      /* of new names, given so far */
};

/* What reading a process needs. */
struct follow_env {
    const char *proc;
    bool clocks; /* the pids of `proc` are this machine's, so their clocks can be asked */
    double tick_ns;
};

void follow_begin(struct follow *f, const struct follow_env *env, const struct proctree_member *m);
void follow_end(struct follow *f);

/* Its CPU time so far. False: it could not be read. */
bool follow_cpu(struct follow *f, const struct follow_env *env, const struct proctree_member *m,
                uint64_t *ns);
/* Its storage traffic so far. False: r->sys says why. */
bool follow_io(struct follow *f, const struct follow_env *env, const struct proctree_member *m,
               struct pid_io *out, struct reading *r);

#endif
