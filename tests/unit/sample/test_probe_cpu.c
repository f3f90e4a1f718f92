/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_cpu.c - cores that work, stop, vanish and lie. */
#include "capture.h"

static struct bench bench;
static struct probe_env env;

static void begin(const char *stat)
{
    struct err e;
    env = machine_made();
    machine_put(env.proc, "stat", stat);
    OK(bench_open(&bench, &probe_cpu, &env, NS_PER_S, &e));
    bench_read(&bench);
}

/* The next reading, 50 ms later; what was said before is forgotten. */
static void then(const char *stat)
{
    bench_forget(&bench);
    sleep_ms(50);
    machine_put(env.proc, "stat", stat);
    bench_read(&bench);
}

static double now(enum metric_id m, const char *entity)
{
    return captured_value(bench.got, m, entity);
}

TEST(the_first_reading_gives_no_rate)
{
    begin("cpu  10 0 0 100 0 0 0 0\ncpu0 10 0 0 100 0 0 0 0\nintr 1\n");
    CHECK_INT(bench.got->n, 0);
    bench_close(&bench);
}

TEST(ticks_become_percent_of_a_core_and_of_the_machine)
{
    begin("cpu  0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\nintr 1\n");
    const mono_ns t0 = clock_mono();
    then("cpu  2 1 1 0 1 0 0 0\ncpu0 1 1 0 0 0 0 0 0\ncpu1 1 0 1 0 1 0 0 0\nintr 1\n");
    const double ticks =
        1e9 / (double)mono_diff(captured_last(bench.got, M_CPU_UTIL, "total")->t, t0);
    NEAR(now(M_CPU_UTIL, "cpu0"), 2 * ticks, 2);
    NEAR(now(M_CPU_USER, "cpu0"), 2 * ticks, 2);
    NEAR(now(M_CPU_SYSTEM, "cpu0"), 0, 0);
    NEAR(now(M_CPU_SYSTEM, "cpu1"), 1 * ticks, 2);
    NEAR(now(M_CPU_IOWAIT, "cpu1"), 1 * ticks, 2);
    NEAR(now(M_CPU_UTIL, "total"), 2 * ticks, 2); /* four ticks of two cores */
    NEAR(now(M_CPU_IOWAIT, "total"), 0.5 * ticks, 2);
    NEAR(now(M_CPU_STEAL, "total"), 0, 0);
    CHECK(!captured_last(bench.got, M_CPU_STEAL, "cpu0"));
    bench_close(&bench);
}

TEST(stolen_time_counts_as_used_and_interrupts_as_system)
{
    begin("cpu  0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\nintr 1\n");
    then("cpu  0 0 0 0 0 1 1 1\ncpu0 0 0 0 0 0 1 1 1\nintr 1\n");
    const double steal = now(M_CPU_STEAL, "total");
    CHECK(steal > 0);
    NEAR(now(M_CPU_SYSTEM, "total"), 2 * steal, 2);
    NEAR(now(M_CPU_UTIL, "total"), 3 * steal, 3);
    bench_close(&bench);
}

TEST(a_counter_that_goes_back_is_missing_and_said_and_no_spike)
{
    begin("cpu  500 0 0 0 0 0 0 0\ncpu0 500 0 0 0 0 0 0 0\nintr 1\n");
    then("cpu  100 0 1 0 0 0 0 0\ncpu0 100 0 1 0 0 0 0 0\nintr 1\n");
    CHECK(!captured_last(bench.got, M_CPU_UTIL, "cpu0"));
    CHECK(!captured_last(bench.got, M_CPU_USER, "total"));
    CHECK(now(M_CPU_SYSTEM, "total") > 0);
    CHECK_INT(captured_losses(bench.got, LOSS_RESET, "cpu0"), 1);
    CHECK_INT(captured_losses(bench.got, LOSS_RESET, "cpu total"), 1);
    then("cpu  101 0 1 0 0 0 0 0\ncpu0 101 0 1 0 0 0 0 0\nintr 1\n");
    CHECK(now(M_CPU_USER, "cpu0") > 0);
    CHECK_INT(bench.got->n_losses, 0);
    bench_close(&bench);
}

TEST(iowait_that_steps_back_a_little_just_does_not_grow)
{
    begin("cpu  0 0 0 0 500 0 0 0\ncpu0 0 0 0 0 500 0 0 0\nintr 1\n");
    then("cpu  0 0 0 0 490 0 0 0\ncpu0 0 0 0 0 490 0 0 0\nintr 1\n");
    NEAR(now(M_CPU_IOWAIT, "cpu0"), 0, 0);
    CHECK_INT(bench.got->n_losses, 0);
    then("cpu  0 0 0 0 500 0 0 0\ncpu0 0 0 0 0 500 0 0 0\nintr 1\n");
    NEAR(now(M_CPU_IOWAIT, "cpu0"), 0, 0); /* it was there before */
    then("cpu  0 0 0 0 5 0 0 0\ncpu0 0 0 0 0 5 0 0 0\nintr 1\n");
    CHECK(!captured_last(bench.got, M_CPU_IOWAIT, "cpu0"));
    CHECK_INT(captured_losses(bench.got, LOSS_RESET, "cpu0"), 1);
    bench_close(&bench);
}

TEST(a_core_that_goes_offline_loses_its_series_and_gets_a_new_one)
{
    begin("cpu  0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\nintr 1\n");
    then("cpu  4 0 0 0 0 0 0 0\ncpu0 4 0 0 0 0 0 0 0\nintr 1\n");
    CHECK(!captured_last(bench.got, M_CPU_UTIL, "cpu1"));
    NEAR(now(M_CPU_UTIL, "total"), now(M_CPU_UTIL, "cpu0"), 1); /* the mean of one */
    then("cpu  8 0 0 0 0 0 0 0\ncpu0 8 0 0 0 0 0 0 0\ncpu1 3 0 0 0 0 0 0 0\nintr 1\n");
    CHECK(!captured_last(bench.got, M_CPU_UTIL, "cpu1"));
    NEAR(now(M_CPU_UTIL, "total"), now(M_CPU_UTIL, "cpu0") / 2, 1);
    then("cpu  8 0 0 0 0 0 0 0\ncpu0 8 0 0 0 0 0 0 0\ncpu1 4 0 0 0 0 0 0 0\nintr 1\n");
    CHECK(now(M_CPU_UTIL, "cpu1") > 0);
    bench_close(&bench);
}

TEST(all_cores_of_a_large_machine_are_read_though_the_file_is_larger_than_the_buffer)
{
    struct err e;
    struct probe_env m = machine("server96");
    OK(bench_open(&bench, &probe_cpu, &m, NS_PER_S, &e));
    bench_read(&bench);
    sleep_ms(2);
    bench_read(&bench);
    CHECK(captured_last(bench.got, M_CPU_UTIL, "cpu95"));
    CHECK_INT(captured_count(bench.got, M_CPU_UTIL, NULL), 97);
    CHECK_INT(bench.got->n_losses, 0);
    bench_close(&bench);
}

TEST(a_kernel_without_steal_says_so_once_and_does_not_say_zero)
{
    struct err e;
    struct probe_env m = machine("old");
    OK(bench_open(&bench, &probe_cpu, &m, NS_PER_S, &e));
    for (int i = 0; i < 3; i++) {
        bench_read(&bench);
        sleep_ms(2);
    }
    CHECK_INT(captured_count(bench.got, M_CPU_STEAL, NULL), 0);
    CHECK(captured_count(bench.got, M_CPU_UTIL, "total") > 0);
    CHECK_INT(captured_losses(bench.got, LOSS_ABSENT, "cpu.steal"), 1);
    bench_close(&bench);
}

TEST(a_machine_without_proc_stat_is_refused_with_a_sentence)
{
    struct err e = {0};
    struct probe_env m = machine("nothing");
    CHECK(bench_open(&bench, &probe_cpu, &m, NS_PER_S, &e) != 0);
    CHECK(strstr(e.msg, "/stat"));
    bench_close(&bench);
}

TEST(rubbish_is_said_once_and_gives_no_values)
{
    begin("cpu  what\nnothing\n");
    CHECK_INT(captured_losses(bench.got, LOSS_MALFORMED, "cpu"), 1);
    then("cpu  what\n");
    bench_read(&bench);
    CHECK_INT(bench.got->n, 0);
    CHECK_INT(bench.got->n_losses, 0);
    bench_close(&bench);
}

TEST(this_machine_is_read)
{
    struct err e;
    const struct probe_env m = {.proc = "/proc", .sys = "/sys"};
    OK(bench_open(&bench, &probe_cpu, &m, 100 * NS_PER_MS, &e));
    bench_read(&bench);
    sleep_ms(100);
    bench_read(&bench);
    CHECK(now(M_CPU_UTIL, "total") >= 0 && now(M_CPU_UTIL, "total") <= 100);
    CHECK_INT(bench.got->n_losses, 0);
    bench_close(&bench);
}
