/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_proc.c - the job's processes, with real ones. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "base/mem.h"
#include "probe_proc_kit.h"

static void spin(struct board *b)
{
    b->pid[0] = getpid();
    prctl(PR_SET_NAME, "spinner");
    b->go = 1;
    for (;;)
        burn_ms(1000);
}

TEST(a_process_that_computes_shows_its_cpu_memory_and_threads_at_once)
{
    struct board *b = board_new();
    const pid_t pid = job_start(spin, b);
    await(&b->go);
    open_on(pid, false, 50 * NS_PER_MS);
    watch(600, 50);
    const char *me = entity_of(pid, "spinner");
    CHECK(captured_count(bench.got, M_PROC_CPU, me) >= 3);
    double peak;
    CHECK(cpu_seconds(me, M_PROC_CPU, &peak) > 0.03); /* the machine may be busy */
    CHECK(peak < 150);
    CHECK(captured_value(bench.got, M_PROC_RSS, me) > 50000);
    NEAR(captured_value(bench.got, M_PROC_THREADS, me), 1, 0);
    NEAR(captured_value(bench.got, M_JOB_PROCESSES, "total"), 1, 0);
    NEAR(captured_value(bench.got, M_JOB_RSS, "total"), captured_value(bench.got, M_PROC_RSS, me),
         1 << 20);
    CHECK(pidset_has(&pids, pid));
    CHECK_INT(pids.n, 1);
    job_kill(pid);
    job_reap(pid);
    bench_forget(&bench);
    watch(600, 50);
    CHECK_INT(captured_count(bench.got, M_PROC_CPU, me), 0);
    CHECK_INT(pids.n, 0);
    NEAR(captured_value(bench.got, M_JOB_PROCESSES, "total"), 0, 0);
    CHECK(!captured_last(bench.got, M_JOB_RSS, "total"));
    close_all();
}

static void *spin_forever(void *unused)
{
    for (volatile unsigned long n = 0;; n++)
        ;
    return unused;
}

static void spin_three(struct board *b)
{
    pthread_t t[2];
    for (size_t i = 0; i < COUNT_OF(t); i++)
        pthread_create(&t[i], NULL, spin_forever, NULL);
    b->go = 1;
    spin_forever(NULL);
}

/* However busy the machine is: a thread that has no core is runnable too. */
TEST(threads_that_want_to_run_are_counted_whether_they_have_a_core_or_not)
{
    struct board *b = board_new();
    const pid_t pid = job_start(spin_three, b);
    await(&b->go);
    open_on(pid, false, 100 * NS_PER_MS);
    watch(3400, 100);
    NEAR(captured_value(bench.got, M_JOB_RUNNABLE, "total"), 3, 0.5);
    NEAR(captured_value(bench.got, M_JOB_RUNNABLE_EXTRA, "total"), 2, 0.5);
    const double cores = captured_value(bench.got, M_JOB_CORES, "total"),
                 delay = captured_value(bench.got, M_JOB_RUN_DELAY, "total");
    CHECK(cores >= 1);
    CHECK(delay >= 100 * (3 - cores) - 50);
    NEAR(captured_value(bench.got, M_JOB_BLOCKED, "total"), 0, 0);
    job_kill(pid);
    job_reap(pid);
    close_all();
}

static void become_sleep(struct board *b)
{
    b->pid[0] = 1;
    await(&b->go);
    execlp("sleep", "sleep", "30", (char *)NULL);
}

TEST(a_process_that_execs_keeps_its_series_and_leaves_a_mark)
{
    struct board *b = board_new();
    const pid_t pid = job_start(become_sleep, b);
    await(&b->pid[0]);
    open_on(pid, false, 100 * NS_PER_MS);
    watch(600, 100);
    b->go = 1;
    watch(1200, 100);
    CHECK_INT(bench.got->n_marks, 1);
    CHECK_INT(bench.got->marks[0].id, MARK_EXEC);
    CHECK_INT(bench.got->marks[0].number, pid);
    CHECK_STR(bench.got->marks[0].text, "sleep");
    CHECK_INT(captured_count(bench.got, M_PROC_CPU, entity_of(pid, "sleep")), 0);
    CHECK(captured_count(bench.got, M_PROC_CPU, entity_of(pid, "test_probe_proc")) > 10);
    job_kill(pid);
    job_reap(pid);
    close_all();
}

TEST(the_first_process_is_named_after_it_became_the_jobs_program)
{
    struct board *b = board_new();
    const pid_t pid = job_start(become_sleep, b);
    await(&b->pid[0]);
    open_on(pid, true, 100 * NS_PER_MS); /* it still has the recorder's name */
    bench_read(&bench);
    b->go = 1;
    watch(1300, 100);
    CHECK(captured_count(bench.got, M_PROC_CPU, entity_of(pid, "sleep")) > 0);
    CHECK_INT(captured_count(bench.got, M_PROC_CPU, entity_of(pid, "test_probe_proc")), 0);
    CHECK_INT(bench.got->n_marks, 0);
    job_kill(pid);
    job_reap(pid);
    close_all();
}

static void write_file(struct board *b)
{
    char path[64];
    static char block[1 << 16];
    snprintf(path, sizeof path, "/var/tmp/fp-test-io-%d", (int)getpid());
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    unlink(path);
    await(&b->go);
    for (int i = 0; i < 64; i++)
        if (write(fd, block, sizeof block) < 0)
            break;
    fsync(fd);
    b->done = 1;
    pause();
}

TEST(what_a_process_writes_to_storage_is_shown)
{
    struct board *b = board_new();
    const pid_t pid = job_start(write_file, b);
    open_on(pid, false, 500 * NS_PER_MS);
    bench_read(&bench);
    b->go = 1;
    await(&b->done);
    nap_ms(500);
    bench_read(&bench);
    const struct captured *v = captured_last(bench.got, M_JOB_WRITE, "total");
    if (captured_losses(bench.got, LOSS_READ, "proc.read"))
        SKIP("this kernel does not count storage traffic of processes");
    CHECK(v);
    CHECK(v->value > 500e3); /* 4 MB in at most some seconds */
    CHECK(captured_value(bench.got, M_PROC_WRITE, entity_of(pid, "test_probe_proc")) > 500e3);
    NEAR(captured_value(bench.got, M_JOB_READ, "total"), 0, 1e6);
    job_kill(pid);
    job_reap(pid);
    close_all();
}

static void spawn_300(struct board *b)
{
    for (int i = 0; i < 300; i++)
        if (job_fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            b->done++;
            pause();
        }
    pause();
}

TEST(beyond_256_processes_the_rest_is_counted_and_said_once)
{
    struct board *b = board_new();
    const size_t before = open_files();
    const pid_t pid = job_start(spawn_300, b);
    while (b->done < 300)
        nap_ms(5);
    open_on(pid, true, 100 * NS_PER_MS);
    watch(3500, 100);
    NEAR(captured_value(bench.got, M_JOB_PROCESSES, "total"), 301, 0);
    NEAR(captured_value(bench.got, M_JOB_THREADS, "total"), 301, 0);
    CHECK_INT(captured_losses(bench.got, LOSS_LIMIT, "proc"), 1);
    CHECK(captured_count(bench.got, M_JOB_CPU, "total") >= 1);
    CHECK_INT(pids.n, 301);
    CHECK(open_files() - before <= 2 * 256 + 8);
    job_kill(pid);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    watch(2500, 100);
    NEAR(captured_value(bench.got, M_JOB_PROCESSES, "total"), 0, 0);
    close_all();
    CHECK_INT(open_files(), before);
}

static void spawn_20(struct board *b)
{
    for (int i = 0; i < 20; i++)
        if (job_fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            b->done++;
            pause();
        }
    pause();
}

TEST(a_job_of_many_processes_has_its_files_read_less_often_but_its_clocks_as_before)
{
    struct board *b = board_new();
    const pid_t pid = job_start(spawn_20, b);
    while (b->done < 20)
        nap_ms(5);
    open_on(pid, true, 100 * NS_PER_MS);
    watch(2600, 100); /* at 0, 1 and 2 s; twice a second it would be six times */
    NEAR(captured_value(bench.got, M_JOB_PROCESSES, "total"), 21, 0);
    CHECK(captured_count(bench.got, M_JOB_PROCESSES, "total") <= 3);
    CHECK(captured_count(bench.got, M_JOB_CPU, "total") >= 6); /* the machine may be busy */
    job_kill(pid);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    close_all();
}

static void churn(struct board *b)
{
    await(&b->go);
    for (int i = 0; i < 200; i++) {
        const pid_t p = job_fork();
        if (p == 0) {
            nap_ms(i % 40);
            _exit(0);
        }
        nap_ms(10);
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
    }
    while (waitpid(-1, NULL, 0) > 0) {
    }
    b->done = 1;
    pause();
}

TEST(processes_that_come_and_go_leak_no_file_and_make_no_series)
{
    struct board *b = board_new();
    const pid_t pid = job_start(churn, b);
    open_on(pid, true, 10 * NS_PER_MS);
    bench_read(&bench);
    const size_t files = open_files();
    b->go = 1;
    while (!b->done)
        watch(50, 10);
    watch(1500, 10);
    CHECK_INT(open_files(), files);
    CHECK_INT(pids.n, 1);
    CHECK_INT(bench.got->n_losses, 0);
    job_kill(pid);
    job_reap(pid);
    close_all();
}

TEST(without_a_job_there_is_nothing_to_follow)
{
    struct err e = {0};
    const struct probe_env env = {.proc = "/proc", .sys = "/sys"};
    CHECK(bench_open(&bench, &probe_proc, &env, NS_PER_S, &e) == ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "no job"));
    bench_close(&bench);
}

static void put_process(const char *proc, int pid, int ppid, long own, long children)
{
    char name[32], text[256];
    snprintf(name, sizeof name, "%d/stat", pid);
    snprintf(text, sizeof text,
             "%d (p%d) S %d 1 1 0 -1 0 0 0 0 0 %ld 0 %ld 0 20 0 1 0 77 1000 10 0 0\n", pid, pid,
             ppid, own, children);
    machine_put(proc, name, text);
}

TEST(without_process_clocks_the_stat_file_is_used)
{
    struct err e;
    struct probe_env m = machine_made();
    m.root_pid = 100;
    put_process(m.proc, 100, 1, 50, 0);
    OK(bench_open(&bench, &probe_proc, &m, NS_PER_S, &e));
    bench_read(&bench);
    const mono_ns t0 = clock_mono();
    nap_ms(100);
    put_process(m.proc, 100, 1, 55, 0);
    bench_read(&bench);
    const struct captured *v = captured_last(bench.got, M_PROC_CPU, "100:p100");
    CHECK(v);
    const double hz = (double)sysconf(_SC_CLK_TCK);
    NEAR(v->value, 100 * 5 / hz / ((double)mono_diff(v->t, t0) / 1e9), 5);
    NEAR(captured_value(bench.got, M_JOB_CPU, "total"), v->value, 5);
    /* No io file: said nothing about, as the process could have ended; no zero is made up. */
    CHECK(!captured_last(bench.got, M_PROC_WRITE, "100:p100"));
    CHECK(!captured_last(bench.got, M_JOB_WRITE, "total"));
    bench_close(&bench);
}

TEST(storage_traffic_that_may_not_be_read_is_said_once)
{
    struct err e;
    struct probe_env env = {.proc = "/proc", .sys = "/sys", .root_pid = getppid()};
    if (geteuid() == 0) /* the parent stays root's */
        CHECK(setresuid(65534, 65534, 65534) == 0);
    else
        env.root_pid = 1;
    OK(bench_open(&bench, &probe_proc, &env, NS_PER_S, &e));
    bench_read(&bench);
    bench_read(&bench);
    CHECK(captured_last(bench.got, M_JOB_RSS, "total"));
    CHECK(!captured_last(bench.got, M_JOB_READ, "total"));
    CHECK_INT(captured_losses(bench.got, LOSS_DENIED, "proc.read"), 1);
    bench_close(&bench);
}
