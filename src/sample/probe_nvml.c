/* SPDX-License-Identifier: Apache-2.0 */
/* probe_nvml.c - the readings of NVIDIA GPUs that the driver answers from memory, within
 * microseconds. What takes longer is in probe_nvml_slow.c and must never come here. */
#include <math.h>

#include "base/mem.h"
#include "sample/nvml_dev.h"
#include "sample/probe.h"

enum { VALUES = 4 };

#define MIN_PERIOD_NS  (100 * NS_PER_MS) /* the driver refreshes no faster */
#define RARE_PERIOD_NS (10 * NS_PER_S)

/* One question to the driver and the metrics it answers. `ask` puts each value in counts of its
 * metric, NAN for one that this driver cannot tell apart, and returns the driver's code. */
struct probe_nvml_reading {
    enum metric_id metrics[VALUES];
    unsigned n;
    bool rare; /* changes by hand only */
    int (*ask)(const struct nvml_api *api, struct nvml_device *d, double v[VALUES]);
};

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

static int ask_power(const struct nvml_api *api, struct nvml_device *d, double v[VALUES])
{
    unsigned mw = 0;
    const int rc = api->power_mw ? api->power_mw(d, &mw) : NVML_NO_FUNCTION;
    v[0] = mw;
    return rc;
}

static int ask_power_limit(const struct nvml_api *api, struct nvml_device *d, double v[VALUES])
{
    unsigned mw = 0;
    const int rc = api->power_limit_mw ? api->power_limit_mw(d, &mw) : NVML_NO_FUNCTION;
    v[0] = mw;
    return rc;
}

static int ask_power_default(const struct nvml_api *api, struct nvml_device *d, double v[VALUES])
{
    unsigned mw = 0;
    const int rc = api->power_default_mw ? api->power_default_mw(d, &mw) : NVML_NO_FUNCTION;
    v[0] = mw;
    return rc;
}

static int probe_nvml_ask_clock(const struct nvml_api *api, struct nvml_device *d,
                                enum nvml_clock which, double *v)
{
    unsigned mhz = 0;
    const int rc = api->clock_mhz ? api->clock_mhz(d, which, &mhz) : NVML_NO_FUNCTION;
    *v = mhz;
    return rc;
}

static int ask_clock_sm(const struct nvml_api *api, struct nvml_device *d, double v[VALUES])
{
    return probe_nvml_ask_clock(api, d, NVML_CLOCK_SM, v);
}

static int ask_clock_mem(const struct nvml_api *api, struct nvml_device *d, double v[VALUES])
{
    return probe_nvml_ask_clock(api, d, NVML_CLOCK_MEM, v);
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

static const struct probe_nvml_reading readings[] = {
    {{M_GPU_UTIL, M_GPU_MEM_CTRL}, 2, false, ask_utilization},
    {{M_GPU_MEM, M_GPU_MEM_USED, M_GPU_MEM_TOTAL, M_GPU_MEM_RESERVED}, 4, false, ask_memory},
    {{M_GPU_POWER}, 1, false, ask_power},
    {{M_GPU_CLOCK_SM}, 1, false, ask_clock_sm},
    {{M_GPU_CLOCK_MEM}, 1, false, ask_clock_mem},
    {{M_GPU_TEMP}, 1, false, ask_temp},
    {{M_GPU_THROTTLE}, 1, false, ask_reasons},
    {{M_GPU_POWER_LIMIT}, 1, true, ask_power_limit},
    {{M_GPU_POWER_DEFAULT}, 1, true, ask_power_default},
};

struct probe_nvml_one {
    struct nvml_try stands;
    slot_id slot[VALUES];
};

struct probe_nvml_state {
    struct nvml_lib *lib;
    struct group often, rare;
    bool rare_read;
    mono_ns rare_at;
    struct probe_nvml_one one[GPU_MOST][COUNT_OF(readings)];
};

static struct group *probe_nvml_group_of(struct probe_nvml_state *st,
                                         const struct probe_nvml_reading *r)
{
    return r->rare ? &st->rare : &st->often;
}

static void probe_nvml_set_period(void *state, int64_t period_ns)
{
    struct probe_nvml_state *st = state;
    group_set_period(&st->often, MAX_OF(period_ns, MIN_PERIOD_NS));
    group_set_period(&st->rare, MAX_OF(period_ns, RARE_PERIOD_NS));
}

static int probe_nvml_open(void *state, const struct probe_env *env, int64_t period_ns,
                           struct err *e)
{
    struct probe_nvml_state *st = state;
    const int rc = nvml_of(env, &st->lib, e);
    if (rc != 0)
        return rc;
    group_open(&st->often, "nvml", MAX_OF(period_ns, MIN_PERIOD_NS));
    group_open(&st->rare, "nvml_rare", MAX_OF(period_ns, RARE_PERIOD_NS));
    for (unsigned g = 0; g < st->lib->n; g++)
        for (size_t r = 0; r < COUNT_OF(readings); r++)
            for (unsigned i = 0; i < readings[r].n; i++)
                st->one[g][r].slot[i] = group_add(probe_nvml_group_of(st, &readings[r]),
                                                  readings[r].metrics[i], st->lib->gpu[g].entity);
    return 0;
}

static void probe_nvml_drop(struct group *g, slot_id *s)
{
    group_drop(g, *s);
    *s = SLOT_NONE;
}

static void probe_nvml_put(struct group *g, const struct probe_nvml_reading *r,
                           struct probe_nvml_one *o, const double v[VALUES],
                           const struct nvml_ask *a)
{
    for (unsigned i = 0; i < r->n; i++) {
        if (!isnan(v[i])) {
            group_gauge(g, o->slot[i], v[i]);
        } else if (o->slot[i] != SLOT_NONE) {
            nvml_loss(a, LOSS_UNSUPPORTED, r->metrics[i],
                      "this driver does not report it separately");
            probe_nvml_drop(g, &o->slot[i]);
        }
    }
}

static void read_one(struct probe_nvml_state *st, const struct probe_nvml_reading *r,
                     struct probe_nvml_one *o, const struct nvml_ask *a)
{
    double v[VALUES] = {0};
    struct group *g = probe_nvml_group_of(st, r);
    if (!nvml_try_due(&o->stands, a->now))
        return;
    const int rc = r->ask(&a->lib->api, atomic_load(&a->gpu->dev), v);
    if (nvml_try_took(&o->stands, a, rc, r->metrics, r->n))
        probe_nvml_put(g, r, o, v, a);
    for (unsigned i = 0; i < r->n && o->stands.off; i++)
        probe_nvml_drop(g, &o->slot[i]);
}

static void probe_nvml_read_gpu(struct probe_nvml_state *st, const struct nvml_ask *a, bool rare)
{
    struct probe_nvml_one *o = st->one[a->gpu->index];
    if (!nvml_gpu_ready(a))
        return;
    for (size_t r = 0; r < COUNT_OF(readings) && !atomic_load(&a->gpu->gone); r++)
        if (rare || !readings[r].rare)
            read_one(st, &readings[r], &o[r], a);
}

static void probe_nvml_read(void *state, struct sink *s)
{
    struct probe_nvml_state *st = state;
    const mono_ns now = clock_mono();
    const bool rare = !st->rare_read || mono_diff(now, st->rare_at) >= st->rare.period_ns;
    for (unsigned i = 0; i < st->lib->n; i++)
        probe_nvml_read_gpu(st, &(struct nvml_ask){st->lib, &st->lib->gpu[i], s, now}, rare);
    group_commit(&st->often, s, now);
    if (!rare)
        return;
    group_commit(&st->rare, s, now);
    st->rare_read = true;
    st->rare_at = now;
}

static void probe_nvml_close(void *state)
{
    struct probe_nvml_state *st = state;
    group_close(&st->often);
    group_close(&st->rare);
}

const struct probe probe_nvml = {
    .name = "nvml",
    .title = "NVIDIA GPUs: utilization, memory, power, clocks, temperature",
    .lane = LANE_GPU,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct probe_nvml_state),
    .open = probe_nvml_open,
    .read = probe_nvml_read,
    .set_period = probe_nvml_set_period,
    .close = probe_nvml_close,
};
