/* SPDX-License-Identifier: Apache-2.0 */
/* bench_internal.h - what the files of bench_store share. */
#ifndef BENCH_INTERNAL_H
#define BENCH_INTERNAL_H

#include <time.h>

#include "base/err.h"

enum { PERIOD_MS = 100, ROWS_PER_HOUR = 3600 * 1000 / PERIOD_MS };

double bench_seconds(clockid_t clock);
_Noreturn void bench_die(const struct err *e);
/* Sorts, and returns the value below which `part` of them lie. */
double bench_quantile(double *v, unsigned n, double part);

/* Each prints one JSON object and returns the exit status. */
int bench_write(const char *dir, double hours, unsigned long repeats);
int bench_memory(const char *dir, double hours, unsigned long unused);
int bench_windows(const char *dir, double hours, unsigned long repeats);
int bench_stats(const char *dir, double hours, unsigned long repeats);
int bench_cold(const char *dir, double hours, unsigned long unused);
/* Prints the cells themselves, a byte each, series after series. */
int bench_dump(const char *dir, double hours, unsigned long unused);

#endif
