/* SPDX-License-Identifier: Apache-2.0 */
/* bench_talk.c - processes that emit at a steady rate, as the job of a recorder.
 *
 *     bench_talk PROCESSES EVENTS_PER_SECOND SECONDS      the rate is of each process
 *
 * Spans, begin and end in turn, in portions of a millisecond. Prints how many events were said. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "footplate/emit.h"

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void talk(uint64_t per_second, uint64_t seconds)
{
    const fp_name names[] = {fp_intern("forward"), fp_intern("backward"), fp_intern("optimizer")};
    const struct timespec pause = {.tv_nsec = 1000000};
    const int64_t began = now_ns();
    const uint64_t total = per_second * seconds / 2;
    for (uint64_t said = 0; said < total;) {
        const uint64_t due = (uint64_t)((double)(now_ns() - began) * 1e-9 * (double)per_second / 2);
        for (; said < due && said < total; said++) {
            fp_span_begin(names[said % 3]);
            fp_span_end(names[said % 3]);
        }
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    const uint64_t processes = strtoull(argv[1], NULL, 10), rate = strtoull(argv[2], NULL, 10),
                   seconds = strtoull(argv[3], NULL, 10);
    for (uint64_t i = 0; i < processes; i++)
        if (fork() == 0) {
            talk(rate, seconds);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    printf("%" PRIu64 "\n", processes * (rate * seconds / 2) * 2);
    return 0;
}
