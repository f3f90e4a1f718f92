/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_mem.c - memory, swap, pressure, and the recorder itself. */
#include <sys/resource.h>

#include "capture.h"

static struct bench bench;

static void open_on(const struct probe *p, const char *name)
{
    struct err e;
    struct probe_env m = machine(name);
    OK(bench_open(&bench, p, &m, 500 * NS_PER_MS, &e));
}

TEST(memory_used_is_what_is_not_available)
{
    open_on(&probe_mem, "server96");
    bench_read(&bench);
    NEAR(captured_value(bench.got, M_MEM_USED, "total"), (1056465232. - 800000000.) * 1024,
         1 << 20);
    NEAR(captured_value(bench.got, M_MEM_AVAILABLE, "total"), 800000000. * 1024, 1 << 20);
    NEAR(captured_value(bench.got, M_MEM_UTIL, "total"), 24.3, 0.051);
    NEAR(captured_value(bench.got, M_SWAP_USED, "total"), 388604. * 1024, 1 << 20);
    bench_close(&bench);
}

TEST(a_machine_without_swap_says_so_once_and_has_no_series)
{
    open_on(&probe_mem, "vm2");
    bench_read(&bench);
    bench_read(&bench);
    CHECK(!captured_last(bench.got, M_SWAP_USED, "total"));
    CHECK_INT(captured_losses(bench.got, LOSS_ABSENT, "swap.used"), 1);
    CHECK(captured_value(bench.got, M_MEM_USED, "total") > 0);
    bench_close(&bench);
}

TEST(an_old_kernel_has_memory_too)
{
    open_on(&probe_mem, "old");
    bench_read(&bench);
    NEAR(captured_value(bench.got, M_MEM_UTIL, "total"), 60, 0.05);
    bench_close(&bench);
}

TEST(meminfo_that_makes_no_sense_is_said_once)
{
    struct err e;
    struct probe_env m = machine_made();
    machine_put(m.proc, "meminfo", "Mem: 1\n");
    OK(bench_open(&bench, &probe_mem, &m, NS_PER_S, &e));
    bench_read(&bench);
    bench_read(&bench);
    CHECK_INT(bench.got->rows, 0);
    CHECK_INT(captured_losses(bench.got, LOSS_MALFORMED, "mem"), 1);
    bench_close(&bench);
}

TEST(stall_time_is_the_growth_of_the_totals)
{
    struct err e;
    struct probe_env m = machine_made();
    machine_put(m.proc, "pressure/io", "some avg10=0 total=1000\nfull avg10=0 total=500\n");
    OK(bench_open(&bench, &probe_psi, &m, NS_PER_S, &e));
    bench_read(&bench);
    const mono_ns t0 = clock_mono();
    sleep_ms(40);
    machine_put(m.proc, "pressure/io", "some avg10=0 total=21000\nfull avg10=0 total=10500\n");
    bench_read(&bench);
    const struct captured *some = captured_last(bench.got, M_PSI_IO_SOME, "total");
    CHECK(some);
    const double expected = 100 * 20e-3 / ((double)mono_diff(some->t, t0) / 1e9);
    NEAR(some->value, expected, 2);
    NEAR(captured_value(bench.got, M_PSI_IO_FULL, "total"), expected / 2, 2);
    CHECK(!captured_last(bench.got, M_PSI_CPU_SOME, "total"));
    machine_put(m.proc, "pressure/io", "some avg10=0 total=5\nfull avg10=0 total=5\n");
    bench_forget(&bench);
    bench_read(&bench);
    CHECK_INT(bench.got->n, 0);
    CHECK_INT(captured_losses(bench.got, LOSS_RESET, "psi.io.some"), 1);
    bench_close(&bench);
}

TEST(a_kernel_without_pressure_is_refused_with_a_sentence)
{
    struct err e = {0};
    struct probe_env m = machine("nothing");
    CHECK(bench_open(&bench, &probe_psi, &m, NS_PER_S, &e) == ERR_NOT_FOUND);
    CHECK(strstr(e.msg, "no pressure stall information"));
    bench_close(&bench);
}

static uint64_t written(void *ctx)
{
    return *(uint64_t *)ctx += 1000000;
}

static int64_t late(void *ctx)
{
    (void)ctx;
    return 2500000;
}

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

TEST(the_recorder_shows_its_own_cost)
{
    struct err e;
    uint64_t bytes = 0;
    struct probe_env m = {
        .proc = "/proc", .sys = "/sys", .bytes_written = written, .late_ns = late, .ctx = &bytes};
    OK(bench_open(&bench, &probe_self, &m, NS_PER_S, &e));
    const mono_ns begin = clock_mono();
    const int64_t used = cpu_ns();
    bench_read(&bench);
    while (cpu_ns() < used + 60 * NS_PER_MS) {
    }
    bench_read(&bench);
    const double took = (double)mono_diff(clock_mono(), begin);
    const double had = 100 * (double)(cpu_ns() - used) / took; /* others have the core, too */
    const double cpu = captured_value(bench.got, M_SELF_CPU, "total");
    CHECK(cpu > had / 2 && cpu <= 101);
    CHECK(captured_value(bench.got, M_SELF_RSS, "total") > 100000);
    CHECK(captured_value(bench.got, M_SELF_WRITTEN, "total") > 0);
    NEAR(captured_value(bench.got, M_SELF_LATE, "total"), 0.0025, 1e-6);
    bench_close(&bench);
}

TEST(what_the_recorder_does_not_tell_has_no_series)
{
    struct err e;
    const struct probe_env m = {.proc = "/proc", .sys = "/sys"};
    OK(bench_open(&bench, &probe_self, &m, NS_PER_S, &e));
    bench_read(&bench);
    bench_read(&bench);
    CHECK(!captured_last(bench.got, M_SELF_WRITTEN, "total"));
    CHECK(!captured_last(bench.got, M_SELF_LATE, "total"));
    bench_close(&bench);
}
