/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rules.c - a synthetic node with steps, and what rules over it cost; each part prints a JSON
 * object.
 *
 * Usage: bench_rules day FOLDER HOURS STEPS      makes a run of one node
 *        bench_rules nodes FOLDER FROM N         a run of N nodes with the files of the one in FROM
 *        bench_rules check FOLDER [NODE]         all rules, from the medium; of a node, as the
 * helper process of a recorder opens it
 *        bench_rules live FOLDER HOURS STEPS     a run of one node that grows by some minutes
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "bench_internal.h"
#include "record/event.h"
#include "record/group.h"
#include "rules/feed_run.h"
#include "store/writer.h"
#include "synth.h"

enum { ROWS_A_MINUTE = 60 * 1000 / PERIOD_MS, SEED = 1, FLUSH_ROWS = 1000 / PERIOD_MS };

double bench_seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void bench_die(const struct err *e)
{
    fprintf(stderr, "bench_rules: %s\n", e->msg);
    exit(1);
}

static void put_file(const char *path, const struct buf *b)
{
    struct err e;
    if (file_replace(path, b->p, b->len, &e))
        bench_die(&e);
}

/* ---- making a run ---- */

static void put_run(const char *dir, int64_t start)
{
    struct err e;
    char path[PATH_LEN];
    struct buf b = {0};
    if (dir_make(dir, &e) || path_join(path, &e, "%s/run.json", dir))
        bench_die(&e);
    buf_printf(&b,
               "{\"format\":\"footplate-run\",\"format_version\":1,\"id\":\"synth\",\"name\":"
               "\"synth\",\"command\":[\"synth\"],\"labels\":{},\"start_ns\":%" PRId64 "}",
               start);
    put_file(path, &b);
    buf_free(&b);
}

static void put_node(const char *dir, const char *id, int64_t start, int64_t end)
{
    struct err e;
    char path[PATH_LEN];
    struct buf b = {0};
    if (path_join(path, &e, "%s/node-%s", dir, id) || dir_make(path, &e) ||
        path_join(path, &e, "%s/node-%s/node.json", dir, id))
        bench_die(&e);
    buf_printf(&b,
               "{\"format_version\":1,\"id\":\"%s\",\"session\":1,\"status\":\"finished\","
               "\"cores\":%d,\"memory_bytes\":%lld,\"interval_ns\":%lld,\"start_ns\":%" PRId64
               ",\"end_ns\":%" PRId64 ",\"exit_status\":0}",
               id, SYNTH_CORES, 1LL << 40, (long long)PERIOD_MS * NS_PER_MS, start, end);
    put_file(path, &b);
    buf_free(&b);
}

/* Series as a recorder has them: every core's use and I/O wait, six readings of every GPU. */
struct day {
    struct writer *metrics, *events;
    struct synth synth;
    struct group cpu, mem, gpu;
    mono_ns t0;
    int64_t rows, row; /* that it has at its end; so far */
    int64_t step_ns, step;
};

static const enum metric_id gpu_metrics[] = {M_GPU_UTIL,     M_GPU_MEM,      M_GPU_MEM_CTRL,
                                             M_GPU_THROTTLE, M_GPU_CLOCK_SM, M_GPU_JOB_PROCESSES};

static void open_groups(struct day *d)
{
    const int64_t period = PERIOD_MS * NS_PER_MS;
    char name[16];
    group_open(&d->cpu, "cpu", period);
    for (int m = 0; m < 2; m++) {
        for (int i = 0; i < SYNTH_CORES; i++) {
            snprintf(name, sizeof name, "cpu%d", i);
            group_add(&d->cpu, m ? M_CPU_IOWAIT : M_CPU_UTIL, name);
        }
        group_add_mean(&d->cpu, m ? M_CPU_IOWAIT : M_CPU_UTIL, ENTITY_TOTAL, SYNTH_CORES);
    }
    group_open(&d->mem, "mem", period);
    group_add(&d->mem, M_MEM_UTIL, "node");
    group_add(&d->mem, M_JOB_RSS, "job");
    group_open(&d->gpu, "gpu", period);
    for (int i = 0; i < SYNTH_GPUS; i++) {
        snprintf(name, sizeof name, "gpu%d", i);
        for (size_t k = 0; k < COUNT_OF(gpu_metrics); k++)
            group_add(&d->gpu, gpu_metrics[k], name);
    }
}

static void put_cells(struct day *d, int64_t row)
{
    int64_t cells[SYNTH_SERIES], sum = 0;
    synth_row(&d->synth, cells);
    for (int i = 0; i < SYNTH_CORES; i++) {
        sum += cells[i];
        d->cpu.cells[i] = cells[i];
        d->cpu.cells[SYNTH_CORES + 1 + i] = cells[i] == 1 && row % 50 < 2; /* seldom, as I/O is */
    }
    d->cpu.cells[SYNTH_CORES] = sum;
    d->cpu.cells[2 * SYNTH_CORES + 1] = 0;
    d->mem.cells[0] = 400 + row / 100000;
    d->mem.cells[1] = 1000000 + row % 50;
    for (int i = 0; i < SYNTH_GPUS; i++) {
        int64_t *g = d->gpu.cells + i * (int)COUNT_OF(gpu_metrics);
        g[0] = cells[SYNTH_CORES + i];
        g[1] = 700 + (row / 1000) % 20;
        g[2] = g[0] / 2;
        g[3] = 0;
        g[4] = 1900 + g[0] % 7;
        g[5] = 1;
    }
}

static void put_rows(struct day *d, int64_t row)
{
    struct group *const all[] = {&d->cpu, &d->mem, &d->gpu};
    mono_ns t = mono_add(d->t0, row * PERIOD_MS * NS_PER_MS + synth_late_ns(&d->synth));
    put_cells(d, row);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        group_commit(all[i], writer_sink(d->metrics), t);
        t = mono_add(t, 300 * NS_PER_US);
    }
}

/* One step: waits for data, then computes. */
static void put_step(struct day *d, mono_ns at, int64_t dur_ns)
{
    static const struct {
        const char *name;
        enum event_category category;
        int share; /* percent of the step */
    } parts[] = {{"data", CAT_LOADER, 10},
                 {"forward", CAT_PHASE, 30},
                 {"backward", CAT_PHASE, 45},
                 {"optimizer", CAT_PHASE, 10}};
    struct track track = {.kind = TRACK_THREAD, .pid = 77, .id = 77};
    struct event v[COUNT_OF(parts) + 1] = {0};
    snprintf(track.process, sizeof track.process, "python train.py");
    v[0] = (struct event){
        .at = at, .kind = EVENT_COUNT, .name = "loader.queue", .value = 2, .category = CAT_LOADER};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        v[i + 1] = (struct event){.at = at,
                                  .dur_ns = dur_ns / 100 * parts[i].share,
                                  .kind = EVENT_SPAN,
                                  .name = parts[i].name,
                                  .category = parts[i].category};
        at = mono_add(at, v[i + 1].dur_ns);
    }
    struct sink *s = writer_sink(d->events);
    s->ops->events(s, &track, v, COUNT_OF(v));
}

static void flush(struct day *d)
{
    struct err e;
    if (writer_flush(d->metrics, false, &e) || writer_flush(d->events, false, &e))
        bench_die(&e);
}

/* A day of so many hours and steps begins in the folder. `lives`: it is flushed as a recorder does.
 */
static void day_open(struct day *d, char **argv, bool lives)
{
    struct err e;
    char path[PATH_LEN];
    const double hours = strtod(argv[3], NULL);
    const int64_t steps = strtoll(argv[4], NULL, 10), start = clock_wall().ns;
    *d = (struct day){.t0 = clock_mono(), .rows = (int64_t)(hours * ROWS_PER_HOUR)};
    d->step_ns = steps ? d->rows * PERIOD_MS * NS_PER_MS / steps : INT64_MAX;
    put_run(argv[2], start);
    put_node(argv[2], "n1", start, start + d->rows * PERIOD_MS * NS_PER_MS);
    if (path_join(path, &e, "%s/node-n1", argv[2]) ||
        (lives ? writer_open(&d->metrics, path, &e)
               : writer_open_bulk(&d->metrics, path, 0, clock_tie_now(), &e)) ||
        writer_open_beside(&d->events, d->metrics, "events", &e))
        bench_die(&e);
    synth_open(&d->synth, SEED);
    open_groups(d);
}

/* Records until it has so many rows. */
static void day_go_on(struct day *d, int64_t rows)
{
    for (; d->row < rows; d->row++) {
        put_rows(d, d->row);
        for (; d->step * d->step_ns < d->row * PERIOD_MS * NS_PER_MS; d->step++) {
            const int64_t late = 100 * synth_late_ns(&d->synth);
            put_step(d, mono_add(d->t0, d->step * d->step_ns), d->step_ns - late);
        }
        if (d->row % FLUSH_ROWS == 0)
            flush(d);
    }
}

static void day_close(struct day *d)
{
    struct err e;
    if (writer_close(d->events, &e) || writer_close(d->metrics, &e))
        bench_die(&e);
    group_close(&d->cpu);
    group_close(&d->mem);
    group_close(&d->gpu);
}

static int make_day(int argc, char **argv)
{
    struct day d;
    if (argc < 5)
        return 2;
    day_open(&d, argv, false);
    day_go_on(&d, d.rows);
    printf("{\"rows\":%" PRId64 ",\"steps\":%" PRId64 ",\"series\":%u}\n", d.rows, d.step,
           d.cpu.n + d.mem.n + d.gpu.n);
    day_close(&d);
    return 0;
}

static int make_nodes(int argc, char **argv)
{
    static const char *const files[] = {"metrics.fp", "events.fp"};
    if (argc < 5)
        return 2;
    struct arena a = {0};
    struct run_info info;
    struct err e;
    char from[PATH_LEN], to[PATH_LEN];
    if (run_info_read(&info, argv[3], &a, &e))
        bench_die(&e);
    put_run(argv[2], info.start.ns);
    for (long i = 0; i < strtol(argv[4], NULL, 10); i++) {
        char id[32];
        snprintf(id, sizeof id, "n%ld", i + 1);
        put_node(argv[2], id, info.start.ns, info.nodes[0].end.ns);
        for (size_t k = 0; k < COUNT_OF(files); k++)
            if (path_join(from, &e, "%s/node-n1/%s", argv[3], files[k]) ||
                path_join(to, &e, "%s/node-%s/%s", argv[2], id, files[k]) ||
                (link(from, to) && err_sys(&e, "link '%s'", to)))
                bench_die(&e);
    }
    arena_free(&a);
    printf("{}\n");
    return 0;
}

/* ---- checking ---- */

/* The pages of the files are given up, so that they come from the medium. */
static void forget_pages(const char *folder)
{
    struct err e;
    char path[PATH_LEN];
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));) {
        if (f->d_name[0] == '.' || path_join(path, &e, "%s/%s", folder, f->d_name))
            continue;
        if (f->d_type == DT_DIR)
            forget_pages(path);
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        fdatasync(fd);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
    if (d)
        closedir(d);
}

static int check(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    struct arena a = {0};
    struct checked *out = arena_new(&a, struct checked);
    struct rule_params params;
    struct rusage use;
    struct run *r;
    struct err e;
    unsigned n[RULE_STATE_N] = {0};
    forget_pages(argv[2]);
    const double t0 = bench_seconds(CLOCK_MONOTONIC);
    if (run_open_node(&r, argv[2], argc > 3 ? argv[3] : NULL, &e))
        bench_die(&e);
    const double t1 = bench_seconds(CLOCK_MONOTONIC);
    rule_params_init(&params, &a);
    if (rules_check_run(r, &params, &a, out, &e))
        bench_die(&e);
    const double t2 = bench_seconds(CLOCK_MONOTONIC);
    for (size_t k = 0; k < RULE_N; k++)
        n[out->verdicts.v[k].state]++;
    getrusage(RUSAGE_SELF, &use);
    printf("{\"rules\":%d,\"nodes\":%zu,\"open_s\":%.4f,\"check_s\":%.4f,\"total_s\":%.4f,"
           "\"cpu_s\":%.4f,\"peak_mb\":%.1f,\"issues\":%u,\"clear\":%u,\"not_evaluated\":%u}\n",
           RULE_N, out->n_nodes, t1 - t0, t2 - t1, t2 - t0, bench_seconds(CLOCK_PROCESS_CPUTIME_ID),
           (double)use.ru_maxrss / 1024, n[RULE_ISSUE], n[RULE_CLEAR], n[RULE_NOT_EVALUATED]);
    run_close(r);
    arena_free(&a);
    return 0;
}

/* ---- a run that grows ---- */

/* CPU time of an evaluation, of the opening alone in *open_s; as the helper process does it. */
static double evaluate(struct evaluation *v, struct run **r, const char *folder,
                       const struct rule_params *params, double *open_s)
{
    struct arena a = {0};
    struct checked *out = arena_new(&a, struct checked);
    const struct pricing unpriced = {0};
    const struct check_ask ask = {.params = params, .pricing = &unpriced};
    struct err e;
    const double t0 = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (run_open_next(r, folder, "n1", &e))
        bench_die(&e);
    *open_s = bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - t0;
    if (evaluation_run(v, *r, &ask, &a, out, &e))
        bench_die(&e);
    arena_free(&a);
    malloc_trim(0);
    return bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - t0;
}

/* MB of memory in use now. */
static double resident_mb(void)
{
    unsigned long all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%lu %lu", &all, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static int live(int argc, char **argv)
{
    enum { MINUTES = 15 };
    struct day d;
    struct rule_params params;
    struct arena keep = {0};
    struct rusage use;
    double open_s, first_s, sum_s = 0, opening_s = 0;
    if (argc < 5)
        return 2;
    day_open(&d, argv, true);
    day_go_on(&d, d.rows);
    rule_params_init(&params, &keep);
    struct evaluation *v = evaluation_open();
    struct run *r = NULL;
    const double before_mb = resident_mb();
    first_s = evaluate(v, &r, argv[2], &params, &open_s);
    for (int i = 0; i < MINUTES; i++) {
        day_go_on(&d, d.row + ROWS_A_MINUTE);
        sum_s += evaluate(v, &r, argv[2], &params, &open_s);
        opening_s += open_s;
    }
    getrusage(RUSAGE_SELF, &use);
    printf("{\"first_ms\":%.2f,\"minute_ms\":%.2f,\"open_ms\":%.2f,\"kept_mb\":%.1f,"
           "\"peak_mb\":%.1f}\n",
           first_s * 1e3, sum_s / MINUTES * 1e3, opening_s / MINUTES * 1e3,
           resident_mb() - before_mb, (double)use.ru_maxrss / 1024);
    evaluation_close(v);
    run_close(r);
    day_close(&d);
    arena_free(&keep);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} parts[] = {{"day", make_day}, {"nodes", make_nodes}, {"check", check}, {"live", live}};

int main(int argc, char **argv)
{
    int rc = 2;
    for (size_t i = 0; argc > 1 && i < COUNT_OF(parts); i++)
        if (strcmp(argv[1], parts[i].name) == 0)
            rc = parts[i].run(argc, argv);
    if (rc == 2)
        fprintf(stderr, "usage: bench_rules day FOLDER HOURS STEPS | nodes FOLDER FROM N | check "
                        "FOLDER [NODE] | live FOLDER HOURS STEPS\n");
    return rc;
}
