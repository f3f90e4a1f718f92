/* SPDX-License-Identifier: Apache-2.0 */
/* loader.h - the input pipeline: threads that make batches ahead of their use and put them into a
 * queue of LOADER_DEPTH. Batches come out in order, whichever thread made them, so a run is the
 * same with any number of threads.
 * loader_open, then loader_take and loader_give_back in turns by one thread, then loader_close. */
#ifndef LOADER_H
#define LOADER_H

#include <stddef.h>
#include <stdint.h>

enum { LOADER_DEPTH = 8, LOADER_MAX_WORKERS = 64 };

struct batch {
    float *pixels; /* [count][DIGIT_PIXELS] */
    uint8_t *labels;
    size_t count;
};

struct loader_setup {
    size_t batch;
    size_t workers;    /* 1 to LOADER_MAX_WORKERS */
    uint64_t seed;     /* of the samples */
    unsigned fetch_ms; /* each batch waits at least this long, as if from slow storage; 0: not */
};

struct loader;

/* NULL with errno set when there is no memory or no thread to be had. */
struct loader *loader_open(const struct loader_setup *setup);
void loader_close(struct loader *l); /* NULL is fine; waits for the threads */

/* The next batch, waiting for it where necessary. It is the caller's until loader_give_back. */
const struct batch *loader_take(struct loader *l);
void loader_give_back(struct loader *l);

#endif
