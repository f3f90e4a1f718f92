/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_capture.c - records what a real NVIDIA driver answers, as a play for the stand-in library.
 *
 *     gcc -O2 tests/standin/nvml_capture.c -ldl -I src -o nvml_capture
 *     ./nvml_capture OUT.play SECONDS          (start a GPU load beside it)
 *
 * Every call's return code, value and duration is kept; nvml_standin.c describes the text format.
 * The library is libnvidia-ml.so.1, or the file named in FOOTPLATE_NVML. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sample/nvml_api.h"

enum { GPUS = 8, SERIES = 64, TICK_MS = 100, TEXT = 512, WIDTH = 100, PROCESSES = 7 };

struct series {
    unsigned gpu;
    char name[48];
    char *text;
    size_t len, cap, line; /* line: where the current output line begins */
    char last[TEXT];       /* the answer not yet written, `times` times */
    unsigned times, calls;
    double us_min, us_max, us_sum;
};

struct capture {
    struct nvml_api api;
    unsigned gpus;
    struct nvml_device *dev[GPUS];
    struct nvml_gpm_sample *sample[GPUS][2];
    unsigned samples[GPUS]; /* GPM samples taken */
    struct nvml_event_set *events;
    struct nvml_gpm_get gpm;
    struct series series[SERIES * GPUS];
    unsigned n;
};

#define NVML_CALL(slot, needed, result, args, ...)                                                 \
    {offsetof(struct nvml_api, slot), needed, {__VA_ARGS__}},
static const struct nvml_symbol symbols[] = {
#include "sample/nvml_calls.def"
};
#undef NVML_CALL

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int load(struct nvml_api *api)
{
    const char *path = getenv("FOOTPLATE_NVML");
    void *h = dlopen(path ? path : "libnvidia-ml.so.1", RTLD_NOW);
    if (!h) {
        fprintf(stderr, "nvml_capture: %s\n", dlerror());
        return -1;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *f = NULL;
        for (size_t k = 0; !f && k < NVML_NAMES && symbols[i].names[k]; k++)
            f = dlsym(h, symbols[i].names[k]);
        memcpy((char *)api + symbols[i].slot, &f, sizeof f);
        if (!f)
            fprintf(stderr, "nvml_capture: the library has no %s\n", symbols[i].names[0]);
    }
    return 0;
}

static void append(struct series *s, const char *text)
{
    const size_t n = strlen(text);
    if (s->len + n + 1 > s->cap) {
        s->cap = (s->cap + n) * 2 + 256;
        s->text = realloc(s->text, s->cap);
        if (!s->text)
            abort();
    }
    memcpy(s->text + s->len, text, n + 1);
    s->len += n;
}

static void settle(struct series *s)
{
    char word[TEXT + 32], head[80];
    if (!s->times)
        return;
    if (s->times > 1)
        snprintf(word, sizeof word, " %s*%u", s->last, s->times);
    else
        snprintf(word, sizeof word, " %s", s->last);
    if (!s->len || s->len - s->line + strlen(word) > WIDTH) {
        snprintf(head, sizeof head, "%sseries %u %s", s->len ? "\n" : "", s->gpu, s->name);
        append(s, head);
        s->line = s->len - strlen(head);
    }
    append(s, word);
    s->times = 0;
}

static struct series *series_of(struct capture *c, unsigned gpu, const char *name)
{
    for (unsigned i = 0; i < c->n; i++)
        if (c->series[i].gpu == gpu && strcmp(c->series[i].name, name) == 0)
            return &c->series[i];
    if (c->n == SERIES * GPUS)
        abort();
    struct series *s = &c->series[c->n++];
    s->gpu = gpu;
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

/* Two digits are enough to play a duration; below 50 us it is not played at all. */
static void duration_word(char *out, size_t size, double us)
{
    double unit = 1;
    while (us / unit >= 100)
        unit *= 10;
    if (us < 50)
        out[0] = 0;
    else
        snprintf(out, size, "@%.0f", (double)(long)(us / unit + 0.5) * unit);
}

__attribute__((format(printf, 6, 7))) static void
keep(struct capture *c, unsigned gpu, const char *name, int rc, int64_t ns, const char *fmt, ...)
{
    struct series *s = series_of(c, gpu, name);
    const double us = (double)ns / 1000;
    char value[TEXT - 64], took[32], word[TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(value, sizeof value, fmt, ap);
    va_end(ap);
    duration_word(took, sizeof took, us);
    if (rc)
        snprintf(word, sizeof word, "!%d%s", rc, took);
    else
        snprintf(word, sizeof word, "%s%s", value, took);
    if (s->times && strcmp(word, s->last) != 0)
        settle(s);
    memcpy(s->last, word, sizeof word);
    s->times++;
    s->us_min = s->calls == 0 || us < s->us_min ? us : s->us_min;
    s->us_max = us > s->us_max ? us : s->us_max;
    s->us_sum += us;
    s->calls++;
}

/* Calls, times and keeps; only when the library has the function. */
#define ASK(c, g, name, slot, call, ...)                                                           \
    do {                                                                                           \
        if ((c)->api.slot) {                                                                       \
            const int64_t t0_ = now_ns();                                                          \
            const int rc_ = (c)->api.slot call;                                                    \
            keep(c, g, name, rc_, now_ns() - t0_, __VA_ARGS__);                                    \
        }                                                                                          \
    } while (0)

static void ask_cheap(struct capture *c, unsigned g)
{
    struct nvml_device *d = c->dev[g];
    struct nvml_utilization u = {0};
    struct nvml_memory_v2 m2 = {.version = NVML_MEMORY_V2};
    struct nvml_temperature t = {.version = NVML_TEMPERATURE_V1};
    unsigned v = 0;
    unsigned long long bits = 0;
    ASK(c, g, "UtilizationRates", utilization, (d, &u), "%u,%u", u.gpu, u.memory);
    ASK(c, g, "MemoryInfo_v2", memory_v2, (d, &m2), "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
        m2.total, m2.reserved, m2.free, m2.used);
    ASK(c, g, "PowerUsage", power_mw, (d, &v), "%u", v);
    ASK(c, g, "ClockInfo.1", clock_mhz, (d, 1, &v), "%u", v);
    ASK(c, g, "ClockInfo.2", clock_mhz, (d, 2, &v), "%u", v);
    ASK(c, g, "TemperatureV.0", temperature_v, (d, &t), "%d", t.celsius);
    ASK(c, g, "CurrentClocksEventReasons", clock_reasons, (d, &bits), "%llu", bits);
}

static void ask_old(struct capture *c, unsigned g)
{
    struct nvml_device *d = c->dev[g];
    struct nvml_memory m = {0};
    unsigned v = 0, w = 0;
    ASK(c, g, "MemoryInfo", memory, (d, &m), "%" PRIu64 ",%" PRIu64 ",%" PRIu64, m.total, m.free,
        m.used);
    ASK(c, g, "Temperature.0", temperature, (d, 0, &v), "%u", v);
    ASK(c, g, "EnforcedPowerLimit", power_limit_mw, (d, &v), "%u", v);
    ASK(c, g, "PowerManagementDefaultLimit", power_default_mw, (d, &v), "%u", v);
    ASK(c, g, "MigMode", mig_mode, (d, &v, &w), "%u,%u", v, w);
}

static void field_text(const struct nvml_field *f, char *out, size_t size)
{
    if (f->type == NVML_DOUBLE)
        snprintf(out, size, "0,%.9g", f->value.f64);
    else if (f->type == NVML_UINT || f->type == NVML_SINT)
        snprintf(out, size, "%u,%u", f->type, f->value.u32);
    else if (f->type == NVML_USHORT)
        snprintf(out, size, "%u,%u", f->type, f->value.u16);
    else
        snprintf(out, size, "%u,%" PRIu64, f->type, f->value.u64);
}

static const struct {
    uint32_t id, scope;
} field_ids[] = {
    {82, 0},
    {83, 0},
    {138, NVML_ALL_LINKS},
    {139, NVML_ALL_LINKS},
    {140, NVML_ALL_LINKS},
    {141, NVML_ALL_LINKS},
    {185, 0},
    {186, 0},
    {197, 0},
    {198, 0},
    {202, 0},
    {204, 0},
    {202, NVML_ALL_LINKS},
    {204, NVML_ALL_LINKS},
    {91, 0},
};

/* Each field is asked alone so that its own duration is seen. */
static void ask_fields(struct capture *c, unsigned g)
{
    for (size_t i = 0; c->api.fields && i < sizeof field_ids / sizeof *field_ids; i++) {
        struct nvml_field f = {.id = field_ids[i].id, .scope = field_ids[i].scope};
        char name[48], text[64] = "";
        const int64_t t0 = now_ns();
        const int rc = c->api.fields(c->dev[g], 1, &f);
        const int64_t took = now_ns() - t0;
        field_text(&f, text, sizeof text);
        snprintf(name, sizeof name, field_ids[i].scope ? "FieldValue.%u.all" : "FieldValue.%u",
                 f.id);
        keep(c, g, name, rc ? rc : f.rc, took, "%s", text);
    }
}

static void ask_energy(struct capture *c, unsigned g)
{
    unsigned long long mj = 0;
    ASK(c, g, "TotalEnergyConsumption", energy_mj, (c->dev[g], &mj), "%llu", mj);
}

static void ask_pcie(struct capture *c, unsigned g)
{
    unsigned v = 0;
    ASK(c, g, "PcieThroughput.0", pcie_kbs, (c->dev[g], 0, &v), "%u", v);
    ASK(c, g, "PcieThroughput.1", pcie_kbs, (c->dev[g], 1, &v), "%u", v);
}

static void ask_processes(struct capture *c, unsigned g)
{
    struct nvml_process p[PROCESSES];
    unsigned n = PROCESSES;
    char text[TEXT / 2] = "";
    if (!c->api.processes)
        return;
    const int64_t t0 = now_ns();
    const int rc = c->api.processes(c->dev[g], &n, p);
    const int64_t took = now_ns() - t0;
    for (unsigned i = 0; !rc && i < n && i < PROCESSES; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u,%" PRIu64, i ? "," : "",
                 p[i].pid, p[i].used);
    keep(c, g, "ComputeRunningProcesses", rc, took, "%s", n ? text : "-");
}

static void ask_events(struct capture *c)
{
    struct nvml_event e = {0};
    if (c->events)
        ASK(c, 0, "XidEvent", events_wait, (c->events, &e, 0), "%" PRIu64, e.data);
}

static const uint32_t gpm_ids[] = {1, 2, 3, 5, 7, 10, 20, 21, 60, 61};

static void ask_gpm_metrics(struct capture *c, unsigned g)
{
    const unsigned n = sizeof gpm_ids / sizeof *gpm_ids, newest = (c->samples[g] - 1) & 1;
    c->gpm = (struct nvml_gpm_get){.version = NVML_GPM_VERSION, .n = n};
    c->gpm.first = c->sample[g][newest ^ 1];
    c->gpm.second = c->sample[g][newest];
    for (unsigned i = 0; i < n; i++)
        c->gpm.metric[i].id = gpm_ids[i];
    const int64_t t0 = now_ns();
    const int rc = c->api.gpm_metrics(&c->gpm);
    const int64_t took = now_ns() - t0;
    keep(c, g, "GpmMetricsGet", rc, took, "-");
    for (unsigned i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "GpmMetric.%u", gpm_ids[i]);
        keep(c, g, name, rc ? rc : c->gpm.metric[i].rc, 0, "%.2f", c->gpm.metric[i].value);
    }
}

static void ask_gpm(struct capture *c, unsigned g)
{
    struct nvml_gpm_sample *s = c->sample[g][c->samples[g] & 1];
    if (!s || !c->api.gpm_sample || !c->api.gpm_metrics)
        return;
    const int64_t t0 = now_ns();
    const int rc = c->api.gpm_sample(c->dev[g], s);
    keep(c, g, "GpmSampleGet", rc, now_ns() - t0, "-");
    if (rc)
        return;
    c->samples[g]++;
    if (c->samples[g] > 1)
        ask_gpm_metrics(c, g);
}

static void start_gpu(struct capture *c, unsigned g)
{
    struct nvml_gpm_support s = {.version = NVML_GPM_VERSION};
    ASK(c, g, "GpmQueryDeviceSupport", gpm_support, (c->dev[g], &s), "%u", s.supported);
    for (int k = 0; s.supported && c->api.gpm_new && k < 2; k++)
        if (c->api.gpm_new(&c->sample[g][k]) != NVML_OK)
            c->sample[g][k] = NULL;
    if (c->events)
        ASK(c, g, "RegisterEvents", events_add, (c->dev[g], NVML_EVENT_XID, c->events), "-");
}

static int start(struct capture *c)
{
    const int rc = c->api.init ? c->api.init() : NVML_NO_FUNCTION;
    if (rc || !c->api.count || !c->api.by_index || c->api.count(&c->gpus)) {
        fprintf(stderr, "nvml_capture: nvmlInit answered %d\n", rc);
        return -1;
    }
    if (c->gpus > GPUS)
        c->gpus = GPUS;
    if (c->api.events_new && c->api.events_new(&c->events) != NVML_OK)
        c->events = NULL;
    for (unsigned g = 0; g < c->gpus; g++) {
        if (c->api.by_index(g, &c->dev[g]) != NVML_OK)
            return -1;
        start_gpu(c, g);
    }
    return 0;
}

static void tick(struct capture *c, unsigned n)
{
    for (unsigned g = 0; g < c->gpus; g++)
        ask_cheap(c, g);
    for (unsigned g = 0; g < c->gpus && n % 2 == 0; g++)
        ask_gpm(c, g);
    for (unsigned g = 0; g < c->gpus && n % 10 == 5; g++) {
        ask_old(c, g);
        ask_energy(c, g);
        ask_fields(c, g);
    }
    for (unsigned g = 0; g < c->gpus && n % 50 == 7; g++) {
        ask_pcie(c, g);
        ask_processes(c, g);
    }
    if (n % 10 == 3)
        ask_events(c);
}

static void run(struct capture *c, double seconds)
{
    const unsigned ticks = (unsigned)(seconds * 1000 / TICK_MS);
    int64_t due = now_ns();
    for (unsigned n = 0; n < ticks; n++) {
        tick(c, n);
        due += (int64_t)TICK_MS * 1000000;
        const struct timespec t = {due / 1000000000, due % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    }
}

static void write_head(struct capture *c, FILE *f)
{
    char text[128] = "";
    if (c->api.driver_version && c->api.driver_version(text, sizeof text) == NVML_OK)
        fprintf(f, "driver %s\n", text);
    fprintf(f, "gpus %u\n", c->gpus);
    for (unsigned g = 0; g < c->gpus; g++) {
        if (c->api.name && c->api.name(c->dev[g], text, sizeof text) == NVML_OK)
            fprintf(f, "gpu %u name %s\n", g, text);
        if (c->api.uuid && c->api.uuid(c->dev[g], text, sizeof text) == NVML_OK)
            fprintf(f, "gpu %u uuid %s\n", g, text);
    }
    for (int rc = 0; c->api.error_string && rc < 30; rc++)
        fprintf(f, "error %d %s\n", rc, c->api.error_string(rc));
    if (c->api.error_string)
        fprintf(f, "error %d %s\n", NVML_UNKNOWN, c->api.error_string(NVML_UNKNOWN));
}

static void write_series(struct series *s, FILE *f)
{
    settle(s);
    fprintf(f, "# %s of gpu%u: %u calls, us min %.1f mean %.1f max %.1f\n", s->name, s->gpu,
            s->calls, s->us_min, s->us_sum / s->calls, s->us_max);
    fprintf(f, "%s\n", s->text);
    free(s->text);
}

int main(int argc, char **argv)
{
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 30;
    if (argc < 2 || !(seconds > 0 && seconds <= 600)) {
        fprintf(stderr, "usage: nvml_capture OUT.play [SECONDS, at most 600]\n");
        return 2;
    }
    struct capture *c = calloc(1, sizeof *c);
    if (!c || load(&c->api) != 0 || start(c) != 0)
        return 1;
    FILE *f = fopen(argv[1], "w");
    if (!f) {
        perror(argv[1]);
        return 1;
    }
    run(c, seconds);
    fprintf(f, "# recorded by nvml_capture: %.0f s, every %d ms\n", seconds, TICK_MS);
    write_head(c, f);
    for (unsigned i = 0; i < c->n; i++)
        write_series(&c->series[i], f);
    const int bad = fclose(f);
    c->api.shutdown();
    free(c);
    return bad ? 1 : 0;
}
