/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_others.c - programs outside of the job, on a machine of two cores that a folder plays,
 * and with a real process. */
#include <sys/sysinfo.h>

#include "capture.h"
#include "job.h"

static struct bench bench;
static struct pidset pids;
static struct probe_env env;
static double cores;

enum { JOB = 100, NEIGHBOUR = 200, BUILD = 300, COMPILER = 301 };

/* Of the user who runs the test. */
static const char *entity_of(const char *comm)
{
    static char entity[ENTITY_LEN];
    const char *user = geteuid() == 0 ? "root" : NULL;
    if (!user)
        SKIP("the owner of the files must be in /etc/passwd: needs root");
    snprintf(entity, sizeof entity, "%s:%s", user, comm);
    return entity;
}

static void put_process(int pid, int ppid, const char *comm, int own, int children)
{
    char name[32], text[512];
    snprintf(name, sizeof name, "%d/stat", pid);
    snprintf(text, sizeof text,
             "%d (%s) R %d %d %d 0 -1 0 0 0 0 0 %d 0 %d 0 20 0 1 0 %d 1000 100 0 0 0 0 0 0 0\n",
             pid, comm, ppid, pid, pid, own, children, pid);
    machine_put(env.proc, name, text);
}

static void drop_process(int pid)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%d/stat", env.proc, pid);
    CHECK(unlink(path) == 0);
}

/* The uptime, and how long all cores together were idle. */
static void read_at(double up_s, double idle_s)
{
    char text[64];
    snprintf(text, sizeof text, "%.2f %.2f\n", up_s, idle_s);
    machine_put(env.proc, "uptime", text);
    bench_read(&bench);
}

static void open_machine(void)
{
    struct err e;
    const int job[] = {JOB};
    cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    pidset_init(&pids);
    pidset_set(&pids, job, 1);
    env = machine_made();
    env.pids = &pids;
    machine_put(env.proc, "uptime", "1000.00 0.00\n");
    put_process(1, 0, "init", 5, 0);
    put_process(JOB, 1, "python", 1000, 0);
    put_process(NEIGHBOUR, 1, "stress", 500, 0);
    OK(bench_open(&bench, &probe_others, &env, NS_PER_S, &e));
    read_at(1000, 0);
}

static void close_machine(void)
{
    bench_close(&bench);
    pidset_free(&pids);
}

TEST(a_program_that_uses_the_cpu_of_a_busy_node_is_named_by_user_and_name)
{
    open_machine();
    read_at(1001, 0); /* busy: the first look */
    CHECK_INT(bench.got->rows, 0);
    put_process(JOB, 1, "python", 1050, 0);
    put_process(NEIGHBOUR, 1, "stress", 650, 0);
    read_at(1003, 2 * cores - 2.5);
    CHECK_INT(bench.got->rows, 0); /* idle in between: nothing to compare with */
    read_at(1004, 2 * cores - 2.5);
    put_process(JOB, 1, "python", 1100, 0);
    put_process(NEIGHBOUR, 1, "stress", 800, 0);
    read_at(1005, 2 * cores - 2.5);
    read_at(1006, 2 * cores - 2.5);
    CHECK_INT(bench.got->rows, 1);
    NEAR(captured_value(bench.got, M_OTHERS_CPU, entity_of("stress")), 75, 0.2);
    NEAR(captured_value(bench.got, M_OTHERS_CPU, "total"), 100 * cores - 25, 0.2);
    NEAR(captured_value(bench.got, M_OTHERS_CPU, "not_visible"), 100 * cores - 100, 0.2);
    CHECK(!captured_last(bench.got, M_OTHERS_CPU, entity_of("python")));
    CHECK(!captured_last(bench.got, M_OTHERS_CPU, entity_of("init")));
    close_machine();
}

TEST(a_node_that_is_not_busy_is_not_looked_at)
{
    open_machine();
    for (int i = 1; i < 60; i++) {
        put_process(NEIGHBOUR, 1, "stress", 500 + 50 * i, 0);
        read_at(1000 + i, i * (cores - 0.5));
    }
    CHECK_INT(bench.got->rows, 0);
    close_machine();
}

TEST(a_busy_node_is_looked_at_after_two_seconds_and_then_every_ten)
{
    open_machine();
    for (int i = 1; i <= 34; i++)
        read_at(1000 + i, 0);
    CHECK_INT(bench.got->rows, 4); /* 1003, 1013, 1023, 1033 */
    close_machine();
}

TEST(short_processes_count_for_the_program_that_waits_for_them_and_only_once)
{
    open_machine();
    put_process(BUILD, 1, "ninja", 0, 1000);
    put_process(COMPILER, BUILD, "cc1", 60, 0);
    read_at(1001, 0);
    drop_process(COMPILER); /* ended at 80 ticks; others came and went in between: 100 */
    put_process(BUILD, 1, "ninja", 10, 1000 + 80 + 100);
    read_at(1003, 0);
    NEAR(captured_value(bench.got, M_OTHERS_CPU, entity_of("ninja")), (10 + 20 + 100) / 2.0, 0.2);
    close_machine();
}

TEST(a_program_that_is_gone_has_no_reading_and_an_idle_one_has_zero)
{
    open_machine();
    put_process(BUILD, 1, "ninja", 0, 0);
    read_at(1001, 0);
    put_process(NEIGHBOUR, 1, "stress", 700, 0);
    put_process(BUILD, 1, "ninja", 100, 0);
    read_at(1003, 0);
    drop_process(NEIGHBOUR);
    bench_forget(&bench);
    read_at(1013, 0);
    CHECK_INT(bench.got->rows, 1);
    CHECK(!captured_last(bench.got, M_OTHERS_CPU, entity_of("stress")));
    NEAR(captured_value(bench.got, M_OTHERS_CPU, entity_of("ninja")), 0, 0);
    close_machine();
}

TEST(a_pid_that_was_given_out_again_is_another_process)
{
    open_machine();
    read_at(1001, 0);
    machine_put(env.proc, "200/stat",
                "200 (stress) R 1 200 200 0 -1 0 0 0 0 0 30 0 0 0 20 0 1 0 100200 1000 100 0 0 0 0 "
                "0 0 0\n");
    read_at(1003, 0);
    NEAR(captured_value(bench.got, M_OTHERS_CPU, entity_of("stress")), 15, 0.2);
    close_machine();
}

TEST(the_look_at_other_programs_can_be_switched_off)
{
    struct err e = {0};
    env = machine_made();
    env.no_others = true;
    machine_put(env.proc, "uptime", "1000.00 0.00\n");
    CHECK(bench_open(&bench, &probe_others, &env, NS_PER_S, &e) != 0);
    CHECK(strstr(e.msg, "--no-other-processes"));
}
