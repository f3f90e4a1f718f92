/* SPDX-License-Identifier: Apache-2.0 */
/* recordkit.h - runs with events, written by the real writer; times by the clock of runkit.h, so
 * that monotonic zero is KIT_START. Programs that use it are linked with
 * --wrap=clock_tie_now. */
#ifndef TESTS_RECORDKIT_H
#define TESTS_RECORDKIT_H

#include "query/runkit.h"
#include "query/stepkit.h"
#include "store/writer.h"

/* A recorder of one node, its next session. */
struct recordkit {
    char run[PATH_LEN], node[64];
    struct writer *metrics, *events;
};

/* In node-<node> of the run (see kit_run). */
struct recordkit recordkit_open(const char *run, const char *node);
/* Another file of events beside it: "trace-77-0". */
struct writer *recordkit_beside(const struct recordkit *k, const char *name);
/* Events of a thread (see stepkit.h) from `at` on. Returns the time behind them. */
int64_t recordkit_thread(struct writer *w, uint32_t pid, uint64_t tid, int64_t at,
                         const char *text);
/* The same on the line of a device: GPU times of phases. */
int64_t recordkit_device(struct writer *w, uint32_t pid, unsigned device, int64_t at,
                         const char *text);
/* process.rank and so on, told by that thread. */
void recordkit_fact(struct writer *w, uint32_t pid, uint64_t tid, const char *name, int64_t value);
void recordkit_mark(struct recordkit *k, enum mark_id id, int64_t at, int64_t number);
/* Ends properly, with a node.json that says so: from..to on the same clock. */
void recordkit_close(struct recordkit *k, int64_t from, int64_t to, const char *status);
/* What a recorder that is killed now leaves behind, in a copy of the run's folder. */
const char *recordkit_killed(struct recordkit *k, const char *folder);

#endif
