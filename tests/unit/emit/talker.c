/* SPDX-License-Identifier: Apache-2.0 */
/* talker.c - a program that emits, for tests to start and listen to. Its argument says how. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "footplate/emit.h"

enum { FORKS = 20, SPEAKERS = 4, WORDS = 200 };

static void say_everything(void)
{
    const fp_name span = fp_intern("forward"), mark = fp_intern("saved"),
                  depth = fp_intern("depth");
    fp_step_begin(7, FP_EVAL);
    fp_span_begin(span);
    fp_span_end(span);
    fp_mark(mark);
    fp_counter(depth, -3);
    fp_counter_real(fp_intern("loss"), 0.25);
    fp_step_end(7, FP_EVAL);
}

static void say_state(void)
{
    say_everything();
    printf("%d %u\n", fp_enabled(), fp_intern("x"));
}

static void *speak(void *arg)
{
    const fp_name name = fp_intern("word");
    for (int i = 0; i < WORDS; i++)
        fp_counter(name, i);
    return arg;
}

static void speak_in_threads(void)
{
    pthread_t t[SPEAKERS];
    for (int i = 0; i < SPEAKERS; i++)
        if (pthread_create(&t[i], NULL, speak, NULL) != 0)
            _exit(3);
    for (int i = 0; i < SPEAKERS; i++)
        pthread_join(t[i], NULL);
}

static void *speak_always(void *stop)
{
    const struct timespec pause = {.tv_nsec = 200000};
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
        fp_mark(fp_intern("background"));
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* From threads of its own, but for sanitized programs: the sanitizers' locks do not survive a fork
 * in a threaded program, so that a child cannot make threads. */
static void speak_in_child(void)
{
    if (!SANITIZED)
        speak_in_threads();
    for (int i = 0; SANITIZED && i < SPEAKERS; i++)
        speak(NULL);
}

/* Forks while other threads emit. */
static void fork_in_threads(void)
{
    pthread_t t[SPEAKERS];
    int stop = 0;
    for (int i = 0; i < SPEAKERS; i++)
        if (pthread_create(&t[i], NULL, speak_always, &stop) != 0)
            _exit(3);
    for (int i = 0; i < FORKS; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            speak_in_child();
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < SPEAKERS; i++)
        pthread_join(t[i], NULL);
}

static fp_name tick_name;
static long ticks;

static void on_tick(int sig)
{
    (void)sig;
    fp_counter(tick_name, ticks++);
}

/* A timer interrupts the emitting thread as often as the system allows. Says how often it did. */
static void speak_under_signals(void)
{
    const struct sigaction act = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    struct sigevent ev = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    const struct itimerspec every = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    const struct timespec pause = {.tv_nsec = 3000000};
    const fp_name name = fp_intern("main");
    timer_t timer;
    tick_name = fp_intern("tick");
    sigaction(SIGALRM, &act, NULL);
    if (timer_create(CLOCK_MONOTONIC, &ev, &timer) != 0)
        _exit(3);
    timer_settime(timer, 0, &every, NULL);
    for (long i = 0; i < 50000; i++) {
        fp_counter(name, i);
        if (i % 500 == 0)
            nanosleep(&pause, NULL); /* time for the reader */
    }
    timer_settime(timer, 0, &never, NULL);
    for (int i = 0; i < 5; i++)
        nanosleep(&pause, NULL); /* the thread sanitizer hands over signals late: let them come */
    printf("%ld\n", ticks);
}

static void last_words(void)
{
    fp_mark(fp_intern("at exit"));
}

static void speak_at_exit(void)
{
    fp_mark(fp_intern("before"));
    atexit(last_words);
}

static void die_in_mid_sentence(void)
{
    fp_step_begin(1, FP_TRAIN);
    fp_span_begin(fp_intern("forward"));
    kill(getpid(), SIGKILL);
}

static void late_destructor(void *arg)
{
    (void)arg;
    fp_mark(fp_intern("late"));
}

static void *speak_then_end(void *arg)
{
    pthread_setspecific(*(pthread_key_t *)arg, arg);
    fp_mark(fp_intern("thread"));
    return NULL;
}

/* Threads whose destructors emit after ours may have run; more of them than there are rings. */
static void speak_in_destructors(void)
{
    pthread_key_t key;
    if (pthread_key_create(&key, late_destructor) != 0)
        _exit(3);
    for (int i = 0; i < 200; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, speak_then_end, &key) != 0)
            _exit(3);
        pthread_join(t, NULL);
    }
}

static void speak_over_exec(void)
{
    fp_mark(fp_intern("before exec"));
    execl("/proc/self/exe", "talker", "everything", (char *)NULL);
    _exit(3);
}

/* As a daemon that closes what it did not open. */
static void speak_without_files(void)
{
    fp_mark(fp_intern("one"));
    for (int fd = 0; fd < 64; fd++)
        close(fd);
    fp_mark(fp_intern("two"));
    speak_in_threads();
}

static void speak_after_vfork(void)
{
    fp_mark(fp_intern("one"));
    const pid_t pid = vfork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    fp_mark(fp_intern("two"));
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"everything", say_everything},   {"state", say_state},
    {"threads", speak_in_threads},    {"fork", fork_in_threads},
    {"signals", speak_under_signals}, {"exit", speak_at_exit},
    {"kill", die_in_mid_sentence},    {"destructors", speak_in_destructors},
    {"exec", speak_over_exec},        {"closed", speak_without_files},
    {"vfork", speak_after_vfork},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(ways[i].name, argv[1]) != 0)
            continue;
        ways[i].run();
        return 0;
    }
    return 2;
}
