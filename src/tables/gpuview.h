/* SPDX-License-Identifier: Apache-2.0 */
/* gpuview.h - what the GPUs of a run achieved, as show and report put it: the same numbers, the
 * same words, and the reason for each number that is missing. */
#ifndef TABLES_GPUVIEW_H
#define TABLES_GPUVIEW_H

#include "query/efficiency.h"
#include "tables/runview.h"

struct gpu_view {
    struct efficiency x;
    const struct gpu_use *use; /* of the training loop; of the whole job where there is no loop */
    bool loop;                 /* the former */
    const struct loss_list *lost;
    struct arena *arena;
};

/* Everything lives in the arena; the losses must stay. */
MUST_CHECK int gpuview_read(struct gpu_view *out, struct run *r, const struct efficiency_ask *ask,
                            const struct loss_list *lost, struct arena *a, struct err *e);

/* Numbers of the view, in the order of the JSON object. */
enum gpu_number {
    GPU_NUMBER_TFLOPS,
    GPU_NUMBER_PEAK_TFLOPS,
    GPU_NUMBER_MFU,
    GPU_NUMBER_UTIL,
    GPU_NUMBER_SM,
    GPU_NUMBER_OCCUPANCY,
    GPU_NUMBER_TENSOR,
    GPU_NUMBER_DRAM,
    GPU_NUMBER_DRAM_TB_S,
    GPU_NUMBER_POWER,
    GPU_NUMBER_CLOCK,
    GPU_NUMBER_ENERGY, /* of the whole job */
    GPU_NUMBER_LOOP_ENERGY,
    GPU_NUMBER_STEP_ENERGY,
    GPU_NUMBER_SAMPLE_ENERGY,
    GPU_NUMBER_PEAK_MEMORY,
    GPU_NUMBER_RESERVED_MEMORY,
    GPU_NUMBER_USED_MEMORY,
    GPU_NUMBERS
};

double gpuview_number(const struct gpu_view *v, enum gpu_number n);
/* Why it is NAN, as half a sentence: never NULL. */
const char *gpuview_why(const struct gpu_view *v, enum gpu_number n);

/* For people; in the arena of the view. */

/* "busy 98.7 %, SMs 95.0 %, tensor cores 60.5 %, memory bandwidth 30.1 %". */
const char *gpuview_activity(const struct gpu_view *v, const struct gpu_use *u);
/* "526 TFLOP/s, 53.2 % of the 989 TFLOP/s that BF16 can do; 60.5 % at the clock that ran". */
const char *gpuview_compute(const struct gpu_view *v);
/* "1 610 MHz; held down 100 % of the time by the power limit". */
const char *gpuview_clock(const struct gpu_view *v, const struct gpu_use *u);
/* "689 W; 20.2 J a step, 1.26 J a sample". */
const char *gpuview_power(const struct gpu_view *v);
/* "13.7 mJ", "4.21 kJ (1.17 Wh)"; "-" for NAN. */
const char *joules_text(struct arena *a, double j);
/* "6.42 GiB allocated at most, 6.60 GiB reserved; 7.42 of 140 GiB of the GPU in use". */
const char *gpuview_memory(const struct gpu_view *v);

/* "BF16": what the peak is of; "": not known. */
const char *gpuview_peak_format(const struct gpu_view *v);

/* The reasons of the numbers that are missing, one call for each; nothing but one reason where
 * there is no GPU. */
void gpuview_missing(const struct gpu_view *v,
                     void (*see)(void *ctx, const char *what, const char *why), void *ctx);

#endif
