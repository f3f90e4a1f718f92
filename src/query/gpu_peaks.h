/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_peaks.h - the data sheet of a GPU by the name that its driver gives. */
#ifndef QUERY_GPU_PEAKS_H
#define QUERY_GPU_PEAKS_H

#include <stddef.h>

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

/* NULL: not in the table, or a part of a GPU (MIG, vGPU), whose peak is not known. */
const struct gpu_peak *gpu_peak_find(const char *name);

/* The table, for tests and docs. */
extern const struct gpu_peak gpu_peaks[];
extern const size_t n_gpu_peaks;

#endif
