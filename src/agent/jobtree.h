/* SPDX-License-Identifier: Apache-2.0 */
/* jobtree.h - which processes of the job are still there.
 * The recorder is the reaper of the job's orphans, so the job is everything below the recorder. A
 * process that moved to a session of its own said that it wants to outlive the job: a daemon. */
#ifndef AGENT_JOBTREE_H
#define AGENT_JOBTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { JOBTREE_MOST = 64 };

struct job_process {
    pid_t pid, group;
    bool daemon; /* has a session of its own */
    char name[32];
};

struct jobtree {
    size_t members, daemons; /* how many there are; the list below may hold fewer */
    size_t n;
    struct job_process list[JOBTREE_MOST];
};

/* The living descendants of `self`; those in its session `session` are members of the job, those of
 * the session `helper` (0: none) are not counted. None where /proc does not show them. */
void jobtree_scan(struct jobtree *out, pid_t self, pid_t session, pid_t helper);

/* Whether other processes are in our process group: neighbours in a pipe, the script that started
 * us. */
bool jobtree_group_has_others(void);

/* One line of /proc/PID/stat. Pure; false when it is not as documented. */
struct proc_stat_line {
    pid_t pid, parent, group, session;
    char state;
    char name[32];
};
bool jobtree_parse_stat(const char *text, struct proc_stat_line *out);

#endif
