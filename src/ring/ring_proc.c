/* SPDX-License-Identifier: Apache-2.0 */
/* ring_proc.c - see ring_proc.h. */
#include "ring/ring_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The fields of /proc/PID/stat are numbered from 1; those after the name start with 3. */
enum { FIELD_STATE = 3, FIELD_THREADS = 20, FIELD_START = 22 };

char *ring_put_number(char *at, uint64_t v, unsigned base, int digits)
{
    char tmp[24];
    int n = 0;
    do {
        tmp[n++] = "0123456789abcdef"[v % base];
        v /= base;
    } while (v || n < digits);
    while (n)
        *at++ = tmp[--n];
    return at;
}

/* The number at *at, which is moved past it and the blank that follows; minus signs are skipped,
 * for the fields that have one are not used here. */
static uint64_t ring_proc_take_number(const char **at, const char *end)
{
    uint64_t v = 0;
    for (; *at < end && **at != ' '; ++*at)
        if (**at >= '0' && **at <= '9')
            v = v * 10 + (uint64_t)(**at - '0');
    *at += *at < end;
    return v;
}

bool ring_stat_parse(const char *text, size_t len, struct ring_stat *out)
{
    const char *end = text + len;
    const char *at = memrchr(text, ')', len); /* the name may contain anything, also brackets */
    if (!at || end - at < 4)
        return false;
    struct ring_stat s = {.state = at[2]};
    at += 4;
    for (int field = FIELD_STATE + 1; field <= FIELD_START; field++) {
        if (at >= end)
            return false;
        const uint64_t v = ring_proc_take_number(&at, end);
        if (field == FIELD_THREADS)
            s.threads = v;
        else if (field == FIELD_START)
            s.start_ticks = v;
    }
    *out = s;
    return true;
}

bool ring_stat_read(uint32_t pid, struct ring_stat *out)
{
    char path[48] = "/proc/self/stat", text[1024], *at = path + 6;
    if (pid) {
        at = ring_put_number(at, pid, 10, 1);
        memcpy(at, "/stat", sizeof "/stat");
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, text, sizeof text);
    close(fd);
    return n > 0 && ring_stat_parse(text, (size_t)n, out);
}

uint64_t ring_pid_ns(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

bool ring_process_lives(uint32_t pid, uint64_t start_ticks)
{
    struct ring_stat s;
    if (pid == 0 || pid > INT32_MAX || (kill((pid_t)pid, 0) != 0 && errno == ESRCH))
        return false;
    if (!ring_stat_read(pid, &s))
        return kill((pid_t)pid, 0) == 0 || errno != ESRCH; /* hidden from us, or just ended */
    if (start_ticks && s.start_ticks != start_ticks)
        return false;
    /* A zombie with more threads than its leader is a process whose first thread has ended. */
    return (s.state != 'Z' && s.state != 'X') || s.threads > 1;
}
