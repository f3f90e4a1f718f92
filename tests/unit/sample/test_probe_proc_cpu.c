/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_proc_cpu.c - no CPU time of the job's processes is lost or counted twice, with real
 * ones. They take their time, which is why they are a program of their own. */
#include <pthread.h>

#include "probe_proc_kit.h"

static void *burn_thread(void *arg)
{
    (void)arg;
    for (;;)
        burn_ms(1000);
    return NULL;
}

static void threads(struct board *b)
{
    pthread_t th[20];
    for (int i = 0; i < 20; i++)
        pthread_create(&th[i], NULL, burn_thread, NULL);
    b->go = 1;
    pause();
}

TEST(all_threads_of_a_process_count)
{
    struct board *b = board_new();
    const pid_t pid = job_start(threads, b);
    await(&b->go);
    open_on(pid, false, 50 * NS_PER_MS);
    double peak, seconds = 0;
    for (int i = 0; i < 100 && seconds <= 0.1; i++) {
        watch(100, 50);
        seconds = cpu_seconds("total", M_JOB_CPU, &peak);
    }
    CHECK(seconds > 0.1); /* its first thread does nothing */
    NEAR(captured_value(bench.got, M_JOB_THREADS, "total"), 21, 0);
    job_kill(pid);
    job_reap(pid);
    close_all();
}

/* Short enough that none lives through two scans, a second apart, on a busy machine either. */
static void short_children(struct board *b)
{
    await(&b->go);
    for (int i = 0; i < 100; i++) {
        const pid_t p = job_fork();
        if (p == 0) {
            burn_ms(10);
            _exit(0);
        }
        waitpid(p, NULL, 0);
    }
    b->done = 1;
    pause();
}

TEST(the_cpu_of_children_too_short_to_be_seen_is_not_lost_and_makes_no_series)
{
    struct board *b = board_new();
    const pid_t pid = job_start(short_children, b);
    open_on(pid, false, 20 * NS_PER_MS);
    bench_read(&bench);
    b->go = 1;
    while (!b->done)
        watch(100, 20);
    watch(4000, 20);
    double peak;
    NEAR(cpu_seconds("total", M_JOB_CPU, &peak), 1.0, 0.2);
    CHECK(peak < 350); /* they ran one by one */
    const char *me = entity_of(pid, "test_probe_proc");
    for (size_t i = 0; i < bench.got->n; i++) /* only the first process has series */
        CHECK(bench.got->v[i].metric != M_PROC_CPU || strcmp(bench.got->v[i].entity, me) == 0);
    job_kill(pid);
    job_reap(pid);
    close_all();
}

static void long_children(struct board *b)
{
    await(&b->go);
    for (int i = 0; i < 2; i++) {
        const pid_t p = job_fork();
        if (p == 0) {
            prctl(PR_SET_NAME, "worker");
            b->pid[i] = getpid();
            burn_ms(1000);
            nap_ms(1500); /* seen by scans before and after its work */
            _exit(0);
        }
        waitpid(p, NULL, 0);
    }
    b->done = 1;
    pause();
}

TEST(a_child_that_is_watched_and_waited_for_is_counted_once)
{
    struct board *b = board_new();
    const pid_t pid = job_start(long_children, b);
    open_on(pid, false, 50 * NS_PER_MS);
    bench_read(&bench);
    b->go = 1;
    while (!b->done)
        watch(50, 50);
    watch(4000, 50);
    double peak;
    NEAR(cpu_seconds("total", M_JOB_CPU, &peak), 2.0, 0.25);
    CHECK(peak < 300);
    CHECK(captured_count(bench.got, M_PROC_CPU, entity_of(b->pid[0], "worker")) > 5);
    CHECK(captured_count(bench.got, M_PROC_CPU, entity_of(b->pid[1], "worker")) > 5);
    job_kill(pid);
    job_reap(pid);
    close_all();
}

static void ignored_children(struct board *b)
{
    signal(SIGCHLD, SIG_IGN);
    await(&b->go);
    const pid_t p = job_fork();
    if (p == 0) {
        burn_ms(700);
        nap_ms(1500);
        _exit(0);
    }
    waitpid(p, NULL, 0); /* until there is none: it is not handed over */
    nap_ms(1000);
    b->done = 1;
    burn_ms(500);
    b->pid[0] = 1;
    pause();
}

TEST(a_child_whose_parent_ignores_it_drops_out_and_later_work_still_counts)
{
    struct board *b = board_new();
    const pid_t pid = job_start(ignored_children, b);
    open_on(pid, false, 50 * NS_PER_MS);
    bench_read(&bench);
    b->go = 1;
    while (!b->done)
        watch(50, 50);
    double peak;
    NEAR(cpu_seconds("total", M_JOB_CPU, &peak), 0.7, 0.15);
    bench_forget(&bench);
    while (!b->pid[0])
        watch(50, 50);
    watch(500, 50);
    NEAR(cpu_seconds("total", M_JOB_CPU, &peak), 0.5, 0.15);
    job_kill(pid);
    job_reap(pid);
    close_all();
}

static void work_and_end(struct board *b)
{
    await(&b->go);
    burn_ms(300);
}

TEST(what_the_recorder_waits_for_is_counted_to_its_end)
{
    struct board *b = board_new();
    const pid_t pid = job_start(work_and_end, b);
    open_on(pid, true, NS_PER_S);
    bench_read(&bench);
    nap_ms(100);
    bench_read(&bench);
    b->go = 1;
    job_reap(pid); /* it ends between two readings */
    nap_ms(700);
    bench_read(&bench);
    nap_ms(1000);
    bench_read(&bench);
    double peak;
    NEAR(cpu_seconds("total", M_JOB_CPU, &peak), 0.3, 0.06);
    close_all();
}

static void work_and_linger(struct board *b)
{
    await(&b->go);
    burn_ms(500);
    nap_ms(300);
}

TEST(what_the_recorder_watched_and_then_waited_for_is_counted_once)
{
    struct board *b = board_new();
    const pid_t pid = job_start(work_and_linger, b);
    open_on(pid, true, 50 * NS_PER_MS);
    bench_read(&bench);
    b->go = 1;
    while (waitpid(pid, NULL, WNOHANG) == 0)
        watch(50, 50);
    watch(3500, 50);
    double peak;
    NEAR(cpu_seconds("total", M_JOB_CPU, &peak), 0.5, 0.12);
    close_all();
}
