/* SPDX-License-Identifier: Apache-2.0 */
/* test_procfs.c - the parsers of the kernel's text files. */
#include "capture.h"
#include "sample/procfs.h"
#include "sample/textscan.h"

static struct lines lines_text(const char *s)
{
    return lines_of(s, strlen(s));
}

TEST(the_largest_64_bit_number_reads_and_one_more_does_not)
{
    const char *ok = " 18446744073709551615 x", *big = "18446744073709551616", *p = ok;
    uint64_t v = 0;
    CHECK(scan_u64(&p, ok + strlen(ok), &v));
    CHECK(v == UINT64_MAX);
    p = big;
    CHECK(!scan_u64(&p, big + strlen(big), &v));
    p = "000000000000000000000000042";
    CHECK(scan_u64(&p, p + 27, &v));
    CHECK_INT(v, 42);
}

TEST(a_two_core_machine_has_a_total_and_two_cores)
{
    size_t n;
    char *text = fixture("vm2/proc/stat", &n);
    struct lines l = lines_of(text, n);
    struct cpu_line c;
    CHECK(procfs_cpu_next(&l, &c));
    CHECK_INT(c.core, CPU_ALL);
    CHECK_INT(c.fields, 8);
    CHECK(procfs_cpu_next(&l, &c));
    CHECK_INT(c.core, 0);
    CHECK(c.user > 0);
    CHECK(procfs_cpu_next(&l, &c));
    CHECK_INT(c.core, 1);
    CHECK(!procfs_cpu_next(&l, &c));
    CHECK(!l.cut);
    CHECK_INT(l.bad, 0);
    free(text);
}

TEST(the_cpu_fields_are_in_the_kernels_order)
{
    struct lines l = lines_text("cpu7 1 2 3 4 5 6 7 8 9 10\nintr 5\n");
    struct cpu_line c;
    CHECK(procfs_cpu_next(&l, &c));
    CHECK_INT(c.core, 7);
    CHECK(c.user == 1 && c.nice == 2 && c.system == 3 && c.idle == 4 && c.iowait == 5);
    CHECK(c.irq == 6 && c.softirq == 7 && c.steal == 8);
}

TEST(cpu_lines_that_do_not_fit_are_reported_as_cut)
{
    size_t n;
    char *text = fixture("server96/proc/stat", &n);
    struct cpu_line c;
    struct lines l = lines_of(text, 1000);
    while (procfs_cpu_next(&l, &c)) {
    }
    CHECK(l.cut);
    l = lines_of(text, n);
    int cores = 0;
    while (procfs_cpu_next(&l, &c))
        cores += c.core != CPU_ALL;
    CHECK(!l.cut);
    CHECK_INT(cores, 96);
    /* Cut exactly behind a line: more cores may follow. */
    const char text2[] = "cpu  1 2 3 4\ncpu0 1 2 3 4\n";
    l = lines_of(text2, strlen(text2));
    while (procfs_cpu_next(&l, &c)) {
    }
    CHECK(l.cut);
    free(text);
}

TEST(a_kernel_with_four_cpu_fields_is_read)
{
    struct lines l = lines_text("cpu  100 20 30 4000\nintr\n");
    struct cpu_line c;
    CHECK(procfs_cpu_next(&l, &c));
    CHECK_INT(c.fields, 4);
    CHECK_INT(c.iowait, 0);
    CHECK_INT(c.steal, 0);
}

TEST(broken_cpu_lines_are_skipped_and_counted)
{
    struct lines l = lines_text("cpu0 x\ncpu99999999999 1 2 3 4\ncpu1 1 2 3\ncpu2 1 2 3 4\nx\n");
    struct cpu_line c;
    CHECK(procfs_cpu_next(&l, &c));
    CHECK_INT(c.core, 2);
    CHECK_INT(l.bad, 3);
}

static struct meminfo meminfo_of(const char *name)
{
    size_t n;
    char *text = fixture(name, &n);
    struct meminfo m;
    CHECK(procfs_meminfo(text, n, &m));
    free(text);
    return m;
}

TEST(meminfo_of_a_new_kernel_has_available_memory)
{
    struct meminfo m = meminfo_of("server96/proc/meminfo");
    CHECK_INT(m.kb[MEM_TOTAL], 1056465232);
    CHECK_INT(meminfo_available_kb(&m), 800000000);
    CHECK_INT(m.kb[MEM_CACHED], 480000000); /* not SwapCached */
    CHECK_INT(m.kb[MEM_SWAP_TOTAL], 8388604);
    CHECK_INT(m.kb[MEM_SWAP_FREE], 8000000);
}

TEST(meminfo_of_an_old_kernel_adds_up_what_is_available)
{
    struct meminfo m = meminfo_of("old/proc/meminfo");
    CHECK(!(m.has & 1U << MEM_AVAILABLE));
    CHECK_INT(meminfo_available_kb(&m), 400000);
}

TEST(meminfo_without_a_total_is_refused)
{
    const char text[] = "MemFree: 5 kB\nCached: 6 kB\n";
    struct meminfo m;
    CHECK(!procfs_meminfo(text, strlen(text), &m));
    CHECK(!procfs_meminfo("", 0, &m));
}

TEST(pressure_gives_its_totals)
{
    const char both[] = "some avg10=0.91 avg60=4.66 avg300=4.02 total=33776033\n"
                        "full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";
    struct pressure p;
    CHECK(procfs_pressure(both, strlen(both), &p));
    CHECK_INT(p.some_us, 33776033);
    CHECK(p.has_full);
    CHECK_INT(p.full_us, 12);
    const char some[] = "some avg10=0.91 total=7\n", bad[] = "some avg10=0.91 total=\n";
    CHECK(procfs_pressure(some, strlen(some), &p));
    CHECK(!p.has_full);
    CHECK(!procfs_pressure(bad, strlen(bad), &p));
}

TEST(diskstats_lines_give_operations_sectors_and_busy_time)
{
    struct lines l = lines_text("   8       0 sda 10 1 80 5 20 2 160 6 0 11 12\n"
                                "   8       1 sda1 10 80 20 160\n"
                                " 259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n");
    struct disk_line d;
    CHECK(procfs_disk_next(&l, &d));
    CHECK_STR(d.name, "sda");
    CHECK(d.reads == 10 && d.read_sectors == 80 && d.writes == 20 && d.written_sectors == 160);
    CHECK_INT(d.busy_ms, 11);
    CHECK(procfs_disk_next(&l, &d));
    CHECK_STR(d.name, "nvme0n1");
    CHECK(d.reads == 1 && d.read_sectors == 3 && d.writes == 5 && d.written_sectors == 7);
    CHECK_INT(d.busy_ms, 10);
    CHECK(!procfs_disk_next(&l, &d));
    CHECK_INT(l.bad, 1);
}

TEST(net_dev_lines_read_with_and_without_a_blank_behind_the_colon)
{
    struct lines l = lines_text("Inter-|   Receive  |  Transmit\n face |bytes\n"
                                "    lo: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n"
                                "  eth0:1234567890 9 0 0 0 0 0 0 99 5 0 0 0 0 0 0\n"
                                "eth0:1: 7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0\n");
    struct nic_line c;
    CHECK(procfs_nic_next(&l, &c));
    CHECK_STR(c.name, "lo");
    CHECK(c.rx_bytes == 1 && c.rx_packets == 2 && c.tx_bytes == 3 && c.tx_packets == 4);
    CHECK(procfs_nic_next(&l, &c));
    CHECK_STR(c.name, "eth0");
    CHECK_INT(c.rx_bytes, 1234567890);
    CHECK_INT(c.tx_bytes, 99);
    CHECK(procfs_nic_next(&l, &c));
    CHECK_STR(c.name, "eth0:1");
    CHECK(!procfs_nic_next(&l, &c));
    CHECK_INT(l.bad, 0);
}

TEST(a_process_name_may_hold_blanks_and_brackets)
{
    const char text[] = "4711 (a) (b c\n) S 12 13 14 0 -1 4194304 1 2 3 4 50 60 70 80 20 0 3 0 "
                        "168441 3133440 413 18446744073709551615 1 1\n";
    struct pid_stat s;
    CHECK(procfs_pid_stat(text, strlen(text), &s));
    CHECK_INT(s.pid, 4711);
    CHECK_STR(s.comm, "a) (b c?");
    CHECK(s.state == 'S' && s.ppid == 12 && s.pgid == 13 && s.session == 14);
    CHECK_INT(s.own_ticks, 110);
    CHECK_INT(s.children_ticks, 150);
    CHECK_INT(s.threads, 3);
    CHECK_INT(s.start_ticks, 168441);
    CHECK_INT(s.rss_pages, 413);
    CHECK(!pid_stat_ended(&s));
}

TEST(a_first_thread_that_ended_does_not_end_its_process)
{
    struct pid_stat s = {.state = 'Z', .threads = 2};
    CHECK(!pid_stat_ended(&s));
    s.threads = 1;
    CHECK(pid_stat_ended(&s));
}

TEST(a_stat_cut_anywhere_is_refused)
{
    const char text[] = "1 (x) S 12 13 14 0 -1 4 1 2 3 4 50 60 70 80 20 0 3 0 168441 3133440 ";
    struct pid_stat s;
    for (size_t n = 0; n <= strlen(text); n++)
        CHECK(!procfs_pid_stat(text, n, &s));
}

TEST(process_io_is_what_reached_storage)
{
    const char text[] = "rchar: 6976\nwchar: 1\nsyscr: 10\nsyscw: 0\nread_bytes: 11\n"
                        "write_bytes: 12\ncancelled_write_bytes: 13\n";
    struct pid_io io;
    CHECK(procfs_pid_io(text, strlen(text), &io));
    CHECK(io.read_bytes == 11 && io.write_bytes == 12);
}

TEST(a_thread_s_time_on_and_waiting_for_a_core_are_read)
{
    struct thread_sched x = {7, 7};
    CHECK(procfs_schedstat("1234567 89 10\n", 14, &x) && x.ran_ns == 1234567 && x.waited_ns == 89);
    CHECK(procfs_schedstat("0 0 0\n", 6, &x) && x.ran_ns == 0 && x.waited_ns == 0);
    CHECK(!procfs_schedstat("1234567\n", 8, &x) && !procfs_schedstat("", 0, &x));
    CHECK(!procfs_schedstat("99999999999999999999999 1 1\n", 28, &x) && x.ran_ns == 0);
}

TEST(small_files_give_their_one_number)
{
    uint64_t v;
    CHECK(procfs_statm("1500 413 300 5 0 100 0\n", 23, &v) && v == 413);
    CHECK(procfs_last_pid("0.65 0.58 0.30 1/89 19544\n", 26, &v) && v == 19544);
    CHECK(!procfs_last_pid("0.65 0.58\n", 10, &v));
    struct uptime u;
    CHECK(procfs_uptime("44532.17 86312.04\n", 18, &u));
    CHECK_INT(u.up_cs, 4453217);
    CHECK_INT(u.idle_cs, 8631204);
    CHECK(!procfs_uptime("44532.17\n", 9, &u));
    CHECK(!procfs_uptime("44532 86312\n", 12, &u));
    CHECK(!procfs_uptime("44532.17 86312.0", 16, &u));
    char model[32];
    const char text[] = "processor\t: 0\nmodel\t\t: 1\nmodel name\t: AMD EPYC 7R13\n";
    CHECK(procfs_cpu_model(text, strlen(text), model, sizeof model));
    CHECK_STR(model, "AMD EPYC 7R13");
}

TEST(the_control_group_of_each_hierarchy_is_found)
{
    const char text[] = "12:memory:/docker/abc\n11:cpu,cpuacct:/a:b\n1:name=systemd:/x\n0::/y\n";
    char path[64];
    CHECK(procfs_cgroup_path(text, strlen(text), "memory", path, sizeof path));
    CHECK_STR(path, "/docker/abc");
    CHECK(procfs_cgroup_path(text, strlen(text), "cpu", path, sizeof path));
    CHECK_STR(path, "/a:b");
    CHECK(procfs_cgroup_path(text, strlen(text), "", path, sizeof path));
    CHECK_STR(path, "/y");
    CHECK(!procfs_cgroup_path(text, strlen(text), "cpuse", path, sizeof path));
    CHECK(!procfs_cgroup_path(text, strlen(text), "memory", path, 5));
}

TEST(the_mount_of_each_hierarchy_is_found_and_unescaped)
{
    const char text[] = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,cpu\n"
                        "32 31 0:29 /a\\040b /m\\134x rw,relatime shared:1 - cgroup none rw,cpu\n"
                        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    struct cgroup_mount m;
    CHECK(procfs_cgroup_mount(text, strlen(text), "cpu", &m));
    CHECK_STR(m.root, "/a b");
    CHECK_STR(m.point, "/m\\x");
    CHECK(procfs_cgroup_mount(text, strlen(text), "", &m));
    CHECK_STR(m.point, "/sys/fs/cgroup/unified");
    CHECK(!procfs_cgroup_mount(text, strlen(text), "memory", &m));
}

TEST(every_way_to_write_no_limit_is_understood)
{
    uint64_t v;
    CHECK(procfs_cgroup_number("max\n", 4, &v) && v == CGROUP_NO_LIMIT);
    CHECK(procfs_cgroup_number("-1\n", 3, &v) && v == CGROUP_NO_LIMIT);
    CHECK(procfs_cgroup_number("9223372036854771712\n", 20, &v) && v == CGROUP_NO_LIMIT);
    CHECK(procfs_cgroup_number("4096", 4, &v) && v == 4096);
    CHECK(!procfs_cgroup_number("\n", 1, &v));
    struct cgroup_quota q;
    CHECK(procfs_cgroup_cpu_max("max 100000\n", 11, &q) && q.quota_us == CGROUP_NO_LIMIT);
    CHECK(procfs_cgroup_cpu_max("150000 100000\n", 14, &q) && q.quota_us == 150000);
    CHECK(!procfs_cgroup_cpu_max("150000 0\n", 9, &q));
}

TEST(a_key_is_matched_whole)
{
    const char text[] = "usage_usec_x 1\nusage_usec 2\nuser_usec 3\n";
    uint64_t v;
    CHECK(procfs_key(text, strlen(text), "usage_usec", &v) && v == 2);
    CHECK(!procfs_key(text, strlen(text), "usage", &v));
}
