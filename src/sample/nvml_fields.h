/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_fields.h - what an NVIDIA driver gives by number: memory temperature, PCIe and NVLink bytes.
 * One question for all of them, 0.1 to 1 ms. Where there are no PCIe counters the driver can
 * measure the traffic for us, but that blocks for 20 ms a direction. */
#ifndef SAMPLE_NVML_FIELDS_H
#define SAMPLE_NVML_FIELDS_H

#include "sample/nvml_dev.h"

enum { NVML_FIELDS = 5 };

/* Of one GPU. */
struct nvml_fields {
    struct nvml_field_state {
        slot_id slot;
        struct nvml_try stands;
        unsigned from;   /* which of its sources is in use */
        bool measured;   /* no counter: the driver measures it for us */
        unsigned resets; /* told so far */
        struct counter counter;
    } one[NVML_FIELDS];
};

void nvml_fields_open(struct nvml_fields *f, struct group *g, const char *entity);
/* `may_block`: whether calls of 20 ms are wanted this time. */
void nvml_fields_read(struct nvml_fields *f, struct group *g, const struct nvml_ask *a,
                      bool may_block);
/* Growth over a gap of which nothing is known (the GPU was gone) is not a rate. */
void nvml_fields_forget(struct nvml_fields *f);

#endif
