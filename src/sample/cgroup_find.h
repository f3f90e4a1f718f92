/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_find.h - where a process' control groups are in the file system, and what limits them.
 * cgroup_finder_open, any number of cgroup_find, cgroup_finder_close; the places outlive it. */
#ifndef SAMPLE_CGROUP_FIND_H
#define SAMPLE_CGROUP_FIND_H

#include "base/err.h"
#include "base/file.h"
#include "sample/procfs.h"
#include "sample/source.h"

struct cgroup_place {
    int version;           /* 1 or 2; 0: not there */
    bool is_root;          /* nothing is above it that we can see */
    char folder[PATH_LEN]; /* of the process' group */
    size_t top;            /* length of the part of `folder` that is the mount point */
};

struct cgroup_finder {
    const char *sys;
    struct textbuf groups, mounts; /* /proc/PID/cgroup, /proc/self/mountinfo */
    size_t groups_len, mounts_len;
};

/* `pid` 0, or one that has ended: our own groups. */
MUST_CHECK int cgroup_finder_open(struct cgroup_finder *f, const char *proc, const char *sys,
                                  int pid, struct err *e);
/* The group for a version 1 controller where it is mounted so, else the version 2 one. */
void cgroup_find(const struct cgroup_finder *f, const char *controller, struct cgroup_place *out);
void cgroup_finder_close(struct cgroup_finder *f);

struct cgroup_limit {
    double value;          /* percent of one core, or bytes */
    char folder[PATH_LEN]; /* of the group that has it */
};

/* The tightest limit from the group up to the mount point. False: none is set. */
bool cgroup_cpu_limit(const struct cgroup_place *p, struct cgroup_limit *out);
bool cgroup_mem_limit(const struct cgroup_place *p, struct cgroup_limit *out);

#endif
