/* SPDX-License-Identifier: Apache-2.0 */
/* trial.h - reads every probe of this machine a few times and keeps what came: what can be measured
 * here, what one reading costs, and why the rest is not there. Writes nothing to disk. */
#ifndef CMD_TRIAL_H
#define CMD_TRIAL_H

#include "base/arena.h"
#include "sample/hostinfo.h"
#include "sample/probe.h"

struct trial_series {
    enum metric_id metric;
    char entity[ENTITY_LEN];
    double value; /* the latest */
};

struct trial_probe {
    const struct probe *probe;
    bool opened;
    char why[512]; /* why it was not */
    struct trial_series *series;
    size_t n_series, series_cap;
    struct loss *losses; /* each once */
    size_t n_losses, losses_cap;
    double read_us; /* mean of all readings but the first, which opens files; NAN: too few */
};

struct trial {
    struct hostinfo host;
    struct gpu_info gpus[GPU_MOST];
    unsigned n_gpus;
    char gpu_absent[512]; /* why there is none, when there is none */
    struct trial_probe *probes;
    size_t n_probes;
};

/* proc, sys: "/proc" and "/sys". Takes about half a second. Arrays live in the arena. */
void trial_run(struct trial *out, const char *proc, const char *sys, struct arena *a);

#endif
