/* SPDX-License-Identifier: Apache-2.0 */
/* work.h - threads that compute answers, so that the HTTP threads never wait for a disk.
 * Jobs are done in the order in which they came, but two with the same key never at once: the
 * second lets others pass. Each job is done exactly once, also those that are left at the end. */
#ifndef SERVE_WORK_H
#define SERVE_WORK_H

#include <stdbool.h>

#include "base/err.h"

struct work;

struct work_job {
    const char *key; /* NULL: none */
    /* `ends`: the server ends, and the answer should be short. */
    void (*run)(struct work_job *j, bool ends);
    struct work_job *next;
};

MUST_CHECK int work_open(struct work **out, unsigned threads, const char *name, struct err *e);
/* The job is the worker's until it is run; it may be freed in there. False, and the job stays the
 * caller's, after work_end. */
bool work_add(struct work *w, struct work_job *j);
/* Jobs that were not begun are run with `ends`, and the threads end. NULL is fine. */
void work_end(struct work *w);
/* The same; no job may be added any more. */
void work_close(struct work *w);

#endif
