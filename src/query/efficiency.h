/* SPDX-License-Identifier: Apache-2.0 */
/* efficiency.h - what the GPUs of a run achieved: how busy their units were, TFLOP/s and the share
 * of the peak, power, energy, clocks and why they were throttled.
 *
 * Everything is given twice: over the training loop after its warm-up, and over the whole job.
 * NAN: not measured, or not known. docs/efficiency.md has the definition of each number. */
#ifndef QUERY_EFFICIENCY_H
#define QUERY_EFFICIENCY_H

#include <stddef.h>

#include "query/series.h"
#include "query/steps.h"

/* The training loop without its warm-up: from the start of the first steady training step to the
 * start of the last one, so that it is made of whole iterations. Of a loop too short for that, from
 * the start of the first step to the end of the last. */
struct loop_window {
    bool known;       /* false: no training steps */
    bool steady;      /* warm-up is left out */
    wall_ns from, to; /* to is exclusive */
    uint64_t steps;   /* iterations in it, of the rank that has most */
    double samples;   /* of all ranks; NAN: batch sizes are not known */
};

void loop_window_of(const struct rank_steps *ranks, size_t n, struct loop_window *out);

/* What ranks report of CUDA: memory of PyTorch's allocator, in the rank that took most, -1 if that
 * is not known; and whether matrix products ran in TF32. */
struct allocator_peak {
    int64_t allocated_bytes, reserved_bytes;
    bool tf32;
};

/* For steps_read_named: the events that allocator_peak_of reads. */
bool allocator_event_wanted(enum event_id id);
struct allocator_peak allocator_peak_of(const struct node_events *named, size_t n);

/* Reasons why a clock is throttled, as the driver reports them in the bits of gpu.throttle. */
#define CLOCK_HOLDS(X)                                                                             \
    X(SETTING, 0x002, "clock_setting", "clock setting")                                            \
    X(POWER, 0x004, "power_cap", "power limit")                                                    \
    X(SLOWDOWN, 0x008, "hw_slowdown", "hardware slowdown")                                         \
    X(SYNC, 0x010, "sync_boost", "sync boost")                                                     \
    X(HEAT, 0x020, "thermal", "temperature (driver)")                                              \
    X(HW_HEAT, 0x040, "hw_thermal", "temperature (hardware)")                                      \
    X(BRAKE, 0x080, "power_brake", "external power brake")                                         \
    X(DISPLAY, 0x100, "display_clock", "display clock")

#define X(id, ...) CLOCK_HOLD_##id,
enum clock_hold { CLOCK_HOLDS(X) CLOCK_HOLD_N };
#undef X

const char *clock_hold_name(enum clock_hold h);  /* "power_cap": the key in JSON */
const char *clock_hold_words(enum clock_hold h); /* "power limit" */

/* What is averaged over time, in percent, W and MHz. */
enum gpu_mean {
    GPU_MEAN_UTIL,      /* some kernel ran */
    GPU_MEAN_SM,        /* SMs with work */
    GPU_MEAN_OCCUPANCY, /* warp slots in use */
    GPU_MEAN_TENSOR,    /* tensor cores active */
    GPU_MEAN_DRAM,      /* memory bandwidth used */
    GPU_MEAN_POWER,
    GPU_MEAN_CLOCK, /* of the SMs */
    GPU_MEANS
};

/* One GPU, or those of a job, over one window. */
struct gpu_use {
    double mean[GPU_MEANS];
    double held_pct[CLOCK_HOLD_N]; /* share of the time */
    double held_any_pct;
    double energy_j;       /* while it was measured */
    double measured_share; /* of the window's time, 0..1: what energy_j covers */
    double tflops;         /* tensor cores, at the clock that ran */
    double peak_tflops;    /* by the data sheet */
    double mfu_pct;        /* tflops / peak_tflops */
    double dram_tb_s;
    double mem_used_bytes; /* most, by the driver; all processes */
};

struct gpu_efficiency {
    const char *node, *entity, *name; /* name "": not known */
    const struct gpu_peak *peak;      /* NULL: not known */
    bool used;                        /* by the job, or by an unknown process */
    double mem_total_bytes;
    struct gpu_use loop, job;
};

struct efficiency {
    struct gpu_efficiency *gpus;
    size_t n_gpus, n_used;
    struct loop_window window;
    wall_ns job_from, job_to;
    /* Over the GPUs that the job used: energy is their sum, memory the largest, the rest is the
     * mean of a GPU. What one of them lacks is NAN. `loop` is all NAN when the window is unknown.
     */
    struct gpu_use loop, job;
    double energy_per_step_j, energy_per_sample_j; /* in the loop; of all its GPUs */
    struct allocator_peak allocator;
};

struct efficiency_ask {
    struct loop_window window;
    struct allocator_peak allocator;
    wall_ns job_from, job_to;
};

/* Arrays and texts live in the arena. */
MUST_CHECK int efficiency_read(struct run *r, const struct efficiency_ask *ask, struct arena *a,
                               struct efficiency *out, struct err *e);

/* Why there is no tflops where there are tensor activity, clock and peak: matrix products do not
 * run on the tensor cores, so their activity does not measure the work done. */
bool efficiency_tensor_unused(const struct gpu_use *u);

/* ---- pure parts ---- */

/* How the samples of a series are read between their times. */
enum sampled {
    SAMPLED_POINT,    /* a moment: linear in between */
    SAMPLED_INTERVAL, /* the mean since the sample before */
};

struct time_integral {
    double sum;       /* of value x seconds */
    double covered_s; /* of the window's time: gaps do not count */
};

struct time_integral series_integral(const struct series *s, enum sampled how, wall_ns from,
                                     wall_ns to);

/* ---- the data sheet of a GPU, by the name that its driver returns ---- */

struct gpu_peak {
    const char *words;  /* that were found in the name */
    const char *format; /* of `tflops`: "BF16" (FP16 has the same peak) or "FP16" */
    double tflops;      /* dense; of one device: a MI250 card is two */
    double tf32_tflops; /* 0: not offered */
    double fp32_tflops; /* without tensor cores */
    double dram_tb_s;   /* bandwidth of its memory */
    double clock_mhz;   /* the SM clock at which `tflops` is reached */
    double watts;       /* default power limit */
};

/* The peak of the format in which matrix products ran, and the name of the format. */
double gpu_peak_tflops(const struct gpu_peak *p, bool tf32);
const char *gpu_peak_format(const struct gpu_peak *p, bool tf32);

/* NULL: not in the table, or a part of a GPU (MIG, vGPU), whose peak is not known. */
const struct gpu_peak *gpu_peak_find(const char *name);

/* The table, for tests and docs. */
extern const struct gpu_peak gpu_peaks[];
extern const size_t n_gpu_peaks;

#endif
