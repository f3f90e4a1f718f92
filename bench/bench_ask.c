/* SPDX-License-Identifier: Apache-2.0 */
/* bench_ask.c - questions to the synthetic node: windows at 1800 points, statistics, a first look
 * with nothing in the page cache. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "bench_internal.h"
#include "query/series.h"
#include "synth.h"

enum { POINTS = 1800 };

struct span {
    wall_ns from, to; /* 0: open */
};

static struct run *open_run(const char *dir)
{
    struct err e;
    struct run *r;
    if (run_open(&r, dir, &e))
        bench_die(&e);
    return r;
}

/* Milliseconds that one question takes; `points` gets how many came of the first series. */
static double ask_ms(struct run *r, const char *entity, struct span w, size_t *points)
{
    struct arena a = {0};
    struct series *out;
    struct err e;
    size_t n;
    const struct series_ask ask = {.entity = entity, .from = w.from, .to = w.to, .points = POINTS};
    const double t0 = bench_seconds(CLOCK_MONOTONIC);
    if (series_read(r, &ask, &a, &out, &n, &e))
        bench_die(&e);
    const double ms = (bench_seconds(CLOCK_MONOTONIC) - t0) * 1e3;
    *points = n ? out[0].n : 0;
    arena_free(&a);
    return ms;
}

static struct span whole_of(struct run *r)
{
    struct arena a = {0};
    struct series *first;
    struct err e;
    size_t n;
    const struct series_ask ask = {.entity = "cpu0", .points = POINTS};
    if (series_read(r, &ask, &a, &first, &n, &e))
        bench_die(&e);
    const struct span w = {first[0].t[0], first[0].t[first[0].n - 1]};
    arena_free(&a);
    return w;
}

/* Windows of one length, each time another one: the starts are spread over what there is. */
static void print_window(struct run *r, struct span all, double hours, unsigned long repeats)
{
    static const char *const entity[] = {NULL, "cpu7"};
    static const char *const name[] = {"all", "one"};
    const int64_t w = (int64_t)(hours * 3600e9), room = MAX_OF(all.to.ns - all.from.ns - w, 0);
    double *ms = xcalloc(repeats, sizeof *ms);
    size_t points = 0;
    printf("{\"hours\":%.4f", hours);
    for (size_t k = 0; k < COUNT_OF(entity); k++) {
        for (unsigned long i = 0; i < repeats; i++) {
            const int64_t from =
                all.from.ns + (int64_t)((double)room * (double)i / (double)repeats) + 1;
            ms[i] = ask_ms(r, entity[k], (struct span){{from}, {from + w}}, &points);
        }
        const unsigned n = (unsigned)repeats;
        printf(",\"%s_ms\":%.4f,\"%s_p99_ms\":%.4f", name[k], bench_quantile(ms, n, 0.5), name[k],
               bench_quantile(ms, n, 0.99));
    }
    printf(",\"points\":%zu}", points);
    free(ms);
}

int bench_windows(const char *dir, double hours, unsigned long repeats)
{
    /* A window that is just too fine for a level of summaries (40 and 240 samples) is the worst of
     * its kind: 1.99 h and 11.9 h; 1.0001 h and the like lie between. */
    static const double length[] = {24, 18, 12.1, 11.9, 6, 3, 2.01, 1.99, 1, 0.25, 0.05, 0.01};
    struct run *r = open_run(dir);
    const struct span all = whole_of(r);
    bool some = false;
    printf("{\"windows\":[");
    for (size_t i = 0; i < COUNT_OF(length); i++) {
        if (length[i] > hours)
            continue;
        printf("%s", some ? "," : "");
        print_window(r, all, length[i], repeats);
        some = true;
    }
    printf("]}\n");
    run_close(r);
    return 0;
}

int bench_stats(const char *dir, double hours, unsigned long repeats)
{
    (void)hours;
    struct run *r = open_run(dir);
    double *ms = xcalloc(repeats, sizeof *ms);
    struct series_stats first = {0};
    size_t n = 0;
    for (unsigned long i = 0; i < repeats; i++) {
        struct arena a = {0};
        struct series_stats *out;
        struct err e;
        const struct series_ask ask = {0};
        const double t0 = bench_seconds(CLOCK_MONOTONIC);
        if (series_stats_read(r, &ask, &a, &out, &n, &e))
            bench_die(&e);
        ms[i] = (bench_seconds(CLOCK_MONOTONIC) - t0) * 1e3;
        first = out[0];
        arena_free(&a);
    }
    printf("{\"series\":%zu,\"count\":%llu,\"ms\":%.4f,\"worst_ms\":%.4f,\"p50\":%g,\"p95\":%g,"
           "\"p99\":%g}\n",
           n, (unsigned long long)first.count, bench_quantile(ms, (unsigned)repeats, 0.5),
           bench_quantile(ms, (unsigned)repeats, 1), first.p50, first.p95, first.p99);
    free(ms);
    run_close(r);
    return 0;
}

/* The pages of the file are given up, so that it comes from the medium. */
static void forget_pages(const char *dir)
{
    struct err e;
    char path[PATH_LEN];
    if (path_join(path, &e, "%s/node-synth/metrics.fp", dir))
        bench_die(&e);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

int bench_cold(const char *dir, double hours, unsigned long unused)
{
    (void)hours, (void)unused;
    size_t points;
    forget_pages(dir);
    const double t0 = bench_seconds(CLOCK_MONOTONIC);
    struct run *r = open_run(dir);
    const double open_ms = (bench_seconds(CLOCK_MONOTONIC) - t0) * 1e3;
    const double first_ms = ask_ms(r, NULL, (struct span){0}, &points);
    run_close(r);
    printf("{\"open_ms\":%.4f,\"first_window_ms\":%.4f,\"points\":%zu}\n", open_ms, first_ms,
           points);
    return 0;
}
