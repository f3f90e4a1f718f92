/* SPDX-License-Identifier: Apache-2.0 */
/* procfs.c - the files of the whole machine; see procfs.h. */
#include "sample/procfs.h"

#include <string.h>

#include "base/mem.h"
#include "sample/textscan.h"

struct lines lines_of(const char *text, size_t n)
{
    return (struct lines){.p = text, .end = n ? text + n : text};
}

bool lines_next(struct lines *l, const char **line, const char **line_end)
{
    if (l->p == l->end)
        return false;
    const char *nl = l->p; /* by hand: for such lines a cold memchr costs more than it saves */
    while (nl < l->end && *nl != '\n')
        nl++;
    if (nl == l->end) {
        l->cut = true;
        return false;
    }
    *line = l->p;
    *line_end = nl;
    l->p = nl + 1;
    return true;
}

bool procfs_key(const char *text, size_t n, const char *key, uint64_t *out)
{
    const size_t len = strlen(key);
    struct lines l = lines_of(text, n);
    const char *p, *end;
    while (lines_next(&l, &p, &end))
        if (scan_starts(p, end, key, len) && p + len < end && p[len] == ' ') {
            p += len;
            return scan_u64(&p, end, out);
        }
    return false;
}

static bool parse_cpu(const char *p, const char *end, struct cpu_line *out)
{
    *out = (struct cpu_line){.core = CPU_ALL};
    p += strlen("cpu");
    if (p < end && scan_is_digit(*p) && !scan_int(&p, end, &out->core))
        return false;
    uint64_t *const field[] = {&out->user,   &out->nice, &out->system,  &out->idle,
                               &out->iowait, &out->irq,  &out->softirq, &out->steal};
    enum { FEWEST = 4 };
    while (out->fields < COUNT_OF(field) && scan_u64(&p, end, field[out->fields]))
        out->fields++;
    return out->fields >= FEWEST;
}

bool procfs_cpu_next(struct lines *l, struct cpu_line *out)
{
    const char *p, *end;
    while (SCAN_STARTS(l->p, l->end, "cpu") && lines_next(l, &p, &end)) {
        if (parse_cpu(p, end, out))
            return true;
        l->bad++;
    }
    if (l->p == l->end) /* the cpu lines are never the last ones */
        l->cut = true;
    return false;
}

static const struct {
    const char *name;
    size_t len;
} mem_names[MEM_FIELDS] = {
#define NAME(field, text) [field] = {text ":", sizeof(text)}
    NAME(MEM_TOTAL, "MemTotal"),         NAME(MEM_FREE, "MemFree"),
    NAME(MEM_AVAILABLE, "MemAvailable"), NAME(MEM_BUFFERS, "Buffers"),
    NAME(MEM_CACHED, "Cached"),          NAME(MEM_SWAP_TOTAL, "SwapTotal"),
    NAME(MEM_SWAP_FREE, "SwapFree"),
#undef NAME
};

/* Which field a line is; `next` is tried first, as the kernel writes them in our order. */
static unsigned mem_field(const char *p, const char *end, unsigned next)
{
    for (unsigned i = 0; i < MEM_FIELDS; i++) {
        const unsigned f = (next + i) % MEM_FIELDS;
        if (scan_starts(p, end, mem_names[f].name, mem_names[f].len))
            return f;
    }
    return MEM_FIELDS;
}

bool procfs_meminfo(const char *text, size_t n, struct meminfo *out)
{
    *out = (struct meminfo){0};
    const unsigned all = (1U << MEM_FIELDS) - 1, needed = 1U << MEM_TOTAL | 1U << MEM_FREE;
    struct lines l = lines_of(text, n);
    const char *p, *end;
    unsigned next = 0;
    while (out->has != all && lines_next(&l, &p, &end)) {
        if (p == end || (*p != 'M' && *p != 'B' && *p != 'C' && *p != 'S'))
            continue;
        const unsigned f = mem_field(p, end, next);
        if (f == MEM_FIELDS)
            continue;
        p += mem_names[f].len;
        if (scan_u64(&p, end, &out->kb[f]))
            out->has |= 1U << f;
        next = f + 1;
    }
    return (out->has & needed) == needed;
}

uint64_t meminfo_available_kb(const struct meminfo *m)
{
    uint64_t kb = m->kb[MEM_AVAILABLE];
    if (!(m->has & 1U << MEM_AVAILABLE))
        kb = m->kb[MEM_FREE] + m->kb[MEM_BUFFERS] + m->kb[MEM_CACHED];
    return MIN_OF(kb, m->kb[MEM_TOTAL]);
}

static bool pressure_total(const char *p, const char *end, uint64_t *out)
{
    const char *word;
    size_t len;
    while (scan_word(&p, end, &word, &len))
        if (SCAN_STARTS(word, end, "total=")) {
            word += strlen("total=");
            return word < end && scan_is_digit(*word) && scan_u64(&word, end, out);
        }
    return false;
}

bool procfs_pressure(const char *text, size_t n, struct pressure *out)
{
    *out = (struct pressure){0};
    struct lines l = lines_of(text, n);
    const char *p, *end;
    bool has_some = false;
    while (lines_next(&l, &p, &end))
        if (SCAN_STARTS(p, end, "some "))
            has_some = has_some || pressure_total(p, end, &out->some_us);
        else if (SCAN_STARTS(p, end, "full "))
            out->has_full = out->has_full || pressure_total(p, end, &out->full_us);
    return has_some;
}

/* major minor name reads merged sectors ms writes merged sectors ms in_flight busy_ms ... */
static bool parse_disk(const char *p, const char *end, struct disk_line *out)
{
    enum { READS, READ_SECTORS = 2, WRITES = 4, WRITTEN_SECTORS = 6, BUSY = 9, FIELDS };
    uint64_t v[FIELDS];
    const char *name;
    size_t len;
    if (!scan_skip_words(&p, end, 2) || !scan_word(&p, end, &name, &len) || len >= sizeof out->name)
        return false;
    for (unsigned i = 0; i < FIELDS; i++)
        if (!scan_u64(&p, end, &v[i]))
            return false;
    *out = (struct disk_line){.reads = v[READS],
                              .writes = v[WRITES],
                              .read_sectors = v[READ_SECTORS],
                              .written_sectors = v[WRITTEN_SECTORS],
                              .busy_ms = v[BUSY]};
    scan_copy(out->name, sizeof out->name, name, len);
    return true;
}

bool procfs_disk_next(struct lines *l, struct disk_line *out)
{
    const char *p, *end;
    while (lines_next(l, &p, &end)) {
        if (parse_disk(p, end, out))
            return true;
        l->bad++;
    }
    return false;
}

/* "  eth0: rx_bytes rx_packets +6 tx_bytes tx_packets ..."; old kernels leave out the blank after
 * the colon, and their alias names have a colon of their own. */
static bool parse_nic(const char *p, const char *end, struct nic_line *out)
{
    const char *colon = end;
    while (colon > p && *colon != ':')
        colon--;
    scan_blanks(&p, colon);
    const size_t len = (size_t)(colon - p);
    if (len == 0 || len >= sizeof out->name)
        return false;
    scan_copy(out->name, sizeof out->name, p, len);
    p = colon + 1;
    return scan_u64(&p, end, &out->rx_bytes) && scan_u64(&p, end, &out->rx_packets) &&
           scan_skip_words(&p, end, 6) && scan_u64(&p, end, &out->tx_bytes) &&
           scan_u64(&p, end, &out->tx_packets);
}

bool procfs_nic_next(struct lines *l, struct nic_line *out)
{
    const char *p, *end;
    while (lines_next(l, &p, &end)) {
        if (parse_nic(p, end, out))
            return true;
        if (!memchr(p, '|', (size_t)(end - p))) /* the two lines of headings */
            l->bad++;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------
 * Files of one process */

/* The fields after the name, which is the only place where blanks and brackets can be. */
static bool parse_after_comm(const char *p, const char *end, struct pid_stat *out)
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
    return parse_after_comm(close + 1, end, out);
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

bool procfs_schedstat(const char *text, size_t n, struct thread_sched *out)
{
    const char *p = text, *end = text + n;
    struct thread_sched x;
    if (!scan_u64(&p, end, &x.ran_ns) || !scan_u64(&p, end, &x.waited_ns))
        return false;
    *out = x;
    return true;
}

bool procfs_statm(const char *text, size_t n, uint64_t *resident_pages)
{
    const char *p = text, *end = n ? text + n : text;
    return scan_skip_words(&p, end, 1) && scan_u64(&p, end, resident_pages);
}

/* "1234.56": hundredths, as the kernel prints them. */
static bool uptime_value(const char **p, const char *end, uint64_t *out)
{
    uint64_t whole, part;
    if (!scan_u64(p, end, &whole) || whole > UINT64_MAX / 200 || end - *p < 3 || **p != '.' ||
        !scan_is_digit((*p)[1]) || !scan_is_digit((*p)[2]))
        return false;
    part = (uint64_t)((*p)[1] - '0') * 10 + (uint64_t)((*p)[2] - '0');
    *p += 3;
    *out = whole * 100 + part;
    return true;
}

bool procfs_uptime(const char *text, size_t n, struct uptime *out)
{
    const char *p = text, *end = n ? text + n : text;
    struct uptime u;
    if (!uptime_value(&p, end, &u.up_cs) || !uptime_value(&p, end, &u.idle_cs))
        return false;
    *out = u;
    return true;
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

/* ------------------------------------------------------------------------------------------------
 * Control groups */

/* Whether a comma-separated list contains the word. */
static bool list_has(const char *p, const char *end, const char *word)
{
    const size_t len = strlen(word);
    while (p < end) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *stop = comma ? comma : end;
        if ((size_t)(stop - p) == len && memcmp(p, word, len) == 0)
            return true;
        p = stop + (comma != NULL);
    }
    return false;
}

/* Paths are stored byte for byte: they are opened, not shown. */
static bool copy_path(char *out, size_t size, const char *p, const char *end)
{
    const size_t len = (size_t)(end - p);
    if (len == 0 || len >= size || memchr(p, '\0', len))
        return false;
    memcpy(out, p, len);
    out[len] = '\0';
    return true;
}

/* hierarchy:controllers:path, version 2 is "0::path" */
bool procfs_cgroup_path(const char *text, size_t n, const char *controller, char *out, size_t size)
{
    struct lines l = lines_of(text, n);
    const char *p, *end;
    while (lines_next(&l, &p, &end)) {
        const char *list = memchr(p, ':', (size_t)(end - p));
        const char *path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
        if (!path)
            continue;
        const bool v2 = path == list + 1;
        if (*controller ? !v2 && list_has(list + 1, path, controller) : v2)
            return copy_path(out, size, path + 1, end);
    }
    return false;
}

static bool is_octal(const char *p)
{
    return p[0] >= '0' && p[0] <= '3' && p[1] >= '0' && p[1] <= '7' && p[2] >= '0' && p[2] <= '7';
}

/* mountinfo writes blanks, tabs, line ends and backslashes as \ooo. */
static void unescape(char *s)
{
    char *to = s;
    while (*s) {
        if (*s == '\\' && s[1] && s[2] && s[3] && is_octal(s + 1)) {
            const int c = (s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0');
            *to++ = (char)c;
            s += 4;
        } else {
            *to++ = *s++;
        }
    }
    *to = '\0';
}

/* id parent major:minor root point options [optional...] - type source super_options */
static bool parse_mount(const char *p, const char *end, const char *controller,
                        struct cgroup_mount *out)
{
    const char *root, *point, *word;
    size_t root_len, point_len, len;
    if (!scan_skip_words(&p, end, 3) || !scan_word(&p, end, &root, &root_len) ||
        !scan_word(&p, end, &point, &point_len))
        return false;
    do {
        if (!scan_word(&p, end, &word, &len))
            return false;
    } while (len != 1 || *word != '-');
    if (!scan_word(&p, end, &word, &len))
        return false;
    if (*controller) {
        if (len != strlen("cgroup") || memcmp(word, "cgroup", len) != 0 ||
            !scan_skip_words(&p, end, 1) || !scan_word(&p, end, &word, &len) ||
            !list_has(word, word + len, controller))
            return false;
    } else if (len != strlen("cgroup2") || memcmp(word, "cgroup2", len) != 0) {
        return false;
    }
    return copy_path(out->root, sizeof out->root, root, root + root_len) &&
           copy_path(out->point, sizeof out->point, point, point + point_len);
}

bool procfs_cgroup_mount(const char *text, size_t n, const char *controller,
                         struct cgroup_mount *out)
{
    struct lines l = lines_of(text, n);
    const char *p, *end;
    while (lines_next(&l, &p, &end))
        if (parse_mount(p, end, controller, out)) {
            unescape(out->root);
            unescape(out->point);
            return true;
        }
    return false;
}

/* Version 1 writes "no limit" as the most whole pages that fit in a signed 64-bit number. */
#define V1_LARGEST ((uint64_t)1 << 62)

static bool parse_number(const char **p, const char *end, uint64_t *out)
{
    scan_blanks(p, end);
    if (SCAN_STARTS(*p, end, "max") || SCAN_STARTS(*p, end, "-1")) {
        *p += **p == 'm' ? strlen("max") : strlen("-1");
        *out = CGROUP_NO_LIMIT;
        return true;
    }
    if (!scan_u64(p, end, out))
        return false;
    if (*out >= V1_LARGEST)
        *out = CGROUP_NO_LIMIT;
    return true;
}

bool procfs_cgroup_number(const char *text, size_t n, uint64_t *out)
{
    const char *p = text, *end = n ? text + n : text;
    return parse_number(&p, end, out);
}

bool procfs_cgroup_cpu_max(const char *text, size_t n, struct cgroup_quota *out)
{
    const char *p = text, *end = n ? text + n : text;
    struct cgroup_quota q;
    if (!parse_number(&p, end, &q.quota_us) || !scan_u64(&p, end, &q.period_us) || q.period_us == 0)
        return false;
    *out = q;
    return true;
}
