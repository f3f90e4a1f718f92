/* SPDX-License-Identifier: Apache-2.0 */
/* pidset.h - the job's process ids, written by the process probe, read by the GPU lanes.
 * Safe for any number of threads. Holds at most PIDSET_MOST; beyond that `pidset_has` may miss. */
#ifndef SAMPLE_PIDSET_H
#define SAMPLE_PIDSET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { PIDSET_MOST = 4096 };

struct pidset {
    pthread_mutex_t lock;
    size_t n;
    int pid[PIDSET_MOST]; /* sorted */
};

void pidset_init(struct pidset *p);
/* Replaces the set; `pid` need not be sorted. */
void pidset_set(struct pidset *p, const int *pid, size_t n);
bool pidset_has(struct pidset *p, int pid);
void pidset_free(struct pidset *p);

#endif
