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

/* reads merged sectors ms writes merged sectors ms in_flight busy_ms ... */
static bool parse_disk_numbers(const char *p, const char *end, struct disk_line *out)
{
    enum { READS, READ_SECTORS = 2, WRITES = 4, WRITTEN_SECTORS = 6, BUSY = 9, FIELDS };
    uint64_t v[FIELDS];
    for (unsigned i = 0; i < FIELDS; i++)
        if (!scan_u64(&p, end, &v[i]))
            return false;
    out->reads = v[READS];
    out->writes = v[WRITES];
    out->read_sectors = v[READ_SECTORS];
    out->written_sectors = v[WRITTEN_SECTORS];
    out->busy_ms = v[BUSY];
    return true;
}

/* major minor name, then the numbers */
static bool parse_disk(const char *p, const char *end, struct disk_line *out)
{
    const char *name;
    size_t len;
    if (!scan_skip_words(&p, end, 2) || !scan_word(&p, end, &name, &len) ||
        len >= sizeof out->name || !parse_disk_numbers(p, end, out))
        return false;
    scan_copy(out->name, sizeof out->name, name, len);
    return true;
}

bool procfs_disk_stat(const char *text, size_t n, struct disk_line *out)
{
    out->name[0] = '\0';
    return parse_disk_numbers(text, n ? text + n : text, out);
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

/* "  eth0: rx_bytes rx_packets +6 tx_bytes tx_packets ..."; old kernels leave out the blank behind
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
