/* SPDX-License-Identifier: Apache-2.0 */
/* bench_store.c - writes the synthetic node and asks it questions; each part prints a JSON object.
 *
 * Usage: bench_store WHAT FOLDER HOURS [REPEATS]
 *
 * `write` and `memory` leave the node in FOLDER, where `windows`, `stats` and `cold` find it. Those
 * are run as processes of their own, so that no part finds the memory of another one warm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench_internal.h"

double bench_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void bench_die(const struct err *e)
{
    fprintf(stderr, "bench_store: %s\n", e->msg);
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_quantile(double *v, unsigned n, double part)
{
    qsort(v, n, sizeof *v, by_value);
    return v[(unsigned)(part * (n - 1) + 0.5)];
}

static const struct {
    const char *name;
    int (*run)(const char *dir, double hours, unsigned long repeats);
} parts[] = {
    {"write", bench_write}, {"memory", bench_memory}, {"windows", bench_windows},
    {"stats", bench_stats}, {"cold", bench_cold},     {"dump", bench_dump},
};

int main(int argc, char **argv)
{
    enum { WHAT = 1, FOLDER, HOURS, REPEATS };
    const double hours = argc > HOURS ? strtod(argv[HOURS], NULL) : 0;
    const unsigned long repeats = argc > REPEATS ? strtoul(argv[REPEATS], NULL, 10) : 5;
    for (size_t i = 0; hours > 0 && repeats > 0 && i < COUNT_OF(parts); i++)
        if (strcmp(argv[WHAT], parts[i].name) == 0)
            return parts[i].run(argv[FOLDER], hours, repeats);
    fprintf(stderr,
            "usage: bench_store write|memory|windows|stats|cold|dump FOLDER HOURS [REPEATS]\n");
    return 2;
}
