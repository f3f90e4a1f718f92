/* SPDX-License-Identifier: Apache-2.0 */
/* lttng_peer.c - what one event costs a program that traces with LTTng-UST: the peer of bench_ring.
 * Bursts with time for its daemon in between; prints ns per event, best and median burst. Compiled
 * by bench_events.py, since LTTng is not needed for anything else. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BURST = 2048, BURSTS = 400 }; /* as in bench_ring.c */

static double ns_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    static double ns[BURSTS];
    const struct timespec pause = {.tv_nsec = 2500000};
    for (int b = 0; b < BURSTS; b++) {
        const double began = ns_now();
        for (unsigned i = 0; i < BURST; i++)
            lttng_ust_tracepoint(footplate_peer, event, 1, 2, i);
        ns[b] = (ns_now() - began) / BURST;
        nanosleep(&pause, NULL);
    }
    qsort(ns, BURSTS, sizeof ns[0], compare);
    printf("{\"best\": %.2f, \"p50\": %.2f}\n", ns[0], ns[BURSTS / 2]);
    return 0;
}
