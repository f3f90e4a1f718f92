/* SPDX-License-Identifier: Apache-2.0 */
/* probe_nvml.c - the readings of NVIDIA GPUs that the driver answers from memory, within
 * microseconds, and its performance counters (GPM). What takes longer is in probe_nvml_slow.c and
 * must never come here. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "sample/nvml_internal.h"
#include "sample/probe.h"
#include "sample/probe_util.h"

/* ------------------------------------------------------------------------------------------------
 * Readings from memory */

enum { VALUES = 4 };

#define NVML_PERIOD_NS (100 * NS_PER_MS) /* the driver refreshes no faster */
#define RARE_PERIOD_NS (10 * NS_PER_S)

/* One call of the driver and the metrics that it returns. `ask` puts each value in counts of its
 * metric, NAN for one that this driver does not report separately, and returns the driver's code.
 */
struct nvml_fast_reading {
    enum metric_id metrics[VALUES];
    unsigned n;
    bool rare; /* changes by hand only */
    int (*ask)(const struct nvml_api *api, struct nvml_device *d, double v[VALUES]);
    size_t call; /* ask NULL: offset in the API of a function that gives one number */
};

typedef int nvml_number(struct nvml_device *d, unsigned *out);

static int ask_utilization(const struct nvml_api *api, struct nvml_device *d, double v[VALUES])
{
    struct nvml_utilization u = {0};
    const int rc = api->utilization ? api->utilization(d, &u) : NVML_NO_FUNCTION;
    v[0] = u.gpu;
    v[1] = u.memory;
    return rc;
}

static void memory_values(double v[VALUES], uint64_t used, uint64_t total)
{
    v[0] = total ? (double)used / (double)total * 1000 : (double)NAN;
    v[1] = (double)used;
    v[2] = (double)total;
}

static int ask_memory_v1(const struct nvml_api *api, struct nvml_device *d, double v[VALUES])
{
    struct nvml_memory m = {0};
    const int rc = api->memory ? api->memory(d, &m) : NVML_NO_FUNCTION;
    memory_values(v, m.used, m.total);
    v[3] = (double)NAN;
    return rc;
}

static int ask_memory(const struct nvml_api *api, struct nvml_device *d, double v[VALUES])
{
    struct nvml_memory_v2 m = {.version = NVML_MEMORY_V2};
    const int rc = api->memory_v2 ? api->memory_v2(d, &m) : NVML_NO_FUNCTION;
    if (nvml_never(rc) || rc == NVML_STRUCT_VERSION || rc == NVML_INVALID)
        return ask_memory_v1(api, d, v);
    memory_values(v, m.used, m.total);
    v[3] = (double)m.reserved;
    return rc;
}

static int nvml_fast_ask_clock(const struct nvml_api *api, struct nvml_device *d,
                               enum nvml_clock which, double *v)
{
    unsigned mhz = 0;
    const int rc = api->clock_mhz ? api->clock_mhz(d, which, &mhz) : NVML_NO_FUNCTION;
    *v = mhz;
    return rc;
}

static int ask_clock_sm(const struct nvml_api *api, struct nvml_device *d, double v[VALUES])
{
    return nvml_fast_ask_clock(api, d, NVML_CLOCK_SM, v);
}

static int ask_clock_mem(const struct nvml_api *api, struct nvml_device *d, double v[VALUES])
{
    return nvml_fast_ask_clock(api, d, NVML_CLOCK_MEM, v);
}

static int ask_temp_old(const struct nvml_api *api, struct nvml_device *d, double v[VALUES])
{
    unsigned celsius = 0;
    const int rc =
        api->temperature ? api->temperature(d, NVML_SENSOR_GPU, &celsius) : NVML_NO_FUNCTION;
    v[0] = celsius;
    return rc;
}

static int ask_temp(const struct nvml_api *api, struct nvml_device *d, double v[VALUES])
{
    struct nvml_temperature t = {.version = NVML_TEMPERATURE_V1, .sensor = NVML_SENSOR_GPU};
    const int rc = api->temperature_v ? api->temperature_v(d, &t) : NVML_NO_FUNCTION;
    if (nvml_never(rc) || rc == NVML_STRUCT_VERSION || rc == NVML_INVALID)
        return ask_temp_old(api, d, v);
    v[0] = t.celsius;
    return rc;
}

static int ask_reasons(const struct nvml_api *api, struct nvml_device *d, double v[VALUES])
{
    unsigned long long bits = 0;
    const int rc = api->clock_reasons ? api->clock_reasons(d, &bits) : NVML_NO_FUNCTION;
    v[0] = (double)bits;
    return rc;
}

static const struct nvml_fast_reading readings[] = {
    {{M_GPU_UTIL, M_GPU_MEM_CTRL}, 2, false, ask_utilization},
    {{M_GPU_MEM, M_GPU_MEM_USED, M_GPU_MEM_TOTAL, M_GPU_MEM_RESERVED}, 4, false, ask_memory},
    {{M_GPU_POWER}, 1, false, NULL, offsetof(struct nvml_api, power_mw)},
    {{M_GPU_CLOCK_SM}, 1, false, ask_clock_sm},
    {{M_GPU_CLOCK_MEM}, 1, false, ask_clock_mem},
    {{M_GPU_TEMP}, 1, false, ask_temp},
    {{M_GPU_THROTTLE}, 1, false, ask_reasons},
    {{M_GPU_POWER_LIMIT}, 1, true, NULL, offsetof(struct nvml_api, power_limit_mw)},
    {{M_GPU_POWER_DEFAULT}, 1, true, NULL, offsetof(struct nvml_api, power_default_mw)},
};

struct nvml_fast_one {
    struct nvml_try attempt;
    slot_id slot[VALUES];
};

struct nvml_fast_state {
    struct nvml_lib *lib;
    struct group often, rare;
    struct cadence rare_due;
    struct nvml_fast_one one[GPU_MOST][COUNT_OF(readings)];
};

static struct group *nvml_fast_group_of(struct nvml_fast_state *st,
                                        const struct nvml_fast_reading *r)
{
    return r->rare ? &st->rare : &st->often;
}

static void nvml_fast_set_period(void *state, int64_t period_ns)
{
    struct nvml_fast_state *st = state;
    group_set_period(&st->often, MAX_OF(period_ns, NVML_PERIOD_NS));
    st->rare_due.period_ns = MAX_OF(period_ns, RARE_PERIOD_NS);
    group_set_period(&st->rare, st->rare_due.period_ns);
}

static int nvml_fast_open(void *state, const struct probe_env *env, int64_t period_ns,
                          struct err *e)
{
    struct nvml_fast_state *st = state;
    TRY(nvml_of(env, &st->lib, e));
    group_open(&st->often, "nvml", MAX_OF(period_ns, NVML_PERIOD_NS));
    group_open(&st->rare, "nvml_rare", MAX_OF(period_ns, RARE_PERIOD_NS));
    st->rare_due.period_ns = st->rare.period_ns;
    for (unsigned g = 0; g < st->lib->n; g++)
        for (size_t r = 0; r < COUNT_OF(readings); r++)
            for (unsigned i = 0; i < readings[r].n; i++)
                st->one[g][r].slot[i] = group_add(nvml_fast_group_of(st, &readings[r]),
                                                  readings[r].metrics[i], st->lib->gpu[g].entity);
    return 0;
}

static void nvml_fast_put(struct group *g, const struct nvml_fast_reading *r,
                          struct nvml_fast_one *o, const double v[VALUES], const struct nvml_ask *a)
{
    for (unsigned i = 0; i < r->n; i++) {
        if (!isnan(v[i])) {
            group_gauge(g, o->slot[i], v[i]);
        } else if (o->slot[i] != SLOT_NONE) {
            nvml_loss(a, LOSS_UNSUPPORTED, r->metrics[i],
                      "this driver does not report it separately");
            slot_end(g, &o->slot[i]);
        }
    }
}

static int nvml_fast_ask(const struct nvml_fast_reading *r, const struct nvml_ask *a,
                         double v[VALUES])
{
    struct nvml_device *d = atomic_load(&a->gpu->dev);
    nvml_number *call;
    unsigned number = 0;
    if (r->ask)
        return r->ask(&a->lib->api, d, v);
    memcpy(&call, (const char *)&a->lib->api + r->call, sizeof call);
    const int rc = call ? call(d, &number) : NVML_NO_FUNCTION;
    v[0] = number;
    return rc;
}

static void read_one(struct nvml_fast_state *st, const struct nvml_fast_reading *r,
                     struct nvml_fast_one *o, const struct nvml_ask *a)
{
    double v[VALUES] = {0};
    struct group *g = nvml_fast_group_of(st, r);
    if (!nvml_try_due(&o->attempt, a->now))
        return;
    const int rc = nvml_fast_ask(r, a, v);
    if (nvml_try_took(&o->attempt, a, rc, r->metrics, r->n))
        nvml_fast_put(g, r, o, v, a);
    for (unsigned i = 0; i < r->n && o->attempt.off; i++)
        slot_end(g, &o->slot[i]);
}

static void nvml_fast_read_gpu(struct nvml_fast_state *st, const struct nvml_ask *a, bool rare)
{
    struct nvml_fast_one *o = st->one[a->gpu->index];
    if (!nvml_gpu_ready(a))
        return;
    for (size_t r = 0; r < COUNT_OF(readings) && !atomic_load(&a->gpu->gone); r++)
        if (rare || !readings[r].rare)
            read_one(st, &readings[r], &o[r], a);
}

static void nvml_fast_read(void *state, struct sink *s)
{
    struct nvml_fast_state *st = state;
    const mono_ns now = clock_mono();
    const bool rare = cadence_due(&st->rare_due, now, 0);
    for (unsigned i = 0; i < st->lib->n; i++)
        nvml_fast_read_gpu(st, &(struct nvml_ask){st->lib, &st->lib->gpu[i], s, now}, rare);
    group_commit(&st->often, s, now);
    if (rare)
        group_commit(&st->rare, s, now);
}

static void nvml_fast_close(void *state)
{
    struct nvml_fast_state *st = state;
    group_close(&st->often);
    group_close(&st->rare);
}

const struct probe probe_nvml = {
    .name = "nvml",
    .title = "NVIDIA GPUs: utilization, memory, power, clocks, temperature",
    .lane = LANE_GPU,
    .min_period_ns = NVML_PERIOD_NS,
    .state_size = sizeof(struct nvml_fast_state),
    .open = nvml_fast_open,
    .read = nvml_fast_read,
    .set_period = nvml_fast_set_period,
    .close = nvml_fast_close,
};

/* ------------------------------------------------------------------------------------------------
 * GPU performance monitoring of Hopper and later: how much of the SMs, the tensor cores and the
 * memory bandwidth is really at work. Each reading compares two samples of the driver's counters.
 * The first error ends it for that GPU: other tools may have reserved the counters, and the job
 * must not pay for our attempts. */

/* A sample costs 0.2 ms of CPU per GPU (H200), so it is not taken faster than this. Comparing two
 * costs 0.01 ms for the metrics below; with those of NVLink it would be more than a millisecond. */
#define GPM_PERIOD_NS (500 * NS_PER_MS)
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

struct gpm_one {
    const char *refused; /* why there is no GPM here; a loss at the first reading */
    struct nvml_gpm_sample *sample[2];
    unsigned newest;
    bool taken; /* sample[newest] is one, taken at `at` */
    mono_ns at;
    slot_id slot[GPM_N];
};

struct gpm_state {
    struct nvml_lib *lib;
    struct group group;
    struct nvml_gpm_get get; /* large, so not on the stack */
    bool refusals_reported;
    struct gpm_one one[GPU_MOST];
};

static void free_samples(const struct nvml_api *api, struct gpm_one *o)
{
    for (int k = 0; k < 2; k++)
        if (o->sample[k])
            api->gpm_free(o->sample[k]);
    memset(o->sample, 0, sizeof o->sample);
}

static int new_samples(const struct nvml_api *api, struct gpm_one *o)
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
                             struct gpm_one *o)
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

static int gpm_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    struct gpm_state *st = state;
    TRY(nvml_of(env, &st->lib, e));
    for (unsigned g = 0; g < st->lib->n; g++) {
        st->one[g].refused = start_gpu(st->lib, &st->lib->gpu[g], &st->one[g]);
        atomic_store(&st->lib->gpu[g].gpm_pcie, !st->one[g].refused);
    }
    group_open(&st->group, "nvml_gpm", MAX_OF(period_ns, GPM_PERIOD_NS));
    for (unsigned g = 0; g < st->lib->n; g++)
        for (size_t i = 0; i < GPM_N && !st->one[g].refused; i++)
            st->one[g].slot[i] = group_add(&st->group, gpm[i].metric, st->lib->gpu[g].entity);
    return 0;
}

/* A loss for each metric that only GPM gives; the others have another source. */
static void lose_all(const struct nvml_ask *a, const struct gpm_one *o, enum loss_id id)
{
    for (size_t i = 0; i < GPM_N; i++)
        if (gpm[i].bytes == 0)
            nvml_loss(a, id, gpm[i].metric, o->refused);
}

/* Only this metric is not there; the others continue. */
static void end_metric(struct gpm_state *st, struct nvml_gpu *gpu, struct gpm_one *o, size_t i)
{
    if (gpm[i].bytes > 0)
        atomic_store(&gpu->gpm_pcie, false);
    slot_end(&st->group, &o->slot[i]);
}

/* What the whole call answered: on the first error GPM ends for this GPU. */
static bool accepted(struct gpm_state *st, const struct nvml_ask *a, struct gpm_one *o, int rc)
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

static void put_one(struct gpm_state *st, const struct nvml_ask *a, struct gpm_one *o, size_t i)
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

static void gpm_put(struct gpm_state *st, const struct nvml_ask *a, struct gpm_one *o)
{
    for (size_t i = 0; i < GPM_N && !atomic_load(&a->gpu->gone); i++)
        if (o->slot[i] != SLOT_NONE)
            put_one(st, a, o, i);
}

static void gpm_compare(struct gpm_state *st, const struct nvml_ask *a, struct gpm_one *o)
{
    memset(&st->get, 0, offsetof(struct nvml_gpm_get, metric) + GPM_N * sizeof *st->get.metric);
    st->get.version = NVML_GPM_VERSION;
    st->get.n = GPM_N;
    st->get.first = o->sample[o->newest ^ 1];
    st->get.second = o->sample[o->newest];
    for (size_t i = 0; i < GPM_N; i++)
        st->get.metric[i].id = gpm[i].id;
    if (accepted(st, a, o, a->lib->api.gpm_metrics(&st->get)))
        gpm_put(st, a, o);
}

static void gpm_read_gpu(struct gpm_state *st, const struct nvml_ask *a)
{
    struct gpm_one *o = &st->one[a->gpu->index];
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
        gpm_compare(st, a, o);
}

static void gpm_read(void *state, struct sink *s)
{
    struct gpm_state *st = state;
    const mono_ns now = clock_mono();
    for (unsigned i = 0; i < st->lib->n; i++) {
        const struct nvml_ask a = {st->lib, &st->lib->gpu[i], s, now};
        if (!st->refusals_reported && st->one[i].refused)
            lose_all(&a, &st->one[i], LOSS_UNSUPPORTED);
        gpm_read_gpu(st, &a);
    }
    st->refusals_reported = true;
    group_commit(&st->group, s, now);
}

static void gpm_close(void *state)
{
    struct gpm_state *st = state;
    for (unsigned g = 0; st->lib && g < st->lib->n; g++)
        free_samples(&st->lib->api, &st->one[g]);
    group_close(&st->group);
}

const struct probe probe_nvml_gpm = {
    .name = "nvml_gpm",
    .title = "NVIDIA GPUs (Hopper and newer): SMs, tensor cores, memory bandwidth",
    .lane = LANE_GPU,
    .min_period_ns = GPM_PERIOD_NS,
    .state_size = sizeof(struct gpm_state),
    .open = gpm_open,
    .read = gpm_read,
    .group = offsetof(struct gpm_state, group),
    .close = gpm_close,
};
