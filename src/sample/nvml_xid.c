/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_xid.c - see nvml_xid.h. */
#include "sample/nvml_xid.h"

#include "base/mem.h"
#include "record/group.h"

enum { EVENTS_A_ROUND = 64 }; /* a storm is counted over several rounds */

static int new_set(struct nvml_xid *x, const struct nvml_api *api)
{
    if (!api->events_new || !api->events_add || !api->events_wait || !api->events_free)
        return NVML_NO_FUNCTION;
    return api->events_new(&x->set);
}

void nvml_xid_open(struct nvml_xid *x, struct nvml_lib *lib, struct group *g)
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

void nvml_xid_close(struct nvml_xid *x, struct nvml_lib *lib)
{
    if (x->set)
        lib->api.events_free(x->set);
    x->set = NULL;
}

static void tell_deaf(struct nvml_xid *x, const struct nvml_ask *round)
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

/* True when the queue is empty now and the counts hold. */
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
    if (x->stands.told != rc)
        sink_loss(round->sink, LOSS_READ, LOST_METRIC(M_GPU_XID), "%s", nvml_why(round->lib, rc));
    x->stands.told = rc;
    x->stands.again = mono_add(round->now, NVML_RETRY_NS);
    return false;
}

void nvml_xid_read(struct nvml_xid *x, struct group *g, const struct nvml_ask *round)
{
    if (!x->told)
        tell_deaf(x, round);
    x->told = true;
    if (!x->set || !nvml_try_due(&x->stands, round->now) || !nvml_xid_drain(x, round))
        return;
    for (unsigned i = 0; i < round->lib->n; i++)
        if (!atomic_load(&round->lib->gpu[i].gone))
            group_gauge(g, x->gpu[i].slot, x->gpu[i].count);
}
