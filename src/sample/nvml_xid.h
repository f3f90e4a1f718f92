/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_xid.h - errors (XID) that NVIDIA's driver reports while the run goes on. The driver queues
 * them; a reading takes what has come and never waits. */
#ifndef SAMPLE_NVML_XID_H
#define SAMPLE_NVML_XID_H

#include "sample/nvml_dev.h"

struct nvml_xid {
    struct nvml_event_set *set;
    struct nvml_try stands; /* of the queue, which is one for all GPUs */
    bool told;              /* the GPUs that cannot be listened to */
    struct {
        int rc; /* of listening to it */
        slot_id slot;
        unsigned count;
    } gpu[GPU_MOST];
};

void nvml_xid_open(struct nvml_xid *x, struct nvml_lib *lib, struct group *g);
void nvml_xid_read(struct nvml_xid *x, struct group *g, const struct nvml_ask *round);
void nvml_xid_close(struct nvml_xid *x, struct nvml_lib *lib);

#endif
