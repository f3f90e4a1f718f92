/* SPDX-License-Identifier: Apache-2.0 */
/* proctree.c - see proctree.h.
 *
 * A scan lists /proc and reads the stat file of those pids only that it does not know. Everything
 * else it knows is either a member or in `foreign`, the sorted pids of the list before that are not
 * the job's; a foreign pid that left the list is forgotten with it. Against a foreign pid that was
 * given out again between two lists, a part of the foreign ones is read again at each scan, so that
 * all are within RECHECK_SCANS.
 *
 * Most scans need no list. Pids are given out in turn, and /proc/loadavg has the last one: what
 * began since the last scan is in between. Each of those few numbers is looked up by its process
 * clock, which has an answer only for a living process (not for a thread), and only then is its
 * stat read. That costs microseconds where a list costs one per process of the machine. */
#include "sample/proctree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "sample/source.h"
#include "sample/textscan.h"

enum {
    STAT_SIZE = 1024,
    RECHECK_SCANS = 30, /* at one a second */
    LIST_ANYWAY = 30,   /* scans after which a list is made whatever loadavg is */
    ASK_MOST = 512,     /* new pids; for more, a list is cheaper */
};

/* What a pid of the list is. */
enum pid_mark { PID_FOREIGN, PID_OURS, PID_UNKNOWN /* ended or could not be read */ };

/* A pid of the list whose stat had to be read. */
struct candidate {
    size_t at; /* in the list */
    bool taken;
    struct pid_stat stat;
};

struct proctree {
    char *proc;
    int self_pid;
    int own_pid;  /* of this process, which is not the job's; 0: self_pid is it */
    int left_out; /* a session that is not the job's; 0: none */
    unsigned keep_open, open_now;
    struct source loadavg; /* not open: there is none */
    uint64_t last_pid;     /* as of the last scan; 0: not known */
    unsigned unlisted;     /* scans since the last list */
    bool look_again;       /* something could not be read: make a list next time */
    bool clocks;           /* `proc` shows this machine's processes, so their clocks can be read */
    unsigned turn;         /* which part of the foreign ones is read again */
    bool overflowed;
    int dir; /* proc, for its list */

    struct proctree_member *members;
    size_t places, cap;

    int *list; /* the pids there are, ascending */
    size_t n_list, list_cap;
    uint8_t *mark; /* enum pid_mark, parallel to list */
    int *foreign;
    size_t n_foreign, foreign_cap;
    struct candidate *candidates;
    size_t n_candidates, candidates_cap;
};

/* ---- one process ---- */

static int open_stat(const struct proctree *t, int pid)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%d/stat", t->proc, pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* LOOK_FAILED is no evidence about the process: no descriptor or no memory is left, for
 * instance. */
enum look { LOOK_OK, LOOK_GONE, LOOK_FAILED };

static enum look look_failed(void)
{
    return errno == ENOENT || errno == ESRCH ? LOOK_GONE : LOOK_FAILED;
}

static enum look read_fd(int fd, struct pid_stat *out)
{
    char text[STAT_SIZE];
    const ssize_t n = pread(fd, text, sizeof text, 0);
    if (n < 0)
        return look_failed();
    return procfs_pid_stat(text, (size_t)n, out) ? LOOK_OK : LOOK_FAILED;
}

static enum look read_pid(const struct proctree *t, int pid, struct pid_stat *out)
{
    const int fd = open_stat(t, pid);
    if (fd < 0)
        return look_failed();
    const enum look look = read_fd(fd, out);
    close(fd);
    return look;
}

/* ---- members ---- */

static void close_stat(struct proctree *t, struct proctree_member *m)
{
    if (m->stat_fd < 0)
        return;
    close(m->stat_fd);
    m->stat_fd = -1;
    t->open_now--;
}

static void proctree_mark_gone(struct proctree *t, size_t i)
{
    t->members[i].gone = true;
    close_stat(t, &t->members[i]);
}

void proctree_sweep(struct proctree *t)
{
    for (size_t i = 0; i < t->places; i++)
        if (t->members[i].gone)
            t->members[i] = (struct proctree_member){.stat_fd = -1};
    while (t->places && !t->members[t->places - 1].used)
        t->places--;
}

/* The place of the member with that pid, or -1. */
static long proctree_find(const struct proctree *t, int pid)
{
    for (size_t i = 0; i < t->places; i++)
        if (t->members[i].used && !t->members[i].gone && t->members[i].stat.pid == pid)
            return (long)i;
    return -1;
}

/* A zombie needs no file any more. If no process of the job will wait for it, it is not counted. */
static bool proctree_note_end(struct proctree *t, size_t i)
{
    struct proctree_member *m = &t->members[i];
    m->ended = pid_stat_ended(&m->stat);
    if (!m->ended)
        return true;
    close_stat(t, m);
    if ((t->self_pid && m->stat.ppid == t->self_pid) || proctree_find(t, m->stat.ppid) >= 0)
        return true;
    proctree_mark_gone(t, i);
    return false;
}

bool proctree_refresh(struct proctree *t, size_t i)
{
    struct proctree_member *m = &t->members[i];
    struct pid_stat now;
    if (!m->used || m->gone)
        return false;
    const enum look look =
        m->stat_fd >= 0 ? read_fd(m->stat_fd, &now) : read_pid(t, m->stat.pid, &now);
    if (look == LOOK_FAILED)
        return true;
    if (look == LOOK_GONE || now.start_ticks != m->stat.start_ticks) {
        proctree_mark_gone(t, i);
        return false;
    }
    m->stat = now;
    return proctree_note_end(t, i);
}

static size_t free_place(struct proctree *t)
{
    for (size_t i = 0; i < t->places; i++)
        if (!t->members[i].used)
            return i;
    VEC_ROOM(t->members, t->cap, t->places + 1);
    return t->places++;
}

/* Opens the file anew and closes it unless it is still the same process. */
static void keep_stat(struct proctree *t, struct proctree_member *m)
{
    if (m->ended || t->open_now >= t->keep_open)
        return;
    m->stat_fd = open_stat(t, m->stat.pid);
    if (m->stat_fd < 0)
        return;
    t->open_now++;
    struct pid_stat now;
    const enum look look = read_fd(m->stat_fd, &now);
    if (look == LOOK_OK && now.start_ticks == m->stat.start_ticks) {
        m->stat = now;
        return;
    }
    m->gone = look != LOOK_FAILED;
    close_stat(t, m);
}

static void add_member(struct proctree *t, const struct pid_stat *stat)
{
    if (t->places >= PROCTREE_MOST) {
        t->overflowed = true;
        return;
    }
    const size_t place = free_place(t); /* may move the array */
    struct proctree_member *m = &t->members[place];
    *m = (struct proctree_member){.used = true, .stat_fd = -1, .stat = *stat};
    m->ended = pid_stat_ended(stat);
    keep_stat(t, m);
}

/* ---- the list of /proc ---- */

COMPARE_NUMBERS(proctree_by_value, int)

enum { LIST_FIRST = 256 }; /* processes that most machines have not more of */

static void list_add(struct proctree *t, int pid)
{
    if (VEC_GROW(t->list_cap, MAX_OF(t->n_list + 1, (size_t)LIST_FIRST))) {
        t->list = xrealloc(t->list, t->list_cap, sizeof *t->list);
        t->mark = xrealloc(t->mark, t->list_cap, sizeof *t->mark);
    }
    t->list[t->n_list++] = pid;
}

static void list_take(void *ctx, const char *name, int pid)
{
    (void)name;
    list_add(ctx, pid);
}

/* False when the folder could not be read to its end. */
static bool make_list(struct proctree *t)
{
    t->n_list = 0;
    if (lseek(t->dir, 0, SEEK_SET) != 0)
        return false;
    const bool whole = folder_each_number(t->dir, list_take, t);
    bool ascending = true;
    for (size_t i = 1; i < t->n_list && ascending; i++)
        ascending = t->list[i - 1] < t->list[i];
    if (!ascending) /* the kernel's is */
        SORT(t->list, t->n_list, proctree_by_value);
    if (t->n_list)
        memset(t->mark, PID_FOREIGN, t->n_list * sizeof *t->mark);
    return whole;
}

/* Done after the list was made and before its unknown ones are read: then a process whose parent
 * has a living member's pid is that member's child, and not that of a later process with that pid.
 */
static void refresh_members(struct proctree *t)
{
    for (size_t i = 0; i < t->places; i++) {
        struct proctree_member *m = &t->members[i];
        if (m->used && !m->ended && proctree_refresh(t, i) && m->stat_fd < 0)
            keep_stat(t, m);
    }
}

/* Marks the members in the list. A zombie that is not in a `whole` one has been waited for. */
static void match_members(struct proctree *t, bool whole)
{
    for (size_t i = 0; i < t->places; i++) {
        const struct proctree_member *m = &t->members[i];
        if (!m->used || m->gone)
            continue;
        const int *at = bsearch(&m->stat.pid, t->list, t->n_list, sizeof *at, proctree_by_value);
        if (at)
            t->mark[at - t->list] = PID_OURS;
        else if (m->ended && whole)
            proctree_mark_gone(t, i);
    }
}

static void add_candidate(struct proctree *t, size_t at, const struct pid_stat *stat)
{
    *VEC_ADD(t->candidates, t->n_candidates, t->candidates_cap) =
        (struct candidate){.at = at, .stat = *stat};
}

/* Reads those that are not known; `anew`: also those whose number was a foreign process' before.
 * One that vanished since the list was made is not the job's. */
static void read_unknown(struct proctree *t, bool anew)
{
    size_t f = 0;
    t->n_candidates = 0;
    for (size_t i = 0; i < t->n_list; i++) {
        const int pid = t->list[i];
        struct pid_stat stat;
        while (f < t->n_foreign && t->foreign[f] < pid)
            f++;
        const bool known = f < t->n_foreign && t->foreign[f] == pid;
        if (t->mark[i] == PID_OURS || pid == t->self_pid ||
            (known && !anew && (unsigned)pid % RECHECK_SCANS != t->turn))
            continue;
        const enum look look = read_pid(t, pid, &stat);
        if (look == LOOK_OK)
            add_candidate(t, i, &stat);
        else
            t->mark[i] = PID_UNKNOWN;
        if (look == LOOK_FAILED)
            t->look_again = true;
    }
}

/* Lists the processes that began since the last scan, up to the pid `last`. */
static void ask_new(struct proctree *t, uint64_t last)
{
    t->n_list = 0;
    for (uint64_t pid = t->last_pid + 1; pid <= last; pid++) {
        clockid_t clock;
        if (clock_getcpuclockid((pid_t)pid, &clock) == 0)
            list_add(t, (int)pid);
    }
}

static bool is_ours(const struct proctree *t, const struct pid_stat *s)
{
    if (s->pid == t->own_pid || (t->left_out && s->session == t->left_out))
        return false;
    if (t->self_pid && s->ppid == t->self_pid)
        return true;
    const long parent = proctree_find(t, s->ppid);
    return parent >= 0 && t->members[parent].stat.start_ticks <= s->start_ticks;
}

/* A child may be before its parent in the list, so this continues until nothing changes. */
static void take_candidates(struct proctree *t)
{
    bool changed;
    do {
        changed = false;
        for (size_t i = 0; i < t->n_candidates; i++) {
            struct candidate *c = &t->candidates[i];
            if (c->taken || !is_ours(t, &c->stat))
                continue;
            c->taken = true;
            t->mark[c->at] = PID_OURS;
            add_member(t, &c->stat);
            changed = true;
        }
    } while (changed);
}

static void keep_foreign(struct proctree *t)
{
    t->n_foreign = 0;
    VEC_ROOM(t->foreign, t->foreign_cap, t->list_cap);
    for (size_t i = 0; i < t->n_list; i++)
        if (t->mark[i] == PID_FOREIGN)
            t->foreign[t->n_foreign++] = t->list[i];
}

static void scan_by_list(struct proctree *t)
{
    if (!make_list(t))
        return;
    t->unlisted = 0;
    refresh_members(t);
    match_members(t, true);
    read_unknown(t, false);
    take_candidates(t);
    keep_foreign(t);
}

static void scan_by_asking(struct proctree *t, uint64_t last)
{
    ask_new(t, last);
    if (!t->n_list)
        return;
    memset(t->mark, PID_UNKNOWN, t->n_list * sizeof *t->mark);
    refresh_members(t);
    match_members(t, false);
    read_unknown(t, true);
    take_candidates(t);
}

static uint64_t last_pid(struct proctree *t)
{
    char text[128];
    struct reading r;
    uint64_t last = 0;
    if (source_is_open(&t->loadavg) && source_read(&t->loadavg, text, sizeof text, &r))
        procfs_last_pid(text, r.n, &last);
    return last;
}

size_t proctree_scan(struct proctree *t)
{
    const uint64_t last =
        last_pid(t); /* before looking: what begins meanwhile is found next time */
    const uint64_t before = t->last_pid;
    t->turn = (t->turn + 1) % RECHECK_SCANS;
    if (!before || !last || ++t->unlisted >= LIST_ANYWAY || last < before ||
        last - before > (t->clocks ? ASK_MOST : 0))
        scan_by_list(t);
    else if (last != before)
        scan_by_asking(t, last);
    t->last_pid = t->look_again ? 0 : last;
    t->look_again = false;
    size_t n = 0;
    for (size_t i = 0; i < t->places; i++) {
        struct proctree_member *m = &t->members[i];
        m->scans += m->used && !m->gone;
        n += m->used && !m->gone;
    }
    return n;
}

void proctree_peek(struct proctree *t)
{
    const uint64_t last = last_pid(t), before = t->last_pid;
    if (!t->clocks || !before || last <= before || last - before > ASK_MOST)
        return;
    scan_by_asking(t, last);
    t->last_pid = t->look_again ? 0 : last;
    t->look_again = false;
}

/* ---- open, close, lookup ---- */

int proc_check(const char *proc, struct err *e)
{
    char path[PATH_MAX], text[32];
    snprintf(path, sizeof path, "%s/self", proc);
    const ssize_t n = readlink(path, text, sizeof text);
    const char *p = text;
    int pid = 0;
    const bool number = n > 0 && scan_int(&p, text + n, &pid) && p == text + n;
    if (number ? pid == getpid() : strcmp(proc, "/proc") != 0)
        return 0;
    if (!number)
        return err_set(e, ERR_NOT_FOUND, "%s is not mounted", proc);
    return err_set(e, ERR_NOT_FOUND,
                   "%s shows another pid namespace; 'mount -t proc proc /proc' in this one, or "
                   "'unshare --mount-proc', shows the job's processes",
                   proc);
}

int proctree_open(struct proctree **out, const char *proc, int root_pid, int self_pid,
                  unsigned keep_open, struct err *e)
{
    struct pid_stat root;
    TRY(proc_check(proc, e));
    const int dir = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_sys(e, "open '%s'", proc);
    struct proctree *t = xcalloc(1, sizeof *t);
    t->proc = xstrdup(proc);
    t->self_pid = self_pid;
    t->own_pid = self_pid ? 0 : getpid(); /* init, when it is the job, gets us as a child */
    t->keep_open = keep_open;
    t->dir = dir;
    struct err ignored;
    if (source_open(&t->loadavg, &ignored, "%s/loadavg", proc))
        t->last_pid = 0; /* then every scan makes a list */
    if (root_pid > 0 && read_pid(t, root_pid, &root) == LOOK_OK) {
        add_member(t, &root);
    } else if (!self_pid) {
        proctree_close(t);
        return err_set(e, ERR_NOT_FOUND, "no process with pid %d", root_pid);
    }
    clockid_t clock;
    t->clocks =
        t->places && strcmp(proc, "/proc") == 0 && clock_getcpuclockid(root_pid, &clock) == 0;
    proctree_scan(t);
    for (size_t i = 0; i < t->places; i++)
        t->members[i].first = true;
    *out = t;
    return 0;
}

void proctree_leave_out(struct proctree *t, int session)
{
    t->left_out = session;
    for (size_t i = 0; i < t->places; i++)
        if (t->members[i].used && t->members[i].stat.session == session)
            proctree_mark_gone(t, i);
    proctree_sweep(t);
}

void proctree_close(struct proctree *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->places; i++)
        close_stat(t, &t->members[i]);
    close(t->dir);
    source_close(&t->loadavg);
    free(t->proc);
    free(t->members);
    free(t->list);
    free(t->mark);
    free(t->foreign);
    free(t->candidates);
    free(t);
}

size_t proctree_places(const struct proctree *t)
{
    return t->places;
}

const struct proctree_member *proctree_at(const struct proctree *t, size_t i)
{
    return &t->members[i];
}

bool proctree_overflowed(const struct proctree *t)
{
    return t->overflowed;
}

/* ---- the threads of a process ---- */

enum { SCHEDSTAT_SIZE = 128 };

static bool thread_read(int dir, const char *tid, struct thread_sched *out)
{
    char path[32], text[SCHEDSTAT_SIZE];
    snprintf(path, sizeof path, "%.11s/schedstat", tid);
    const int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, text, sizeof text);
    close(fd);
    return n > 0 && procfs_schedstat(text, (size_t)n, out);
}

/* The thread in the list before; it is in the same order, so the search continues where it
 * ended. */
static const struct thread_seen *thread_find(const struct proc_threads *t, size_t n_before,
                                             size_t *at, int tid)
{
    for (size_t i = *at; i < n_before; i++)
        if (t->before[i].tid == tid) {
            *at = i + 1;
            return &t->before[i];
        }
    return NULL;
}

static uint64_t thread_grown(uint64_t now, uint64_t last)
{
    return now > last ? now - last : 0;
}

/* A list that is being made. */
struct threads_look {
    struct proc_threads *t;
    int dir;
    size_t n_before, at;
    struct thread_sched sum;
};

static void threads_add(void *ctx, const char *name, int tid)
{
    struct threads_look *l = ctx;
    struct thread_seen x = {.tid = tid};
    if (!thread_read(l->dir, name, &x.last))
        return;
    const struct thread_seen *old = thread_find(l->t, l->n_before, &l->at, tid);
    l->sum.ran_ns += thread_grown(x.last.ran_ns, old ? old->last.ran_ns : 0);
    l->sum.waited_ns += thread_grown(x.last.waited_ns, old ? old->last.waited_ns : 0);
    *VEC_ADD(l->t->v, l->t->n, l->t->cap) = x;
}

bool proc_threads_read(struct proc_threads *t, const char *proc, int pid, struct thread_sched *out)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%d/task", proc, pid);
    const int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return false;
    const struct proc_threads last = *t;
    *t = (struct proc_threads){
        .v = last.before, .cap = last.cap_before, .before = last.v, .cap_before = last.cap};
    struct threads_look look = {.t = t, .dir = dir, .n_before = last.n};
    (void)folder_each_number(dir, threads_add, &look);
    close(dir);
    t->known = t->n > 0;
    if (!last.known || !t->known)
        return false;
    *out = look.sum;
    return true;
}

void proc_threads_close(struct proc_threads *t)
{
    free(t->v);
    free(t->before);
    *t = (struct proc_threads){0};
}
