/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_api.h - NVIDIA's library as it looks from C: our own declarations of what is used.
 * Layouts and numbers are the library's binary interface on 64-bit Linux; the asserts below check
 * them. Nothing here needs NVIDIA's header, to build or to run. */
#ifndef SAMPLE_NVML_API_H
#define SAMPLE_NVML_API_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nvml_rc {
    NVML_OK = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_NO_FUNCTION = 13,
    NVML_GPU_LOST = 15,
    NVML_VERSION_MISMATCH = 18, /* library and kernel module of different versions */
    NVML_STRUCT_VERSION = 25,
    NVML_UNKNOWN = 999,
};

enum { NVML_INIT_NO_GPUS_OK = 1 };
enum nvml_clock { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
enum nvml_sensor { NVML_SENSOR_GPU = 0 };
enum nvml_pcie { NVML_PCIE_TX = 0, NVML_PCIE_RX = 1 }; /* as the GPU sees it */
enum nvml_event_type { NVML_EVENT_XID = 8 };

/* Readings that nvmlDeviceGetFieldValues knows by number. */
enum nvml_field_id {
    NVML_FIELD_TEMP_MEM = 82,
    NVML_FIELD_NVLINK_TX_KIB = 138, /* data, without protocol; scope: link, or all */
    NVML_FIELD_NVLINK_RX_KIB = 139,
    NVML_FIELD_PCIE_TX = 197, /* bytes; may wrap */
    NVML_FIELD_PCIE_RX = 198,
    NVML_FIELD_NVLINK5_TX = 202, /* bytes */
    NVML_FIELD_NVLINK5_RX = 204,
};
#define NVML_ALL_LINKS UINT32_MAX

enum nvml_gpm_id {
    NVML_GPM_SM_UTIL = 2,
    NVML_GPM_SM_OCCUPANCY = 3,
    NVML_GPM_TENSOR = 5,
    NVML_GPM_DRAM = 10,
    NVML_GPM_PCIE_TX = 20, /* MiB/s */
    NVML_GPM_PCIE_RX = 21,
};

struct nvml_device;
struct nvml_event_set;
struct nvml_gpm_sample;

struct nvml_utilization {
    uint32_t gpu, memory; /* percent */
};

struct nvml_memory { /* bytes; used includes what the driver reserves */
    uint64_t total, free, used;
};

struct nvml_memory_v2 {
    uint32_t version, pad;
    uint64_t total, reserved, free, used;
};
#define NVML_MEMORY_V2 0x2000028u

struct nvml_temperature {
    uint32_t version, sensor;
    int32_t celsius;
};
#define NVML_TEMPERATURE_V1 0x100000cu

struct nvml_process_v1 {
    uint32_t pid, pad;
    uint64_t used; /* NVML_NOT_KNOWN when the driver does not know */
};

struct nvml_process {
    uint32_t pid, pad;
    uint64_t used;
    uint32_t gpu_instance, compute_instance;
};
#define NVML_NOT_KNOWN UINT64_MAX

enum nvml_value_type {
    NVML_DOUBLE,
    NVML_UINT,
    NVML_ULONG,
    NVML_ULL,
    NVML_SLL,
    NVML_SINT,
    NVML_USHORT,
};

struct nvml_field {
    uint32_t id, scope;
    int64_t timestamp, latency_us;
    uint32_t type; /* enum nvml_value_type */
    int32_t rc;
    union {
        double f64;
        uint32_t u32;
        uint64_t u64;
        int64_t i64;
        int32_t i32;
        uint16_t u16;
    } value;
};

struct nvml_event {
    struct nvml_device *device;
    uint64_t type;
    uint64_t data; /* the XID */
    uint32_t gpu_instance, compute_instance;
};

struct nvml_gpm_support {
    uint32_t version, supported;
};

struct nvml_gpm_metric {
    uint32_t id;
    int32_t rc;
    double value;
    const char *short_name, *long_name, *unit;
};

/* The library's own array is as long as in its header, so there is room for any of them. */
enum { NVML_GPM_ROOM = 512, NVML_GPM_VERSION = 1 };

struct nvml_gpm_get {
    uint32_t version, n;
    struct nvml_gpm_sample *first, *second;
    struct nvml_gpm_metric metric[NVML_GPM_ROOM];
};

static_assert(sizeof(struct nvml_memory_v2) == 40, "the library's layout");
static_assert(sizeof(struct nvml_temperature) == 12, "the library's layout");
static_assert(sizeof(struct nvml_process) == 24, "the library's layout");
static_assert(sizeof(struct nvml_process_v1) == 16, "the library's layout");
static_assert(sizeof(struct nvml_field) == 40, "the library's layout");
static_assert(offsetof(struct nvml_field, value) == 32, "the library's layout");
static_assert(sizeof(struct nvml_event) == 32, "the library's layout");
static_assert(sizeof(struct nvml_gpm_metric) == 40, "the library's layout");
static_assert(offsetof(struct nvml_gpm_get, metric) == 24, "the library's layout");

/* The functions; NULL where the library has none. */
#define NVML_CALL(slot, needed, result, args, ...) result(*slot) args;
struct nvml_api {
#include "sample/nvml_calls.def"
};
#undef NVML_CALL

enum { NVML_NAMES = 3 };

struct nvml_symbol {
    size_t slot; /* offset in struct nvml_api */
    bool needed;
    const char *names[NVML_NAMES]; /* newest first, then NULL */
};

#endif
