/* SPDX-License-Identifier: Apache-2.0 */
/* probe_nvml_slow.c - the readings of NVIDIA GPUs that take milliseconds inside the driver: energy,
 * PCIe and NVLink traffic, the job's processes, error events. In a separate lane, so that the cheap
 * readings are on time.
 *
 * The energy counter costs 4 ms of CPU a call (H200), which once a second was half of all that
 * Footplate used. It only grows, so nothing is lost by reading it rarely: gpu.power at the sampling
 * interval gives the course, the counter every 30 s and at the end gives the sum. Each value of
 * gpu.energy is the mean power since the value before it. The first comes after one second, so that
 * every later one has a value before it, and short runs have one too. */
#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "record/group.h"
#include "sample/nvml_internal.h"
#include "sample/probe.h"
#include "sample/probe_util.h"

enum { NVML_FIELDS = 5 };

/* Of one GPU. */
struct nvml_fields {
    struct nvml_field_state {
        slot_id slot;
        struct nvml_try attempt;
        unsigned from;   /* which of its sources is in use */
        bool measured;   /* no counter: the driver measures it for us */
        unsigned resets; /* reported so far */
        struct counter counter;
    } one[NVML_FIELDS];
};

#define NVML_JOBS_PERIOD_NS (10 * NS_PER_S)

enum { NVML_PROCESSES = 256 };

struct nvml_jobs {
    struct group group;
    struct cadence due;
    struct pidset *pids; /* NULL: there is no job */
    bool other_ids;      /* we are in a process-id namespace of our own... */
    bool matched;        /* ...but the driver did name one of the job's processes */
    struct nvml_jobs_gpu {
        struct nvml_try attempt;
        slot_id processes, memory;
        bool reported_memory;
        unsigned unmatched; /* rounds in which ids could not be trusted */
    } gpu[GPU_MOST];
    struct nvml_process list[NVML_PROCESSES];
    struct nvml_process_v1 list_v1[NVML_PROCESSES];
};

struct nvml_xid {
    struct nvml_event_set *set;
    struct nvml_try attempt; /* of the queue, which is one for all GPUs */
    bool reported;           /* the GPUs that cannot be listened to */
    struct {
        int rc; /* of listening to it */
        slot_id slot;
        unsigned count;
    } gpu[GPU_MOST];
};

/* ------------------------------------------------------------------------------------------------
 * Fields: what the driver gives by number, memory temperature, PCIe and NVLink bytes. One call for
 * all of them, 0.1 to 1 ms. Where there are no PCIe counters the driver can measure the traffic for
 * us, but that blocks for 20 ms a direction. */

enum { SOURCES = 2, NOT_MEASURED = -1 };
#define KIB 1024

struct source_field {
    uint32_t id, scope;
    uint32_t divide; /* the source's counts in one count of the metric */
};

static const struct field_metric {
    enum metric_id metric;
    bool counter;
    int pcie; /* enum nvml_pcie, or NOT_MEASURED */
    struct source_field from[SOURCES];
} fields[] = {
    {M_GPU_TEMP_MEM, false, NOT_MEASURED, {{NVML_FIELD_TEMP_MEM, 0, 1}}},
    {M_GPU_PCIE_TX, true, NVML_PCIE_TX, {{NVML_FIELD_PCIE_TX, 0, 1}}},
    {M_GPU_PCIE_RX, true, NVML_PCIE_RX, {{NVML_FIELD_PCIE_RX, 0, 1}}},
    {M_GPU_NVLINK_TX,
     true,
     NOT_MEASURED,
     {{NVML_FIELD_NVLINK_TX_KIB, NVML_ALL_LINKS, 1}, {NVML_FIELD_NVLINK5_TX, NVML_ALL_LINKS, KIB}}},
    {M_GPU_NVLINK_RX,
     true,
     NOT_MEASURED,
     {{NVML_FIELD_NVLINK_RX_KIB, NVML_ALL_LINKS, 1}, {NVML_FIELD_NVLINK5_RX, NVML_ALL_LINKS, KIB}}},
};
static_assert(COUNT_OF(fields) == NVML_FIELDS, "one state for each");

static void nvml_fields_open(struct nvml_fields *f, struct group *g, const char *entity)
{
    for (unsigned i = 0; i < NVML_FIELDS; i++)
        f->one[i].slot = group_add(g, fields[i].metric, entity);
}

/* Growth over a gap of which nothing is known (the GPU was gone) is not a rate. */
static void nvml_fields_forget(struct nvml_fields *f)
{
    for (unsigned i = 0; i < NVML_FIELDS; i++)
        f->one[i].counter.known = false;
}

/* The next best source, when the driver does not have this one. */
static bool other_source(const struct field_metric *m, struct nvml_field_state *o, int rc)
{
    if (rc != NVML_NOT_SUPPORTED && rc != NVML_NO_FUNCTION && rc != NVML_INVALID)
        return false;
    if (o->from + 1 < SOURCES && m->from[o->from + 1].id) {
        o->from++;
        o->counter.known = false;
        return true;
    }
    o->measured = m->pcie != NOT_MEASURED;
    return o->measured;
}

static uint64_t whole_value(const struct nvml_field *v)
{
    switch (v->type) {
    case NVML_DOUBLE:
        return v->value.f64 > 0 && v->value.f64 < 1.8e19 ? (uint64_t)v->value.f64 : 0;
    case NVML_UINT:
        return v->value.u32;
    case NVML_USHORT:
        return v->value.u16;
    case NVML_SINT:
        return v->value.i32 > 0 ? (uint64_t)v->value.i32 : 0;
    default:
        return v->value.u64;
    }
}

static void lose_step(const struct nvml_ask *a, unsigned *resets, enum metric_id m)
{
    if ((*resets)++ < RESETS_REPORTED)
        nvml_loss(a, LOSS_RESET, m, "the driver's counter went backwards");
}

static void nvml_fields_put(const struct field_metric *m, struct nvml_field_state *o,
                            struct group *g, const struct nvml_field *v, const struct nvml_ask *a)
{
    const uint64_t value = whole_value(v) / m->from[o->from].divide;
    const unsigned bits = v->type == NVML_UINT && m->from[o->from].divide == 1 ? 32 : 64;
    if (!m->counter)
        group_gauge(g, o->slot, (double)value);
    else if (group_counter(g, o->slot, &o->counter, value, bits, a->now) == COUNTER_RESET)
        lose_step(a, &o->resets, m->metric);
}

static void nvml_fields_take(const struct field_metric *m, struct nvml_field_state *o,
                             struct group *g, const struct nvml_field *v, const struct nvml_ask *a)
{
    if (m->pcie != NOT_MEASURED && v->rc == NVML_OK && v->type == NVML_UINT) {
        o->measured = true;
        return;
    }
    if (v->rc != NVML_OK && other_source(m, o, v->rc))
        return;
    if (nvml_try_took(&o->attempt, a, v->rc, &m->metric, 1))
        nvml_fields_put(m, o, g, v, a);
    if (o->attempt.off)
        slot_end(g, &o->slot);
}

/* GPM measures it already. */
static bool served(const struct field_metric *m, struct nvml_gpu *gpu)
{
    return m->pcie != NOT_MEASURED && atomic_load(&gpu->gpm_pcie);
}

static void ask_fields(struct nvml_fields *f, struct group *g, const struct nvml_ask *ask)
{
    struct nvml_field v[NVML_FIELDS] = {0};
    unsigned which[NVML_FIELDS];
    int n = 0;
    struct nvml_ask a = *ask;
    for (unsigned i = 0; i < NVML_FIELDS; i++) {
        const struct nvml_field_state *o = &f->one[i];
        if (o->measured || served(&fields[i], a.gpu) || !nvml_try_due(&o->attempt, a.now))
            continue;
        const struct source_field *s = &fields[i].from[o->from];
        v[n] = (struct nvml_field){.id = s->id, .scope = s->scope};
        which[n++] = i;
    }
    if (n == 0)
        return;
    const struct nvml_api *api = &a.lib->api;
    const int rc = api->fields ? api->fields(atomic_load(&a.gpu->dev), n, v) : NVML_NO_FUNCTION;
    a.now = clock_mono();
    for (int k = 0; k < n && !atomic_load(&a.gpu->gone); k++) {
        if (rc != NVML_OK)
            v[k].rc = rc;
        nvml_fields_take(&fields[which[k]], &f->one[which[k]], g, &v[k], &a);
    }
}

static void nvml_fields_measure(const struct field_metric *m, struct nvml_field_state *o,
                                struct group *g, const struct nvml_ask *a)
{
    const struct nvml_api *api = &a->lib->api;
    unsigned kib_per_s = 0;
    if (!o->measured || served(m, a->gpu) || !nvml_try_due(&o->attempt, a->now))
        return;
    const int rc = api->pcie_kbs
                       ? api->pcie_kbs(atomic_load(&a->gpu->dev), (unsigned)m->pcie, &kib_per_s)
                       : NVML_NO_FUNCTION;
    if (nvml_try_took(&o->attempt, a, rc, &m->metric, 1))
        group_rate(g, o->slot, (double)kib_per_s * KIB, NS_PER_S);
    if (o->attempt.off)
        slot_end(g, &o->slot);
}

/* `may_block`: whether calls of 20 ms are wanted this time. */
static void nvml_fields_read(struct nvml_fields *f, struct group *g, const struct nvml_ask *a,
                             bool may_block)
{
    ask_fields(f, g, a);
    for (unsigned i = 0; may_block && i < NVML_FIELDS && !atomic_load(&a->gpu->gone); i++)
        nvml_fields_measure(&fields[i], &f->one[i], g, a);
}

/* ------------------------------------------------------------------------------------------------
 * Jobs: which of the job's processes are on which GPU, and what memory they use. The driver's list
 * costs milliseconds and a lock that the job may want, so it is read rarely. */

/* The kernel's number of the namespace in which it started. Any other has its own process ids, and
 * the driver may use those of the machine or hide processes: there a zero is only believed once the
 * driver has named one of the job's processes. */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

static bool in_other_namespace(const char *proc)
{
    char path[PATH_LEN], link[64];
    snprintf(path, sizeof path, "%s/self/ns/pid", proc);
    const ssize_t n = readlink(path, link, sizeof link - 1);
    if (n < 0)
        return false;
    link[n] = 0;
    return strcmp(link, FIRST_PID_NAMESPACE) != 0;
}

static void nvml_jobs_open(struct nvml_jobs *j, const struct probe_env *env, int64_t period_ns)
{
    j->pids = env->pids;
    j->other_ids = in_other_namespace(env->proc);
    group_open(&j->group, "nvml_jobs", MAX_OF(period_ns, NVML_JOBS_PERIOD_NS));
    j->due.period_ns = j->group.period_ns;
    for (unsigned i = 0; j->pids && i < env->nvml->n; i++) {
        j->gpu[i].processes = group_add(&j->group, M_GPU_JOB_PROCESSES, env->nvml->gpu[i].entity);
        j->gpu[i].memory = group_add(&j->group, M_GPU_JOB_MEM, env->nvml->gpu[i].entity);
    }
}

static void nvml_jobs_set_period(struct nvml_jobs *j, int64_t period_ns)
{
    group_set_period(&j->group, MAX_OF(period_ns, NVML_JOBS_PERIOD_NS));
    j->due.period_ns = j->group.period_ns;
}

static int list_v1(struct nvml_jobs *j, const struct nvml_ask *a, unsigned *n)
{
    const struct nvml_api *api = &a->lib->api;
    if (!api->processes_v1)
        return NVML_NO_FUNCTION;
    const int rc = api->processes_v1(atomic_load(&a->gpu->dev), n, j->list_v1);
    for (unsigned i = 0; rc == NVML_OK && i < *n && i < NVML_PROCESSES; i++)
        j->list[i] = (struct nvml_process){.pid = j->list_v1[i].pid, .used = j->list_v1[i].used};
    return rc;
}

static int nvml_jobs_list(struct nvml_jobs *j, const struct nvml_ask *a, unsigned *n)
{
    *n = NVML_PROCESSES;
    const int rc = a->lib->api.processes
                       ? a->lib->api.processes(atomic_load(&a->gpu->dev), n, j->list)
                       : list_v1(j, a, n);
    *n = MIN_OF(*n, (unsigned)NVML_PROCESSES);
    return rc;
}

/* A process is listed once for every part of the GPU that it uses. */
static bool seen_before(const struct nvml_process *v, unsigned i)
{
    return FIND_ANY(k, i, v[k].pid == v[i].pid);
}

struct nvml_jobs_share {
    unsigned processes;
    uint64_t bytes;
    bool unknown; /* the driver does not report how much memory one of them has */
};

static struct nvml_jobs_share nvml_jobs_share_of(const struct nvml_jobs *j, unsigned n)
{
    struct nvml_jobs_share s = {0};
    for (unsigned i = 0; i < n; i++) {
        if (!pidset_has(j->pids, (int)j->list[i].pid))
            continue;
        s.processes += !seen_before(j->list, i);
        s.unknown |= j->list[i].used == NVML_NOT_KNOWN;
        s.bytes += j->list[i].used;
    }
    return s;
}

enum { UNMATCHED_REPORTED = 3 }; /* a job takes some time to reach the GPU */

static bool trusted(struct nvml_jobs *j, struct nvml_jobs_gpu *g, const struct nvml_ask *a,
                    unsigned processes)
{
    j->matched |= processes > 0;
    if (j->matched || !j->other_ids)
        return true;
    if (++g->unmatched == UNMATCHED_REPORTED)
        nvml_loss(a, LOSS_READ, M_GPU_JOB_PROCESSES,
                  "the driver does not report the job's processes inside this container");
    return false;
}

static void nvml_jobs_put(struct nvml_jobs *j, struct nvml_jobs_gpu *g, const struct nvml_ask *a,
                          unsigned n)
{
    const struct nvml_jobs_share s = nvml_jobs_share_of(j, n);
    if (!trusted(j, g, a, s.processes))
        return;
    group_gauge(&j->group, g->processes, s.processes);
    if (!s.unknown)
        group_gauge(&j->group, g->memory, (double)s.bytes);
    else if (!g->reported_memory)
        nvml_loss(a, LOSS_UNSUPPORTED, M_GPU_JOB_MEM,
                  "the driver does not report the memory of processes");
    g->reported_memory |= s.unknown;
}

static void nvml_jobs_read_gpu(struct nvml_jobs *j, const struct nvml_ask *a)
{
    const enum metric_id m[] = {M_GPU_JOB_PROCESSES, M_GPU_JOB_MEM};
    struct nvml_jobs_gpu *g = &j->gpu[a->gpu->index];
    unsigned n = 0;
    if (!nvml_try_due(&g->attempt, a->now) || !nvml_gpu_ready(a))
        return;
    const int rc = nvml_jobs_list(j, a, &n);
    if (nvml_try_took(&g->attempt, a, rc, m, COUNT_OF(m)))
        nvml_jobs_put(j, g, a, n);
    if (!g->attempt.off)
        return;
    slot_end(&j->group, &g->processes);
    slot_end(&j->group, &g->memory);
}

static void nvml_jobs_read(struct nvml_jobs *j, const struct nvml_ask *round)
{
    if (!j->pids || !cadence_due(&j->due, round->now, NS_PER_S / 2))
        return;
    for (unsigned i = 0; i < round->lib->n; i++)
        nvml_jobs_read_gpu(
            j, &(struct nvml_ask){round->lib, &round->lib->gpu[i], round->sink, round->now});
    group_commit(&j->group, round->sink, round->now);
}

/* ------------------------------------------------------------------------------------------------
 * Errors (XID) that the driver reports during the run. The driver queues them; a reading
 * takes what has come and never waits. */

enum { EVENTS_A_ROUND = 64 }; /* a storm is counted over several rounds */

static int new_set(struct nvml_xid *x, const struct nvml_api *api)
{
    if (!api->events_new || !api->events_add || !api->events_wait || !api->events_free)
        return NVML_NO_FUNCTION;
    return api->events_new(&x->set);
}

static void nvml_xid_open(struct nvml_xid *x, struct nvml_lib *lib, struct group *g)
{
    const int rc = new_set(x, &lib->api);
    if (rc != NVML_OK)
        x->set = NULL;
    for (unsigned i = 0; i < lib->n; i++) {
        struct nvml_device *d = atomic_load(&lib->gpu[i].dev);
        x->gpu[i].slot = SLOT_NONE;
        x->gpu[i].rc = rc;
        if (rc == NVML_OK)
            x->gpu[i].rc = d ? lib->api.events_add(d, NVML_EVENT_XID, x->set) : NVML_GPU_LOST;
        if (x->gpu[i].rc == NVML_OK)
            x->gpu[i].slot = group_add(g, M_GPU_XID, lib->gpu[i].entity);
    }
}

static void nvml_xid_close(struct nvml_xid *x, struct nvml_lib *lib)
{
    if (x->set)
        lib->api.events_free(x->set);
    x->set = NULL;
}

static void report_deaf(struct nvml_xid *x, const struct nvml_ask *round)
{
    const enum metric_id metric = M_GPU_XID;
    for (unsigned i = 0; i < round->lib->n; i++) {
        struct nvml_ask a = *round;
        struct nvml_try once = {0};
        a.gpu = &round->lib->gpu[i];
        if (x->gpu[i].rc != NVML_GPU_LOST)
            nvml_try_took(&once, &a, x->gpu[i].rc, &metric, 1);
    }
}

static void nvml_xid_take(struct nvml_xid *x, const struct nvml_ask *round,
                          const struct nvml_event *e)
{
    if (!(e->type & NVML_EVENT_XID))
        return;
    for (unsigned i = 0; i < round->lib->n; i++) {
        struct nvml_gpu *g = &round->lib->gpu[i];
        if (atomic_load(&g->dev) != e->device)
            continue;
        x->gpu[i].count++;
        sink_mark(round->sink, MARK_XID, (int64_t)e->data, "%s", g->entity);
        return;
    }
    sink_mark(round->sink, MARK_XID, (int64_t)e->data, "an unlisted GPU");
}

/* True when the queue is empty now and the counts are complete. */
static bool nvml_xid_drain(struct nvml_xid *x, const struct nvml_ask *round)
{
    int rc = NVML_OK;
    for (int n = 0; n < EVENTS_A_ROUND && rc == NVML_OK; n++) {
        struct nvml_event e = {0};
        rc = round->lib->api.events_wait(x->set, &e, 0);
        if (rc == NVML_OK)
            nvml_xid_take(x, round, &e);
    }
    if (rc == NVML_OK || rc == NVML_TIMEOUT)
        return true;
    if (x->attempt.reported != rc)
        sink_loss(round->sink, LOSS_READ, LOST_METRIC(M_GPU_XID), "%s", nvml_why(round->lib, rc));
    x->attempt.reported = rc;
    x->attempt.again = mono_add(round->now, NVML_RETRY_NS);
    return false;
}

static void nvml_xid_read(struct nvml_xid *x, struct group *g, const struct nvml_ask *round)
{
    if (!x->reported)
        report_deaf(x, round);
    x->reported = true;
    if (!x->set || !nvml_try_due(&x->attempt, round->now) || !nvml_xid_drain(x, round))
        return;
    for (unsigned i = 0; i < round->lib->n; i++)
        if (!atomic_load(&round->lib->gpu[i].gone))
            group_gauge(g, x->gpu[i].slot, x->gpu[i].count);
}

/* ------------------------------------------------------------------------------------------------
 * The probe */

#define MIN_PERIOD_NS    NS_PER_S
#define BLOCK_PERIOD_NS  (5 * NS_PER_S) /* between calls that block for 20 ms */
#define ENERGY_PERIOD_NS (30 * NS_PER_S)
/* Two readings closer than this would make a mean power out of the counter's own steps. */
#define ENERGY_APART_NS (500 * NS_PER_MS)

enum { ENERGY_AT_ONCE = 2 }; /* readings at the start, one round after the other */

struct energy {
    slot_id slot;
    struct nvml_try attempt;
    struct counter counter;
    unsigned resets;
};

struct nvml_slow_state {
    struct nvml_lib *lib;
    struct group group, energies;
    struct cadence may_block, energy_due;
    unsigned energy_reads;
    mono_ns energy_at; /* of the latest reading */
    struct nvml_xid xid;
    struct nvml_jobs jobs;
    struct energy energy[GPU_MOST];
    struct nvml_fields fields[GPU_MOST];
};

static void nvml_slow_set_period(void *state, int64_t period_ns)
{
    struct nvml_slow_state *st = state;
    group_set_period(&st->group, MAX_OF(period_ns, MIN_PERIOD_NS));
    group_set_period(&st->energies, MAX_OF(period_ns, ENERGY_PERIOD_NS));
    st->energy_due.period_ns = st->energies.period_ns;
    nvml_jobs_set_period(&st->jobs, period_ns);
}

static int nvml_slow_open(void *state, const struct probe_env *env, int64_t period_ns,
                          struct err *e)
{
    struct nvml_slow_state *st = state;
    TRY(nvml_of(env, &st->lib, e));
    st->may_block.period_ns = BLOCK_PERIOD_NS;
    group_open(&st->group, "nvml_slow", MAX_OF(period_ns, MIN_PERIOD_NS));
    group_open(&st->energies, "nvml_energy", MAX_OF(period_ns, ENERGY_PERIOD_NS));
    st->energy_due.period_ns = st->energies.period_ns;
    for (unsigned i = 0; i < st->lib->n; i++) {
        const char *entity = st->lib->gpu[i].entity;
        st->energy[i].slot = group_add(&st->energies, M_GPU_ENERGY, entity);
        nvml_fields_open(&st->fields[i], &st->group, entity);
    }
    nvml_xid_open(&st->xid, st->lib, &st->group);
    nvml_jobs_open(&st->jobs, env, period_ns);
    return 0;
}

static void nvml_slow_read_energy(struct energy *o, struct group *g, const struct nvml_ask *a)
{
    const enum metric_id metric = M_GPU_ENERGY;
    const struct nvml_api *api = &a->lib->api;
    unsigned long long mj = 0;
    if (!nvml_try_due(&o->attempt, a->now))
        return;
    const mono_ns before = clock_mono();
    const int rc =
        api->energy_mj ? api->energy_mj(atomic_load(&a->gpu->dev), &mj) : NVML_NO_FUNCTION;
    const mono_ns t = mono_add(before, mono_diff(clock_mono(), before) / 2);
    if (nvml_try_took(&o->attempt, a, rc, &metric, 1) &&
        group_counter(g, o->slot, &o->counter, mj, 64, t) == COUNTER_RESET)
        lose_step(a, &o->resets, metric);
    if (o->attempt.off)
        slot_end(g, &o->slot);
}

/* Of the GPUs that are there; the caller has looked for them in this round. */
static void read_energies(struct nvml_slow_state *st, struct sink *s, mono_ns now)
{
    for (unsigned i = 0; i < st->lib->n; i++)
        if (!atomic_load(&st->lib->gpu[i].gone))
            nvml_slow_read_energy(&st->energy[i], &st->energies,
                                  &(struct nvml_ask){st->lib, &st->lib->gpu[i], s, now});
    st->energy_reads++;
    st->energy_at = clock_mono();
    group_commit(&st->energies, s, st->energy_at);
}

static void nvml_slow_read_gpu(struct nvml_slow_state *st, const struct nvml_ask *a, bool may_block)
{
    const unsigned i = a->gpu->index;
    if (nvml_gpu_ready(a))
        nvml_fields_read(&st->fields[i], &st->group, a, may_block);
    if (!atomic_load(&a->gpu->gone))
        return;
    nvml_fields_forget(&st->fields[i]);
    st->energy[i].counter.known = false;
}

static void nvml_slow_read(void *state, struct sink *s)
{
    struct nvml_slow_state *st = state;
    const mono_ns now = clock_mono();
    const struct nvml_ask round = {.lib = st->lib, .sink = s, .now = now};
    const bool may_block = cadence_due(&st->may_block, now, NS_PER_S / 2);
    for (unsigned i = 0; i < st->lib->n; i++)
        nvml_slow_read_gpu(st, &(struct nvml_ask){st->lib, &st->lib->gpu[i], s, now}, may_block);
    const bool energy = cadence_due(&st->energy_due, now, NS_PER_S / 2);
    if (energy || st->energy_reads < ENERGY_AT_ONCE)
        read_energies(st, s, now);
    nvml_xid_read(&st->xid, &st->group, &round);
    group_commit(&st->group, s, now);
    nvml_jobs_read(&st->jobs, &round);
}

/* The counter once more, so that the energy of the whole run is known. */
static void end_probe(void *state, struct sink *s)
{
    struct nvml_slow_state *st = state;
    const mono_ns now = clock_mono();
    if (st->energy_reads > 0 && mono_diff(now, st->energy_at) >= ENERGY_APART_NS)
        read_energies(st, s, now);
}

static void nvml_slow_close(void *state)
{
    struct nvml_slow_state *st = state;
    if (st->lib)
        nvml_xid_close(&st->xid, st->lib);
    group_close(&st->jobs.group);
    group_close(&st->group);
    group_close(&st->energies);
}

const struct probe probe_nvml_slow = {
    .name = "nvml_slow",
    .title = "NVIDIA GPUs: energy, PCIe and NVLink traffic, the job's processes, XID errors",
    .lane = LANE_SLOW,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct nvml_slow_state),
    .open = nvml_slow_open,
    .read = nvml_slow_read,
    .set_period = nvml_slow_set_period,
    .end = end_probe,
    .close = nvml_slow_close,
};
