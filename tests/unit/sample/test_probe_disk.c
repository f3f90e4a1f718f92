/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_disk.c - which disks count, and counters that wrap or start again. */
#include "capture.h"

static struct bench bench;
static struct probe_env env;

static void put(const char *text)
{
    machine_put(env.proc, "diskstats", text);
}

static void begin(const char *text)
{
    struct err e;
    put(text);
    OK(bench_open(&bench, &probe_disk, &env, NS_PER_S, &e));
    bench_read(&bench);
}

/* Returns the seconds between the two readings. */
static double then(const char *text)
{
    const mono_ns t0 = clock_mono();
    bench_forget(&bench);
    sleep_ms(50);
    put(text);
    bench_read(&bench);
    return (double)mono_diff(bench.got->n ? bench.got->v[0].t : clock_mono(), t0) / 1e9;
}

static double now(enum metric_id m, const char *entity)
{
    return captured_value(bench.got, m, entity);
}

TEST(a_disk_gives_operations_bytes_and_busy_time)
{
    env = machine_made();
    machine_put(env.sys, "block/sda/device/model", "x");
    begin("8 0 sda 10 0 80 0 20 0 160 0 0 1000 0\n");
    const double dt = then("8 0 sda 20 0 2080 0 25 0 4160 0 0 1020 0\n");
    NEAR(now(M_DISK_READ_OPS, "sda"), 10 / dt, 20);
    NEAR(now(M_DISK_WRITE_OPS, "sda"), 5 / dt, 10);
    NEAR(now(M_DISK_READ, "sda"), 2000 * 512 / dt, 2000 * 512 / dt / 10);
    NEAR(now(M_DISK_WRITE, "sda"), 4000 * 512 / dt, 4000 * 512 / dt / 10);
    NEAR(now(M_DISK_BUSY, "sda"), 100 * 0.020 / dt, 5);
    NEAR(now(M_DISK_READ, "total"), now(M_DISK_READ, "sda"), 1);
    bench_close(&bench);
}

TEST(the_total_counts_physical_disks_only_and_no_disk_twice)
{
    env = machine_made();
    machine_put(env.sys, "block/sda/device/model", "x");
    machine_put(env.sys, "block/sdb/device/model", "x");
    machine_put(env.sys, "block/md0/size", "1");
    machine_put(env.sys, "block/loop0/size", "1");
    begin("8 0 sda 1 0 0 0 1 0 0 0 0 0 0\n8 1 sda1 1 0 0 0 1 0 0 0 0 0 0\n"
          "8 16 sdb 1 0 0 0 1 0 0 0 0 0 0\n9 0 md0 1 0 0 0 1 0 0 0 0 0 0\n"
          "7 0 loop0 1 0 0 0 1 0 0 0 0 0 0\n");
    const double dt = then("8 0 sda 1 0 100 0 1 0 0 0 0 20 0\n8 1 sda1 1 0 100 0 1 0 0 0 0 20 0\n"
                           "8 16 sdb 1 0 100 0 1 0 0 0 0 0 0\n9 0 md0 1 0 200 0 1 0 0 0 0 0 0\n"
                           "7 0 loop0 1 0 100 0 1 0 0 0 0 0 0\n");
    NEAR(now(M_DISK_READ, "total"), 200 * 512 / dt, 200 * 512 / dt / 10);
    NEAR(now(M_DISK_READ, "md0"), 200 * 512 / dt, 200 * 512 / dt / 10);
    NEAR(now(M_DISK_BUSY, "total"), now(M_DISK_BUSY, "sda") / 2, 0.2);
    CHECK(!captured_last(bench.got, M_DISK_READ, "sda1"));
    CHECK(!captured_last(bench.got, M_DISK_READ, "loop0"));
    bench_close(&bench);
}

TEST(without_a_physical_disk_all_whole_ones_are_the_total)
{
    env = machine_made();
    machine_put(env.sys, "block/vda/size", "1");
    machine_put(env.sys, "block/zram0/size", "1");
    begin("254 0 vda 1 0 0 0 1 0 0 0 0 0 0\n253 0 zram0 1 0 0 0 1 0 0 0 0 0 0\n");
    then("254 0 vda 5 0 0 0 1 0 0 0 0 0 0\n253 0 zram0 9 0 0 0 1 0 0 0 0 0 0\n");
    NEAR(now(M_DISK_READ_OPS, "total"), now(M_DISK_READ_OPS, "vda"), 0);
    CHECK(now(M_DISK_READ_OPS, "vda") > 0);
    bench_close(&bench);
}

TEST(busy_time_that_wraps_at_32_bits_goes_on)
{
    env = machine_made();
    machine_put(env.sys, "block/sda/device/model", "x");
    begin("8 0 sda 10 0 80 0 20 0 160 0 0 4294967290 0\n");
    const double dt = then("8 0 sda 11 0 80 0 20 0 160 0 0 14 0\n");
    NEAR(now(M_DISK_BUSY, "sda"), 100 * 0.020 / dt, 5);
    CHECK_INT(bench.got->n_losses, 0);
    bench_close(&bench);
}

TEST(a_disk_made_anew_under_its_name_gives_no_spike)
{
    env = machine_made();
    machine_put(env.sys, "block/sda/device/model", "x");
    begin("8 0 sda 1000 0 3000000000 0 2000 0 160 0 0 3000000000 0\n");
    then("8 0 sda 1 0 8 0 0 0 0 0 0 1 0\n");
    CHECK(!captured_last(bench.got, M_DISK_READ, "sda"));
    CHECK(!captured_last(bench.got, M_DISK_BUSY, "sda"));
    NEAR(now(M_DISK_READ, "total"), 0, 0);
    CHECK_INT(captured_losses(bench.got, LOSS_RESET, "sda"), 1);
    then("8 0 sda 2 0 16 0 0 0 0 0 0 2 0\n");
    CHECK(now(M_DISK_READ, "sda") > 0);
    bench_close(&bench);
}

TEST(disks_appear_and_vanish_without_a_spike)
{
    env = machine_made();
    machine_put(env.sys, "block/sda/device/model", "x");
    machine_put(env.sys, "block/sdb/device/model", "x");
    begin("8 0 sda 10 0 0 0 1 0 0 0 0 0 0\n");
    then("8 16 sdb 9000000 0 0 0 1 0 0 0 0 0 0\n8 0 sda 11 0 0 0 1 0 0 0 0 0 0\n");
    CHECK(now(M_DISK_READ_OPS, "total") < 100);
    CHECK(!captured_last(bench.got, M_DISK_READ_OPS, "sdb"));
    then("8 16 sdb 9000001 0 0 0 1 0 0 0 0 0 0\n");
    CHECK(!captured_last(bench.got, M_DISK_READ_OPS, "sda"));
    CHECK(now(M_DISK_READ_OPS, "sdb") > 0);
    CHECK_INT(bench.got->n_losses, 0);
    bench_close(&bench);
}

TEST(a_disk_that_never_moved_has_no_series)
{
    env = machine_made();
    machine_put(env.sys, "block/nbd0/size", "0");
    begin("43 0 nbd0 0 0 0 0 0 0 0 0 0 0 0\n");
    then("43 0 nbd0 0 0 0 0 0 0 0 0 0 0 0\n");
    CHECK(!captured_last(bench.got, M_DISK_READ, "nbd0"));
    NEAR(now(M_DISK_READ, "total"), 0, 0);
    const double dt = then("43 0 nbd0 4 0 8 0 0 0 0 0 0 0 0\n");
    NEAR(now(M_DISK_READ_OPS, "nbd0"), 4 / dt, 8);
    bench_close(&bench);
}

TEST(a_machine_without_disks_says_so_once)
{
    struct err e;
    struct probe_env m = machine("container");
    OK(bench_open(&bench, &probe_disk, &m, NS_PER_S, &e));
    bench_read(&bench);
    bench_read(&bench);
    CHECK_INT(bench.got->rows, 0);
    CHECK_INT(captured_losses(bench.got, LOSS_ABSENT, "disk"), 1);
    bench_close(&bench);
}

TEST(a_name_with_a_slash_is_found_in_sysfs)
{
    env = machine_made();
    machine_put(env.sys, "block/cciss!c0d0/device/model", "x");
    begin("104 0 cciss/c0d0 1 0 0 0 1 0 0 0 0 0 0\n");
    then("104 0 cciss/c0d0 3 0 0 0 1 0 0 0 0 0 0\n");
    CHECK(now(M_DISK_READ_OPS, "cciss/c0d0") > 0);
    bench_close(&bench);
}

TEST(a_server_with_many_disks_is_read_whole)
{
    struct err e;
    struct probe_env m = machine("server96");
    OK(bench_open(&bench, &probe_disk, &m, NS_PER_S, &e));
    bench_read(&bench);
    sleep_ms(2);
    bench_read(&bench);
    CHECK_INT(captured_count(bench.got, M_DISK_READ, NULL), 8 + 2 + 1);
    CHECK_INT(bench.got->n_losses, 0);
    bench_close(&bench);
}

TEST(short_lines_of_an_old_kernel_are_said_once)
{
    struct err e;
    struct probe_env m = machine("old");
    OK(bench_open(&bench, &probe_disk, &m, NS_PER_S, &e));
    bench_read(&bench);
    sleep_ms(2);
    bench_read(&bench);
    CHECK(captured_last(bench.got, M_DISK_READ, "sda"));
    CHECK_INT(captured_losses(bench.got, LOSS_MALFORMED, "disk"), 1);
    bench_close(&bench);
}
