/* SPDX-License-Identifier: Apache-2.0 */
/* probe_proc.c - the job's processes: CPU, memory, threads and storage traffic of each and of all.
 *
 * Three groups: "proc" has CPU at the probe's period, from the processes' clocks (one cheap
 * system call each); "procmem" has the rest at most twice a second, as that takes two files each,
 * and less often for a job of many processes (mem_paces): 64 loader workers shall not cost more
 * than the GPUs that they feed; "procthreads" has what takes a file of each thread, at most once
 * a second and less often for a job of many threads (thread_paces). The tree is scanned at most
 * once a second, and checked for new processes five times as often, so that what they use is seen
 * when they use it. How the totals stay right while processes come and go is described in
 * proc_tally.h.
 *
 * A process gets separate series when two scans have found it, so that a job which starts
 * a thousand short children does not make thousands of series. At most FOLLOW_MOST are followed one
 * by one; the others count in the totals, which are then taken every CROWD_PERIOD_NS only, because
 * reading all of them costs too much. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"
#include "record/group.h"
#include "sample/probe.h"
#include "sample/probe_util.h"
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
    struct inherited_count children_ns;

    struct source io; /* stays open only for those that are followed one by one */
    bool io_denied, io_known;
    mono_ns io_at;
    struct inherited_count read_bytes,
        write_bytes; /* own and of children waited for, in one account */

    struct proc_threads threads;

    bool has_series;
    slot_id slot[F_SLOTS];
    char comm[COMM_LEN]; /* as of the last mark */
    unsigned marks;      /* of new names, given so far */
};

/* What reading a process needs. */
struct follow_env {
    const char *proc;
    bool clocks; /* the pids of `proc` are this machine's, so their clocks can be read */
    double tick_ns;
};

/* ------------------------------------------------------------------------------------------------
 * One process of the job, beside its place in the tree.
 *
 * follow_begin when the tree has a new member; follow_cpu and follow_io to read it; follow_end. */

enum { IO_SIZE = 512 };

static bool proc_follow_ask_clock(clockid_t clock, uint64_t *ns)
{
    struct timespec ts;
    if (clock_gettime(clock, &ts) != 0)
        return false;
    *ns = (uint64_t)ts.tv_sec * (uint64_t)NS_PER_S + (uint64_t)ts.tv_nsec;
    return true;
}

static void follow_begin(struct follow *f, const struct follow_env *env,
                         const struct proctree_member *m)
{
    uint64_t ns;
    *f = (struct follow){.pid = m->stat.pid, .start_ticks = m->stat.start_ticks};
    for (unsigned i = 0; i < F_SLOTS; i++)
        f->slot[i] = SLOT_NONE;
    f->has_clock = env->clocks && clock_getcpuclockid(m->stat.pid, &f->clock) == 0 &&
                   proc_follow_ask_clock(f->clock, &ns);
}

static void follow_end(struct follow *f)
{
    source_close(&f->io);
    proc_threads_close(&f->threads);
    f->pid = 0;
}

/* Its CPU time so far. False: it could not be read. */
static bool follow_cpu(struct follow *f, const struct follow_env *env,
                       const struct proctree_member *m, uint64_t *ns)
{
    if (f->has_clock)
        return proc_follow_ask_clock(f->clock, ns);
    *ns = (uint64_t)((double)m->stat.own_ticks * env->tick_ns);
    return true;
}

/* One that is not followed one by one has no descriptor. */
static bool peek_io(const struct follow *f, const struct follow_env *env, char *text,
                    struct reading *r)
{
    char path[PATH_LEN];
    *r = (struct reading){.at = clock_mono()};
    snprintf(path, sizeof path, "%s/%d/io", env->proc, f->pid);
    const long n = file_peek(path, text, IO_SIZE);
    r->sys = n < 0 ? (int)-n : 0;
    r->n = n > 0 ? (size_t)n : 0;
    return n >= 0;
}

/* Its storage traffic so far. False: r->sys is the reason. */
static bool follow_io(struct follow *f, const struct follow_env *env,
                      const struct proctree_member *m, struct pid_io *out, struct reading *r)
{
    char text[IO_SIZE];
    struct err ignored;
    *r = (struct reading){.sys = EACCES};
    if (f->io_denied)
        return false;
    if (!source_is_open(&f->io) && m->stat_fd >= 0 &&
        source_open(&f->io, &ignored, "%s/%d/io", env->proc, f->pid))
        f->io = (struct source){0};
    if (!(source_is_open(&f->io) ? source_read(&f->io, text, sizeof text, r)
                                 : peek_io(f, env, text, r))) {
        f->io_denied = r->sys == EACCES || r->sys == EPERM;
        return false;
    }
    r->sys = EINVAL;
    return procfs_pid_io(text, r->n, out);
}

/* ------------------------------------------------------------------------------------------------
 * The job */

#define MIN_PERIOD_NS   (10 * NS_PER_MS)
#define SCAN_PERIOD_NS  NS_PER_S
#define PEEK_PERIOD_NS  (200 * NS_PER_MS)
#define CROWD_PERIOD_NS (2 * NS_PER_S)

enum {
    FOLLOW_MOST = 256,
    OLD_S = 10,    /* older than this when first seen: a series at once */
    MARKS_MOST = 8 /* of new names, per process */
};

/* How often "procmem" is read, by the number of processes that the job has had at once. It never
 * becomes faster again: every change begins new series. */
static const struct {
    size_t more_than;
    int64_t period_ns;
} mem_paces[] = {{64, 2 * NS_PER_S}, {16, NS_PER_S}, {0, 500 * NS_PER_MS}};

/* How often the threads' waits for a core are read, by the number of threads: each costs about 4
 * us, so it is 0.1 % of a core. Above THREADS_MOST they are not read. */
static const struct {
    double more_than;
    int64_t period_ns;
} thread_paces[] = {{1024, 8 * NS_PER_S}, {512, 4 * NS_PER_S}, {256, 2 * NS_PER_S}, {0, NS_PER_S}};

enum { THREADS_MOST = 2048 };

enum job_slot {
    J_CPU, /* in the group "proc" */
    J_RSS, /* these in "procmem" */
    J_THREADS,
    J_READ,
    J_WRITE,
    J_PROCESSES,
    J_BLOCKED,
    J_RUN_DELAY, /* these in "procthreads" */
    J_RUNNABLE,
    J_RUNNABLE_EXTRA,
    J_CORES,
    J_SLOTS,
};

struct proc_state {
    struct probe_env env;
    struct follow_env how;
    double page_bytes;
    double cores;
    struct proctree *tree;
    struct follow *follow; /* parallel to the tree's places */
    size_t follow_cap;
    bool is_recorder; /* this process is the one whose children the job's orphans become */
    char self_comm[COMM_LEN];
    struct inherited_count self_children_ns;

    struct group cpu, mem, threads; /* "proc", "procmem" and "procthreads" */
    slot_id job[J_SLOTS];
    int64_t period_ns;
    struct cadence scan_at, peek_at, mem_at, crowd_at, threads_at;
    mono_ns threads_read; /* 0: never */
    double most_threads;

    double cpu_growth; /* since cpu_at; of the processes' own clocks, ns */
    mono_ns cpu_at;    /* when job.cpu was put last; 0: never */
    double read_growth, write_growth;
    mono_ns io_at;
    struct late cpu_late, read_late, write_late;
    bool io_seen; /* some process' traffic could be read */

    bool crowded; /* some members are not followed one by one */
    size_t most_members;
    uint32_t reported;
};

enum { REPORTED_LIMIT, REPORTED_DENIED, REPORTED_IO, REPORTED_OVERFLOW, REPORTED_THREADS };

/* ---- series of a process ---- */

static const enum metric_id follow_metric[F_SLOTS] = {
    [F_CPU] = M_PROC_CPU,   [F_RSS] = M_PROC_RSS,     [F_THREADS] = M_PROC_THREADS,
    [F_READ] = M_PROC_READ, [F_WRITE] = M_PROC_WRITE,
};

static void proc_add_series(struct proc_state *st, struct follow *f,
                            const struct proctree_member *m)
{
    char entity[ENTITY_LEN];
    snprintf(entity, sizeof entity, "%d:%.48s", m->stat.pid, m->stat.comm);
    for (unsigned i = 0; i < F_SLOTS; i++)
        f->slot[i] = group_add(i == F_CPU ? &st->cpu : &st->mem, follow_metric[i], entity);
    memcpy(f->comm, m->stat.comm, sizeof f->comm);
    f->has_series = true;
}

static void drop_series(struct proc_state *st, struct follow *f)
{
    for (unsigned i = 0; i < F_SLOTS; i++)
        slot_end(i == F_CPU ? &st->cpu : &st->mem, &f->slot[i]);
    f->has_series = false;
}

static double age_s(const struct proc_state *st, const struct proctree_member *m)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec - (double)m->stat.start_ticks * st->how.tick_ns / 1e9;
}

/* The job's first process has its series at once, unless it has still to become the job's program:
 * until then it has the recorder's name. */
static bool deserves_series(const struct proc_state *st, const struct proctree_member *m)
{
    if (m->stat_fd < 0 || m->ended)
        return false;
    if (m->stat.pid == st->env.root_pid && strcmp(m->stat.comm, st->self_comm) != 0)
        return true;
    return m->scans >= 2 || (m->scans > 0 && age_s(st, m) >= OLD_S);
}

static void note_exec(struct follow *f, const struct proctree_member *m, struct sink *s)
{
    if (!f->has_series || strcmp(f->comm, m->stat.comm) == 0)
        return;
    memcpy(f->comm, m->stat.comm, sizeof f->comm);
    if (f->marks++ < MARKS_MOST)
        sink_mark(s, MARK_EXEC, m->stat.pid, "%s", m->stat.comm);
}

/* ---- members that come ---- */

static double children_ns(const struct proc_state *st, const struct pid_stat *stat)
{
    return (double)stat->children_ticks * st->how.tick_ns;
}

/* What it used before it was found is learnt late; what it used before the probe began is none of
 * this recording's. */
static void proc_begin_member(struct proc_state *st, struct follow *f,
                              const struct proctree_member *m)
{
    struct pid_io io;
    struct reading r;
    uint64_t ns = 0;
    follow_begin(f, &st->how, m);
    if (follow_cpu(f, &st->how, m, &ns))
        f->cpu_ns.last = ns; /* its rate begins with the first reading */
    f->children_ns.last = children_ns(st, &m->stat);
    if (!m->first)
        st->cpu_late.held += (double)ns + f->children_ns.last;
    if (!follow_io(f, &st->how, m, &io, &r))
        return;
    f->io_known = st->io_seen = true;
    f->io_at = r.at;
    f->read_bytes.last = (double)io.read_bytes;
    f->write_bytes.last = (double)io.write_bytes;
    if (!m->first) {
        st->read_late.held += f->read_bytes.last;
        st->write_late.held += f->write_bytes.last;
    }
}

static bool is_current(const struct follow *f, const struct proctree_member *m)
{
    return m->used && f->pid == m->stat.pid && f->start_ticks == m->stat.start_ticks;
}

static void publish(struct proc_state *st)
{
    int pid[PIDSET_MOST];
    size_t n = 0;
    if (!st->env.pids)
        return;
    for (size_t i = 0; i < proctree_places(st->tree); i++) {
        const struct proctree_member *m = proctree_at(st->tree, i);
        if (m->used && !m->gone && n < PIDSET_MOST)
            pid[n++] = m->stat.pid;
    }
    pidset_set(st->env.pids, pid, n);
}

static void report_limits(struct proc_state *st, struct sink *s)
{
    if (st->crowded && report_once(&st->reported, REPORTED_LIMIT))
        sink_loss(s, LOSS_LIMIT, LOST_PART("proc"),
                  "more than %d processes: the others have no series, and the job's totals are "
                  "read every %d s",
                  FOLLOW_MOST, (int)(CROWD_PERIOD_NS / NS_PER_S));
    if (proctree_overflowed(st->tree) && report_once(&st->reported, REPORTED_OVERFLOW))
        sink_loss(s, LOSS_LIMIT, LOST_PART("job"),
                  "more than %d processes: the job's totals are too low", (int)PROCTREE_MOST);
}

static int64_t mem_period_of(const struct proc_state *st, int64_t period_ns)
{
    size_t i = 0;
    while (mem_paces[i].more_than && st->most_members <= mem_paces[i].more_than)
        i++;
    return MAX_OF(period_ns, mem_paces[i].period_ns);
}

static void set_mem_period(struct proc_state *st)
{
    const int64_t period_ns = mem_period_of(st, st->period_ns);
    st->mem_at.period_ns = period_ns;
    group_set_period(&st->mem, period_ns);
}

/* Takes in the members that the tree has and we do not. `s` NULL: when the probe is opened. */
static void proc_take_members(struct proc_state *st, struct sink *s)
{
    bool changed = false;
    size_t members = 0;
    st->crowded = false;
    VEC_ZEROED(st->follow, st->follow_cap, proctree_places(st->tree));
    for (size_t i = 0; i < proctree_places(st->tree); i++) {
        const struct proctree_member *m = proctree_at(st->tree, i);
        struct follow *f = &st->follow[i];
        if (!m->used || m->gone)
            continue;
        members++;
        if (!is_current(f, m)) {
            proc_begin_member(st, f, m);
            changed = true;
        }
        st->crowded |= m->stat_fd < 0 && !m->ended;
        if (!f->has_series && deserves_series(st, m))
            proc_add_series(st, f, m);
    }
    if (changed)
        publish(st);
    if (members > st->most_members) {
        st->most_members = members;
        set_mem_period(st);
    }
    if (s)
        report_limits(st, s);
}

/* ---- members that are gone ---- */

static long find_any(const struct proc_state *st, int pid)
{
    const size_t at = FIND_FIRST(i, proctree_places(st->tree), st->follow[i].pid == pid);
    return at < proctree_places(st->tree) ? (long)at : -1;
}

static bool self_children_ns(const struct proc_state *st, double *ns)
{
    struct rusage u;
    if (!st->is_recorder || getrusage(RUSAGE_CHILDREN, &u) != 0)
        return false;
    *ns = 1e9 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
          1e3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    return true;
}

/* The nearest ancestor that is still there: its own, or NULL; then `*self` is whether it is the
 * recorder. */
static struct follow *heir_of(struct proc_state *st, size_t i, bool *self)
{
    int pid = proctree_at(st->tree, i)->stat.ppid;
    for (size_t hops = 0; hops <= proctree_places(st->tree); hops++) {
        *self = pid == st->env.self_pid && pid > 0;
        const long at = find_any(st, pid);
        if (*self || at < 0)
            return NULL;
        if (!proctree_at(st->tree, (size_t)at)->gone)
            return &st->follow[at];
        pid = proctree_at(st->tree, (size_t)at)->stat.ppid;
    }
    *self = false;
    return NULL;
}

static void settle_member(struct proc_state *st, size_t i)
{
    struct follow *f = &st->follow[i];
    bool self;
    struct follow *ancestor = heir_of(st, i, &self);
    const double cpu = (double)f->cpu_ns.last + f->children_ns.last + f->children_ns.owed;
    if (self)
        inherited_owe(&st->self_children_ns, cpu);
    if (!ancestor)
        return;
    inherited_owe(&ancestor->children_ns, cpu);
    inherited_owe(&ancestor->read_bytes, f->read_bytes.last + f->read_bytes.owed);
    inherited_owe(&ancestor->write_bytes, f->write_bytes.last + f->write_bytes.owed);
}

/* Debts first, while all that are gone still have their places. */
static void settle_gone(struct proc_state *st)
{
    bool some = false;
    VEC_ZEROED(st->follow, st->follow_cap, proctree_places(st->tree));
    for (size_t i = 0; i < proctree_places(st->tree); i++) {
        const bool gone = proctree_at(st->tree, i)->gone;
        if (gone && st->follow[i].pid)
            settle_member(st, i);
        some |= gone;
    }
    if (!some)
        return;
    for (size_t i = 0; i < proctree_places(st->tree); i++)
        if (proctree_at(st->tree, i)->gone && st->follow[i].pid) {
            drop_series(st, &st->follow[i]);
            follow_end(&st->follow[i]);
        }
    proctree_sweep(st->tree);
    publish(st);
}

/* ---- CPU ---- */

/* A clock that does not answer: the process is gone, or else is read from its file from now on. */
static void without_clock(struct proc_state *st, struct follow *f, size_t i)
{
    if (proctree_refresh(st->tree, i)) {
        f->has_clock = false;
        f->cpu_ns.known = false;
    }
}

static void read_cpu_of(struct proc_state *st, size_t i, mono_ns t)
{
    const struct proctree_member *m = proctree_at(st->tree, i);
    struct follow *f = &st->follow[i];
    uint64_t ns;
    double growth;
    if (!f->has_clock && !proctree_refresh(st->tree, i))
        return;
    if (!follow_cpu(f, &st->how, m, &ns)) {
        without_clock(st, f, i);
        return;
    }
    if (counter_read(&st->cpu, f->slot[F_CPU], &f->cpu_ns, ns, 64, t, &growth) == COUNTER_OK)
        st->cpu_growth += growth;
}

static void read_cpu(struct proc_state *st, mono_ns t, bool everybody)
{
    for (size_t i = 0; i < proctree_places(st->tree); i++) {
        const struct proctree_member *m = proctree_at(st->tree, i);
        if (m->used && !m->gone && (everybody || m->stat_fd >= 0))
            read_cpu_of(st, i, t);
    }
}

static void put_job_cpu(struct proc_state *st, mono_ns t)
{
    const int64_t dt = mono_diff(t, st->cpu_at);
    if (st->cpu_at.ns)
        group_rate(&st->cpu, st->job[J_CPU],
                   late_give(&st->cpu_late, st->cpu_growth, st->cores * (double)dt, dt), dt);
    st->cpu_growth = 0;
    st->cpu_at = t;
}

/* ---- memory, threads, storage ---- */

struct totals {
    double rss_bytes, threads;
    unsigned processes, blocked;
};

static void put_io_of(struct proc_state *st, struct follow *f, const struct pid_io *io, mono_ns t)
{
    const int64_t dt = mono_diff(t, f->io_at);
    f->io_at = t;
    if (!f->io_known) { /* readable only now: what it did so far is not known to be recent */
        f->io_known = true;
        f->read_bytes = (struct inherited_count){.last = (double)io->read_bytes};
        f->write_bytes = (struct inherited_count){.last = (double)io->write_bytes};
        return;
    }
    const double read = inherited_growth(&f->read_bytes, (double)io->read_bytes);
    const double write = inherited_growth(&f->write_bytes, (double)io->write_bytes);
    group_rate(&st->mem, f->slot[F_READ], read, dt);
    group_rate(&st->mem, f->slot[F_WRITE], write, dt);
    st->read_growth += read;
    st->write_growth += write;
}

static void read_io_of(struct proc_state *st, size_t i, struct sink *s)
{
    struct follow *f = &st->follow[i];
    struct pid_io io;
    struct reading r;
    if (follow_io(f, &st->how, proctree_at(st->tree, i), &io, &r)) {
        st->io_seen = true;
        put_io_of(st, f, &io, r.at);
    } else if (r.sys == EACCES || r.sys == EPERM) {
        if (report_once(&st->reported, REPORTED_DENIED))
            sink_loss(s, LOSS_DENIED, LOST_METRIC(M_PROC_READ),
                      "%s/%d/io: %s; its I/O is not included", st->env.proc, f->pid,
                      strerror(r.sys));
    } else if (r.sys != ESRCH && r.sys != ENOENT && report_once(&st->reported, REPORTED_IO)) {
        sink_loss(s, LOSS_READ, LOST_METRIC(M_PROC_READ), "%s/%d/io: %s", st->env.proc, f->pid,
                  strerror(r.sys));
    }
}

/* In a crowd the accounts are read only when all processes are: a parent's would otherwise include
 * children whose end is not known yet. */
static void read_member(struct proc_state *st, size_t i, bool accounts, struct totals *sum,
                        struct sink *s)
{
    struct follow *f = &st->follow[i];
    const struct proctree_member *m = proctree_at(st->tree, i);
    if (m->ended && f->has_clock) /* a zombie only waits; its clock shows when it is gone */
        return;
    if (!proctree_refresh(st->tree, i))
        return;
    if (accounts)
        st->cpu_late.held += inherited_growth(&f->children_ns, children_ns(st, &m->stat));
    note_exec(f, m, s);
    if (m->ended) {
        drop_series(st, f);
        return;
    }
    if (accounts)
        read_io_of(st, i, s);
    const double rss = (double)m->stat.rss_pages * st->page_bytes;
    group_gauge(&st->mem, f->slot[F_RSS], rss);
    group_gauge(&st->mem, f->slot[F_THREADS], (double)m->stat.threads);
    sum->rss_bytes += rss;
    sum->threads += (double)m->stat.threads;
    sum->processes++;
    sum->blocked += m->stat.state == 'D';
}

/* What the recorder itself has waited for: the job's first process, and what it left. */
static void read_self(struct proc_state *st)
{
    double ns;
    if (self_children_ns(st, &ns))
        st->cpu_late.held += inherited_growth(&st->self_children_ns, ns);
}

static void put_job_mem(struct proc_state *st, const struct totals *sum, mono_ns t)
{
    group_gauge(&st->mem, st->job[J_PROCESSES], sum->processes);
    if (sum->processes) {
        group_gauge(&st->mem, st->job[J_RSS], sum->rss_bytes);
        group_gauge(&st->mem, st->job[J_THREADS], sum->threads);
        group_gauge(&st->mem, st->job[J_BLOCKED], sum->blocked);
    }
    const int64_t dt = mono_diff(t, st->io_at);
    if (st->io_at.ns && st->io_seen) {
        group_rate(&st->mem, st->job[J_READ],
                   late_give(&st->read_late, st->read_growth, INFINITY, dt), dt);
        group_rate(&st->mem, st->job[J_WRITE],
                   late_give(&st->write_late, st->write_growth, INFINITY, dt), dt);
    }
    st->read_growth = st->write_growth = 0;
    st->io_at = t;
}

/* Debts of those that are found gone in here are settled after it: see proc_tally.h. */
static void read_mem(struct proc_state *st, struct sink *s, bool everybody)
{
    const mono_ns t = clock_mono();
    struct totals sum = {0};
    for (size_t i = 0; i < proctree_places(st->tree); i++) {
        const struct proctree_member *m = proctree_at(st->tree, i);
        if (m->used && !m->gone && (everybody || m->stat_fd >= 0))
            read_member(st, i, everybody, &sum, s);
    }
    if (everybody) {
        read_self(st);
        put_job_mem(st, &sum, t);
    }
    group_commit(&st->mem, s, t);
}

/* ---- threads that wait for a core ---- */

/* What a census of the threads sums up. */
struct census {
    double waited_ns, runnable, extra;
    unsigned read;
    cpu_set_t cores;
};

static void census_member(struct proc_state *st, size_t i, int64_t dt, struct census *sum)
{
    struct thread_sched x;
    cpu_set_t own;
    if (st->how.clocks && sched_getaffinity(st->follow[i].pid, sizeof own, &own) == 0)
        CPU_OR(&sum->cores, &sum->cores, &own);
    if (!proc_threads_read(&st->follow[i].threads, st->how.proc, st->follow[i].pid, &x))
        return;
    const double runnable = (double)(x.ran_ns + x.waited_ns) / (double)dt;
    sum->read++;
    sum->waited_ns += (double)x.waited_ns;
    sum->runnable += runnable;
    sum->extra += MAX_OF(runnable - 1, 0);
}

static double count_threads(const struct proc_state *st)
{
    double n = 0;
    for (size_t i = 0; i < proctree_places(st->tree); i++) {
        const struct proctree_member *m = proctree_at(st->tree, i);
        n += m->used && !m->gone && m->stat_fd >= 0 ? (double)m->stat.threads : 0;
    }
    return n;
}

/* It never becomes faster again: every change begins new series. */
static void set_thread_period(struct proc_state *st)
{
    size_t i = 0;
    while (thread_paces[i].more_than > 0 && st->most_threads <= thread_paces[i].more_than)
        i++;
    st->threads_at.period_ns = MAX_OF(st->period_ns, thread_paces[i].period_ns);
    group_set_period(&st->threads, st->threads_at.period_ns);
}

static bool too_many_threads(struct proc_state *st, struct sink *s)
{
    const double n = count_threads(st);
    if (n > st->most_threads) {
        st->most_threads = n;
        set_thread_period(st);
    }
    if (n <= THREADS_MOST)
        return false;
    if (report_once(&st->reported, REPORTED_THREADS))
        sink_loss(s, LOSS_LIMIT, LOST_METRIC(M_JOB_RUN_DELAY),
                  "more than %d threads: their waits for a core are not read", (int)THREADS_MOST);
    st->threads_read = (mono_ns){0};
    return true;
}

/* In a crowd the totals would not be those of all, so there are none. */
static void read_threads(struct proc_state *st, struct sink *s)
{
    const mono_ns t = clock_mono();
    const int64_t dt = mono_diff(t, st->threads_read);
    struct census sum = {.read = 0};
    if (st->crowded || too_many_threads(st, s))
        return;
    for (size_t i = 0; i < proctree_places(st->tree); i++) {
        const struct proctree_member *m = proctree_at(st->tree, i);
        if (m->used && !m->gone && !m->ended)
            census_member(st, i, MAX_OF(dt, 1), &sum);
    }
    if (st->threads_read.ns && sum.read) {
        group_rate(&st->threads, st->job[J_RUN_DELAY], sum.waited_ns, dt);
        group_gauge(&st->threads, st->job[J_RUNNABLE], sum.runnable);
        group_gauge(&st->threads, st->job[J_RUNNABLE_EXTRA], sum.extra);
        if (CPU_COUNT(&sum.cores))
            group_gauge(&st->threads, st->job[J_CORES], CPU_COUNT(&sum.cores));
        group_commit(&st->threads, s, t);
    }
    st->threads_read = t;
}

static bool none_left(const struct proc_state *st)
{
    return !FIND_ANY(i, proctree_places(st->tree),
                     proctree_at(st->tree, i)->used && !proctree_at(st->tree, i)->gone);
}

/* ---- the record ---- */

static void proc_read(void *state, struct sink *s)
{
    struct proc_state *st = state;
    const mono_ns t = clock_mono();
    const int64_t slack = st->period_ns / 2;
    const bool peek = cadence_due(&st->peek_at, t, slack);
    const bool scan = cadence_due(&st->scan_at, t, slack);
    if (scan)
        proctree_scan(st->tree);
    else if (peek)
        proctree_peek(st->tree);
    if (scan || peek) {
        settle_gone(st);
        proc_take_members(st, s);
    }
    const bool mem = cadence_due(&st->mem_at, t, slack);
    const bool everybody = !st->crowded || (mem && cadence_due(&st->crowd_at, t, slack));
    const mono_ns now = clock_mono();
    read_cpu(st, now, everybody);
    settle_gone(st);
    if (mem) {
        read_mem(st, s, everybody);
        settle_gone(st);
    }
    if (cadence_due(&st->threads_at, t, slack))
        read_threads(st, s);
    /* The last process has just been waited for: what it used since is in our account only. */
    if (everybody && !mem && none_left(st))
        read_self(st);
    if (everybody)
        put_job_cpu(st, now);
    group_commit(&st->cpu, s, now);
}

static void proc_set_period(void *state, int64_t period_ns)
{
    struct proc_state *st = state;
    st->period_ns = MAX_OF(period_ns, MIN_PERIOD_NS);
    st->scan_at.period_ns = MAX_OF(period_ns, SCAN_PERIOD_NS);
    st->peek_at.period_ns = MAX_OF(period_ns, PEEK_PERIOD_NS);
    st->crowd_at.period_ns = MAX_OF(period_ns, CROWD_PERIOD_NS);
    group_set_period(&st->cpu, st->period_ns);
    set_mem_period(st);
    set_thread_period(st);
}

static void open_self(struct proc_state *st)
{
    char path[64];
    double ns;
    st->is_recorder = st->env.self_pid == getpid();
    if (self_children_ns(st, &ns))
        st->self_children_ns.last = ns;
    if (!st->env.self_pid)
        return;
    snprintf(path, sizeof path, "%.40s/%d/comm", st->env.proc, st->env.self_pid);
    const long n = file_peek(path, st->self_comm, sizeof st->self_comm - 1);
    if (n > 0 && st->self_comm[n - 1] == '\n')
        st->self_comm[n - 1] = '\0';
}

static const enum metric_id job_metric[J_SLOTS] = {
    [J_CPU] = M_JOB_CPU,           [J_RSS] = M_JOB_RSS,
    [J_THREADS] = M_JOB_THREADS,   [J_READ] = M_JOB_READ,
    [J_WRITE] = M_JOB_WRITE,       [J_PROCESSES] = M_JOB_PROCESSES,
    [J_BLOCKED] = M_JOB_BLOCKED,   [J_RUN_DELAY] = M_JOB_RUN_DELAY,
    [J_RUNNABLE] = M_JOB_RUNNABLE, [J_RUNNABLE_EXTRA] = M_JOB_RUNNABLE_EXTRA,
    [J_CORES] = M_JOB_CORES,
};

static void add_job_slots(struct proc_state *st)
{
    for (unsigned i = 0; i < J_SLOTS; i++)
        st->job[i] = group_add(i == J_CPU        ? &st->cpu
                               : i < J_RUN_DELAY ? &st->mem
                                                 : &st->threads,
                               job_metric[i], ENTITY_TOTAL);
}

static int proc_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    struct proc_state *st = state;
    if (!env->root_pid && !env->self_pid)
        return err_set(e, ERR_NOT_FOUND, "no job to record");
    st->env = *env;
    const long hz = sysconf(_SC_CLK_TCK);
    st->how = (struct follow_env){.proc = env->proc,
                                  .clocks = strcmp(env->proc, "/proc") == 0,
                                  .tick_ns = (double)NS_PER_S / (double)(hz > 0 ? hz : 100)};
    st->page_bytes = (double)sysconf(_SC_PAGESIZE);
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    st->cores = cores > 0 ? (double)cores : INFINITY;
    open_self(st);
    TRY(proctree_open(&st->tree, env->proc, env->root_pid, env->self_pid, FOLLOW_MOST, e));
    if (env->helper_session)
        proctree_leave_out(st->tree, env->helper_session);
    group_open(&st->cpu, "proc", MAX_OF(period_ns, MIN_PERIOD_NS));
    group_open(&st->mem, "procmem", mem_period_of(st, period_ns));
    group_open(&st->threads, "procthreads", MAX_OF(period_ns, NS_PER_S));
    proc_set_period(st, period_ns);
    add_job_slots(st);
    st->scan_at.next = mono_add(clock_mono(), st->scan_at.period_ns);
    proc_take_members(st, NULL);
    return 0;
}

static void proc_close(void *state)
{
    struct proc_state *st = state;
    for (size_t i = 0; i < st->follow_cap; i++)
        if (st->follow[i].pid)
            follow_end(&st->follow[i]);
    proctree_close(st->tree);
    free(st->follow);
    group_close(&st->cpu);
    group_close(&st->mem);
    group_close(&st->threads);
}

const struct probe probe_proc = {
    .name = "proc",
    .title = "the job's processes: CPU, memory, threads, I/O",
    .lane = LANE_FAST,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct proc_state),
    .open = proc_open,
    .read = proc_read,
    .set_period = proc_set_period,
    .close = proc_close,
};
