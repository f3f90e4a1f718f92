/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_proc.c - the job's processes, with real ones. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "capture.h"
#include "job.h"
#include "sample/pidset.h"

static struct bench bench;
static struct pidset pids;

static void open_on(pid_t root, bool subreaper, int64_t period_ns)
{
    struct err e;
    pidset_init(&pids);
    if (subreaper)
        CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    const struct probe_env env = {.proc = "/proc",
                                  .sys = "/sys",
                                  .root_pid = root,
                                  .self_pid = subreaper ? getpid() : 0,
                                  .pids = &pids};
    OK(bench_open(&bench, &probe_proc, &env, period_ns, &e));
}

static void close_all(void)
{
    bench_close(&bench);
    pidset_free(&pids);
}

/* Reads every `step` ms for `ms` ms. */
static void watch(long ms, long step)
{
    const mono_ns end = mono_add(clock_mono(), ms * NS_PER_MS);
    while (mono_diff(end, clock_mono()) > 0) {
        bench_read(&bench);
        nap_ms(step);
    }
}

static char *entity_of(pid_t pid, const char *comm)
{
    static char entity[ENTITY_LEN];
    snprintf(entity, sizeof entity, "%d:%s", (int)pid, comm);
    return entity;
}

/* CPU seconds that the series add up to. */
static double cpu_seconds(const char *entity, enum metric_id m, double *peak)
{
    double sum = 0;
    mono_ns last = {0};
    *peak = 0;
    for (size_t i = 0; i < bench.got->n; i++) {
        const struct captured *v = &bench.got->v[i];
        if (v->metric != m || (entity && strcmp(v->entity, entity) != 0))
            continue;
        CHECK(v->value >= 0);
        if (last.ns) {
            sum += v->value / 100 * (double)mono_diff(v->t, last) / 1e9;
            *peak = v->value > *peak ? v->value : *peak;
        }
        last = v->t;
    }
    return sum;
}

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
    CHECK_INT(pidset_count(&pids), 1);
    job_kill(pid);
    job_reap(pid);
    bench_forget(&bench);
    watch(600, 50);
    CHECK_INT(captured_count(bench.got, M_PROC_CPU, me), 0);
    CHECK_INT(pidset_count(&pids), 0);
    NEAR(captured_value(bench.got, M_JOB_PROCESSES, "total"), 0, 0);
    CHECK(!captured_last(bench.got, M_JOB_RSS, "total"));
    close_all();
}

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
    watch(700, 50);
    NEAR(captured_value(bench.got, M_JOB_THREADS, "total"), 21, 0);
    double peak;
    CHECK(cpu_seconds("total", M_JOB_CPU, &peak) > 0.1); /* its first thread does nothing */
    job_kill(pid);
    job_reap(pid);
    close_all();
}

static void short_children(struct board *b)
{
    await(&b->go);
    for (int i = 0; i < 20; i++) {
        const pid_t p = job_fork();
        if (p == 0) {
            burn_ms(50);
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
    if (job_fork() == 0) {
        burn_ms(700);
        nap_ms(1500);
        _exit(0);
    }
    nap_ms(4000);
    b->done = 1;
    burn_ms(500);
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
    watch(2500, 50);
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
    CHECK_INT(pidset_count(&pids), 301);
    CHECK(open_files() - before <= 2 * 256 + 8);
    job_kill(pid);
    while (waitpid(-1, NULL, 0) > 0) {
    }
    watch(2500, 100);
    NEAR(captured_value(bench.got, M_JOB_PROCESSES, "total"), 0, 0);
    close_all();
    CHECK_INT(open_files(), before);
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
    CHECK_INT(pidset_count(&pids), 1);
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
