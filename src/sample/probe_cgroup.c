/* SPDX-License-Identifier: Apache-2.0 */
/* probe_cgroup.c - the job's control group: CPU used and throttled, memory used, and the limits.
 *
 * Which files those are depends on the version of each hierarchy (v1 has one per controller, v2 one
 * for all, hybrid machines have both); cgroup_find finds them once. The effective limit is the
 * tightest on the way up to the root, and time throttled is counted where that limit is. Limits can
 * be changed while the job runs, so they are read again now and then. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "sample/cgroup_find.h"
#include "sample/probe.h"
#include "sample/probe_util.h"
#include "sample/proctree.h"

#define MIN_PERIOD_NS   (10 * NS_PER_MS)
#define MEM_PERIOD_NS   (500 * NS_PER_MS) /* it moves slowly */
#define LIMIT_PERIOD_NS (5 * NS_PER_S)

enum { TEXT_SIZE = 1024 };

struct cgroup_file {
    struct source file;
    slot_id slot; /* SLOT_NONE until something was read */
    struct counter us;
};

struct cgroup_state {
    struct cgroup_place cpu, cpuacct, memory;
    struct cgroup_file usage, throttle;
    struct source memory_now, oom;
    struct group fast, slow; /* "cgroup" and "cgroupmem" */
    slot_id mem_slot, oom_slot, cpu_limit_slot, mem_limit_slot;
    double cpu_limit_percent, mem_limit_bytes; /* 0: none */
    int64_t period_ns;
    struct cadence slow_at, limit_at;
    uint32_t reported;
    unsigned resets_reported;
};

enum {
    REPORTED_NO_CPU,
    REPORTED_NO_USAGE,
    REPORTED_CPU_READ,
    REPORTED_NO_CPU_LIMIT,
    REPORTED_NO_THROTTLE,
    REPORTED_THROTTLE_READ,
    REPORTED_NO_MEMORY,
    REPORTED_MEM_READ,
    REPORTED_NO_MEM_LIMIT,
};

/* ---- limits ---- */

static void cgroup_set_slot(struct group *g, slot_id *slot, enum metric_id m, bool wanted)
{
    if (wanted && *slot == SLOT_NONE)
        *slot = group_add(g, m, ENTITY_TOTAL);
    if (!wanted)
        slot_end(g, slot);
}

/* Where there is no limit no task is throttled, and there is nothing to read. */
static void no_cpu_limit(struct cgroup_state *st, struct sink *s)
{
    source_close(&st->throttle.file);
    cgroup_set_slot(&st->fast, &st->throttle.slot, M_CGROUP_THROTTLED, false);
    if (!st->cpu.version || !report_once(&st->reported, REPORTED_NO_CPU_LIMIT))
        return;
    sink_loss(s, LOSS_ABSENT, LOST_METRIC(M_CGROUP_CPU_LIMIT), "no limit is set");
    sink_loss(s, LOSS_ABSENT, LOST_METRIC(M_CGROUP_THROTTLED), "no limit is set");
}

static void read_cpu_limit(struct cgroup_state *st, struct sink *s)
{
    struct cgroup_limit limit;
    const bool has = cgroup_cpu_limit(&st->cpu, &limit);
    st->cpu_limit_percent = has ? limit.value : 0;
    cgroup_set_slot(&st->slow, &st->cpu_limit_slot, M_CGROUP_CPU_LIMIT, has);
    if (!has) {
        no_cpu_limit(st, s);
        return;
    }
    char path[PATH_LEN + sizeof "/cpu.stat"];
    struct err ignored;
    snprintf(path, sizeof path, "%s/cpu.stat", limit.folder);
    if (source_is_open(&st->throttle.file) && strcmp(st->throttle.file.path, path) == 0)
        return;
    source_close(&st->throttle.file);
    st->throttle.us = (struct counter){0};
    if (source_open(&st->throttle.file, &ignored, "%s", path))
        st->throttle.file = (struct source){0};
}

static void read_mem_limit(struct cgroup_state *st, struct sink *s)
{
    struct cgroup_limit limit;
    const bool has = cgroup_mem_limit(&st->memory, &limit);
    st->mem_limit_bytes = has ? limit.value : 0;
    cgroup_set_slot(&st->slow, &st->mem_limit_slot, M_CGROUP_MEM_LIMIT, has);
    if (!has && st->memory.version && report_once(&st->reported, REPORTED_NO_MEM_LIMIT))
        sink_loss(s, LOSS_ABSENT, LOST_METRIC(M_CGROUP_MEM_LIMIT), "no limit is set");
}

/* ---- CPU ---- */

/* Version 1 counts nanoseconds. */
struct cgroup_counter {
    enum metric_id metric;
    unsigned read, absent;   /* causes of losses */
    const char *key1, *key2; /* by version; NULL: the file is the number */
    const char *what;
};

static bool parse_us(const struct cgroup_counter *c, int version, const char *text, size_t n,
                     uint64_t *us)
{
    if (version == 2)
        return procfs_key(text, n, c->key2, us);
    if (c->key1 ? !procfs_key(text, n, c->key1, us) : !procfs_cgroup_number(text, n, us))
        return false;
    *us /= 1000;
    return true;
}

static void put_counter(struct cgroup_state *st, const struct cgroup_counter *c, int version,
                        struct cgroup_file *f, struct sink *s)
{
    const struct loss_subject of = LOST_METRIC(c->metric);
    char text[TEXT_SIZE];
    struct reading r;
    uint64_t us;
    if (!source_is_open(&f->file))
        return;
    if (!source_read(&f->file, text, sizeof text, &r)) {
        lose_read(s, &st->reported, c->read, of, r.sys);
    } else if (!parse_us(c, version, text, r.n, &us)) {
        if (report_once(&st->reported, c->absent))
            sink_loss(s, LOSS_ABSENT, of, "%s does not report %s", f->file.path, c->what);
    } else {
        cgroup_set_slot(&st->fast, &f->slot, c->metric, true);
        if (group_counter(&st->fast, f->slot, &f->us, us, 64, r.at) == COUNTER_RESET)
            lose_reset(s, &st->resets_reported, of);
    }
}

static const struct cgroup_counter usage = {M_CGROUP_CPU, REPORTED_CPU_READ, REPORTED_NO_USAGE,
                                            NULL,         "usage_usec",      "CPU time"};
static const struct cgroup_counter throttling = {
    M_CGROUP_THROTTLED, REPORTED_THROTTLE_READ, REPORTED_NO_THROTTLE,
    "throttled_time",   "throttled_usec",       "throttling: no CPU limit can be set there"};

/* ---- memory ---- */

static void cgroup_put_memory(struct cgroup_state *st, struct sink *s)
{
    char text[64];
    struct reading r;
    uint64_t bytes;
    if (!source_is_open(&st->memory_now))
        return;
    if (!source_read(&st->memory_now, text, sizeof text, &r)) {
        lose_read(s, &st->reported, REPORTED_MEM_READ, LOST_METRIC(M_CGROUP_MEM), r.sys);
    } else if (procfs_cgroup_number(text, r.n, &bytes) && bytes != CGROUP_NO_LIMIT) {
        cgroup_set_slot(&st->slow, &st->mem_slot, M_CGROUP_MEM, true);
        group_gauge(&st->slow, st->mem_slot, (double)bytes);
    }
}

/* Both versions have the same key. At every reading, as a kill is often the end of the job. */
static void cgroup_put_kills(struct cgroup_state *st)
{
    char text[TEXT_SIZE];
    struct reading r;
    uint64_t kills;
    if (!source_is_open(&st->oom) || !source_read(&st->oom, text, sizeof text, &r) ||
        !procfs_key(text, r.n, "oom_kill", &kills))
        return;
    cgroup_set_slot(&st->fast, &st->oom_slot, M_CGROUP_OOM_KILLS, true);
    group_gauge(&st->fast, st->oom_slot, (double)kills);
}

/* What is not there at all, reported at the first reading. */
static void report_absent(struct cgroup_state *st, struct sink *s)
{
    if (!source_is_open(&st->usage.file) && report_once(&st->reported, REPORTED_NO_CPU))
        sink_loss(s, LOSS_ABSENT, LOST_METRIC(M_CGROUP_CPU),
                  "the job's control group does not report CPU time");
    if (!source_is_open(&st->memory_now) && report_once(&st->reported, REPORTED_NO_MEMORY))
        sink_loss(s, LOSS_ABSENT, LOST_METRIC(M_CGROUP_MEM),
                  "the job's control group does not report memory%s",
                  st->memory.is_root ? ": it is the root group" : "");
}

static void cgroup_read(void *state, struct sink *s)
{
    struct cgroup_state *st = state;
    const mono_ns t = clock_mono();
    const int64_t slack = st->period_ns / 2;
    if (cadence_due(&st->limit_at, t, slack)) {
        read_cpu_limit(st, s);
        read_mem_limit(st, s);
        report_absent(st, s);
    }
    put_counter(st, &usage, st->cpuacct.version, &st->usage, s);
    put_counter(st, &throttling, st->cpu.version, &st->throttle, s);
    cgroup_put_kills(st);
    group_commit(&st->fast, s, t);
    if (!cadence_due(&st->slow_at, t, slack))
        return;
    cgroup_put_memory(st, s);
    group_gauge(&st->slow, st->cpu_limit_slot, st->cpu_limit_percent);
    group_gauge(&st->slow, st->mem_limit_slot, st->mem_limit_bytes);
    group_commit(&st->slow, s, t);
}

/* ---- the record ---- */

static void cgroup_set_period(void *state, int64_t period_ns)
{
    struct cgroup_state *st = state;
    st->period_ns = MAX_OF(period_ns, MIN_PERIOD_NS);
    st->slow_at.period_ns = MAX_OF(period_ns, MEM_PERIOD_NS);
    st->limit_at.period_ns = MAX_OF(period_ns, LIMIT_PERIOD_NS);
    group_set_period(&st->fast, st->period_ns);
    group_set_period(&st->slow, st->slow_at.period_ns);
}

static void cgroup_open_file(struct source *f, const struct cgroup_place *p, const char *v1,
                             const char *v2)
{
    struct err ignored;
    if (p->version && source_open(f, &ignored, "%s/%s", p->folder, p->version == 1 ? v1 : v2))
        *f = (struct source){0};
}

static int cgroup_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    struct cgroup_state *st = state;
    struct cgroup_finder finder;
    struct err ignored;
    /* Another process has the number there: then our own group, which the job is in too. */
    const int pid = proc_check(env->proc, &ignored) == 0 ? env->root_pid : 0;
    TRY(cgroup_finder_open(&finder, env->proc, env->sys, pid, e));
    cgroup_find(&finder, "cpu", &st->cpu);
    cgroup_find(&finder, "cpuacct", &st->cpuacct);
    cgroup_find(&finder, "memory", &st->memory);
    cgroup_finder_close(&finder);
    if (!st->cpu.version && !st->cpuacct.version && !st->memory.version)
        return err_set(e, ERR_NOT_FOUND, "the job's control group is not visible");
    cgroup_open_file(&st->usage.file, &st->cpuacct, "cpuacct.usage", "cpu.stat");
    cgroup_open_file(&st->memory_now, &st->memory, "memory.usage_in_bytes", "memory.current");
    cgroup_open_file(&st->oom, &st->memory, "memory.oom_control", "memory.events");
    group_open(&st->fast, "cgroup", MAX_OF(period_ns, MIN_PERIOD_NS));
    group_open(&st->slow, "cgroupmem", MAX_OF(period_ns, MEM_PERIOD_NS));
    cgroup_set_period(st, period_ns);
    st->usage.slot = st->throttle.slot = st->mem_slot = st->oom_slot = SLOT_NONE;
    st->cpu_limit_slot = st->mem_limit_slot = SLOT_NONE;
    return 0;
}

static void cgroup_close(void *state)
{
    struct cgroup_state *st = state;
    source_close(&st->usage.file);
    source_close(&st->throttle.file);
    source_close(&st->memory_now);
    source_close(&st->oom);
    group_close(&st->fast);
    group_close(&st->slow);
}

const struct probe probe_cgroup = {
    .name = "cgroup",
    .title = "the job's control group: CPU, throttling, memory, limits",
    .lane = LANE_FAST,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct cgroup_state),
    .open = cgroup_open,
    .read = cgroup_read,
    .set_period = cgroup_set_period,
    .close = cgroup_close,
};

/* ------------------------------------------------------------------------------------------------
 * Finding the groups; see cgroup_find.h */

/* ---- finding ---- */

static int cgroup_find_read_whole(struct textbuf *b, size_t *len, struct err *e, const char *path)
{
    struct source s = {0};
    struct reading r;
    TRY(source_open(&s, e, "%s", path));
    struct near_text near;
    const char *text;
    textbuf_grow(b); /* so that it is read into b */
    const bool ok = source_read_text(&s, &near, b, &text, &r);
    source_close(&s);
    *len = r.n;
    return ok ? 0 : err_set(e, ERR_SYS, "read '%s': %s", path, strerror(r.sys));
}

int cgroup_finder_open(struct cgroup_finder *f, const char *proc, const char *sys, int pid,
                       struct err *e)
{
    char path[PATH_LEN];
    *f = (struct cgroup_finder){.sys = sys};
    snprintf(path, sizeof path, "%s/%d/cgroup", proc, pid);
    int rc = pid > 0 ? cgroup_find_read_whole(&f->groups, &f->groups_len, e, path) : ERR_NOT_FOUND;
    if (rc) {
        snprintf(path, sizeof path, "%s/self/cgroup", proc);
        rc = cgroup_find_read_whole(&f->groups, &f->groups_len, e, path);
    }
    if (!rc) {
        snprintf(path, sizeof path, "%s/self/mountinfo", proc);
        rc = cgroup_find_read_whole(&f->mounts, &f->mounts_len, e, path);
    }
    if (rc)
        cgroup_finder_close(f);
    return rc;
}

void cgroup_finder_close(struct cgroup_finder *f)
{
    textbuf_free(&f->groups);
    textbuf_free(&f->mounts);
}

/* The group's path below its mount point. In a container the mounted part of the hierarchy may
 * begin in the middle, and a path may lead out of our control-group namespace ("/../x"): then what
 * we can see is the mount point itself. */
static const char *below_mount(const char *path, const char *root)
{
    const size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, len) == 0 && (path[len] == '/' || path[len] == '\0'))
        path += len;
    else
        path = "";
    if (strncmp(path, "/..", 3) == 0 || strcmp(path, "/") == 0)
        path = "";
    return path;
}

static bool place_at(const struct cgroup_finder *f, const struct cgroup_mount *m, const char *path,
                     struct cgroup_place *out)
{
    /* Mounts are seen by the machine's names; tests have their /sys elsewhere. */
    const bool in_sys = text_starts(m->point, "/sys/");
    const int top = snprintf(out->folder, sizeof out->folder, "%s%s", in_sys ? f->sys : "",
                             in_sys ? m->point + strlen("/sys") : m->point);
    if (top < 0 || (size_t)top >= sizeof out->folder)
        return false;
    const char *below = below_mount(path, m->root);
    const size_t room = sizeof out->folder - (size_t)top;
    const int n = snprintf(out->folder + top, room, "%s", below);
    if (n < 0 || (size_t)n >= room)
        return false;
    if (access(out->folder, F_OK) != 0) /* not visible under its path: the mount is what we have */
        out->folder[top] = '\0';
    out->top = (size_t)top;
    out->is_root = out->folder[top] == '\0';
    return access(out->folder, F_OK) == 0;
}

static bool find_version(const struct cgroup_finder *f, const char *controller,
                         struct cgroup_place *out)
{
    char path[CGROUP_PATH_LEN];
    struct cgroup_mount m;
    return procfs_cgroup_path(f->groups.p, f->groups_len, controller, path, sizeof path) &&
           procfs_cgroup_mount(f->mounts.p, f->mounts_len, controller, &m) &&
           place_at(f, &m, path, out);
}

void cgroup_find(const struct cgroup_finder *f, const char *controller, struct cgroup_place *out)
{
    *out = (struct cgroup_place){0};
    if (find_version(f, controller, out))
        out->version = 1;
    else if (find_version(f, "", out))
        out->version = 2;
}

/* ---- limits ---- */

/* One level's limit; false: none. */
typedef bool (*limit_reader)(const char *folder, int version, double *value);

static bool cgroup_find_read_file(const char *folder, const char *name, char *text, size_t size,
                                  size_t *n)
{
    char path[PATH_LEN + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const long got = file_peek(path, text, size);
    *n = got > 0 ? (size_t)got : 0;
    return got > 0;
}

static bool cgroup_find_read_number(const char *folder, const char *name, uint64_t *out)
{
    char text[64];
    size_t n;
    return cgroup_find_read_file(folder, name, text, sizeof text, &n) &&
           procfs_cgroup_number(text, n, out) && *out != CGROUP_NO_LIMIT;
}

static bool cpu_level(const char *folder, int version, double *percent)
{
    struct cgroup_quota q;
    char text[64];
    size_t n;
    if (version == 2 ? !cgroup_find_read_file(folder, "cpu.max", text, sizeof text, &n) ||
                           !procfs_cgroup_cpu_max(text, n, &q)
                     : !cgroup_find_read_number(folder, "cpu.cfs_quota_us", &q.quota_us) ||
                           !cgroup_find_read_number(folder, "cpu.cfs_period_us", &q.period_us))
        return false;
    if (q.quota_us == CGROUP_NO_LIMIT || q.period_us == 0)
        return false;
    *percent = 100 * (double)q.quota_us / (double)q.period_us;
    return true;
}

static bool mem_level(const char *folder, int version, double *bytes)
{
    uint64_t v;
    if (!cgroup_find_read_number(folder, version == 2 ? "memory.max" : "memory.limit_in_bytes", &v))
        return false;
    *bytes = (double)v;
    return true;
}

static bool tightest(const struct cgroup_place *p, limit_reader level, struct cgroup_limit *out)
{
    char folder[PATH_LEN];
    bool found = false;
    if (!p->version)
        return false;
    memcpy(folder, p->folder, sizeof folder);
    for (;;) {
        double v;
        if (level(folder, p->version, &v) && (!found || v < out->value)) {
            found = true;
            out->value = v;
            memcpy(out->folder, folder, sizeof folder);
        }
        char *slash = strrchr(folder + p->top, '/');
        if (!slash)
            return found;
        *slash = '\0';
    }
}

bool cgroup_cpu_limit(const struct cgroup_place *p, struct cgroup_limit *out)
{
    return tightest(p, cpu_level, out);
}

bool cgroup_mem_limit(const struct cgroup_place *p, struct cgroup_limit *out)
{
    return tightest(p, mem_level, out);
}
