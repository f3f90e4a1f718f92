/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_fields.c - see nvml_fields.h. */
#include "sample/nvml_fields.h"

#include <assert.h>

#include "base/mem.h"
#include "sample/probe_util.h"

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

void nvml_fields_open(struct nvml_fields *f, struct group *g, const char *entity)
{
    for (unsigned i = 0; i < NVML_FIELDS; i++)
        f->one[i].slot = group_add(g, fields[i].metric, entity);
}

void nvml_fields_forget(struct nvml_fields *f)
{
    for (unsigned i = 0; i < NVML_FIELDS; i++)
        f->one[i].counter.known = false;
}

static void end_field(struct nvml_field_state *o, struct group *g)
{
    group_drop(g, o->slot);
    o->slot = SLOT_NONE;
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

static void lose_step(const struct nvml_ask *a, struct nvml_field_state *o, enum metric_id m)
{
    if (o->resets++ < RESETS_SAID)
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
        lose_step(a, o, m->metric);
}

/* A PCIe counter of 32 bits wraps several times a second on a busy link, and nobody can tell how
 * often; the driver's own measurement of a moment is less, but true. */
static bool ambiguous(const struct field_metric *m, const struct nvml_field *v)
{
    return m->pcie != NOT_MEASURED && v->rc == NVML_OK && v->type == NVML_UINT;
}

static void nvml_fields_take(const struct field_metric *m, struct nvml_field_state *o,
                             struct group *g, const struct nvml_field *v, const struct nvml_ask *a)
{
    if (ambiguous(m, v)) {
        o->measured = true;
        return;
    }
    if (v->rc != NVML_OK && other_source(m, o, v->rc))
        return;
    if (nvml_try_took(&o->stands, a, v->rc, &m->metric, 1))
        nvml_fields_put(m, o, g, v, a);
    if (o->stands.off)
        end_field(o, g);
}

/* GPM measures it already. */
static bool served(const struct field_metric *m, struct nvml_gpu *gpu)
{
    return m->pcie != NOT_MEASURED && atomic_load(&gpu->gpm_pcie);
}

static void ask_fields(struct nvml_fields *f, struct group *g, const struct nvml_ask *asked)
{
    struct nvml_field v[NVML_FIELDS] = {0};
    unsigned which[NVML_FIELDS];
    int n = 0;
    struct nvml_ask a = *asked;
    for (unsigned i = 0; i < NVML_FIELDS; i++) {
        const struct nvml_field_state *o = &f->one[i];
        if (o->measured || served(&fields[i], a.gpu) || !nvml_try_due(&o->stands, a.now))
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
    if (!o->measured || served(m, a->gpu) || !nvml_try_due(&o->stands, a->now))
        return;
    const int rc = api->pcie_kbs
                       ? api->pcie_kbs(atomic_load(&a->gpu->dev), (unsigned)m->pcie, &kib_per_s)
                       : NVML_NO_FUNCTION;
    if (nvml_try_took(&o->stands, a, rc, &m->metric, 1))
        group_rate(g, o->slot, (double)kib_per_s * KIB, NS_PER_S);
    if (o->stands.off)
        end_field(o, g);
}

void nvml_fields_read(struct nvml_fields *f, struct group *g, const struct nvml_ask *a,
                      bool may_block)
{
    ask_fields(f, g, a);
    for (unsigned i = 0; may_block && i < NVML_FIELDS && !atomic_load(&a->gpu->gone); i++)
        nvml_fields_measure(&fields[i], &f->one[i], g, a);
}
