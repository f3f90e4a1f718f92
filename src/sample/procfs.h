/* SPDX-License-Identifier: Apache-2.0 */
/* procfs.h - the kernel's text files, parsed: bytes in, struct out.
 *
 * Pure: no file is opened and nothing is allocated here, so every kernel's format can be a fixture
 * and a fuzz target. The bytes may be anything. Files with a line per thing are read line by line:
 *
 *     struct lines l = lines_of(text, n);
 *     struct cpu_line c;
 *     while (procfs_cpu_next(&l, &c))
 *         ...
 *
 * Lines that are not as documented are skipped and counted in l.bad. A last line without its line
 * end means that the buffer was too small: it is not parsed, and l.cut is set. */
#ifndef SAMPLE_PROCFS_H
#define SAMPLE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lines {
    const char *p, *end;
    unsigned bad;
    bool cut;
};

struct lines lines_of(const char *text, size_t n);
/* The next whole line without its line end; false at the end of the text. */
bool lines_next(struct lines *l, const char **line, const char **line_end);

/* One number of a file of "key value" lines (cpu.stat of a control group, /proc/PID/io). */
bool procfs_key(const char *text, size_t n, const char *key, uint64_t *out);

/* ---- /proc/stat: the cpu lines. Ticks of 1/sysconf(_SC_CLK_TCK) s. ---- */

enum { CPU_ALL = -1 };

struct cpu_line {
    int core;        /* CPU_ALL: the machine's line */
    unsigned fields; /* of those below that the kernel gave: 4 on 2.4, 8 since 2.6.11 */
    uint64_t user, nice, system, idle, iowait, irq, softirq, steal; /* user contains guest time */
};

/* False at the first line that is not a cpu line: what follows is long and not ours. */
bool procfs_cpu_next(struct lines *l, struct cpu_line *out);

/* ---- /proc/uptime, in hundredths of a second ---- */

struct uptime {
    uint64_t up_cs, idle_cs; /* idle: the sum of all cores */
};

bool procfs_uptime(const char *text, size_t n, struct uptime *out);

/* ---- /proc/meminfo, in kB ---- */

enum meminfo_field {
    MEM_TOTAL,
    MEM_FREE,
    MEM_AVAILABLE,
    MEM_BUFFERS,
    MEM_CACHED,
    MEM_SWAP_TOTAL,
    MEM_SWAP_FREE,
    MEM_FIELDS,
};

struct meminfo {
    unsigned has; /* bit per field */
    uint64_t kb[MEM_FIELDS];
};

/* False when there is no MemTotal or no MemFree. */
bool procfs_meminfo(const char *text, size_t n, struct meminfo *out);
/* MemAvailable, or on kernels before 3.14 the sum that it replaced. Never above the total. */
uint64_t meminfo_available_kb(const struct meminfo *m);

/* ---- /proc/pressure/X: total stall time in microseconds ---- */

struct pressure {
    uint64_t some_us, full_us;
    bool has_full; /* cpu has none before 5.13 */
};

bool procfs_pressure(const char *text, size_t n, struct pressure *out);

/* ---- /proc/diskstats ---- */

enum { DISK_NAME_LEN = 32 };

struct disk_line {
    char name[DISK_NAME_LEN];
    uint64_t reads, writes;                 /* completed */
    uint64_t read_sectors, written_sectors; /* of 512 bytes, whatever the disk's own are */
    uint64_t busy_ms;                       /* wraps at 2^32 */
};

bool procfs_disk_next(struct lines *l, struct disk_line *out);

/* ---- /proc/net/dev ---- */

enum { NIC_NAME_LEN = 32 };

struct nic_line {
    char name[NIC_NAME_LEN];
    uint64_t rx_bytes, rx_packets, tx_bytes, tx_packets;
};

bool procfs_nic_next(struct lines *l, struct nic_line *out);

/* ---- /proc/PID/... ---- */

enum { COMM_LEN = 64 };

struct pid_stat {
    int pid, ppid, pgid, session;
    char comm[COMM_LEN]; /* printable ASCII */
    char state;
    uint64_t own_ticks;      /* user + system of all its threads, also of ended ones */
    uint64_t children_ticks; /* of the children it has waited for, and theirs */
    uint64_t threads;
    uint64_t start_ticks; /* since boot; with the pid it names a process for good */
    uint64_t rss_pages;
};

bool procfs_pid_stat(const char *text, size_t n, struct pid_stat *out);
/* A process that has ended and not been waited for. A first thread that ended while others run
 * also has state Z, but those others count. */
bool pid_stat_ended(const struct pid_stat *s);

struct pid_io {
    uint64_t read_bytes, write_bytes; /* what reached storage; with that of children waited for */
};

bool procfs_pid_io(const char *text, size_t n, struct pid_io *out);

/* /proc/PID/task/TID/schedstat: how long the thread ran, and was runnable and waited for a core. */
struct thread_sched {
    uint64_t ran_ns, waited_ns;
};

bool procfs_schedstat(const char *text, size_t n, struct thread_sched *out);

/* Resident pages of /proc/PID/statm. */
bool procfs_statm(const char *text, size_t n, uint64_t *resident_pages);
/* The process id given out last, from /proc/loadavg. */
bool procfs_last_pid(const char *text, size_t n, uint64_t *pid);
/* "model name" of /proc/cpuinfo, or what other architectures have in its place. */
bool procfs_cpu_model(const char *text, size_t n, char *out, size_t size);

/* ---- control groups ---- */

enum { CGROUP_PATH_LEN = 1024 };

/* The path in /proc/PID/cgroup of a version 1 controller ("cpu"), or with "" of version 2. */
bool procfs_cgroup_path(const char *text, size_t n, const char *controller, char *out, size_t size);

struct cgroup_mount {
    char root[CGROUP_PATH_LEN];  /* the part of the hierarchy that is mounted */
    char point[CGROUP_PATH_LEN]; /* where */
};

/* The first mount in /proc/PID/mountinfo of that controller's hierarchy, "" as above. */
bool procfs_cgroup_mount(const char *text, size_t n, const char *controller,
                         struct cgroup_mount *out);

#define CGROUP_NO_LIMIT UINT64_MAX

/* A file of one number; "max" (v2), -1 and the largest page count (v1) are CGROUP_NO_LIMIT. */
bool procfs_cgroup_number(const char *text, size_t n, uint64_t *out);

struct cgroup_quota {
    uint64_t quota_us; /* CGROUP_NO_LIMIT: none */
    uint64_t period_us;
};

/* cpu.max of version 2: "max 100000" or "150000 100000". */
bool procfs_cgroup_cpu_max(const char *text, size_t n, struct cgroup_quota *out);
#endif
