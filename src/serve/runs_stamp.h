/* SPDX-License-Identifier: Apache-2.0 */
/* runs_stamp.h - whether something changed in a run's folder, from sizes and times alone. */
#ifndef SERVE_RUNS_STAMP_H
#define SERVE_RUNS_STAMP_H

#include <stdint.h>

/* A number that changes when the files do that a run is described by. */
uint64_t stamp_about(const char *path);
/* The same for its data; 0: there is no such run. At most 53 bits, for JSON. */
uint64_t stamp_data(const char *path);
/* Bytes of all its files. */
uint64_t stamp_bytes(const char *path);
/* Newest change of its data, ns since the epoch. */
int64_t stamp_newest(const char *path);
/* The same of one file; 0: there is none. */
int64_t stamp_file(const char *path);

#endif
