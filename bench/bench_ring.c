/* SPDX-License-Identifier: Apache-2.0 */
/* bench_ring.c - what one event costs the program that emits it, and the recorder that reads it.
 *
 * The writer is a process of its own, as a job is; this one drains it every millisecond. Results
 * are one JSON object on stdout. `bench_ring` runs all; `bench_ring --write KIND` is the writer. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "footplate/emit.h"
#include "ring/ring_folder.h"
#include "ring/ring_proc.h"

enum {
    BURST = 2048,   /* a quarter of a ring: never full */
    BURSTS = 400,   /* with time for the reader in between */
    PACED = 200000, /* events, one per microsecond */
    DISABLED_CALLS = 100 * 1000 * 1000,
    CALLS_OF_BARE = 1000000,
    FOREVER_S = 60,
};

struct tally {
    uint64_t events, dropped;
};

static double seconds_now(void)
{
    return (double)ring_mono_ns() * 1e-9;
}

static void wait_us(long us)
{
    const struct timespec t = {.tv_nsec = us * 1000};
    nanosleep(&t, NULL);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ns per event at full rate with room in the ring: the best and the median burst. */
static void write_bursts(void)
{
    static double ns[BURSTS];
    const fp_name name = fp_intern("burst");
    for (int b = 0; b < BURSTS; b++) {
        const double began = seconds_now();
        for (int i = 0; i < BURST; i++)
            fp_counter(name, i);
        ns[b] = (seconds_now() - began) * 1e9 / BURST;
        wait_us(2500);
    }
    qsort(ns, BURSTS, sizeof ns[0], compare);
    printf("{\"best\": %.2f, \"p50\": %.2f}", ns[0], ns[BURSTS / 2]);
}

static void on_events(void *arg, struct ring_reader *r, const struct ring_event *v, size_t n)
{
    (void)r;
    (void)v;
    ((struct tally *)arg)->events += n;
}

static void on_lost(void *arg, struct ring_reader *r, const struct ring_losses *l)
{
    (void)r;
    ((struct tally *)arg)->dropped += l->dropped + l->no_ring + l->torn + l->bad;
}

static void on_life(void *arg, struct ring_reader *r)
{
    (void)arg;
    (void)r;
}

static void on_broken(void *arg, struct ring_reader *r, const struct err *e)
{
    (void)arg;
    (void)r;
    fprintf(stderr, "bench_ring: %s\n", e->msg);
}

/* As write_bursts, but read by this very thread in between: what the instructions cost when the
 * cache lines of the ring need not come back from another core. The fastest burst. */
static void write_near(void)
{
    struct tally t = {0};
    const struct ring_folder_handler h = {{on_events, on_lost, &t}, on_life, on_life, on_broken};
    struct ring_folder *f;
    struct err e;
    size_t n;
    double best = 1e9;
    if (ring_folder_open(&f, getenv(RING_ENV), &h, &e) != 0)
        return;
    for (int b = 0; b < BURSTS; b++) {
        const double began = seconds_now();
        for (int i = 0; i < BURST; i++)
            fp_counter(0, i);
        const double ns = (seconds_now() - began) * 1e9 / BURST;
        best = ns < best ? ns : best;
        if (ring_folder_drain(f, &n, &e) != 0)
            return;
    }
    ring_folder_close(f, false);
    printf("%.2f", best);
}

static double ns_per_tick(void)
{
    const uint64_t t = ring_tsc(), ns = ring_mono_ns();
    wait_us(20000);
    return (double)(ring_mono_ns() - ns) / (double)(ring_tsc() - t);
}

/* What reading the clock alone costs: no event can be cheaper. The fastest burst. */
static inline __attribute__((always_inline)) void write_clock(uint64_t (*read)(void))
{
    double best = 1e9;
    for (int b = 0; b < BURSTS; b++) {
        uint64_t sum = 0;
        const double began = seconds_now();
        for (int i = 0; i < BURST; i++)
            sum += read();
        const double ns = (seconds_now() - began) * 1e9 / BURST;
        __asm__ volatile("" ::"r"(sum));
        best = ns < best ? ns : best;
    }
    printf("%.2f", best);
}

static void write_tsc(void)
{
    write_clock(ring_tsc);
}

static void write_monotonic(void)
{
    write_clock(ring_mono_ns);
}

/* One event per microsecond of other work, each timed by itself; what timing nothing costs is taken
 * off. */
static void write_paced(void)
{
    static double ns[PACED];
    const fp_name name = fp_intern("paced");
    const double per_tick = ns_per_tick();
    double bare = 1e9;
    for (int i = 0; i < CALLS_OF_BARE; i++) {
        const uint64_t t = ring_tsc();
        const double d = (double)(ring_tsc() - t) * per_tick;
        bare = d < bare ? d : bare;
    }
    for (int i = 0; i < PACED; i++) {
        const uint64_t until = ring_tsc() + (uint64_t)(1000 / per_tick);
        while (ring_tsc() < until)
            ;
        const uint64_t t = ring_tsc();
        fp_counter(name, i);
        ns[i] = (double)(ring_tsc() - t) * per_tick - bare;
    }
    qsort(ns, PACED, sizeof ns[0], compare);
    printf("{\"p50\": %.1f, \"p99\": %.1f, \"p999\": %.1f}", ns[PACED / 2], ns[PACED / 100 * 99],
           ns[PACED / 1000 * 999]);
}

static void write_disabled(void)
{
    const double began = seconds_now();
    for (int i = 0; i < DISABLED_CALLS; i++) {
        fp_mark(1);
        __asm__ volatile("" ::: "memory");
    }
    printf("%.3f", (seconds_now() - began) * 1e9 / DISABLED_CALLS);
}

/* About two million events a second in small portions, so that the reader has work; prints events
 * per second. */
static void write_flood(void)
{
    const fp_name name = fp_intern("flood");
    const double began = seconds_now();
    enum { ROUNDS = 3000, EACH = 500 };
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < EACH; i++)
            fp_counter(name, i);
        wait_us(200);
    }
    printf("%.0f", ROUNDS * EACH / (seconds_now() - began));
}

struct kind {
    const char *name;
    void (*write)(void);
    bool recorded;
    bool alone; /* it reads its ring itself */
    const char *clock;
};

static const struct kind kinds[] = {
    {"tsc_ns", write_tsc, false, false, "tsc"},
    {"monotonic_ns", write_monotonic, false, false, "tsc"},
    {"event_ns_tsc_near", write_near, true, true, "tsc"},
    {"event_ns_monotonic_near", write_near, true, true, "monotonic"},
    {"event_ns_tsc", write_bursts, true, false, "tsc"},
    {"event_ns_monotonic", write_bursts, true, false, "monotonic"},
    {"paced_ns", write_paced, true, false, "tsc"},
    {"disabled_ns", write_disabled, false, false, "tsc"},
    {"flood_events_per_s", write_flood, true, false, "tsc"},
};

static pid_t start_writer(const struct kind *k, const char *dir)
{
    fflush(stdout);
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    setenv("FOOTPLATE_CLOCK", k->clock, 1);
    if (k->recorded)
        setenv(RING_ENV, dir, 1);
    execl("/proc/self/exe", "bench_ring", "--write", k->name, (char *)NULL);
    _exit(127);
}

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static int run_kind(const struct kind *k, bool last)
{
    struct tally t = {0};
    const struct ring_folder_handler h = {{on_events, on_lost, &t}, on_life, on_life, on_broken};
    struct ring_folder *f;
    struct err e;
    size_t n;
    int status = 0;
    if (ring_folder_make(&f, "/tmp", &h, &e) != 0) {
        fprintf(stderr, "bench_ring: %s\n", e.msg);
        return 1;
    }
    printf("  \"%s\": ", k->name);
    const double cpu = cpu_seconds(), began = seconds_now();
    const pid_t pid = start_writer(k, ring_folder_path(f));
    while (waitpid(pid, &status, WNOHANG) == 0 && seconds_now() - began < FOREVER_S) {
        wait_us(1000);
        if (!k->alone && ring_folder_drain(f, &n, &e) != 0)
            return 1;
    }
    const double used = cpu_seconds() - cpu, took = seconds_now() - began;
    if (ring_folder_finish(f, &n, &e) != 0)
        return 1;
    ring_folder_close(f, true);
    printf(",\n  \"%s_reader\": {\"events\": %llu, \"lost\": %llu, \"cpu_percent\": %.2f}%s\n",
           k->name, (unsigned long long)t.events, (unsigned long long)t.dropped, used / took * 100,
           last ? "" : ",");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int run_all(void)
{
    const size_t n = sizeof kinds / sizeof kinds[0];
    int rc = 0;
    printf("{\n  \"bench\": \"ring\",\n");
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = run_kind(&kinds[i], i + 1 == n);
    printf("}\n");
    return rc;
}

static int run_writer(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, name) != 0)
            continue;
        kinds[i].write();
        return 0;
    }
    return 2;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--write") == 0)
        return run_writer(argv[2]);
    return run_all();
}
