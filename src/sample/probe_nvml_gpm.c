/* SPDX-License-Identifier: Apache-2.0 */
/* probe_nvml_gpm.c - GPU performance monitoring of Hopper and later: how much of the SMs, the
 * tensor cores and the memory bandwidth is really at work. Each reading compares two samples of the
 * driver's counters. The first error ends it for that GPU: other tools may hold the counters, and
 * the job must not pay for our trying. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "sample/nvml_dev.h"
#include "sample/probe.h"

/* A sample costs 0.2 ms of CPU per GPU (H200), so it is not taken faster than this. Comparing two
 * costs 0.01 ms for the metrics below; with those of NVLink it would be more than a millisecond. */
#define MIN_PERIOD_NS (500 * NS_PER_MS)
/* The driver wants its samples 100 ms apart; a wake-up may come a little early. */
#define MIN_APART_NS (95 * NS_PER_MS)

#define MIB 1048576.0

/* PCIe comes from here where it can: the driver's byte counters have 32 bits, which a busy link
 * wraps several times a second. */
static const struct {
    enum nvml_gpm_id id;
    enum metric_id metric;
    double bytes; /* of one count, for what is a rate */
} gpm[] = {
    {NVML_GPM_SM_UTIL, M_GPU_SM_ACTIVE, 0},    {NVML_GPM_SM_OCCUPANCY, M_GPU_SM_OCCUPANCY, 0},
    {NVML_GPM_TENSOR, M_GPU_TENSOR_ACTIVE, 0}, {NVML_GPM_DRAM, M_GPU_DRAM_ACTIVE, 0},
    {NVML_GPM_PCIE_TX, M_GPU_PCIE_TX, MIB},    {NVML_GPM_PCIE_RX, M_GPU_PCIE_RX, MIB},
};
enum { GPM_N = COUNT_OF(gpm) };

struct probe_nvml_gpm_one {
    const char *refused; /* why there is no GPM here; a loss at the first reading */
    struct nvml_gpm_sample *sample[2];
    unsigned newest;
    bool taken; /* sample[newest] holds one, taken at `at` */
    mono_ns at;
    slot_id slot[GPM_N];
};

struct probe_nvml_gpm_state {
    struct nvml_lib *lib;
    struct group group;
    struct nvml_gpm_get get; /* large, so not on the stack */
    bool refusals_told;
    struct probe_nvml_gpm_one one[GPU_MOST];
};

static void free_samples(const struct nvml_api *api, struct probe_nvml_gpm_one *o)
{
    for (int k = 0; k < 2; k++)
        if (o->sample[k])
            api->gpm_free(o->sample[k]);
    memset(o->sample, 0, sizeof o->sample);
}

static int new_samples(const struct nvml_api *api, struct probe_nvml_gpm_one *o)
{
    int rc = api->gpm_new(&o->sample[0]);
    if (rc == NVML_OK)
        rc = api->gpm_new(&o->sample[1]);
    if (rc != NVML_OK)
        free_samples(api, o);
    return rc;
}

#define NEEDS_HOPPER "GPM counters need a Hopper (H100) or newer GPU"

static const char *gpm_why(const struct nvml_lib *lib, int rc)
{
    if (rc == NVML_NO_PERMISSION)
        return "GPM counters can be read only by administrators";
    return rc == NVML_NOT_SUPPORTED ? NEEDS_HOPPER : nvml_why(lib, rc);
}

static const char *start_gpu(const struct nvml_lib *lib, const struct nvml_gpu *g,
                             struct probe_nvml_gpm_one *o)
{
    const struct nvml_api *api = &lib->api;
    struct nvml_gpm_support s = {.version = NVML_GPM_VERSION};
    struct nvml_device *d = atomic_load(&g->dev);
    if (!api->gpm_support || !api->gpm_new || !api->gpm_free || !api->gpm_sample ||
        !api->gpm_metrics)
        return "GPM counters need a newer NVIDIA driver";
    if (g->mig)
        return "GPM counters are not available while MIG is enabled";
    if (!d)
        return nvml_why(lib, g->open_rc);
    int rc = api->gpm_support(d, &s);
    if (rc == NVML_NOT_SUPPORTED || (rc == NVML_OK && !s.supported))
        return NEEDS_HOPPER;
    if (rc == NVML_OK)
        rc = new_samples(api, o);
    return rc == NVML_OK ? NULL : gpm_why(lib, rc);
}

static void probe_nvml_gpm_set_period(void *state, int64_t period_ns)
{
    struct probe_nvml_gpm_state *st = state;
    group_set_period(&st->group, MAX_OF(period_ns, MIN_PERIOD_NS));
}

static int probe_nvml_gpm_open(void *state, const struct probe_env *env, int64_t period_ns,
                               struct err *e)
{
    struct probe_nvml_gpm_state *st = state;
    const int rc = nvml_of(env, &st->lib, e);
    if (rc != 0)
        return rc;
    for (unsigned g = 0; g < st->lib->n; g++) {
        st->one[g].refused = start_gpu(st->lib, &st->lib->gpu[g], &st->one[g]);
        atomic_store(&st->lib->gpu[g].gpm_pcie, !st->one[g].refused);
    }
    group_open(&st->group, "nvml_gpm", MAX_OF(period_ns, MIN_PERIOD_NS));
    for (unsigned g = 0; g < st->lib->n; g++)
        for (size_t i = 0; i < GPM_N && !st->one[g].refused; i++)
            st->one[g].slot[i] = group_add(&st->group, gpm[i].metric, st->lib->gpu[g].entity);
    return 0;
}

/* A loss for each metric that only GPM gives; the others have another source. */
static void lose_all(const struct nvml_ask *a, const struct probe_nvml_gpm_one *o, enum loss_id id)
{
    for (size_t i = 0; i < GPM_N; i++)
        if (gpm[i].bytes == 0)
            nvml_loss(a, id, gpm[i].metric, o->refused);
}

/* The one metric is not there; the others go on. */
static void end_metric(struct probe_nvml_gpm_state *st, struct nvml_gpu *gpu,
                       struct probe_nvml_gpm_one *o, size_t i)
{
    if (gpm[i].bytes > 0)
        atomic_store(&gpu->gpm_pcie, false);
    group_drop(&st->group, o->slot[i]);
    o->slot[i] = SLOT_NONE;
}

/* What the whole call answered: on the first error GPM ends for this GPU. */
static bool accepted(struct probe_nvml_gpm_state *st, const struct nvml_ask *a,
                     struct probe_nvml_gpm_one *o, int rc)
{
    struct nvml_try once = {0};
    if (rc == NVML_OK)
        return true;
    o->taken = false;
    if (rc == NVML_GPU_LOST) {
        (void)nvml_try_took(&once, a, rc, NULL, 0);
        return false;
    }
    o->refused = gpm_why(a->lib, rc);
    lose_all(a, o, nvml_loss_id(rc));
    for (size_t i = 0; i < GPM_N; i++)
        end_metric(st, a->gpu, o, i);
    free_samples(&a->lib->api, o);
    return false;
}

static void put_one(struct probe_nvml_gpm_state *st, const struct nvml_ask *a,
                    struct probe_nvml_gpm_one *o, size_t i)
{
    const struct nvml_gpm_metric *m = &st->get.metric[i];
    const bool rate = gpm[i].bytes > 0;
    struct nvml_try once = {0};
    const bool took = rate ? m->rc == NVML_OK : nvml_try_took(&once, a, m->rc, &gpm[i].metric, 1);
    if (!took && m->rc != NVML_GPU_LOST)
        end_metric(st, a->gpu, o, i);
    else if (took && isfinite(m->value) && rate)
        group_rate(&st->group, o->slot[i], m->value * gpm[i].bytes, NS_PER_S);
    else if (took && isfinite(m->value))
        group_gauge(&st->group, o->slot[i], m->value);
}

static void probe_nvml_gpm_put(struct probe_nvml_gpm_state *st, const struct nvml_ask *a,
                               struct probe_nvml_gpm_one *o)
{
    for (size_t i = 0; i < GPM_N && !atomic_load(&a->gpu->gone); i++)
        if (o->slot[i] != SLOT_NONE)
            put_one(st, a, o, i);
}

static void probe_nvml_gpm_compare(struct probe_nvml_gpm_state *st, const struct nvml_ask *a,
                                   struct probe_nvml_gpm_one *o)
{
    memset(&st->get, 0, offsetof(struct nvml_gpm_get, metric) + GPM_N * sizeof *st->get.metric);
    st->get.version = NVML_GPM_VERSION;
    st->get.n = GPM_N;
    st->get.first = o->sample[o->newest ^ 1];
    st->get.second = o->sample[o->newest];
    for (size_t i = 0; i < GPM_N; i++)
        st->get.metric[i].id = gpm[i].id;
    if (accepted(st, a, o, a->lib->api.gpm_metrics(&st->get)))
        probe_nvml_gpm_put(st, a, o);
}

static void probe_nvml_gpm_read_gpu(struct probe_nvml_gpm_state *st, const struct nvml_ask *a)
{
    struct probe_nvml_gpm_one *o = &st->one[a->gpu->index];
    const mono_ns t = clock_mono();
    if (o->refused)
        return;
    if (!nvml_gpu_ready(a)) {
        o->taken = false;
        return;
    }
    if (o->taken && mono_diff(t, o->at) < MIN_APART_NS)
        return;
    const unsigned next = o->newest ^ 1;
    if (!accepted(st, a, o, a->lib->api.gpm_sample(atomic_load(&a->gpu->dev), o->sample[next])))
        return;
    const bool pair = o->taken;
    o->newest = next;
    o->taken = true;
    o->at = t;
    if (pair)
        probe_nvml_gpm_compare(st, a, o);
}

static void probe_nvml_gpm_read(void *state, struct sink *s)
{
    struct probe_nvml_gpm_state *st = state;
    const mono_ns now = clock_mono();
    for (unsigned i = 0; i < st->lib->n; i++) {
        const struct nvml_ask a = {st->lib, &st->lib->gpu[i], s, now};
        if (!st->refusals_told && st->one[i].refused)
            lose_all(&a, &st->one[i], LOSS_UNSUPPORTED);
        probe_nvml_gpm_read_gpu(st, &a);
    }
    st->refusals_told = true;
    group_commit(&st->group, s, now);
}

static void probe_nvml_gpm_close(void *state)
{
    struct probe_nvml_gpm_state *st = state;
    for (unsigned g = 0; st->lib && g < st->lib->n; g++)
        free_samples(&st->lib->api, &st->one[g]);
    group_close(&st->group);
}

const struct probe probe_nvml_gpm = {
    .name = "nvml_gpm",
    .title = "NVIDIA GPUs (Hopper and newer): SMs, tensor cores, memory bandwidth",
    .lane = LANE_GPU,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct probe_nvml_gpm_state),
    .open = probe_nvml_gpm_open,
    .read = probe_nvml_gpm_read,
    .set_period = probe_nvml_gpm_set_period,
    .close = probe_nvml_gpm_close,
};
