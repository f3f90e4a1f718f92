/* SPDX-License-Identifier: Apache-2.0 */
/* bench_write.c - the write path: how fast, how small, how much memory. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "bench_internal.h"
#include "entropy.h"
#include "record/group.h"
#include "store/writer.h"
#include "synth.h"

enum { SLAB = 500, ROWS_PER_FLUSH = 1000 / PERIOD_MS, SEED = 1 };

/* When the medium is waited for. */
enum sync {
    SYNC_CLOCK, /* once a second of the clock: group commit */
    SYNC_FLUSH, /* with each flush, that is each second recorded */
};

static void put_file(const char *dir, const char *name, const struct buf *b)
{
    struct err e;
    char path[PATH_LEN];
    if (path_join(path, &e, "%s/%s", dir, name) || file_replace(path, b->p, b->len, &e))
        bench_die(&e);
}

static void make_run(const char *dir)
{
    struct err e;
    char path[PATH_LEN];
    struct buf b = {0};
    const long long start = clock_wall().ns;
    if (path_join(path, &e, "%s/node-synth", dir) || dir_make(path, &e))
        bench_die(&e);
    buf_printf(&b,
               "{\"format\":\"footplate-run\",\"format_version\":1,\"id\":\"synth\",\"name\":"
               "\"synth\",\"command\":[\"synth\"],\"labels\":{},\"start_ns\":%lld}",
               start);
    put_file(dir, "run.json", &b);
    b.len = 0;
    buf_printf(&b,
               "{\"format_version\":1,\"id\":\"synth\",\"session\":1,\"status\":\"finished\","
               "\"cores\":%d,\"start_ns\":%lld,\"end_ns\":%lld,\"exit_status\":0}",
               SYNTH_CORES, start, start + 1);
    put_file(dir, "node-synth/node.json", &b);
    buf_free(&b);
}

/* What an earlier writing left: it would become another session of the node. */
static void remove_old(const char *dir)
{
    static const char *const names[] = {"metrics.fp", "metrics.tail", "lock"};
    struct err e;
    char path[PATH_LEN];
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (path_join(path, &e, "%s/node-synth/%s", dir, names[i]) == 0)
            unlink(path);
}

static void open_group(struct group *g)
{
    group_open(g, "synth", PERIOD_MS * NS_PER_MS);
    for (int i = 0; i < SYNTH_SERIES; i++) {
        char name[16];
        const bool core = i < SYNTH_CORES;
        snprintf(name, sizeof name, core ? "cpu%d" : "gpu%d", core ? i : i - SYNTH_CORES);
        group_add(g, core ? M_CPU_UTIL : M_GPU_UTIL, name);
    }
}

struct job {
    struct writer *w;
    struct group g;
    struct synth s;
    enum sync sync;
    mono_ns t0;
    uint64_t rows;
    double synced, cpu_s, wall_s;
};

static void start(struct job *j, const char *dir, enum sync sync)
{
    struct err e;
    char path[PATH_LEN];
    remove_old(dir);
    make_run(dir);
    *j = (struct job){.sync = sync, .t0 = clock_mono(), .synced = bench_seconds(CLOCK_MONOTONIC)};
    synth_open(&j->s, SEED);
    open_group(&j->g);
    if (path_join(path, &e, "%s/node-synth", dir) || writer_open(&j->w, path, &e))
        bench_die(&e);
}

static void flush(struct job *j)
{
    struct err e;
    bool durable = j->sync == SYNC_FLUSH;
    if (j->sync == SYNC_CLOCK) {
        const double now = bench_seconds(CLOCK_MONOTONIC);
        durable = now - j->synced >= 1;
        j->synced = durable ? now : j->synced;
    }
    if (writer_flush(j->w, durable, &e))
        bench_die(&e);
}

static void put_row(struct job *j, const int64_t cells[SYNTH_SERIES])
{
    memcpy(j->g.cells, cells, SYNTH_SERIES * sizeof *cells);
    group_commit(&j->g, writer_sink(j->w),
                 mono_add(j->t0, (int64_t)j->rows * PERIOD_MS * NS_PER_MS + synth_late_ns(&j->s)));
    if (++j->rows % ROWS_PER_FLUSH == 0)
        flush(j);
}

static void finish(struct job *j)
{
    struct err e;
    if (writer_close(j->w, &e))
        bench_die(&e);
    group_close(&j->g);
}

/* The rows are made beforehand, so that the clocks see the write path alone. */
static void write_timed(struct job *j, uint64_t rows)
{
    int64_t(*slab)[SYNTH_SERIES] = xmalloc(SLAB * sizeof *slab);
    for (bool last = false; !last;) {
        const uint64_t n = MIN_OF((uint64_t)SLAB, rows - j->rows);
        last = n < SLAB || j->rows + n == rows;
        for (uint64_t i = 0; i < n; i++)
            synth_row(&j->s, slab[i]);
        const double c = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
        const double w = bench_seconds(CLOCK_MONOTONIC);
        for (uint64_t i = 0; i < n; i++)
            put_row(j, slab[i]);
        if (last)
            finish(j);
        j->cpu_s += bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - c;
        j->wall_s += bench_seconds(CLOCK_MONOTONIC) - w;
    }
    free(slab);
}

static long long file_size(const char *dir)
{
    char path[PATH_LEN];
    struct err e;
    struct stat st;
    if (path_join(path, &e, "%s/node-synth/metrics.fp", dir))
        bench_die(&e);
    return stat(path, &st) < 0 ? -1 : (long long)st.st_size;
}

/* M samples/s of a core and of the clock: median of the repeats. */
static void print_rate(const char *dir, uint64_t rows, enum sync sync, unsigned long repeats)
{
    double *cpu = xcalloc(repeats, sizeof *cpu), *wall = xcalloc(repeats, sizeof *wall);
    const double millions = (double)rows * SYNTH_SERIES / 1e6;
    for (unsigned long i = 0; i < repeats; i++) {
        struct job j;
        start(&j, dir, sync);
        write_timed(&j, rows);
        cpu[i] = millions / j.cpu_s;
        wall[i] = millions / j.wall_s;
    }
    const unsigned n = (unsigned)repeats;
    printf("{\"per_cpu_s\":%.2f,\"per_s\":%.2f,\"per_cpu_s_worst\":%.2f,\"per_cpu_s_best\":%.2f}",
           bench_quantile(cpu, n, 0.5), bench_quantile(wall, n, 0.5), bench_quantile(cpu, n, 0),
           bench_quantile(cpu, n, 1));
    free(cpu);
    free(wall);
}

static void print_entropy(uint64_t rows)
{
    struct entropy *kind = xcalloc(2, sizeof *kind);
    int64_t now[SYNTH_SERIES], before[SYNTH_SERIES];
    struct synth s;
    synth_open(&s, SEED);
    synth_row(&s, before);
    for (uint64_t row = 1; row < rows; row++) {
        synth_row(&s, now);
        for (int i = 0; i < SYNTH_SERIES; i++)
            entropy_add(&kind[i >= SYNTH_CORES], before[i], now[i]);
        memcpy(before, now, sizeof before);
    }
    const struct entropy_bits core = entropy_get(&kind[0]), gpu = entropy_get(&kind[1]);
    printf("\"core_bits\":[%.4f,%.4f],\"gpu_bits\":[%.4f,%.4f],\"bound_bytes\":%.4f", core.alone,
           core.given_before, gpu.alone, gpu.given_before,
           (core.given_before * SYNTH_CORES + gpu.given_before * SYNTH_GPUS) / SYNTH_SERIES / 8);
    free(kind);
}

int bench_write(const char *dir, double hours, unsigned long repeats)
{
    const uint64_t rows = (uint64_t)(hours * ROWS_PER_HOUR);
    printf("{\"rows\":%llu,\"series\":%d,\"each_recorded_second_synced\":",
           (unsigned long long)rows, SYNTH_SERIES);
    /* The medium is the limit here, so less of it tells as much. */
    print_rate(dir, MIN_OF(rows, (uint64_t)ROWS_PER_HOUR), SYNC_FLUSH, 1);
    printf(",\"group_commit\":");
    print_rate(dir, rows, SYNC_CLOCK, repeats);
    const long long bytes = file_size(dir);
    printf(",\"file_bytes\":%lld,\"bytes_per_sample\":%.5f,", bytes,
           (double)bytes / ((double)rows * SYNTH_SERIES));
    print_entropy(MIN_OF(rows, (uint64_t)ROWS_PER_HOUR));
    printf("}\n");
    return 0;
}

static long status_kb(const char *key)
{
    char line[128];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            kb = strtol(line + strlen(key) + 1, NULL, 10);
    if (f)
        fclose(f);
    return kb;
}

int bench_memory(const char *dir, double hours, unsigned long unused)
{
    (void)unused;
    const uint64_t rows = (uint64_t)(hours * ROWS_PER_HOUR);
    struct job j;
    int64_t cells[SYNTH_SERIES];
    start(&j, dir, SYNC_CLOCK);
    const long before = status_kb("VmRSS");
    while (j.rows < rows) {
        synth_row(&j.s, cells);
        put_row(&j, cells);
    }
    const long during = status_kb("VmRSS");
    finish(&j);
    printf("{\"series\":%d,\"hours\":%.2f,\"rss_before_kb\":%ld,\"rss_writing_kb\":%ld,"
           "\"peak_kb\":%ld}\n",
           SYNTH_SERIES, hours, before, during, status_kb("VmHWM"));
    return 0;
}

int bench_dump(const char *dir, double hours, unsigned long unused)
{
    (void)dir, (void)unused;
    const uint64_t rows = (uint64_t)(hours * ROWS_PER_HOUR);
    uint8_t *out = xmalloc(rows * SYNTH_SERIES);
    int64_t cells[SYNTH_SERIES];
    struct synth s;
    synth_open(&s, SEED);
    for (uint64_t row = 0; row < rows; row++) {
        synth_row(&s, cells);
        for (uint64_t i = 0; i < SYNTH_SERIES; i++)
            out[i * rows + row] = (uint8_t)cells[i];
    }
    const bool ok = fwrite(out, 1, rows * SYNTH_SERIES, stdout) == rows * SYNTH_SERIES;
    free(out);
    return ok && fflush(stdout) == 0 ? 0 : 1;
}
