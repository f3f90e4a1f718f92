/* SPDX-License-Identifier: Apache-2.0 */
/* probe_amdgpu.c - AMD GPUs through sysfs, without AMD's libraries. Their entities continue the
 * numbers of the NVIDIA ones: gpu0, gpu1... */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "sample/amdgpu.h"
#include "sample/nvml_internal.h"
#include "sample/probe.h"
#include "sample/probe_util.h"
#include "sample/source.h"
#include "sample/textscan.h"

#define MIN_PERIOD_NS (100 * NS_PER_MS)
#define RETRY_NS      (30 * NS_PER_S)

enum { ALTERNATIVES = 4 };
enum amd_place { DEVICE, HWMON };

/* A metric and the files that may have it, best first. */
struct amd_row {
    enum metric_id metric;
    struct {
        enum amd_place place;
        const char *file;
        bool (*parse)(const void *p, size_t n, double *out); /* NULL: of gpu_metrics */
        double counts;                                       /* of the metric in one of the file */
        enum amdgpu_at at;
    } from[ALTERNATIVES];
};

static const struct amd_row rows[] = {
    {M_GPU_UTIL,
     {{DEVICE, "gpu_busy_percent", amdgpu_number, 1},
      {DEVICE, "gpu_metrics", NULL, 1, AMDGPU_AT_UTIL}}},
    {M_GPU_MEM_CTRL,
     {{DEVICE, "mem_busy_percent", amdgpu_number, 1},
      {DEVICE, "gpu_metrics", NULL, 1, AMDGPU_AT_MEM_UTIL}}},
    {M_GPU_MEM_TOTAL, {{DEVICE, "mem_info_vram_total", amdgpu_number, 1}}},
    {M_GPU_MEM_USED, {{DEVICE, "mem_info_vram_used", amdgpu_number, 1}}},
    {M_GPU_POWER, /* microwatt, stored as milliwatt */
     {{HWMON, "power1_average", amdgpu_number, 1e-3},
      {HWMON, "power1_input", amdgpu_number, 1e-3},
      {DEVICE, "gpu_metrics", NULL, 1e3, AMDGPU_AT_WATT}}},
    {M_GPU_POWER_LIMIT, {{HWMON, "power1_cap", amdgpu_number, 1e-3}}},
    {M_GPU_POWER_DEFAULT, {{HWMON, "power1_cap_default", amdgpu_number, 1e-3}}},
    {M_GPU_CLOCK_SM, /* Hz */
     {{HWMON, "freq1_input", amdgpu_number, 1e-6},
      {DEVICE, "pp_dpm_sclk", amdgpu_dpm_mhz, 1},
      {DEVICE, "gpu_metrics", NULL, 1, AMDGPU_AT_GFX_MHZ}}},
    {M_GPU_CLOCK_MEM,
     {{HWMON, "freq2_input", amdgpu_number, 1e-6},
      {DEVICE, "pp_dpm_mclk", amdgpu_dpm_mhz, 1},
      {DEVICE, "gpu_metrics", NULL, 1, AMDGPU_AT_MEM_MHZ}}},
    {M_GPU_TEMP, /* thousandths of a degree: edge, then junction */
     {{HWMON, "temp1_input", amdgpu_number, 1e-3},
      {HWMON, "temp2_input", amdgpu_number, 1e-3},
      {DEVICE, "gpu_metrics", NULL, 1, AMDGPU_AT_EDGE}}},
    {M_GPU_TEMP_MEM,
     {{HWMON, "temp3_input", amdgpu_number, 1e-3},
      {DEVICE, "gpu_metrics", NULL, 1, AMDGPU_AT_TEMP_MEM}}},
};

/* What reports show of other GPUs and this driver's files do not have. */
static const enum metric_id absent[] = {M_GPU_SM_ACTIVE,   M_GPU_SM_OCCUPANCY, M_GPU_TENSOR_ACTIVE,
                                        M_GPU_DRAM_ACTIVE, M_GPU_ENERGY,       M_GPU_THROTTLE};

struct amd_one {
    struct source file;
    unsigned from; /* the next alternative to try, 1 more than the one in use */
    slot_id slot;
    struct nvml_try attempt; /* `reported` is an errno */
};

struct card {
    char entity[16];
    slot_id share; /* gpu.mem */
    struct amdgpu_card at;
    struct amd_one one[COUNT_OF(rows)];
};

struct amd_state {
    struct group group;
    unsigned n;
    struct card *card;
    bool absent_reported;
    char text[AMDGPU_METRICS_MOST];
};

static void add_card(struct amd_state *st, struct card *c, const struct amdgpu_card *at,
                     unsigned index)
{
    c->at = *at;
    snprintf(c->entity, sizeof c->entity, "gpu%u", index);
    c->share = group_add(&st->group, M_GPU_MEM, c->entity);
    for (size_t r = 0; r < COUNT_OF(rows); r++)
        c->one[r].slot = group_add(&st->group, rows[r].metric, c->entity);
}

static int amd_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    struct amd_state *st = state;
    struct amdgpu_card *found = xcalloc(AMDGPU_MOST, sizeof *found);
    const unsigned first = env->nvml ? env->nvml->n : 0;
    st->n = amdgpu_find(found, env->sys);
    if (st->n > 0) {
        group_open(&st->group, "amdgpu", MAX_OF(period_ns, MIN_PERIOD_NS));
        st->card = xcalloc(st->n, sizeof *st->card);
    }
    for (unsigned i = 0; i < st->n; i++)
        add_card(st, &st->card[i], &found[i], first + i);
    free(found);
    if (st->n == 0)
        return err_set(e, ERR_NOT_FOUND, "no AMD GPU found in %s/class/drm", env->sys);
    return 0;
}

static void lose(const struct card *c, enum loss_id id, enum metric_id m, struct sink *s,
                 const char *why)
{
    sink_loss(s, id, (struct loss_subject){.entity = c->entity, .metric = m}, "%s", why);
}

/* The next file that this card has. */
static bool next_source(struct card *c, const struct amd_row *r, struct amd_one *o)
{
    struct err e;
    source_close(&o->file);
    while (o->from < ALTERNATIVES && r->from[o->from].file) {
        const char *place = r->from[o->from].place == HWMON ? c->at.hwmon : c->at.device;
        const char *file = r->from[o->from++].file;
        if (place[0] && source_open(&o->file, &e, "%s/%s", place, file) == 0)
            return true;
    }
    return false;
}

/* What the driver answers for a sensor that the card does not have. Not ENOENT: a file that was
 * there and is not any more belongs to a card that went, and may come back. */
static bool never(int sys)
{
    return sys == EOPNOTSUPP || sys == EINVAL || sys == ENODATA;
}

static void end_slot(struct amd_state *st, const struct card *c, enum metric_id m, slot_id *slot,
                     struct sink *s)
{
    if (*slot != SLOT_NONE)
        lose(c, LOSS_UNSUPPORTED, m, s, "not reported by this GPU or its driver");
    slot_end(&st->group, slot);
}

static void end_row(struct amd_state *st, struct card *c, const struct amd_row *r,
                    struct amd_one *o, struct sink *s)
{
    o->attempt.off = true;
    source_close(&o->file);
    end_slot(st, c, r->metric, &o->slot, s);
    if (r->metric == M_GPU_MEM_TOTAL || r->metric == M_GPU_MEM_USED)
        end_slot(st, c, M_GPU_MEM, &c->share, s);
}

static void amd_failed(struct card *c, const struct amd_row *r, struct amd_one *o, int sys,
                       struct sink *s)
{
    if (o->attempt.reported != sys)
        lose(c, sys == EACCES || sys == EPERM ? LOSS_DENIED : LOSS_READ, r->metric, s,
             strerror(sys));
    o->attempt.reported = sys;
    o->attempt.again = mono_add(clock_mono(), RETRY_NS);
}

static bool amd_parse(const struct amd_row *r, unsigned from, const char *text, size_t n,
                      double *out)
{
    return r->from[from].parse ? r->from[from].parse(text, n, out)
                               : amdgpu_metric(text, n, r->from[from].at, out);
}

/* True when the value was read. A source that has nothing gives way to the next one. */
static bool amd_read_row(struct amd_state *st, struct card *c, size_t i, struct sink *s,
                         double *out)
{
    const struct amd_row *r = &rows[i];
    struct amd_one *o = &c->one[i];
    while (o->from > 0 || next_source(c, r, o)) {
        struct reading got;
        if (!source_read(&o->file, st->text, sizeof st->text, &got) && !never(got.sys)) {
            amd_failed(c, r, o, got.sys, s);
            return false;
        }
        if (got.sys == 0 && amd_parse(r, o->from - 1, st->text, got.n, out)) {
            *out *= r->from[o->from - 1].counts;
            o->attempt.reported = 0;
            return true;
        }
        if (!next_source(c, r, o))
            break;
    }
    end_row(st, c, r, o, s);
    return false;
}

static void read_card(struct amd_state *st, struct card *c, mono_ns now, struct sink *s)
{
    double total = 0, v;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct amd_one *o = &c->one[i];
        if (!nvml_try_due(&o->attempt, now) || !amd_read_row(st, c, i, s, &v))
            continue;
        group_gauge(&st->group, o->slot, v);
        if (rows[i].metric == M_GPU_MEM_TOTAL)
            total = v;
        if (rows[i].metric == M_GPU_MEM_USED && total > 0)
            group_gauge(&st->group, c->share, v / total * 1000);
    }
}

static void amd_report_absent(struct amd_state *st, struct sink *s)
{
    for (unsigned i = 0; i < st->n; i++)
        for (size_t k = 0; k < COUNT_OF(absent); k++)
            lose(&st->card[i], LOSS_UNSUPPORTED, absent[k], s,
                 "not reported by the amdgpu kernel driver");
    st->absent_reported = true;
}

static void amd_read(void *state, struct sink *s)
{
    struct amd_state *st = state;
    const mono_ns now = clock_mono();
    if (!st->absent_reported)
        amd_report_absent(st, s);
    for (unsigned i = 0; i < st->n; i++)
        read_card(st, &st->card[i], now, s);
    group_commit(&st->group, s, now);
}

static void amd_close(void *state)
{
    struct amd_state *st = state;
    for (unsigned i = 0; i < st->n; i++)
        for (size_t r = 0; r < COUNT_OF(rows); r++)
            source_close(&st->card[i].one[r].file);
    free(st->card);
    st->card = NULL;
    st->n = 0;
    group_close(&st->group);
}

const struct probe probe_amdgpu = {
    .name = "amdgpu",
    .title = "AMD GPUs: utilization, memory, power, clocks, temperature",
    .lane = LANE_GPU,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct amd_state),
    .open = amd_open,
    .read = amd_read,
    .group = offsetof(struct amd_state, group),
    .close = amd_close,
};

/* ------------------------------------------------------------------------------------------------
 * The files of the driver; see amdgpu.h */

#define AMD_VENDOR "0x1002"

bool amdgpu_number(const void *text, size_t n, double *out)
{
    const char *p = text, *end = p + n;
    uint64_t v;
    if (!scan_u64(&p, end, &v) || (p < end && *p != '\n'))
        return false;
    *out = (double)v;
    return true;
}

static bool active_level(const char *p, const char *end, uint64_t *mhz)
{
    uint64_t level;
    if (end == p || end[-1] != '*' || !scan_u64(&p, end, &level) || p == end || *p++ != ':')
        return false;
    return scan_u64(&p, end, mhz) && end - p >= 3 && memcmp(p + 1, "hz", 2) == 0 && *p == 'M';
}

bool amdgpu_dpm_mhz(const void *text, size_t n, double *out)
{
    const char *p = text, *end = p + n;
    while (p < end) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        const char *stop = nl ? nl : end;
        uint64_t mhz;
        if (active_level(p, stop, &mhz)) {
            *out = (double)mhz;
            return true;
        }
        p = nl ? nl + 1 : end;
    }
    return false;
}

/* The table begins with its size (16 bits), its format and its content (8 bits each). */
bool amdgpu_metric(const void *p, size_t n, enum amdgpu_at at, double *out)
{
    enum { LEAST_SIZE = 80, NOT_THERE = 0xffff };
    struct cur c = cur_of(p, n);
    const uint16_t size = cur_u16(&c);
    const uint8_t format = cur_u8(&c), content = cur_u8(&c);
    if (c.bad || format != 1 || content < 1 || content > 3 || size > n || size < LEAST_SIZE)
        return false;
    uint16_t v;
    memcpy(&v, (const uint8_t *)p + at, sizeof v);
    if (v == NOT_THERE)
        return false;
    *out = v;
    return true;
}

/* "card12" but not "card12-DP-1" */
static bool card_number(const char *name, unsigned *out)
{
    const char *p = name + 4, *end = name + strlen(name);
    int v;
    if (strncmp(name, "card", 4) != 0 || !scan_int(&p, end, &v) || p != end)
        return false;
    *out = (unsigned)v;
    return true;
}

static bool is_amd(const char *device)
{
    char path[AMDGPU_PATH + 16], text[16] = "";
    snprintf(path, sizeof path, "%s/vendor", device);
    return file_peek(path, text, sizeof text - 1) > 0 && text_starts(text, AMD_VENDOR);
}

static void find_hwmon(struct amdgpu_card *c)
{
    char path[AMDGPU_PATH];
    if (snprintf(path, sizeof path, "%s/hwmon", c->device) >= (int)sizeof path)
        return;
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, "hwmon", 5) == 0 && strlen(e->d_name) < 16)
            snprintf(c->hwmon, sizeof c->hwmon, "%.480s/%.16s", path, e->d_name);
    if (d)
        closedir(d);
}

COMPARE_BY(amdgpu_by_number, struct amdgpu_card, number)

unsigned amdgpu_find(struct amdgpu_card out[AMDGPU_MOST], const char *sys)
{
    char drm[AMDGPU_PATH];
    unsigned n = 0;
    if (snprintf(drm, sizeof drm, "%s/class/drm", sys) > AMDGPU_PATH / 2)
        return 0;
    DIR *d = opendir(drm);
    for (struct dirent *e; d && n < AMDGPU_MOST && (e = readdir(d));) {
        struct amdgpu_card *c = &out[n];
        *c = (struct amdgpu_card){0};
        if (!card_number(e->d_name, &c->number))
            continue;
        snprintf(c->device, sizeof c->device, "%.256s/card%u/device", drm, c->number);
        if (!is_amd(c->device))
            continue;
        find_hwmon(c);
        n++;
    }
    if (d)
        closedir(d);
    SORT(out, n, amdgpu_by_number);
    return n;
}
