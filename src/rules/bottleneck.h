/* SPDX-License-Identifier: Apache-2.0 */
/* bottleneck.h - GPUs that idle while something else of the node is hot: what CPUBottleneck and
 * IOBottleneck have in common.
 *
 * A snapshot is low when a GPU in use was below the threshold in it. Which GPUs are in use is known
 * only at the end, so snapshots that are low by GPUs not yet in use are counted apart, by the set
 * of those GPUs, and become low when one of the set is used. */
#ifndef RULES_BOTTLENECK_H
#define RULES_BOTTLENECK_H

#include "rules/per_entity.h"
#include "rules/windows.h"

enum { BOTTLENECK_HOTS = 3 };

struct bottleneck_gpu {
    struct gpu_head head;
    int64_t waited_ns; /* it was low while the node was hot */
};

/* One way to be hot. */
struct bottleneck_hot {
    enum node_signal signal;
    const char *words;  /* "one core was" */
    const char *advice; /* when most of it is of this kind; a sentence without its full stop */
};

struct bottleneck_spec {
    const char *resource;                        /* "the CPU", for people */
    struct bottleneck_hot hots[BOTTLENECK_HOTS]; /* the first that holds counts */
    size_t n_hots;
    const char *refute;
};

/* How the used GPUs of a snapshot were. */
enum bottleneck_gpus { GPUS_NOT_READ, GPUS_FINE, GPUS_LOW, BOTTLENECK_GPUS_N };

struct bottleneck_row {
    uint64_t low; /* GPUs not in use so far that were low, as bits; 0 for GPUS_LOW */
    enum bottleneck_gpus gpus;
    uint64_t cool, hot[BOTTLENECK_HOTS]; /* snapshots */
    struct episodes episodes;            /* the hot ones */
};

/* Sets of GPUs differ only when single GPUs cannot be read; what is more than this is put to the
 * last row. */
enum { BOTTLENECK_ROWS = 16 };

struct bottleneck {
    struct node_state head;
    struct bottleneck_row row[BOTTLENECK_ROWS];
    size_t n_rows;
};

#endif
