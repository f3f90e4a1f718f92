/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_standin.c - a library with NVIDIA's names that plays recorded answers (play.h), so that the
 * real dlopen path is tested without a GPU. The play is the file named in FOOTPLATE_NVML_PLAY.
 *
 * Like the real one it is safe for threads, counts its inits, and refuses structs of the wrong
 * version. Compiled with STANDIN_OLD it is a library of years ago: no _v2 and _v3 names, no fields,
 * no GPM, no flags. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "play.h"
#include "sample/nvml_api.h"

#define EXPORT __attribute__((visibility("default")))
#ifdef STANDIN_OLD
#define NEWEST(name, version) name
#else
#define NEWEST(name, version) name##version
#endif

struct nvml_device {
    unsigned index;
};

struct nvml_event_set {
    bool has[PLAY_GPUS];
};

struct nvml_gpm_sample {
    unsigned gpu;
    unsigned taken; /* the how-manieth of all; 0: none */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct play *the_play;
static unsigned inits;
static struct nvml_device devices[PLAY_GPUS];

static void sleep_us(unsigned us)
{
    const struct timespec t = {us / 1000000, (long)(us % 1000000) * 1000};
    if (us >= 50)
        nanosleep(&t, NULL);
}

static int64_t thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Uses the CPU until the thread has used `us` since `begin_ns`. */
static void work_us(int64_t begin_ns, unsigned us)
{
    while (us && thread_cpu_ns() - begin_ns < (int64_t)us * 1000)
        ;
}

/* The next answer of a series: its code, and its values in `a`. */
static int ask_at(unsigned gpu, const char *name, bool once, struct play_answer *a)
{
    const int64_t begin_ns = thread_cpu_ns();
    unsigned cost_us = 0;
    *a = (struct play_answer){.rc = NVML_NOT_SUPPORTED};
    pthread_mutex_lock(&lock);
    if (!the_play)
        a->rc = NVML_UNINITIALIZED;
    else if (!play_next(the_play, gpu, name, once, a) && once)
        a->rc = NVML_TIMEOUT;
    if (the_play)
        cost_us = play_cost(the_play, name);
    pthread_mutex_unlock(&lock);
    work_us(begin_ns, cost_us);
    sleep_us(a->us);
    return a->rc;
}

static int ask(const struct nvml_device *d, const char *name, struct play_answer *a)
{
    if (!d || d < devices || d >= devices + PLAY_GPUS) {
        *a = (struct play_answer){.rc = NVML_INVALID};
        return a->rc;
    }
    return ask_at(d->index, name, false, a);
}

static int ask_with(const struct nvml_device *d, const char *name, unsigned arg,
                    struct play_answer *a)
{
    char full[PLAY_NAME];
    snprintf(full, sizeof full, "%s.%u", name, arg);
    return ask(d, full, a);
}

static int ask_one(const struct nvml_device *d, const char *name, unsigned *out)
{
    struct play_answer a;
    const int rc = ask(d, name, &a);
    if (!rc)
        *out = (unsigned)a.u[0];
    return rc;
}

EXPORT int NEWEST(nvmlInit, _v2)(void);
EXPORT int NEWEST(nvmlInit, _v2)(void)
{
    const int64_t begin_ns = thread_cpu_ns();
    int rc = NVML_OK;
    pthread_mutex_lock(&lock);
    if (!the_play)
        the_play = play_load(getenv("FOOTPLATE_NVML_PLAY"));
    if (the_play)
        work_us(begin_ns, play_cost(the_play, "Init"));
    if (!the_play || the_play->init_rc)
        rc = the_play ? the_play->init_rc : NVML_UNKNOWN;
    else
        inits++;
    for (unsigned i = 0; i < PLAY_GPUS; i++)
        devices[i].index = i;
    pthread_mutex_unlock(&lock);
    return rc;
}

/* A play whose init failed is kept for its error texts, until the library is unloaded. */
__attribute__((destructor)) static void unload(void)
{
    play_free(the_play);
    the_play = NULL;
}

EXPORT int nvmlShutdown(void);
EXPORT int nvmlShutdown(void)
{
    int rc = NVML_UNINITIALIZED;
    pthread_mutex_lock(&lock);
    if (inits) {
        rc = NVML_OK;
        if (--inits == 0) {
            play_free(the_play);
            the_play = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned size);
EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    snprintf(out, size, "%s", the_play->driver);
    return NVML_OK;
}

EXPORT int NEWEST(nvmlDeviceGetCount, _v2)(unsigned *out);
EXPORT int NEWEST(nvmlDeviceGetCount, _v2)(unsigned *out)
{
    *out = the_play->gpus;
    return NVML_OK;
}

EXPORT int NEWEST(nvmlDeviceGetHandleByIndex, _v2)(unsigned i, struct nvml_device **out);
EXPORT int NEWEST(nvmlDeviceGetHandleByIndex, _v2)(unsigned i, struct nvml_device **out)
{
    if (i >= the_play->gpus)
        return NVML_INVALID;
    pthread_mutex_lock(&lock);
    struct play_gpu *g = &the_play->gpu[i];
    const int rc = g->handle_times ? g->handle_rc : NVML_OK;
    g->handle_times -= g->handle_times > 0;
    pthread_mutex_unlock(&lock);
    if (rc == NVML_OK)
        *out = &devices[i];
    return rc;
}

EXPORT int nvmlDeviceGetName(struct nvml_device *d, char *out, unsigned size);
EXPORT int nvmlDeviceGetName(struct nvml_device *d, char *out, unsigned size)
{
    snprintf(out, size, "%s", the_play->gpu[d->index].name);
    return NVML_OK;
}

EXPORT int nvmlDeviceGetUUID(struct nvml_device *d, char *out, unsigned size);
EXPORT int nvmlDeviceGetUUID(struct nvml_device *d, char *out, unsigned size)
{
    snprintf(out, size, "%s", the_play->gpu[d->index].uuid);
    return NVML_OK;
}

EXPORT int nvmlDeviceGetUtilizationRates(struct nvml_device *d, struct nvml_utilization *out);
EXPORT int nvmlDeviceGetUtilizationRates(struct nvml_device *d, struct nvml_utilization *out)
{
    struct play_answer a;
    if (ask(d, "UtilizationRates", &a) == NVML_OK)
        *out = (struct nvml_utilization){(uint32_t)a.u[0], (uint32_t)a.u[1]};
    return a.rc;
}

EXPORT int nvmlDeviceGetMemoryInfo(struct nvml_device *d, struct nvml_memory *out);
EXPORT int nvmlDeviceGetMemoryInfo(struct nvml_device *d, struct nvml_memory *out)
{
    struct play_answer a;
    if (ask(d, "MemoryInfo", &a) == NVML_OK)
        *out = (struct nvml_memory){a.u[0], a.u[1], a.u[2]};
    return a.rc;
}

EXPORT int nvmlDeviceGetPowerUsage(struct nvml_device *d, unsigned *out);
EXPORT int nvmlDeviceGetPowerUsage(struct nvml_device *d, unsigned *out)
{
    return ask_one(d, "PowerUsage", out);
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(struct nvml_device *d, unsigned *out);
EXPORT int nvmlDeviceGetEnforcedPowerLimit(struct nvml_device *d, unsigned *out)
{
    return ask_one(d, "EnforcedPowerLimit", out);
}

EXPORT int nvmlDeviceGetPowerManagementDefaultLimit(struct nvml_device *d, unsigned *out);
EXPORT int nvmlDeviceGetPowerManagementDefaultLimit(struct nvml_device *d, unsigned *out)
{
    return ask_one(d, "PowerManagementDefaultLimit", out);
}

EXPORT int nvmlDeviceGetClockInfo(struct nvml_device *d, unsigned type, unsigned *out);
EXPORT int nvmlDeviceGetClockInfo(struct nvml_device *d, unsigned type, unsigned *out)
{
    struct play_answer a;
    if (ask_with(d, "ClockInfo", type, &a) == NVML_OK)
        *out = (unsigned)a.u[0];
    return a.rc;
}

EXPORT int nvmlDeviceGetTemperature(struct nvml_device *d, unsigned sensor, unsigned *out);
EXPORT int nvmlDeviceGetTemperature(struct nvml_device *d, unsigned sensor, unsigned *out)
{
    struct play_answer a;
    if (ask_with(d, "Temperature", sensor, &a) == NVML_OK)
        *out = (unsigned)a.u[0];
    return a.rc;
}

static int reasons(struct nvml_device *d, unsigned long long *out)
{
    struct play_answer a;
    if (ask(d, "CurrentClocksEventReasons", &a) == NVML_OK)
        *out = a.u[0];
    return a.rc;
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(struct nvml_device *d, unsigned long long *out);
EXPORT int nvmlDeviceGetTotalEnergyConsumption(struct nvml_device *d, unsigned long long *out)
{
    struct play_answer a;
    if (ask(d, "TotalEnergyConsumption", &a) == NVML_OK)
        *out = a.u[0];
    return a.rc;
}

EXPORT int nvmlDeviceGetPcieThroughput(struct nvml_device *d, unsigned counter, unsigned *out);
EXPORT int nvmlDeviceGetPcieThroughput(struct nvml_device *d, unsigned counter, unsigned *out)
{
    struct play_answer a;
    if (ask_with(d, "PcieThroughput", counter, &a) == NVML_OK)
        *out = (unsigned)a.u[0];
    return a.rc;
}

EXPORT int nvmlEventSetCreate(struct nvml_event_set **out);
EXPORT int nvmlEventSetCreate(struct nvml_event_set **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? NVML_OK : NVML_UNKNOWN;
}

EXPORT int nvmlEventSetFree(struct nvml_event_set *s);
EXPORT int nvmlEventSetFree(struct nvml_event_set *s)
{
    free(s);
    return NVML_OK;
}

EXPORT int nvmlDeviceRegisterEvents(struct nvml_device *d, unsigned long long types,
                                    struct nvml_event_set *s);
EXPORT int nvmlDeviceRegisterEvents(struct nvml_device *d, unsigned long long types,
                                    struct nvml_event_set *s)
{
    struct play_answer a;
    if (!(types & NVML_EVENT_XID))
        return NVML_NOT_SUPPORTED;
    if (ask(d, "RegisterEvents", &a) == NVML_OK)
        s->has[d->index] = true;
    return a.rc;
}

EXPORT int NEWEST(nvmlEventSetWait, _v2)(struct nvml_event_set *s, struct nvml_event *out,
                                         unsigned timeout_ms);
EXPORT int NEWEST(nvmlEventSetWait, _v2)(struct nvml_event_set *s, struct nvml_event *out,
                                         unsigned timeout_ms)
{
    struct play_answer a;
    for (unsigned g = 0; g < PLAY_GPUS; g++) {
        if (!s->has[g])
            continue;
        const int rc = ask_at(g, "XidEvent", true, &a);
        if (rc == NVML_OK)
            *out = (struct nvml_event){&devices[g], NVML_EVENT_XID, a.u[0], 0, 0};
        if (rc != NVML_TIMEOUT)
            return rc;
    }
    sleep_us(timeout_ms * 1000);
    return NVML_TIMEOUT;
}

#ifdef STANDIN_OLD

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_device *d,
                                                     unsigned long long *out);
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_device *d, unsigned long long *out)
{
    return reasons(d, out);
}

EXPORT int nvmlDeviceGetComputeRunningProcesses(struct nvml_device *d, unsigned *n,
                                                struct nvml_process_v1 *v);
EXPORT int nvmlDeviceGetComputeRunningProcesses(struct nvml_device *d, unsigned *n,
                                                struct nvml_process_v1 *v)
{
    struct play_answer a;
    if (ask(d, "ComputeRunningProcesses", &a) != NVML_OK)
        return a.rc;
    const unsigned have = a.n / 2, room = *n;
    *n = have;
    for (unsigned i = 0; i < have && i < room; i++)
        v[i] = (struct nvml_process_v1){(uint32_t)a.u[2 * i], 0, a.u[2 * i + 1]};
    return have > room ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}

#else

EXPORT int nvmlInitWithFlags(unsigned flags);
EXPORT int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return nvmlInit_v2();
}

EXPORT const char *nvmlErrorString(int rc);
EXPORT const char *nvmlErrorString(int rc)
{
    for (unsigned i = 0; the_play && i < the_play->errors; i++)
        if (the_play->error[i].rc == rc)
            return the_play->error[i].text;
    return rc == NVML_NOT_SUPPORTED ? "Not Supported" : "Unknown Error";
}

EXPORT int nvmlDeviceGetMigMode(struct nvml_device *d, unsigned *now, unsigned *later);
EXPORT int nvmlDeviceGetMigMode(struct nvml_device *d, unsigned *now, unsigned *later)
{
    struct play_answer a;
    if (ask(d, "MigMode", &a) != NVML_OK)
        return a.rc;
    *now = (unsigned)a.u[0];
    *later = (unsigned)a.u[1];
    return NVML_OK;
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(struct nvml_device *d, struct nvml_memory_v2 *out);
EXPORT int nvmlDeviceGetMemoryInfo_v2(struct nvml_device *d, struct nvml_memory_v2 *out)
{
    struct play_answer a;
    if (out->version != NVML_MEMORY_V2)
        return NVML_STRUCT_VERSION;
    if (ask(d, "MemoryInfo_v2", &a) == NVML_OK)
        *out = (struct nvml_memory_v2){NVML_MEMORY_V2, 0, a.u[0], a.u[1], a.u[2], a.u[3]};
    return a.rc;
}

EXPORT int nvmlDeviceGetTemperatureV(struct nvml_device *d, struct nvml_temperature *out);
EXPORT int nvmlDeviceGetTemperatureV(struct nvml_device *d, struct nvml_temperature *out)
{
    struct play_answer a;
    if (out->version != NVML_TEMPERATURE_V1)
        return NVML_STRUCT_VERSION;
    if (ask_with(d, "TemperatureV", out->sensor, &a) == NVML_OK)
        out->celsius = (int32_t)a.v[0];
    return a.rc;
}

EXPORT int nvmlDeviceGetCurrentClocksEventReasons(struct nvml_device *d, unsigned long long *out);
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(struct nvml_device *d, unsigned long long *out)
{
    return reasons(d, out);
}

static void put_field(struct nvml_field *f, const struct play_answer *a)
{
    f->rc = a->rc;
    if (a->rc)
        return;
    f->type = (uint32_t)a->u[0];
    if (f->type == NVML_DOUBLE)
        f->value.f64 = a->v[1];
    else if (f->type == NVML_UINT || f->type == NVML_SINT)
        f->value.u32 = (uint32_t)a->u[1];
    else
        f->value.u64 = a->u[1];
}

EXPORT int nvmlDeviceGetFieldValues(struct nvml_device *d, int n, struct nvml_field *v);
EXPORT int nvmlDeviceGetFieldValues(struct nvml_device *d, int n, struct nvml_field *v)
{
    for (int i = 0; i < n; i++) {
        struct play_answer a;
        char name[PLAY_NAME];
        snprintf(name, sizeof name,
                 v[i].scope == NVML_ALL_LINKS ? "FieldValue.%u.all" : "FieldValue.%u", v[i].id);
        if (ask(d, name, &a) == NVML_GPU_LOST)
            return a.rc;
        put_field(&v[i], &a);
    }
    return NVML_OK;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *d, unsigned *n,
                                                   struct nvml_process *v);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *d, unsigned *n,
                                                   struct nvml_process *v)
{
    struct play_answer a;
    if (ask(d, "ComputeRunningProcesses", &a) != NVML_OK)
        return a.rc;
    const unsigned have = a.n / 2, room = *n;
    *n = have;
    for (unsigned i = 0; i < have && i < room; i++)
        v[i] = (struct nvml_process){(uint32_t)a.u[2 * i], 0, a.u[2 * i + 1], 0, 0};
    return have > room ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}

EXPORT int nvmlGpmQueryDeviceSupport(struct nvml_device *d, struct nvml_gpm_support *out);
EXPORT int nvmlGpmQueryDeviceSupport(struct nvml_device *d, struct nvml_gpm_support *out)
{
    if (out->version != NVML_GPM_VERSION)
        return NVML_STRUCT_VERSION;
    return ask_one(d, "GpmQueryDeviceSupport", &out->supported);
}

static unsigned samples_taken;

EXPORT int nvmlGpmSampleAlloc(struct nvml_gpm_sample **out);
EXPORT int nvmlGpmSampleAlloc(struct nvml_gpm_sample **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? NVML_OK : NVML_UNKNOWN;
}

EXPORT int nvmlGpmSampleFree(struct nvml_gpm_sample *s);
EXPORT int nvmlGpmSampleFree(struct nvml_gpm_sample *s)
{
    free(s);
    return NVML_OK;
}

EXPORT int nvmlGpmSampleGet(struct nvml_device *d, struct nvml_gpm_sample *s);
EXPORT int nvmlGpmSampleGet(struct nvml_device *d, struct nvml_gpm_sample *s)
{
    struct play_answer a;
    if (ask(d, "GpmSampleGet", &a) != NVML_OK)
        return a.rc;
    pthread_mutex_lock(&lock);
    *s = (struct nvml_gpm_sample){d->index, ++samples_taken};
    pthread_mutex_unlock(&lock);
    return a.rc;
}

EXPORT int nvmlGpmMetricsGet(struct nvml_gpm_get *g);
EXPORT int nvmlGpmMetricsGet(struct nvml_gpm_get *g)
{
    struct play_answer a;
    if (g->version != NVML_GPM_VERSION)
        return NVML_STRUCT_VERSION;
    if (!g->first->taken || g->second->taken <= g->first->taken || g->first->gpu != g->second->gpu)
        return NVML_INVALID;
    if (ask(&devices[g->first->gpu], "GpmMetricsGet", &a) != NVML_OK)
        return a.rc;
    for (unsigned i = 0; i < g->n; i++) {
        g->metric[i].rc = ask_with(&devices[g->first->gpu], "GpmMetric", g->metric[i].id, &a);
        g->metric[i].value = a.v[0];
    }
    return NVML_OK;
}

#endif
