/* SPDX-License-Identifier: Apache-2.0 */
/* play.h - a text that says what a GPU driver answers, call by call.
 *
 *     driver 580.159                   version of the driver
 *     init 9                           what nvmlInit answers (0 when not given)
 *     gpus 2
 *     gpu 0 name NVIDIA H200
 *     gpu 0 uuid GPU-...
 *     error 3 Not Supported            what nvmlErrorString says
 *     lost 0 20 3                      GPU 0 is lost (15) from its 21st call on, for three calls
 *     handle 0 4 2                     asked for its handle, GPU 0 answers 4 twice, then gives it
 *     cost TotalEnergyConsumption 4100 CPU time of each such call, in microseconds
 *     series 0 UtilizationRates 37,12 38,12*5 !3 40,1@20000
 *
 * A series is one function (without "nvmlDeviceGet") of one GPU, ".N" behind the name being its
 * argument. Its answers are given in turn and the last one holds: values with commas ("-" for
 * none), or !CODE for an error; @MICROSECONDS that the call sleeps; *N for N times the same. Series
 * lines of the same name go on. A function without a series is not supported (3). '#' begins a
 * comment. With `advance time` the answer is chosen by the time since the start, one for every 100
 * ms.
 *
 * A `cost` is for all GPUs. The call spins until its thread has used that much CPU time, the
 * stand-in's own included: most calls of the real driver do not sleep but work. */
#ifndef STANDIN_PLAY_H
#define STANDIN_PLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLAY_GPUS = 64,
    PLAY_VALUES = 16,
    PLAY_NAME = 48,
    PLAY_TEXT = 128,
    PLAY_ERRORS = 32,
    PLAY_COSTS = 64
};

struct play_answer {
    int rc;
    unsigned n; /* values */
    double v[PLAY_VALUES];
    uint64_t u[PLAY_VALUES]; /* the same as whole numbers */
    unsigned us, times;
};

struct play_series {
    unsigned gpu;
    char name[PLAY_NAME];
    struct play_answer *answers;
    size_t n, cap;
    size_t at;      /* the answer to give next */
    unsigned given; /* how often that one was given */
};

struct play_gpu {
    char name[PLAY_TEXT], uuid[PLAY_TEXT];
    unsigned calls;
    unsigned lost_first, lost_count;
    int handle_rc;
    unsigned handle_times;
};

struct play {
    char driver[PLAY_TEXT];
    int init_rc;
    bool by_time;
    int64_t start_ns;
    unsigned gpus;
    struct play_gpu gpu[PLAY_GPUS];
    struct {
        int rc;
        char text[PLAY_TEXT];
    } error[PLAY_ERRORS];
    unsigned errors;
    struct {
        char name[PLAY_NAME];
        unsigned us;
    } cost[PLAY_COSTS];
    unsigned costs;
    struct play_series *series;
    size_t n, cap;
};

/* NULL when the file cannot be read or a line makes no sense; then stderr says which. */
struct play *play_load(const char *path);
void play_free(struct play *p);
/* The next answer of a series, true when there is one. At its end a series holds, or (`once`) has
 * no answer. The caller sleeps for `us`. */
bool play_next(struct play *p, unsigned gpu, const char *name, bool once, struct play_answer *out);
/* CPU time that a call takes, in microseconds; 0: as little as it can. */
unsigned play_cost(const struct play *p, const char *name);

#endif
