/* SPDX-License-Identifier: Apache-2.0 */
/* runkit.h - run folders for the tests of query/: descriptions as text, samples at chosen times. */
#ifndef TESTS_RUNKIT_H
#define TESTS_RUNKIT_H

#include "query/run.h"
#include "query/series.h"
#include "store/storekit.h"

/* Wall time of monotonic zero in all files made here. */
#define KIT_START ((int64_t)1700000000 * NS_PER_S)

/* Makes the folder and its run.json; returns its path. */
const char *kit_run(const char *folder, const char *name, const char *id, int64_t start_ns);
/* node-<id>/node.json, or node-<k>.json; `json` is its text. */
void kit_node(const char *run, const char *id, unsigned session, const char *json);
/* A closed metrics file of a recorder that was told `payload` (see kit_group). */
void kit_metrics(const char *run, const char *id, const struct buf *payload);
/* As kit_metrics, but the recorder died: header and tail only. */
void kit_metrics_died(const char *run, const char *id, const struct buf *payload);

#endif
