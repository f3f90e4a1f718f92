/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_procfs.c - the parsers of the kernel's text files. The first byte chooses the parser; the
 * rest is its text. What they answer must keep the promises of procfs.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sample/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void demand(bool ok)
{
    if (!ok)
        abort();
}

/* Ends within its array and holds printable ASCII only. */
static void demand_shown(const char *s, size_t size)
{
    const size_t len = strnlen(s, size);
    demand(len < size);
    for (size_t i = 0; i < len; i++)
        demand(s[i] >= ' ' && s[i] <= '~');
}

static void fuzz_cpu(const char *text, size_t n)
{
    struct lines l = lines_of(text, n);
    struct cpu_line c;
    while (procfs_cpu_next(&l, &c))
        demand(c.core >= CPU_ALL && c.fields >= 4 && c.fields <= 8);
    demand(l.p >= text && l.p <= l.end);
}

static void fuzz_meminfo(const char *text, size_t n)
{
    struct meminfo m;
    if (procfs_meminfo(text, n, &m))
        demand(meminfo_available_kb(&m) <= m.kb[MEM_TOTAL]);
}

static void fuzz_pressure(const char *text, size_t n)
{
    struct pressure p;
    if (procfs_pressure(text, n, &p) && !p.has_full)
        demand(p.full_us == 0);
}

static void fuzz_disk(const char *text, size_t n)
{
    struct lines l = lines_of(text, n);
    struct disk_line d;
    while (procfs_disk_next(&l, &d))
        demand_shown(d.name, sizeof d.name);
}

static void fuzz_nic(const char *text, size_t n)
{
    struct lines l = lines_of(text, n);
    struct nic_line c;
    while (procfs_nic_next(&l, &c)) {
        demand_shown(c.name, sizeof c.name);
        demand(c.name[0] != '\0');
    }
}

static void fuzz_pid_stat(const char *text, size_t n)
{
    struct pid_stat s;
    if (!procfs_pid_stat(text, n, &s))
        return;
    demand_shown(s.comm, sizeof s.comm);
    demand(s.pid >= 0 && s.ppid >= 0);
    (void)pid_stat_ended(&s);
}

static void fuzz_pid_io(const char *text, size_t n)
{
    struct pid_io io;
    (void)procfs_pid_io(text, n, &io);
}

static void fuzz_small(const char *text, size_t n)
{
    uint64_t v;
    char model[16];
    (void)procfs_statm(text, n, &v);
    (void)procfs_last_pid(text, n, &v);
    struct uptime u;
    (void)procfs_uptime(text, n, &u);
    struct thread_sched sched;
    (void)procfs_schedstat(text, n, &sched);
    if (procfs_cpu_model(text, n, model, sizeof model))
        demand_shown(model, sizeof model);
}

static void fuzz_cgroup_path(const char *text, size_t n)
{
    char path[64];
    if (procfs_cgroup_path(text, n, "cpu", path, sizeof path))
        demand(strnlen(path, sizeof path) < sizeof path && path[0]);
    if (procfs_cgroup_path(text, n, "", path, sizeof path))
        demand(strnlen(path, sizeof path) < sizeof path && path[0]);
}

static void fuzz_cgroup_mount(const char *text, size_t n)
{
    struct cgroup_mount m;
    if (procfs_cgroup_mount(text, n, "memory", &m) || procfs_cgroup_mount(text, n, "", &m))
        demand(strnlen(m.point, sizeof m.point) < sizeof m.point);
}

static void fuzz_cgroup_files(const char *text, size_t n)
{
    uint64_t v;
    struct cgroup_quota q;
    (void)procfs_cgroup_number(text, n, &v);
    (void)procfs_key(text, n, "usage_usec", &v);
    if (procfs_cgroup_cpu_max(text, n, &q))
        demand(q.period_us > 0);
}

static void (*const targets[])(const char *text, size_t n) = {
    fuzz_cpu,         fuzz_meminfo,      fuzz_pressure,     fuzz_disk,
    fuzz_nic,         fuzz_pid_stat,     fuzz_pid_io,       fuzz_small,
    fuzz_cgroup_path, fuzz_cgroup_mount, fuzz_cgroup_files,
};

/* Seeds are readable: 'a' is the first parser. */
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n > 0)
        targets[(size_t)(p[0] + COUNT_OF(targets) * 16 - 'a') % COUNT_OF(targets)](
            (const char *)p + 1, n - 1);
    return 0;
}
