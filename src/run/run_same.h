/* SPDX-License-Identifier: Apache-2.0 */
/* run_same.h - whether two descriptions (run.json) are of one run. Nodes that record into folders
 * of their own describe their run each for itself; where these folders meet, the run of another job
 * may have the same name, and the two must not mix. */
#ifndef RUN_RUN_SAME_H
#define RUN_RUN_SAME_H

#include <stdbool.h>
#include <stddef.h>

/* The texts of two run.json. Of one job: the same id, cluster, step and start of the job. Where the
 * start of the job is not known, or there is no launcher, the runs must have begun close together.
 * One that cannot be read is not the same as any. */
bool run_is_same(const void *a, size_t a_len, const void *b, size_t b_len);

#endif
