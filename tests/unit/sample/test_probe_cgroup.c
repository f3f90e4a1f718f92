/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_cgroup.c - control groups of both versions, and their limits. */
#include "capture.h"
#include "sample/cgroup_find.h"

static struct bench bench;

static void open_on(const char *name, int pid)
{
    struct err e;
    struct probe_env m = machine(name);
    m.root_pid = pid;
    OK(bench_open(&bench, &probe_cgroup, &m, 100 * NS_PER_MS, &e));
    bench_read(&bench);
    sleep_ms(2);
    bench_read(&bench);
}

static double now(enum metric_id m)
{
    return captured_value(bench.got, m, "total");
}

TEST(a_container_with_its_own_namespace_sees_its_limits)
{
    open_on("container", 7);
    NEAR(now(M_CGROUP_CPU_LIMIT), 150, 0);
    NEAR(now(M_CGROUP_MEM), 104857600, 0);
    NEAR(now(M_CGROUP_MEM_LIMIT), 2147483648., 0);
    CHECK(captured_last(bench.got, M_CGROUP_CPU, "total"));
    CHECK(captured_last(bench.got, M_CGROUP_THROTTLED, "total"));
    CHECK_INT(bench.got->n_losses, 0);
    bench_close(&bench);
}

TEST(the_tightest_limit_on_the_way_up_wins)
{
    open_on("cgroup2", 41);
    NEAR(now(M_CGROUP_CPU_LIMIT), 400, 0);
    NEAR(now(M_CGROUP_MEM_LIMIT), 8589934592., 0);
    NEAR(now(M_CGROUP_MEM), 4096000, 2048);
    bench_close(&bench);
}

TEST(time_is_counted_as_throttled_where_the_limit_stands)
{
    struct err e;
    struct probe_env m = machine("cgroup2");
    struct cgroup_finder f;
    struct cgroup_place p;
    struct cgroup_limit limit;
    OK(cgroup_finder_open(&f, m.proc, m.sys, 41, &e));
    cgroup_find(&f, "cpu", &p);
    cgroup_finder_close(&f);
    CHECK_INT(p.version, 2);
    CHECK(cgroup_cpu_limit(&p, &limit));
    CHECK(strstr(limit.folder, "/job.slice"));
    CHECK(!strstr(limit.folder, "run.scope"));
}

TEST(version_1_controllers_are_found_in_their_own_mounts)
{
    open_on("cgroup1", 41);
    NEAR(now(M_CGROUP_CPU_LIMIT), 250, 0);
    NEAR(now(M_CGROUP_MEM), 123456789, 4096);
    CHECK(captured_last(bench.got, M_CGROUP_CPU, "total"));
    CHECK(captured_last(bench.got, M_CGROUP_THROTTLED, "total"));
    CHECK(!captured_last(bench.got, M_CGROUP_MEM_LIMIT, "total"));
    CHECK_INT(captured_losses(bench.got, LOSS_ABSENT, "cgroup.mem_limit"), 1);
    bench_close(&bench);
}

TEST(usage_and_throttling_become_percent)
{
    struct err e;
    struct probe_env m = machine_made();
    const char *dir = "fs/cgroup/cpu.stat";
    machine_put(m.proc, "self/cgroup", "0::/\n");
    machine_put(m.proc, "self/mountinfo", "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 none rw\n");
    machine_put(m.sys, dir, "usage_usec 1000\nthrottled_usec 100\n");
    machine_put(m.sys, "fs/cgroup/cpu.max", "50000 100000\n");
    OK(bench_open(&bench, &probe_cgroup, &m, NS_PER_S, &e));
    bench_read(&bench);
    const mono_ns t0 = clock_mono();
    sleep_ms(50);
    machine_put(m.sys, dir, "usage_usec 101000\nthrottled_usec 20100\n");
    bench_read(&bench);
    const struct captured *v = captured_last(bench.got, M_CGROUP_CPU, "total");
    CHECK(v);
    const double dt = (double)mono_diff(v->t, t0) / 1e9;
    NEAR(v->value, 100 * 0.1 / dt, 10);
    NEAR(now(M_CGROUP_THROTTLED), 100 * 0.02 / dt, 3);
    CHECK_INT(captured_losses(bench.got, LOSS_ABSENT, "cgroup.cpu_limit"), 0);
    CHECK_INT(captured_losses(bench.got, LOSS_ABSENT, "cgroup.mem"), 1);
    machine_put(m.sys, dir, "usage_usec 5\nthrottled_usec 5\n");
    bench_forget(&bench);
    bench_read(&bench);
    CHECK_INT(bench.got->n, 0);
    CHECK_INT(captured_losses(bench.got, LOSS_RESET, "cgroup.cpu"), 1);
    bench_close(&bench);
}

TEST(without_a_limit_nothing_is_throttled_and_that_is_said_not_shown_as_zero)
{
    struct err e;
    struct probe_env m = machine_made();
    machine_put(m.proc, "self/cgroup", "0::/\n");
    machine_put(m.proc, "self/mountinfo", "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 none rw\n");
    machine_put(m.sys, "fs/cgroup/cpu.stat", "usage_usec 1000\nthrottled_usec 0\n");
    machine_put(m.sys, "fs/cgroup/cpu.max", "max 100000\n");
    OK(bench_open(&bench, &probe_cgroup, &m, NS_PER_S, &e));
    for (int i = 0; i < 3; i++)
        bench_read(&bench);
    CHECK(captured_last(bench.got, M_CGROUP_CPU, "total"));
    CHECK(!captured_last(bench.got, M_CGROUP_THROTTLED, "total"));
    CHECK_INT(captured_losses(bench.got, LOSS_ABSENT, "cgroup.throttled"), 1);
    bench_close(&bench);
}

TEST(a_root_group_that_counts_nothing_says_so)
{
    struct err e;
    struct probe_env m = machine_made();
    machine_put(m.proc, "self/cgroup", "0::/\n");
    machine_put(m.proc, "self/mountinfo", "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 none rw\n");
    machine_put(m.sys, "fs/cgroup/cgroup.procs", "1\n");
    OK(bench_open(&bench, &probe_cgroup, &m, NS_PER_S, &e));
    bench_read(&bench);
    bench_read(&bench);
    CHECK_INT(bench.got->rows, 0);
    CHECK_INT(captured_losses(bench.got, LOSS_ABSENT, "cgroup.cpu"), 1);
    CHECK_INT(captured_losses(bench.got, LOSS_ABSENT, "cgroup.mem"), 1);
    CHECK_INT(captured_losses(bench.got, LOSS_ABSENT, "cgroup.mem_limit"), 1);
    bench_close(&bench);
}

TEST(a_machine_without_control_groups_is_refused_with_a_sentence)
{
    struct err e = {0};
    struct probe_env m = machine_made();
    CHECK(bench_open(&bench, &probe_cgroup, &m, NS_PER_S, &e) != 0);
    CHECK(e.msg[0]);
    bench_close(&bench);
    machine_put(m.proc, "self/cgroup", "");
    machine_put(m.proc, "self/mountinfo", "1 2 0:3 / / rw - ext4 none rw\n");
    CHECK(bench_open(&bench, &probe_cgroup, &m, NS_PER_S, &e) == ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "control group is not visible"));
    bench_close(&bench);
}

TEST(this_machines_groups_are_read)
{
    struct err e;
    const struct probe_env m = {.proc = "/proc", .sys = "/sys"};
    if (bench_open(&bench, &probe_cgroup, &m, 100 * NS_PER_MS, &e) != 0)
        SKIP(e.msg);
    bench_read(&bench);
    sleep_ms(120);
    bench_read(&bench);
    const struct captured *cpu = captured_last(bench.got, M_CGROUP_CPU, "total");
    CHECK(!cpu || cpu->value >= 0);
    bench_close(&bench);
}
