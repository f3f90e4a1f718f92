/* SPDX-License-Identifier: Apache-2.0 */
/* rightsize.h - fewer or smaller machines that would have done for a run that used its own little.
 *
 * What counts is the 95th percentile of each resource, summed over the nodes, and it must leave
 * head room. Memory that was not measured is not looked at, which the words then say. GPUs of
 * another kind are compared by the table's gpu_tflops. Pure but for the verdicts that
 * rightsize_advise adds to. */
#ifndef RULES_RIGHTSIZE_H
#define RULES_RIGHTSIZE_H

#include "base/json_write.h"
#include "rules/feed_run.h"
#include "rules/machines.h"

enum resource { RES_GPU, RES_GPU_MEMORY, RES_CPU, RES_MEMORY, RES_N };

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
/* The same for a run that was judged, and took a minute at least; its verdicts about use then have
 * it. */
const struct right_size *rightsize_advise(struct checked *c, const struct machines *t,
                                          struct arena *a);
/* As one object; NULL: null. */
void right_size_json(struct jw *j, const char *key, const struct right_size *r);

#endif
