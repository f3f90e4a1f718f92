/* SPDX-License-Identifier: Apache-2.0 */
/* sagemaker.h - between the files of the SageMaker export: the folder that is written. */
#ifndef EXPORT_SAGEMAKER_H
#define EXPORT_SAGEMAKER_H

#include "export/export_walk.h"

#define MINUTE_NS ((int64_t)60 * NS_PER_S)

/* "algo-2": nodes by their place in the run. */
unsigned sagemaker_algo(const struct run_info *info, const char *node);
/* "2026111516": the hour as folders are named, UTC. */
void sagemaker_hour(char out[16], int64_t ns);
/* Writes the file <folder>/<path>, its folders made. */
MUST_CHECK int sagemaker_file(const struct export_job *job, const char *path, const struct buf *b,
                              struct err *e);

/* system/incremental: one file per node and minute. */
MUST_CHECK int sagemaker_system(const struct export_job *job, struct err *e);
/* framework/pevents: files per process, of a minute at most. */
MUST_CHECK int sagemaker_events(const struct export_job *job, struct err *e);

#endif
