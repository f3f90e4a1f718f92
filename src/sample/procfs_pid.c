/* SPDX-License-Identifier: Apache-2.0 */
/* procfs_pid.c - the files of one process, and small ones beside them; see procfs.h. */
#include <string.h>

#include "sample/procfs.h"
#include "sample/textscan.h"

/* The fields behind the name, which is the only place where blanks and brackets can be. */
static bool parse_behind_comm(const char *p, const char *end, struct pid_stat *out)
{
    const char *state;
    size_t len;
    uint64_t user, system, children_user, children_system;
    if (!scan_word(&p, end, &state, &len) || !scan_int(&p, end, &out->ppid) ||
        !scan_int(&p, end, &out->pgid) || !scan_int(&p, end, &out->session))
        return false;
    out->state = *state;
    const bool ok =
        scan_skip_words(&p, end, 7) && /* tty_nr tpgid flags minflt cminflt majflt cmajflt */
        scan_u64(&p, end, &user) && scan_u64(&p, end, &system) &&
        scan_u64(&p, end, &children_user) && scan_u64(&p, end, &children_system) &&
        scan_skip_words(&p, end, 2) &&                                         /* priority nice */
        scan_u64(&p, end, &out->threads) && scan_skip_words(&p, end, 1) &&     /* itrealvalue */
        scan_u64(&p, end, &out->start_ticks) && scan_skip_words(&p, end, 1) && /* vsize */
        scan_u64(&p, end, &out->rss_pages);
    if (!ok)
        return false;
    out->own_ticks = user + system;
    out->children_ticks = children_user + children_system;
    return true;
}

bool procfs_pid_stat(const char *text, size_t n, struct pid_stat *out)
{
    const char *p = text, *end = n ? text + n : text;
    *out = (struct pid_stat){0};
    if (!scan_int(&p, end, &out->pid))
        return false;
    const char *open = memchr(p, '(', (size_t)(end - p));
    const char *close = open ? memrchr(open, ')', (size_t)(end - open)) : NULL;
    if (!close)
        return false;
    scan_copy(out->comm, sizeof out->comm, open + 1, (size_t)(close - open - 1));
    return parse_behind_comm(close + 1, end, out);
}

bool pid_stat_ended(const struct pid_stat *s)
{
    return (s->state == 'Z' || s->state == 'X') && s->threads <= 1;
}

bool procfs_pid_io(const char *text, size_t n, struct pid_io *out)
{
    return procfs_key(text, n, "read_bytes:", &out->read_bytes) &&
           procfs_key(text, n, "write_bytes:", &out->write_bytes);
}

bool procfs_statm(const char *text, size_t n, uint64_t *resident_pages)
{
    const char *p = text, *end = n ? text + n : text;
    return scan_skip_words(&p, end, 1) && scan_u64(&p, end, resident_pages);
}

bool procfs_last_pid(const char *text, size_t n, uint64_t *pid)
{
    const char *p = text, *end = n ? text + n : text;
    return scan_skip_words(&p, end, 4) && scan_u64(&p, end, pid);
}

/* "key<blanks>: value" */
static bool cpuinfo_value(const char *p, const char *end, const char *key, char *out, size_t size)
{
    const size_t len = strlen(key);
    if (!scan_starts(p, end, key, len))
        return false;
    p += len;
    scan_blanks(&p, end);
    if (p == end || *p != ':')
        return false;
    p++;
    scan_blanks(&p, end);
    scan_copy(out, size, p, (size_t)(end - p));
    return out[0] != '\0';
}

bool procfs_cpu_model(const char *text, size_t n, char *out, size_t size)
{
    const char *const keys[] = {"model name", "cpu model", "Hardware", "cpu", "Model"};
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        struct lines l = lines_of(text, n);
        const char *p, *end;
        while (lines_next(&l, &p, &end))
            if (cpuinfo_value(p, end, keys[k], out, size))
                return true;
    }
    return false;
}
