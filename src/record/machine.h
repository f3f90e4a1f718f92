/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - what is known of a machine and its GPUs; empty text and 0 mean not known. */
#ifndef RECORD_MACHINE_H
#define RECORD_MACHINE_H

#include <stdint.h>

enum { HOST_TEXT = 128, GPU_MOST = 64 };

struct hostinfo {
    char hostname[HOST_TEXT];
    char kernel[HOST_TEXT]; /* "Linux 6.1.0-18-amd64 x86_64" */
    char cpu_model[HOST_TEXT];
    char boot_id[HOST_TEXT];
    char dmi_vendor[HOST_TEXT];  /* sys_vendor, the cloud's name on cloud machines */
    char dmi_product[HOST_TEXT]; /* product_name */
    unsigned cores;
    uint64_t memory_bytes;
};

struct gpu_info {
    char entity[16]; /* "gpu0" */
    char name[HOST_TEXT];
    char uuid[HOST_TEXT];
    char driver[HOST_TEXT];
    uint64_t memory_bytes;
};

#endif
