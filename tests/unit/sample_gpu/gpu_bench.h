/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_bench.h - a bench for GPU probes: a clock that the test sets, a sink that keeps what it is
 * given, and one probe at a time wired to them. */
#ifndef GPU_BENCH_H
#define GPU_BENCH_H

#include <pthread.h>

#include "sample/hostinfo.h"
#include "sample/probe.h"

enum { SEEN_MOST = 4096, TOLD_MOST = 256 };

struct bench {
    struct sink sink;
    pthread_mutex_t lock;
    struct {
        enum metric_id metric;
        char entity[ENTITY_LEN];
        double value; /* in the metric's unit */
        mono_ns at;
        int64_t period_ns; /* of its group */
    } seen[SEEN_MOST];
    unsigned n;
    struct loss loss[TOLD_MOST];
    unsigned losses;
    struct mark mark[TOLD_MOST];
    unsigned marks;
    struct probe_env env;
    struct pidset pids;
    const struct probe *probe;
    void *state;
};

/* The bench's clock. */
void clock_set_ms(int64_t ms);
void clock_add_ms(int64_t ms);

/* A bench without a driver; `proc` and `sys` are folders that do not exist. */
void bench_open(struct bench *b);
/* With a stand-in library that plays this text, or the file when it has no line end. */
void bench_play(struct bench *b, const char *library, const char *play);
void bench_probe(struct bench *b, const struct probe *p, int64_t period_ms);
/* Reads once at the bench's time. */
void bench_read(struct bench *b);
/* The probe's last reading, when the run ends. */
void bench_end(struct bench *b);
/* Ends the probe and the library. */
void bench_close(struct bench *b);

/* How often the metric of the entity was given, and its last value. */
unsigned values(const struct bench *b, enum metric_id m, const char *entity);
double last(const struct bench *b, enum metric_id m, const char *entity);
/* Losses with this id, and this text somewhere in `what` and `why`. */
unsigned losses_with(const struct bench *b, enum loss_id id, const char *what, const char *why);
unsigned marks_with(const struct bench *b, enum mark_id id, const char *text);

#endif
