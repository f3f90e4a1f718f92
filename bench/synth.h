/* SPDX-License-Identifier: Apache-2.0 */
/* synth.h - the synthetic node that store and query are measured on: 96 cores in ticks, 8 GPUs in
 * percent, sampled every 100 ms. Deterministic. The generator is fitted to the entropies of real
 * captures: cores about 0.95 bit a sample alone and 0.8 given the one before, GPUs about 2.5 bit.
 */
#ifndef BENCH_SYNTH_H
#define BENCH_SYNTH_H

#include <stdint.h>

enum { SYNTH_CORES = 96, SYNTH_GPUS = 8, SYNTH_SERIES = SYNTH_CORES + SYNTH_GPUS };

struct synth {
    uint64_t random;
    uint8_t busy[SYNTH_CORES];
};

void synth_open(struct synth *s, uint64_t seed);
/* Cells of the next row: ticks of 0 to 10, then percent. */
void synth_row(struct synth *s, int64_t cells[SYNTH_SERIES]);
/* Lateness of the next wake-up, ns. */
int64_t synth_late_ns(struct synth *s);

#endif
