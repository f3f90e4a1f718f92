/* SPDX-License-Identifier: Apache-2.0 */
/* probe_nvml_slow.c - the readings of NVIDIA GPUs that take milliseconds inside the driver: energy,
 * PCIe and NVLink traffic, the job's processes, error events. In a lane of its own, so that the
 * cheap readings keep their time.
 *
 * The energy counter costs 4 ms of CPU a call (H200), which once a second was half of all that
 * Footplate used. It only grows, so nothing is lost by reading it rarely: gpu.power at the sampling
 * interval gives the course, the counter every 30 s and at the end gives the sum. Each value of
 * gpu.energy is the mean power since the value before it. The first comes after one second, so that
 * every later one has a value before it, and short runs have one too. */
#include "base/mem.h"
#include "sample/nvml_dev.h"
#include "sample/nvml_fields.h"
#include "sample/nvml_jobs.h"
#include "sample/nvml_xid.h"
#include "sample/probe.h"
#include "sample/probe_util.h"

#define MIN_PERIOD_NS    NS_PER_S
#define BLOCK_PERIOD_NS  (5 * NS_PER_S) /* between calls that block for 20 ms */
#define ENERGY_PERIOD_NS (30 * NS_PER_S)
/* Two readings closer than this would make a mean power out of the counter's own steps. */
#define ENERGY_APART_NS (500 * NS_PER_MS)

enum { ENERGY_AT_ONCE = 2 }; /* readings at the start, one round after the other */

struct energy {
    slot_id slot;
    struct nvml_try stands;
    struct counter counter;
    unsigned resets;
};

struct probe_nvml_slow_state {
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

static void probe_nvml_slow_set_period(void *state, int64_t period_ns)
{
    struct probe_nvml_slow_state *st = state;
    group_set_period(&st->group, MAX_OF(period_ns, MIN_PERIOD_NS));
    group_set_period(&st->energies, MAX_OF(period_ns, ENERGY_PERIOD_NS));
    st->energy_due.period_ns = st->energies.period_ns;
    nvml_jobs_set_period(&st->jobs, period_ns);
}

static int probe_nvml_slow_open(void *state, const struct probe_env *env, int64_t period_ns,
                                struct err *e)
{
    struct probe_nvml_slow_state *st = state;
    const int rc = nvml_of(env, &st->lib, e);
    if (rc != 0)
        return rc;
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

static mono_ns middle(mono_ns a, mono_ns b)
{
    return mono_add(a, mono_diff(b, a) / 2);
}

static void probe_nvml_slow_read_energy(struct energy *o, struct group *g, const struct nvml_ask *a)
{
    const enum metric_id metric = M_GPU_ENERGY;
    const struct nvml_api *api = &a->lib->api;
    unsigned long long mj = 0;
    if (!nvml_try_due(&o->stands, a->now))
        return;
    const mono_ns before = clock_mono();
    const int rc =
        api->energy_mj ? api->energy_mj(atomic_load(&a->gpu->dev), &mj) : NVML_NO_FUNCTION;
    const mono_ns t = middle(before, clock_mono());
    if (nvml_try_took(&o->stands, a, rc, &metric, 1) &&
        group_counter(g, o->slot, &o->counter, mj, 64, t) == COUNTER_RESET &&
        o->resets++ < RESETS_SAID)
        nvml_loss(a, LOSS_RESET, metric, "the driver's counter went backwards");
    if (!o->stands.off)
        return;
    group_drop(g, o->slot);
    o->slot = SLOT_NONE;
}

static bool energy_is_due(struct probe_nvml_slow_state *st, mono_ns now)
{
    const bool due = cadence_due(&st->energy_due, now, NS_PER_S / 2);
    return due || st->energy_reads < ENERGY_AT_ONCE;
}

/* Of the GPUs that are there; the caller has looked for them in this round. */
static void read_energies(struct probe_nvml_slow_state *st, struct sink *s, mono_ns now)
{
    for (unsigned i = 0; i < st->lib->n; i++)
        if (!atomic_load(&st->lib->gpu[i].gone))
            probe_nvml_slow_read_energy(&st->energy[i], &st->energies,
                                        &(struct nvml_ask){st->lib, &st->lib->gpu[i], s, now});
    st->energy_reads++;
    st->energy_at = clock_mono();
    group_commit(&st->energies, s, st->energy_at);
}

static void probe_nvml_slow_read_gpu(struct probe_nvml_slow_state *st, const struct nvml_ask *a,
                                     bool may_block)
{
    const unsigned i = a->gpu->index;
    if (nvml_gpu_ready(a))
        nvml_fields_read(&st->fields[i], &st->group, a, may_block);
    if (!atomic_load(&a->gpu->gone))
        return;
    nvml_fields_forget(&st->fields[i]);
    st->energy[i].counter.known = false;
}

static void probe_nvml_slow_read(void *state, struct sink *s)
{
    struct probe_nvml_slow_state *st = state;
    const mono_ns now = clock_mono();
    const struct nvml_ask round = {.lib = st->lib, .sink = s, .now = now};
    const bool may_block = cadence_due(&st->may_block, now, NS_PER_S / 2);
    for (unsigned i = 0; i < st->lib->n; i++)
        probe_nvml_slow_read_gpu(st, &(struct nvml_ask){st->lib, &st->lib->gpu[i], s, now},
                                 may_block);
    if (energy_is_due(st, now))
        read_energies(st, s, now);
    nvml_xid_read(&st->xid, &st->group, &round);
    group_commit(&st->group, s, now);
    nvml_jobs_read(&st->jobs, &round);
}

/* The counter once more, so that the energy of the whole run is known. */
static void end_probe(void *state, struct sink *s)
{
    struct probe_nvml_slow_state *st = state;
    const mono_ns now = clock_mono();
    if (st->energy_reads > 0 && mono_diff(now, st->energy_at) >= ENERGY_APART_NS)
        read_energies(st, s, now);
}

static void probe_nvml_slow_close(void *state)
{
    struct probe_nvml_slow_state *st = state;
    if (st->lib)
        nvml_xid_close(&st->xid, st->lib);
    nvml_jobs_close(&st->jobs);
    group_close(&st->group);
    group_close(&st->energies);
}

const struct probe probe_nvml_slow = {
    .name = "nvml_slow",
    .title = "NVIDIA GPUs: energy, PCIe and NVLink traffic, the job's processes, XID errors",
    .lane = LANE_SLOW,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct probe_nvml_slow_state),
    .open = probe_nvml_slow_open,
    .read = probe_nvml_slow_read,
    .set_period = probe_nvml_slow_set_period,
    .end = end_probe,
    .close = probe_nvml_slow_close,
};
