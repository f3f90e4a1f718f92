/* SPDX-License-Identifier: Apache-2.0 */
/* rightsize.h - fewer or smaller machines that would do for a run that used its own machines
 * little.
 *
 * The measure is the 95th percentile of each resource, summed over the nodes, and it must leave
 * head room. Memory that was not measured is ignored, and the text states so. GPUs of another kind
 * are compared by the table's gpu_tflops. Pure. */
#ifndef COST_RIGHTSIZE_H
#define COST_RIGHTSIZE_H

#include <stdint.h>

#include "cost/machines.h"

enum resource { RES_GPU, RES_GPU_MEMORY, RES_CPU, RES_MEMORY, RES_N };

/* A node as its recorder saw it. */
struct node_hardware {
    const char *machine; /* its type; "": not known */
    unsigned cores;      /* 0: not known */
    size_t n_gpus;
    int64_t memory_bytes;     /* 0: not known */
    const char *gpu;          /* the driver's name of the first one; NULL or "": not known */
    int64_t gpu_memory_bytes; /* of one; 0: not known */
    double price_per_hour;    /* NAN: not known */
};

/* The machine that it is: what was seen, completed from the table. */
struct machine machine_of_node(const struct node_hardware *n, const struct machines *t,
                               struct arena *a);

/* One node as it was used. */
struct used_node {
    struct machine machine; /* what it is; gpus: those that the job used */
    double pct[RES_N];      /* 95th percentiles; NAN: not measured */
    const char *currency;   /* of its price; NULL: not set */
};

struct sizing {
    const struct machine *machine; /* NULL: nothing was found */
    size_t n;
    double price_per_hour; /* of all of them; NAN: not known */
    double saving;         /* 0..1 of what is paid now */
    double pct[RES_N];     /* the use to expect; NAN: it has no such thing */
};

struct right_size {
    struct sizing best;
    struct sizing alike;   /* the best with GPUs of the same kind, where that is another one */
    const char *now;       /* "3 x p3.8xlarge" */
    double price_per_hour; /* of all nodes now; NAN: not known */
    const char *currency;
    double hours;    /* that the job took; NAN: not known */
    const char *why; /* in sentences, with the numbers */
};

/* NULL when the run is not under-used, or nothing fits that costs less. */
const struct right_size *rightsize(const struct machines *t, const struct used_node *v, size_t n,
                                   double hours, struct arena *a);

#endif
