/* SPDX-License-Identifier: Apache-2.0 */
/* test_hostinfo.c - what machine this is, and the set of the job's pids. */
#include "capture.h"
#include "sample/hostinfo.h"
#include "sample/probe.h"

TEST(a_machine_is_described)
{
    struct probe_env m = machine("vm2");
    struct hostinfo h;
    hostinfo_read(&h, m.proc, m.sys);
    CHECK_STR(h.cpu_model, "AMD EPYC");
    CHECK_STR(h.boot_id, "11111111-2222-3333-4444-555555555555");
    CHECK_STR(h.dmi_vendor, "Example Cloud");
    CHECK_STR(h.dmi_product, "vm.small");
    CHECK_INT(h.cores, 2);
    CHECK_INT(h.memory_bytes, 24682416LL * 1024);
    CHECK(strncmp(h.kernel, "Linux ", 6) == 0);
    CHECK(h.hostname[0]);
}

TEST(a_large_machine_has_all_its_cores)
{
    struct probe_env m = machine("server96");
    struct hostinfo h;
    hostinfo_read(&h, m.proc, m.sys);
    CHECK_INT(h.cores, 96);
}

TEST(what_a_machine_does_not_show_stays_empty)
{
    struct probe_env m = machine("nothing");
    struct hostinfo h;
    hostinfo_read(&h, m.proc, m.sys);
    CHECK_STR(h.cpu_model, "");
    CHECK_STR(h.dmi_vendor, "");
    CHECK_INT(h.cores, 0);
    CHECK_INT(h.memory_bytes, 0);
}

TEST(a_pid_set_holds_what_was_set_last)
{
    static struct pidset set;
    const int a[] = {30, 10, 20}, b[] = {7};
    pidset_init(&set);
    CHECK(!pidset_has(&set, 10));
    pidset_set(&set, a, 3);
    CHECK(pidset_has(&set, 10) && pidset_has(&set, 20) && pidset_has(&set, 30));
    CHECK(!pidset_has(&set, 15));
    CHECK_INT(set.n, 3);
    pidset_set(&set, b, 1);
    CHECK(!pidset_has(&set, 10) && pidset_has(&set, 7));
    pidset_set(&set, NULL, 0);
    CHECK_INT(set.n, 0);
    pidset_free(&set);
}

TEST(a_pid_set_keeps_no_more_than_it_can_hold)
{
    static struct pidset set;
    static int many[PIDSET_MOST + 100];
    for (int i = 0; i < PIDSET_MOST + 100; i++)
        many[i] = i + 1;
    pidset_init(&set);
    pidset_set(&set, many, PIDSET_MOST + 100);
    CHECK_INT(set.n, PIDSET_MOST);
    CHECK(pidset_has(&set, 1));
    pidset_free(&set);
}
