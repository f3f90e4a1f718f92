/* SPDX-License-Identifier: Apache-2.0 */
/* probe_host.c - the machine's memory and swap, time that tasks were stalled, and what Footplate
 * itself costs, shown beside the data. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sample/probe.h"
#include "sample/probe_util.h"
#include "sample/procfs.h"
#include "sample/source.h"

#define HOST_PERIOD_NS (100 * NS_PER_MS)

/* Of memory and of Footplate itself. */
enum { REPORTED_READ, REPORTED_MALFORMED, REPORTED_NO_SWAP };

/* ------------------------------------------------------------------------------------------------
 * Memory and swap, from /proc/meminfo */

/* What is read is at the top: SwapFree ends before byte 600 on every kernel seen. */
enum { MEMINFO_SIZE = 1024 };

struct mem_state {
    struct source meminfo;
    struct group group;
    slot_id util, used, available;
    slot_id swap; /* SLOT_NONE until there is some */
    uint32_t reported;
};

static void put_swap(struct mem_state *st, const struct meminfo *m, struct sink *s)
{
    const uint64_t total = m->kb[MEM_SWAP_TOTAL], free_kb = m->kb[MEM_SWAP_FREE];
    if (total == 0) {
        if (report_once(&st->reported, REPORTED_NO_SWAP))
            sink_loss(s, LOSS_ABSENT, LOST_METRIC(M_SWAP_USED), "this machine has no swap");
        return;
    }
    if (st->swap == SLOT_NONE)
        st->swap = group_add(&st->group, M_SWAP_USED, ENTITY_TOTAL);
    group_gauge(&st->group, st->swap, total > free_kb ? (double)(total - free_kb) : 0);
}

static void mem_put_memory(struct mem_state *st, const struct meminfo *m)
{
    const double total = (double)m->kb[MEM_TOTAL];
    const double available = (double)meminfo_available_kb(m);
    group_gauge(&st->group, st->used, total - available);
    group_gauge(&st->group, st->available, available);
    if (total > 0)
        group_gauge(&st->group, st->util, 1000 * (total - available) / total);
}

static void mem_read(void *state, struct sink *s)
{
    struct mem_state *st = state;
    char text[MEMINFO_SIZE];
    struct reading r;
    struct meminfo m;
    if (!source_read(&st->meminfo, text, sizeof text, &r)) {
        lose_read(s, &st->reported, REPORTED_READ, LOST_PART("mem"), r.sys);
        return;
    }
    if (!procfs_meminfo(text, r.n, &m)) {
        if (report_once(&st->reported, REPORTED_MALFORMED))
            sink_loss(s, LOSS_MALFORMED, LOST_PART("mem"), "%s has no MemTotal or no MemFree",
                      st->meminfo.path);
        return;
    }
    mem_put_memory(st, &m);
    put_swap(st, &m, s);
    group_commit(&st->group, s, r.at);
}

static int mem_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    struct mem_state *st = state;
    TRY(source_open(&st->meminfo, e, "%s/meminfo", env->proc));
    group_open(&st->group, "mem", MAX_OF(period_ns, HOST_PERIOD_NS));
    st->util = group_add(&st->group, M_MEM_UTIL, ENTITY_TOTAL);
    st->used = group_add(&st->group, M_MEM_USED, ENTITY_TOTAL);
    st->available = group_add(&st->group, M_MEM_AVAILABLE, ENTITY_TOTAL);
    st->swap = SLOT_NONE;
    return 0;
}

static void mem_close(void *state)
{
    struct mem_state *st = state;
    source_close(&st->meminfo);
    group_close(&st->group);
}

const struct probe probe_mem = {
    .name = "mem",
    .title = "memory and swap of the machine",
    .lane = LANE_FAST,
    .min_period_ns = HOST_PERIOD_NS,
    .state_size = sizeof(struct mem_state),
    .open = mem_open,
    .read = mem_read,
    .group = offsetof(struct mem_state, group),
    .close = mem_close,
};

/* ------------------------------------------------------------------------------------------------
 * Time that tasks were stalled for want of CPU, I/O or memory (/proc/pressure). Taken from the
 * running totals in microseconds, as the kernel's own averages are over 10 s. */

enum { RESOURCES = 3, PRESSURE_SIZE = 512 };

static const struct probe_psi_resource {
    const char *file;
    enum metric_id some, full; /* METRIC_N: not recorded */
} resources[RESOURCES] = {
    {"cpu", M_PSI_CPU_SOME, METRIC_N}, /* "full" of the whole machine is always 0 */
    {"io", M_PSI_IO_SOME, M_PSI_IO_FULL},
    {"memory", M_PSI_MEM_SOME, M_PSI_MEM_FULL},
};

struct stall {
    struct source file;
    slot_id some, full;
    struct counter some_us, full_us;
};

struct psi_state {
    struct group group;
    struct stall stall[RESOURCES];
    uint32_t reported; /* bits: a failed reading, then malformed, per resource */
    unsigned resets_reported;
};

static void put_stall(struct psi_state *st, struct stall *x, const struct pressure *p, mono_ns t,
                      struct sink *s, struct loss_subject of)
{
    enum counter_step some = group_counter(&st->group, x->some, &x->some_us, p->some_us, 64, t);
    enum counter_step full = COUNTER_OK;
    if (p->has_full && x->full != SLOT_NONE)
        full = group_counter(&st->group, x->full, &x->full_us, p->full_us, 64, t);
    if (some == COUNTER_RESET || full == COUNTER_RESET)
        lose_reset(s, &st->resets_reported, of);
}

static mono_ns read_stall(struct psi_state *st, unsigned i, struct sink *s)
{
    struct stall *x = &st->stall[i];
    const struct loss_subject of = LOST_METRIC(resources[i].some);
    char text[PRESSURE_SIZE];
    struct reading r;
    struct pressure p;
    if (!source_read(&x->file, text, sizeof text, &r))
        lose_read(s, &st->reported, i, of, r.sys);
    else if (procfs_pressure(text, r.n, &p))
        put_stall(st, x, &p, r.at, s, of);
    else if (report_once(&st->reported, RESOURCES + i))
        sink_loss(s, LOSS_MALFORMED, of, "%s has an unexpected format", x->file.path);
    return r.at;
}

static void psi_read(void *state, struct sink *s)
{
    struct psi_state *st = state;
    mono_ns first = {0};
    for (unsigned i = 0; i < RESOURCES; i++) {
        if (!source_is_open(&st->stall[i].file))
            continue;
        const mono_ns at = read_stall(st, i, s);
        if (first.ns == 0)
            first = at;
    }
    group_commit(&st->group, s, first);
}

/* A kernel that has it compiled in but switched off answers EOPNOTSUPP to the first read. */
static bool open_stall(struct psi_state *st, unsigned i, const char *proc, int *sys)
{
    struct stall *x = &st->stall[i];
    struct err e;
    char text[PRESSURE_SIZE];
    struct reading r;
    if (source_open(&x->file, &e, "%s/pressure/%s", proc, resources[i].file)) {
        *sys = e.sys;
        return false;
    }
    if (!source_read(&x->file, text, sizeof text, &r)) {
        *sys = r.sys;
        source_close(&x->file);
        return false;
    }
    x->some = group_add(&st->group, resources[i].some, ENTITY_TOTAL);
    x->full = resources[i].full == METRIC_N
                  ? SLOT_NONE
                  : group_add(&st->group, resources[i].full, ENTITY_TOTAL);
    return true;
}

static int psi_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    struct psi_state *st = state;
    unsigned found = 0;
    int sys = 0;
    group_open(&st->group, "psi", MAX_OF(period_ns, HOST_PERIOD_NS));
    for (unsigned i = 0; i < RESOURCES; i++)
        found += open_stall(st, i, env->proc, &sys);
    if (found)
        return 0;
    group_close(&st->group);
    if (sys == EOPNOTSUPP)
        return err_set(e, ERR_NOT_FOUND,
                       "pressure stall information is disabled (boot with psi=1)");
    if (sys == ENOENT)
        return err_set(e, ERR_NOT_FOUND, "this kernel has no pressure stall information");
    return err_set(e, ERR_NOT_FOUND, "%s/pressure cannot be read: %s", env->proc, strerror(sys));
}

static void psi_close(void *state)
{
    struct psi_state *st = state;
    for (unsigned i = 0; i < RESOURCES; i++)
        source_close(&st->stall[i].file);
    group_close(&st->group);
}

const struct probe probe_psi = {
    .name = "psi",
    .title = "pressure stall: time tasks waited for CPU, I/O or memory",
    .lane = LANE_FAST,
    .min_period_ns = HOST_PERIOD_NS,
    .state_size = sizeof(struct psi_state),
    .open = psi_open,
    .read = psi_read,
    .group = offsetof(struct psi_state, group),
    .close = psi_close,
};

/* ------------------------------------------------------------------------------------------------
 * What Footplate itself costs */

#define SELF_PERIOD_NS NS_PER_S

struct self_state {
    struct source statm;
    struct probe_env env;
    double page_bytes;
    struct group group;
    slot_id cpu, rss, written, late;
    struct counter cpu_ns, written_bytes;
    uint32_t reported;
};

static void put_rss(struct self_state *st, struct sink *s)
{
    char text[128];
    struct reading r;
    uint64_t pages;
    if (!source_read(&st->statm, text, sizeof text, &r))
        lose_read(s, &st->reported, REPORTED_READ, LOST_METRIC(M_SELF_RSS), r.sys);
    else if (procfs_statm(text, r.n, &pages))
        group_gauge(&st->group, st->rss, (double)pages * st->page_bytes);
    else if (report_once(&st->reported, REPORTED_MALFORMED))
        sink_loss(s, LOSS_MALFORMED, LOST_METRIC(M_SELF_RSS), "%s has an unexpected format",
                  st->statm.path);
}

static void self_read(void *state, struct sink *s)
{
    struct self_state *st = state;
    const struct probe_env *env = &st->env;
    const mono_ns t = clock_mono();
    struct timespec cpu;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
        group_counter(&st->group, st->cpu, &st->cpu_ns,
                      (uint64_t)cpu.tv_sec * (uint64_t)NS_PER_S + (uint64_t)cpu.tv_nsec, 64, t);
    put_rss(st, s);
    if (env->bytes_written)
        group_counter(&st->group, st->written, &st->written_bytes, env->bytes_written(env->ctx), 64,
                      t);
    if (env->late_ns)
        group_gauge(&st->group, st->late, (double)env->late_ns(env->ctx));
    group_commit(&st->group, s, t);
}

static int self_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    struct self_state *st = state;
    TRY(source_open(&st->statm, e, "%s/self/statm", env->proc));
    st->env = *env;
    st->page_bytes = (double)sysconf(_SC_PAGESIZE);
    group_open(&st->group, "self", MAX_OF(period_ns, SELF_PERIOD_NS));
    st->cpu = group_add(&st->group, M_SELF_CPU, ENTITY_TOTAL);
    st->rss = group_add(&st->group, M_SELF_RSS, ENTITY_TOTAL);
    st->written =
        env->bytes_written ? group_add(&st->group, M_SELF_WRITTEN, ENTITY_TOTAL) : SLOT_NONE;
    st->late = env->late_ns ? group_add(&st->group, M_SELF_LATE, ENTITY_TOTAL) : SLOT_NONE;
    return 0;
}

static void self_close(void *state)
{
    struct self_state *st = state;
    source_close(&st->statm);
    group_close(&st->group);
}

const struct probe probe_self = {
    .name = "self",
    .title = "overhead of Footplate",
    .lane = LANE_FAST,
    .min_period_ns = SELF_PERIOD_NS,
    .state_size = sizeof(struct self_state),
    .open = self_open,
    .read = self_read,
    .group = offsetof(struct self_state, group),
    .close = self_close,
};
