/* SPDX-License-Identifier: Apache-2.0 */
/* jobtree.c - see jobtree.h. Scans all of /proc, so only for the time after the job's first process
 * has ended. */
#include "agent/jobtree.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sample/proctree.h"

bool jobtree_parse_stat(const char *text, struct proc_stat_line *out)
{
    /* The name may hold anything, also ") R 1 1": it ends at the last parenthesis. */
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    struct proc_stat_line s = {0};
    if (!open || !close || close < open)
        return false;
    if (sscanf(close + 1, " %c %d %d %d", &s.state, &s.parent, &s.group, &s.session) != 4)
        return false;
    char *end;
    const long pid = strtol(text, &end, 10);
    if (end == text || pid <= 0)
        return false;
    s.pid = (pid_t)pid;
    snprintf(s.name, sizeof s.name, "%.*s", (int)(close - open - 1), open + 1);
    *out = s;
    return true;
}

static bool read_stat(int proc, const char *pid, struct proc_stat_line *out)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "%.16s/stat", pid);
    const int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    return jobtree_parse_stat(text, out);
}

static bool proc_is_ours(void)
{
    struct err ignored;
    return proc_check("/proc", &ignored) == 0;
}

bool jobtree_group_has_others(void)
{
    bool found = false;
    const pid_t group = getpgrp(), self = getpid();
    DIR *d = proc_is_ours() ? opendir("/proc") : NULL;
    for (const struct dirent *f = d ? readdir(d) : NULL; f && !found; f = readdir(d)) {
        const pid_t pid = isdigit((unsigned char)f->d_name[0]) ? atoi(f->d_name) : 0;
        found = pid > 0 && pid != self && getpgid(pid) == group;
    }
    if (d)
        closedir(d);
    return found;
}

static struct proc_stat_line *jobtree_read_all(size_t *n)
{
    struct proc_stat_line *all = NULL;
    size_t cap = 0;
    DIR *d = opendir("/proc");
    *n = 0;
    for (const struct dirent *f = d ? readdir(d) : NULL; f; f = readdir(d)) {
        if (!isdigit((unsigned char)f->d_name[0]))
            continue;
        if (*n == cap) {
            cap = cap ? cap * 2 : 256;
            all = xrealloc(all, cap, sizeof *all);
        }
        *n += read_stat(dirfd(d), f->d_name, &all[*n]);
    }
    if (d)
        closedir(d);
    return all;
}

/* Whether the process is below `self`: its parents are followed up. The count bounds a loop that a
 * pid used anew between two reads could make. */
static bool is_below(const struct proc_stat_line *all, size_t n, pid_t pid, pid_t self)
{
    for (size_t hops = 0; pid > 1 && hops < n; hops++) {
        size_t i = 0;
        while (i < n && all[i].pid != pid)
            i++;
        if (i == n)
            return false;
        pid = all[i].parent;
        if (pid == self)
            return true;
    }
    return false;
}

static void jobtree_add(struct jobtree *t, const struct proc_stat_line *s, pid_t session)
{
    const bool daemon = s->session != session;
    t->members += !daemon;
    t->daemons += daemon;
    if (t->n == JOBTREE_MOST)
        return;
    struct job_process *p = &t->list[t->n++];
    *p = (struct job_process){.pid = s->pid, .group = s->group, .daemon = daemon};
    snprintf(p->name, sizeof p->name, "%s", s->name);
}

void jobtree_scan(struct jobtree *out, pid_t self, pid_t session, pid_t helper)
{
    size_t n;
    *out = (struct jobtree){0};
    if (!proc_is_ours())
        return;
    struct proc_stat_line *all = jobtree_read_all(&n);
    for (size_t i = 0; i < n; i++)
        if (all[i].state != 'Z' && all[i].state != 'X' && (!helper || all[i].session != helper) &&
            is_below(all, n, all[i].pid, self))
            jobtree_add(out, &all[i], session);
    free(all);
}
