/* SPDX-License-Identifier: Apache-2.0 */
/* synth.c - see synth.h. */
#include "synth.h"

static uint64_t next(struct synth *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random * UINT64_C(0x2545f4914f6cdd1d);
}

static double uniform(struct synth *s)
{
    return (double)(next(s) >> 11) * 0x1p-53;
}

void synth_open(struct synth *s, uint64_t seed)
{
    *s = (struct synth){.random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1};
}

/* Busy one time in seven, leaving that state every second sample; one tick off one time in twenty.
 */
static int64_t core_ticks(struct synth *s, uint8_t *busy)
{
    if (uniform(s) < (*busy ? 0.5 : 0.088))
        *busy = !*busy;
    const int off = uniform(s) < 0.05;
    return *busy ? 10 - off : off;
}

/* Around 92 % like a sum of dice, with a dip one time in thirty. */
static int64_t gpu_percent(struct synth *s)
{
    if (uniform(s) < 0.03)
        return (int64_t)(uniform(s) * 60);
    const double v = 92 + 2.1 * (uniform(s) + uniform(s) + uniform(s) + uniform(s) - 2);
    return (int64_t)(v + 0.5);
}

void synth_row(struct synth *s, int64_t cells[SYNTH_SERIES])
{
    for (int i = 0; i < SYNTH_CORES; i++)
        cells[i] = core_ticks(s, &s->busy[i]);
    for (int i = 0; i < SYNTH_GPUS; i++)
        cells[SYNTH_CORES + i] = gpu_percent(s);
}

int64_t synth_late_ns(struct synth *s)
{
    return (int64_t)(uniform(s) * uniform(s) * 400e3);
}
