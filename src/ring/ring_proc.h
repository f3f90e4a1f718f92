/* SPDX-License-Identifier: Apache-2.0 */
/* ring_proc.h - which process a file belongs to, and whether it still lives. A pid alone does not
 * say: pids are reused, and mean something else in another pid namespace. Runs inside the job too:
 * libc only, nothing allocated. */
#ifndef RING_PROC_H
#define RING_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring_stat {
    char state;           /* 'R', 'S', 'Z', ... */
    uint64_t threads;     /* that have not ended */
    uint64_t start_ticks; /* since boot */
};

/* The text of /proc/PID/stat; false when it is not what the kernel writes. */
bool ring_stat_parse(const char *text, size_t len, struct ring_stat *out);
/* Of `pid`, or of the caller when it is 0. */
bool ring_stat_read(uint32_t pid, struct ring_stat *out);
/* The inode of the caller's pid namespace, 0 when it cannot be had. */
uint64_t ring_pid_ns(void);
/* True while a thread of the process can still write. */
bool ring_process_lives(uint32_t pid, uint64_t start_ticks);

/* Digits of v in `base` (10 or 16), at least `digits` of them; returns the end. No NUL. */
char *ring_put_number(char *at, uint64_t v, unsigned base, int digits);

#endif
