/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_net.c - which interfaces count, and counters that wrap or start again. */
#include "capture.h"

#define HEAD                                                                                       \
    "Inter-|   Receive                  |  Transmit\n"                                             \
    " face |bytes packets errs          |bytes packets\n"
/* name, then bytes and packets received and sent */
#define NIC(name, rx, rxp, tx, txp)                                                                \
    name ": " #rx " " #rxp " 0 0 0 0 0 0 " #tx " " #txp " 0 0 0 0 0 0\n"

static struct bench bench;
static struct probe_env env;

static void begin(const char *text)
{
    struct err e;
    machine_put(env.proc, "net/dev", text);
    OK(bench_open(&bench, &probe_net, &env, NS_PER_S, &e));
    bench_read(&bench);
}

static double then(const char *text)
{
    const mono_ns t0 = clock_mono();
    bench_forget(&bench);
    sleep_ms(50);
    machine_put(env.proc, "net/dev", text);
    bench_read(&bench);
    return (double)mono_diff(bench.got->n ? bench.got->v[0].t : clock_mono(), t0) / 1e9;
}

static double now(enum metric_id m, const char *entity)
{
    return captured_value(bench.got, m, entity);
}

TEST(loopback_is_apart_and_virtual_interfaces_do_not_count_twice)
{
    env = machine_made();
    machine_put(env.sys, "class/net/eth0/device/vendor", "x");
    begin(HEAD NIC("lo", 1, 1, 1, 1) NIC("eth0", 1, 1, 1, 1) NIC("br0", 1, 1, 1, 1));
    const double dt = then(HEAD NIC("lo", 9001, 2, 9001, 2) NIC("eth0", 100001, 2, 50001, 2)
                               NIC("br0", 100001, 2, 50001, 2));
    NEAR(now(M_NET_RX, "total"), 100000 / dt, 10000 / dt);
    NEAR(now(M_NET_TX, "total"), 50000 / dt, 5000 / dt);
    NEAR(now(M_NET_RX, "br0"), 100000 / dt, 10000 / dt);
    NEAR(now(M_NET_RX, "lo"), 9000 / dt, 900 / dt);
    bench_close(&bench);
}

TEST(in_a_container_the_virtual_interface_is_the_total)
{
    env = machine_made();
    begin(HEAD NIC("lo", 1, 1, 1, 1) NIC("eth0", 1, 1, 1, 1));
    then(HEAD NIC("lo", 9001, 2, 9001, 2) NIC("eth0", 5001, 2, 1, 1));
    CHECK(now(M_NET_RX, "total") > 0);
    NEAR(now(M_NET_RX, "total"), now(M_NET_RX, "eth0"), 0);
    bench_close(&bench);
}

TEST(an_interface_has_no_series_until_it_moves_a_byte)
{
    env = machine_made();
    begin(HEAD NIC("eth0", 0, 0, 0, 0));
    then(HEAD NIC("eth0", 0, 0, 0, 0));
    CHECK(!captured_last(bench.got, M_NET_RX, "eth0"));
    NEAR(now(M_NET_RX, "total"), 0, 0);
    const double dt = then(HEAD NIC("eth0", 1000, 1, 0, 0));
    NEAR(now(M_NET_RX, "eth0"), 1000 / dt, 100 / dt);
    NEAR(now(M_NET_TX, "eth0"), 0, 0);
    bench_close(&bench);
}

TEST(a_32_bit_counter_that_wraps_goes_on)
{
    env = machine_made();
    begin(HEAD NIC("eth0", 4294967000, 5, 10, 1));
    const double dt = then(HEAD NIC("eth0", 704, 6, 10, 1));
    NEAR(now(M_NET_RX, "eth0"), 1000 / dt, 100 / dt);
    CHECK_INT(bench.got->n_losses, 0);
    bench_close(&bench);
}

TEST(an_interface_that_was_reset_gives_no_spike)
{
    env = machine_made();
    begin(HEAD NIC("eth0", 3000000000, 5000000, 10, 1));
    then(HEAD NIC("eth0", 100, 1, 10, 1));
    CHECK(!captured_last(bench.got, M_NET_RX, "eth0"));
    NEAR(now(M_NET_RX, "total"), 0, 0);
    CHECK_INT(captured_losses(bench.got, LOSS_RESET, "eth0"), 1);
    then(HEAD NIC("eth0", 200, 2, 10, 1));
    CHECK(now(M_NET_RX, "eth0") > 0);
    bench_close(&bench);
}

TEST(a_64_bit_counter_that_goes_back_is_a_reset)
{
    env = machine_made();
    begin(HEAD NIC("eth0", 9000000000, 5, 10, 1));
    then(HEAD NIC("eth0", 100, 6, 10, 1));
    CHECK(!captured_last(bench.got, M_NET_RX, "eth0"));
    CHECK_INT(captured_losses(bench.got, LOSS_RESET, "eth0"), 1);
    bench_close(&bench);
}

TEST(interfaces_come_and_go)
{
    env = machine_made();
    begin(HEAD NIC("eth0", 10, 1, 10, 1));
    then(HEAD NIC("veth1", 777777777, 9, 10, 1) NIC("eth0", 20, 2, 10, 1));
    CHECK(!captured_last(bench.got, M_NET_RX, "veth1"));
    CHECK(now(M_NET_RX, "total") < 1000);
    then(HEAD NIC("veth1", 777777778, 9, 10, 1));
    CHECK(!captured_last(bench.got, M_NET_RX, "eth0"));
    CHECK(now(M_NET_RX, "veth1") > 0);
    then(HEAD);
    CHECK_INT(bench.got->n, 0);
    bench_close(&bench);
}

TEST(a_machine_with_loopback_only_says_so_once)
{
    env = machine_made();
    begin(HEAD NIC("lo", 10, 1, 10, 1));
    sleep_ms(2);
    bench_read(&bench);
    CHECK(captured_last(bench.got, M_NET_RX, "lo"));
    CHECK(!captured_last(bench.got, M_NET_RX, "total"));
    CHECK_INT(captured_losses(bench.got, LOSS_ABSENT, "net"), 1);
    bench_close(&bench);
}

TEST(more_interfaces_than_fit_in_a_page_are_all_read)
{
    struct err e;
    struct probe_env m = machine("server96");
    OK(bench_open(&bench, &probe_net, &m, NS_PER_S, &e));
    bench_read(&bench);
    sleep_ms(2);
    bench_read(&bench);
    CHECK_INT(captured_count(bench.got, M_NET_RX, NULL), 65 + 1); /* enp1s0d1 never moved */
    CHECK(!captured_last(bench.got, M_NET_RX, "enp1s0d1"));
    CHECK_INT(bench.got->n_losses, 0);
    bench_close(&bench);
}
