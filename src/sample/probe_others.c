/* SPDX-License-Identifier: Apache-2.0 */
/* probe_others.c - which programs outside of the job use the CPU, by user and program name only.
 *
 * It scans the processes only while the node is busy, and then rarely (paces): the first time to
 * have something to compare with, soon after that, and from then on every 10 s or less often. A
 * reading is what each program used since the previous scan. The series of a program has the name
 * "user:comm"; "total" is all CPU that neither the job nor Footplate used; "not_visible" is what is
 * left of it after all processes that can be seen: those of other containers, those that hidepid
 * hides, and those that ended between two scans. A program of which no process is left has no
 * reading.
 *
 * User names come from /etc/passwd alone: a directory service may be slow, and is on the network.
 */
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"
#include "sample/probe.h"
#include "sample/probe_util.h"
#include "sample/procfs.h"
#include "sample/proctree.h"
#include "sample/source.h"

#define MIN_PERIOD_NS NS_PER_S
#define PERIOD_NS     (10 * NS_PER_S)

/* By the clock of /proc/uptime, hundredths of a second. */
enum { SECOND_CS = 100, FIRST_CS = 2 * SECOND_CS /* from the first scan to the second */ };

/* Not idle, share of all cores. */
static const double BUSY = 0.8;
/* Of a core that a program must use to get a series. */
static const double WORTH = 0.05;

enum {
    PROCESSES_MOST = 2048,
    SERIES_MOST = 16, /* programs of a run that get a series */
    NAMES_MOST = 128, /* programs that one scan distinguishes */
    USER_LEN = 24,
    PROGRAM_LEN = 32,
    STAT_SIZE = 1024,
};

/* A scan costs about 8 us a process: at most 0.05 % of a core. */
static const struct {
    size_t more_than;
    uint64_t period_cs;
} paces[] = {{1024, 40 * SECOND_CS}, {512, 20 * SECOND_CS}, {0, 10 * SECOND_CS}};

/* Not idle between two readings, share of all cores; 0 when no time has passed. */
static double uptime_busy(const struct uptime *from, const struct uptime *to, double cores)
{
    const double up = (double)to->up_cs - (double)from->up_cs,
                 idle = (double)to->idle_cs - (double)from->idle_cs;
    return up > 0 ? MIN_OF(MAX_OF(1 - idle / (up * cores), 0), 1) : 0;
}

struct other_process {
    int pid, ppid, session;
    uint64_t start_ticks, own_ticks, children_ticks;
    uint64_t owed; /* by its children's account: what was counted while they ran */
    char comm[PROGRAM_LEN];
};

struct other_list {
    struct other_process *v; /* in order of pid */
    size_t n, cap;
};

/* A program: all processes of a user with the same name. */
struct other_program {
    uid_t uid;
    char comm[PROGRAM_LEN];
    uint64_t ticks; /* in this scan */
    slot_id slot;   /* SLOT_NONE: it has no series */
};

struct others_state {
    struct probe_env env;
    double cores, tick_ns;
    struct source uptime;
    struct group group;
    slot_id total, not_visible;
    struct other_program series[SERIES_MOST];
    size_t n_series;

    bool known; /* the figures of the reading before */
    struct uptime last;
    struct other_list now, before;
    bool scanned; /* `now` is the list of a scan, when the uptime was `scan` */
    struct uptime scan;
    uint64_t next_cs; /* uptime of the next scan */
    bool overflowed;
    uint32_t reported;
};

enum { REPORTED_READ, REPORTED_FORMAT, REPORTED_LIMIT };

/* ---- the processes there are ---- */

static void others_add(void *ctx, const char *name, int pid)
{
    struct others_state *st = ctx;
    char path[PATH_LEN], text[STAT_SIZE];
    struct pid_stat s;
    if (st->now.n == PROCESSES_MOST) {
        st->overflowed = true;
        return;
    }
    snprintf(path, sizeof path, "%s/%s/stat", st->env.proc, name);
    const long n = file_peek(path, text, sizeof text);
    if (n <= 0 || !procfs_pid_stat(text, (size_t)n, &s) || s.pid != pid)
        return;
    struct other_process *p = VEC_ADD(st->now.v, st->now.n, st->now.cap);
    *p = (struct other_process){.pid = pid,
                                .ppid = s.ppid,
                                .session = s.session,
                                .start_ticks = s.start_ticks,
                                .own_ticks = s.own_ticks,
                                .children_ticks = s.children_ticks};
    snprintf(p->comm, sizeof p->comm, "%.*s", PROGRAM_LEN - 1, s.comm);
}

COMPARE_BY(others_by_pid, struct other_process, pid)

static bool others_list(struct others_state *st)
{
    const int dir = open(st->env.proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct other_list last = st->now;
    if (dir < 0)
        return false;
    st->now = st->before;
    st->before = last;
    st->now.n = 0;
    const bool whole = folder_each_number(dir, others_add, st);
    close(dir);
    SORT(st->now.v, st->now.n, others_by_pid);
    return whole;
}

static struct other_process *others_find(const struct other_list *l, int pid)
{
    const struct other_process key = {.pid = pid};
    return l->n ? bsearch(&key, l->v, l->n, sizeof key, others_by_pid) : NULL;
}

static const struct other_process *others_was(const struct others_state *st,
                                              const struct other_process *p)
{
    const struct other_process *was = others_find(&st->before, p->pid);
    return was && was->start_ticks == p->start_ticks ? was : NULL;
}

/* What a process that has ended had used was counted already, and is now in its parent's account of
 * children. */
static void others_settle(struct others_state *st)
{
    for (size_t i = 0; i < st->before.n; i++) {
        const struct other_process *p = &st->before.v[i], *is = others_find(&st->now, p->pid);
        struct other_process *parent =
            is && is->start_ticks == p->start_ticks ? NULL : others_find(&st->now, p->ppid);
        if (parent)
            parent->owed += p->own_ticks + p->children_ticks;
    }
}

/* What it used since the previous scan, with what its children used that have ended. A process that
 * is new counts whole. */
static uint64_t others_grown(const struct others_state *st, const struct other_process *p)
{
    static const struct other_process nothing;
    const struct other_process *was = others_was(st, p);
    was = was ? was : &nothing;
    const uint64_t own = p->own_ticks > was->own_ticks ? p->own_ticks - was->own_ticks : 0,
                   before = was->children_ticks + p->owed;
    return own + (p->children_ticks > before ? p->children_ticks - before : 0);
}

/* Of the job, or of Footplate. */
static bool others_is_ours(const struct others_state *st, const struct other_process *p)
{
    return p->pid == getpid() || p->ppid == getpid() ||
           (st->env.helper_session && p->session == st->env.helper_session) ||
           (st->env.pids &&
            (pidset_has(st->env.pids, p->pid) || pidset_has(st->env.pids, p->ppid)));
}

/* ---- programs ---- */

static struct other_program *program_find(struct other_program *v, size_t n, uid_t uid,
                                          const char *comm)
{
    return FIND_ITEM(x, v, n, x->uid == uid && strcmp(x->comm, comm) == 0);
}

static bool others_owner(const struct others_state *st, int pid, uid_t *uid)
{
    char path[PATH_LEN];
    struct stat s;
    snprintf(path, sizeof path, "%s/%d", st->env.proc, pid);
    if (stat(path, &s) != 0)
        return false;
    *uid = s.st_uid;
    return true;
}

static void others_user(uid_t uid, char out[USER_LEN])
{
    struct passwd entry, *found = NULL;
    char text[1024];
    FILE *f = fopen("/etc/passwd", "re");
    snprintf(out, USER_LEN, "uid %u", (unsigned)uid);
    while (f && fgetpwent_r(f, &entry, text, sizeof text, &found) == 0)
        if (entry.pw_uid == uid) {
            snprintf(out, USER_LEN, "%s", entry.pw_name);
            break;
        }
    if (f)
        fclose(f);
    for (char *p = out; *p; p++) /* the name ends with the first colon */
        *p = *p > ' ' && *p < 127 && *p != ':' ? *p : *p == ' ' ? ' ' : '?';
}

/* Adds it to its program, which is made when there is room. */
static void program_add(const struct others_state *st, const struct other_process *p,
                        uint64_t ticks, struct other_program *v, size_t *n)
{
    uid_t uid;
    if (!others_owner(st, p->pid, &uid))
        return;
    struct other_program *x = program_find(v, *n, uid, p->comm);
    if (!x && *n < NAMES_MOST) {
        x = &v[(*n)++];
        *x = (struct other_program){.uid = uid};
        memcpy(x->comm, p->comm, sizeof x->comm);
    }
    if (x)
        x->ticks += ticks;
}

static int program_by_ticks(const void *a, const void *b)
{
    const struct other_program *x = a, *y = b;
    return COMPARE(y->ticks, x->ticks);
}

static struct other_program *others_series(struct others_state *st, const struct other_program *p,
                                           bool worth)
{
    char user[USER_LEN], entity[ENTITY_LEN];
    struct other_program *x = program_find(st->series, st->n_series, p->uid, p->comm);
    if (x || !worth || st->n_series == SERIES_MOST)
        return x;
    x = &st->series[st->n_series++];
    *x = *p;
    others_user(p->uid, user);
    snprintf(entity, sizeof entity, "%s:%s", user, p->comm);
    x->slot = group_add(&st->group, M_OTHERS_CPU, entity);
    return x;
}

/* ---- a reading ---- */

static void others_put(struct others_state *st, slot_id slot, uint64_t ticks, int64_t dt_ns)
{
    group_rate(&st->group, slot, (double)ticks * st->tick_ns, dt_ns);
}

/* Every program that is there and has a series, and those that deserve one. */
static void others_put_programs(struct others_state *st, struct other_program *v, size_t n,
                                int64_t dt_ns)
{
    const uint64_t worth = (uint64_t)(WORTH * (double)dt_ns / st->tick_ns);
    SORT(v, n, program_by_ticks);
    for (size_t i = 0; i < n; i++) {
        const struct other_program *x = others_series(st, &v[i], v[i].ticks >= worth);
        if (x)
            others_put(st, x->slot, v[i].ticks, dt_ns);
    }
}

/* An idle process counts too when its program may have a series: that one used nothing. */
static bool others_has_series(const struct others_state *st, const char *comm)
{
    return FIND_ANY(i, st->n_series, strcmp(st->series[i].comm, comm) == 0);
}

static void others_count(struct others_state *st, const struct uptime *u)
{
    const int64_t dt_ns = (int64_t)(u->up_cs - st->scan.up_cs) * (NS_PER_S / SECOND_CS);
    struct other_program *v = xcalloc(NAMES_MOST, sizeof *v);
    size_t n = 0;
    uint64_t ours = 0, seen = 0;
    others_settle(st);
    for (size_t i = 0; i < st->now.n; i++) {
        const struct other_process *p = &st->now.v[i];
        const uint64_t ticks = others_grown(st, p);
        if (others_is_ours(st, p)) {
            ours += ticks;
            continue;
        }
        seen += ticks;
        if (ticks || others_has_series(st, p->comm))
            program_add(st, p, ticks, v, &n);
    }
    const double busy_ns = uptime_busy(&st->scan, u, st->cores) * (double)dt_ns * st->cores,
                 total = MAX_OF(busy_ns / st->tick_ns - (double)ours, (double)seen);
    others_put(st, st->total, (uint64_t)total, dt_ns);
    others_put(st, st->not_visible, (uint64_t)(total - (double)seen), dt_ns);
    others_put_programs(st, v, n, dt_ns);
    free(v);
}

/* Nothing is known of the processes any more. */
static void others_forget(struct others_state *st)
{
    free(st->now.v);
    free(st->before.v);
    st->now = st->before = (struct other_list){0};
    st->scanned = false;
}

static uint64_t others_pace(size_t processes)
{
    size_t i = 0;
    while (processes <= paces[i].more_than && paces[i].more_than)
        i++;
    return paces[i].period_cs;
}

static void others_scan(struct others_state *st, const struct uptime *u, struct sink *s)
{
    const bool again = st->scanned;
    const mono_ns now = clock_mono();
    if (!others_list(st)) {
        others_forget(st);
        return;
    }
    if (again) {
        others_count(st, u);
        group_commit(&st->group, s, now);
    }
    if (st->overflowed && report_once(&st->reported, REPORTED_LIMIT))
        sink_loss(s, LOSS_LIMIT, LOST_METRIC(M_OTHERS_CPU),
                  "there are more than %d processes; the others count as not visible",
                  PROCESSES_MOST);
    st->scanned = true;
    st->scan = *u;
    st->next_cs = u->up_cs + (again ? others_pace(st->now.n) : FIRST_CS);
}

static void others_read(void *state, struct sink *s)
{
    struct others_state *st = state;
    char text[64];
    struct reading r;
    struct uptime u;
    if (!source_read(&st->uptime, text, sizeof text, &r)) {
        lose_read(s, &st->reported, REPORTED_READ, LOST_METRIC(M_OTHERS_CPU), r.sys);
        return;
    }
    if (!procfs_uptime(text, r.n, &u)) {
        if (report_once(&st->reported, REPORTED_FORMAT))
            sink_loss(s, LOSS_MALFORMED, LOST_METRIC(M_OTHERS_CPU), "%s has an unexpected format",
                      st->uptime.path);
        return;
    }
    const bool busy = st->known && uptime_busy(&st->last, &u, st->cores) >= BUSY;
    if (!busy)
        others_forget(st);
    else if (!st->scanned || u.up_cs + SECOND_CS / 2 >= st->next_cs)
        others_scan(st, &u, s);
    st->known = true;
    st->last = u;
}

/* Scans have a separate period. */
static void others_set_period(void *state, int64_t period_ns)
{
    (void)state;
    (void)period_ns;
}

static int others_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    struct others_state *st = state;
    const long hz = sysconf(_SC_CLK_TCK), cores = sysconf(_SC_NPROCESSORS_ONLN);
    (void)period_ns;
    if (env->no_others)
        return err_set(e, ERR_NOT_FOUND, "switched off (--no-other-processes)");
    TRY(proc_check(env->proc, e));
    TRY(source_open(&st->uptime, e, "%s/uptime", env->proc));
    st->env = *env;
    st->cores = (double)MAX_OF(cores, 1);
    st->tick_ns = (double)NS_PER_S / (double)(hz > 0 ? hz : 100);
    group_open(&st->group, "others", PERIOD_NS);
    st->total = group_add(&st->group, M_OTHERS_CPU, ENTITY_TOTAL);
    st->not_visible = group_add(&st->group, M_OTHERS_CPU, ENTITY_NOT_VISIBLE);
    return 0;
}

static void others_close(void *state)
{
    struct others_state *st = state;
    others_forget(st);
    source_close(&st->uptime);
    group_close(&st->group);
}

const struct probe probe_others = {
    .name = "others",
    .title = "programs outside of the job that use the CPU while the node is busy",
    .lane = LANE_FAST,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct others_state),
    .open = others_open,
    .read = others_read,
    .set_period = others_set_period,
    .close = others_close,
};
