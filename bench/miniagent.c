/* SPDX-License-Identifier: Apache-2.0 */
/* miniagent.c - the floor under a recorder: the same files on kept-open descriptors, read on an
 * absolute timer, their numbers kept in memory. No store, no series, no checks, nothing else.
 *
 * Usage: miniagent PERIOD_MS EVERY PID [FILE...]
 *
 * Every wake-up reads the CPU clock and the stat file of PID and the FILEs; every EVERYth reads the
 * files of the machine too; EVERY 0 reads nothing at all, which is what waking alone costs. Ends
 * when it is told to (SIGTERM); then prints how many wake-ups there were. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = 16384, NUMBERS = 4096, FILES_MOST = 16 };

static const char *const machine[] = {
    "/proc/stat",         "/proc/meminfo",     "/proc/net/dev",         "/proc/diskstats",
    "/proc/pressure/cpu", "/proc/pressure/io", "/proc/pressure/memory",
};
enum { MACHINE = sizeof machine / sizeof *machine };

struct file {
    int fd;
    unsigned n;
    uint64_t v[NUMBERS];
};

struct agent {
    struct file machine[MACHINE], own[FILES_MOST];
    unsigned n_own;
    clockid_t clock;
    uint64_t cpu_ns, wakes;
    char text[TEXT];
};

static int open_file(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        perror(path);
    return fd;
}

/* Every run of digits is a number; what it means does not matter to the cost. */
static void read_file(struct file *f, char *text)
{
    const ssize_t n = pread(f->fd, text, TEXT, 0);
    unsigned k = 0;
    for (const char *p = text, *end = text + (n > 0 ? n : 0); p < end && k < NUMBERS; p++) {
        uint64_t v = 0;
        if (*p < '0' || *p > '9')
            continue;
        for (; p < end && *p >= '0' && *p <= '9'; p++)
            v = v * 10 + (uint64_t)(*p - '0');
        f->v[k++] = v;
    }
    f->n = k;
}

static void read_process(struct agent *a)
{
    struct timespec t;
    if (clock_gettime(a->clock, &t) == 0)
        a->cpu_ns = (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
    for (unsigned i = 0; i < a->n_own; i++)
        read_file(&a->own[i], a->text);
}

static void open_all(struct agent *a, int pid, char **files, int n)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    a->own[a->n_own++].fd = open_file(path);
    for (int i = 0; i < n && a->n_own < FILES_MOST; i++)
        a->own[a->n_own++].fd = open_file(files[i]);
    for (unsigned i = 0; i < MACHINE; i++)
        a->machine[i].fd = open_file(machine[i]);
    clock_getcpuclockid(pid, &a->clock);
}

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
    stop = sig;
}

static void sleep_until(struct timespec *t, long period_ns)
{
    t->tv_nsec += period_ns;
    t->tv_sec += t->tv_nsec / 1000000000;
    t->tv_nsec %= 1000000000;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, t, NULL);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: miniagent PERIOD_MS EVERY PID [FILE...]\n");
        return 2;
    }
    const long period_ns = strtol(argv[1], NULL, 10) * 1000000;
    const unsigned long every = strtoul(argv[2], NULL, 10);
    struct agent *a = calloc(1, sizeof *a);
    if (!a || period_ns <= 0)
        return 1;
    open_all(a, (int)strtol(argv[3], NULL, 10), argv + 4, argc - 4);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_signal}, NULL);
    struct timespec t;
    for (clock_gettime(CLOCK_MONOTONIC, &t); !stop; a->wakes++) {
        sleep_until(&t, period_ns);
        for (unsigned i = 0; every && a->wakes % every == 0 && i < MACHINE; i++)
            read_file(&a->machine[i], a->text);
        if (every)
            read_process(a);
    }
    printf("%llu\n", (unsigned long long)a->wakes);
    free(a);
    return 0;
}
