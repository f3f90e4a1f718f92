/* SPDX-License-Identifier: Apache-2.0 */
/* probe_disk.c - operations, bytes and busy time of the disks, from /proc/diskstats.
 *
 * Whole disks only, as their partitions' traffic is in theirs. The total is that of the physical
 * disks, because what passes through dm or md is counted again below; where none is physical (some
 * virtual machines) it is that of all. A disk gets its series when it has moved something.
 *
 * The kernel writes a line for every loop device, partition and unused disk, and that is most of
 * the cost. Where only a few disks have ever moved something, their own files in /sys/block are
 * read instead, and diskstats only now and then to see which disks there are. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "sample/probe.h"
#include "sample/probe_util.h"
#include "sample/procfs.h"
#include "sample/source.h"

#define MIN_PERIOD_NS  (100 * NS_PER_MS)
#define LIST_PERIOD_NS (5 * NS_PER_S)

enum { OWN_FILES_MOST = 4 }; /* more disks than this: diskstats is cheaper */

enum probe_disk_part { READ_OPS, WRITE_OPS, READ_SECTORS, WRITE_SECTORS, BUSY, PARTS };

enum { LONG_BITS = 8 * sizeof(long) };

static const struct {
    enum metric_id metric;
    unsigned bits; /* the kernel's own type: unsigned long, and unsigned int for milliseconds */
} parts[PARTS] = {
    [READ_OPS] = {M_DISK_READ_OPS, LONG_BITS},
    [WRITE_OPS] = {M_DISK_WRITE_OPS, LONG_BITS},
    [READ_SECTORS] = {M_DISK_READ, LONG_BITS},
    [WRITE_SECTORS] = {M_DISK_WRITE, LONG_BITS},
    [BUSY] = {M_DISK_BUSY, 32},
};

enum disk_kind { DISK_IGNORED, DISK_VIRTUAL, DISK_PHYSICAL };

struct disk {
    char name[DISK_NAME_LEN];
    enum disk_kind kind;
    bool seen, has_slots;
    slot_id slot[PARTS];
    struct counter counter[PARTS];
    struct source own; /* /sys/block/NAME/stat, while it is used */
};

struct disk_state {
    struct source diskstats;
    struct textbuf text;
    char *sys;
    struct group group;
    slot_id total[PARTS];
    bool has_total;
    mono_ns last;       /* time of the previous reading; 0: none */
    struct disk *disks; /* in the order of the file */
    size_t n, cap;
    unsigned physical, virtual; /* how many of each there are */
    bool own_files;             /* the disks' own files are read */
    int64_t period_ns;
    struct cadence list_at;
    uint32_t said;
    unsigned resets_said;
};

enum { SAID_READ, SAID_MALFORMED, SAID_NO_DISK };

/* ---- disks that come and go ---- */

static void sys_name(char out[DISK_NAME_LEN], const char *name)
{
    snprintf(out, DISK_NAME_LEN, "%s", name);
    for (char *p = out; *p; p++)
        if (*p == '/') /* "cciss/c0d0" is a folder "cciss!c0d0" */
            *p = '!';
}

static bool in_sys(const struct disk_state *st, const char *name, const char *sub)
{
    char path[PATH_LEN], folder[DISK_NAME_LEN];
    sys_name(folder, name);
    snprintf(path, sizeof path, "%s/block/%s%s", st->sys, folder, sub);
    return access(path, F_OK) == 0;
}

/* Memory that looks like a disk, or a file that does: its traffic is another disk's or none. */
static bool is_pretended(const char *name)
{
    const char *const prefix[] = {"loop", "ram", "zram"};
    for (size_t i = 0; i < COUNT_OF(prefix); i++)
        if (text_starts(name, prefix[i]))
            return true;
    return false;
}

static enum disk_kind probe_disk_classify(const struct disk_state *st, const char *name)
{
    if (is_pretended(name) || !in_sys(st, name, ""))
        return DISK_IGNORED;
    return in_sys(st, name, "/device") ? DISK_PHYSICAL : DISK_VIRTUAL;
}

static struct disk *find_disk(struct disk_state *st, const char *name, size_t hint)
{
    if (hint < st->n && strcmp(st->disks[hint].name, name) == 0)
        return &st->disks[hint];
    for (size_t i = 0; i < st->n; i++)
        if (strcmp(st->disks[i].name, name) == 0)
            return &st->disks[i];
    if (st->n == st->cap) {
        st->cap = st->cap ? st->cap * 2 : 16;
        st->disks = xrealloc(st->disks, st->cap, sizeof *st->disks);
    }
    struct disk *d = &st->disks[st->n++];
    *d = (struct disk){.kind = probe_disk_classify(st, name)};
    snprintf(d->name, sizeof d->name, "%s", name);
    for (enum probe_disk_part p = 0; p < PARTS; p++)
        d->slot[p] = SLOT_NONE;
    return d;
}

static void probe_disk_drop_unseen(struct disk_state *st)
{
    size_t kept = 0;
    for (size_t i = 0; i < st->n; i++) {
        struct disk *d = &st->disks[i];
        if (!d->seen) {
            for (enum probe_disk_part p = 0; p < PARTS; p++)
                group_drop(&st->group, d->slot[p]);
            source_close(&d->own);
            continue;
        }
        d->seen = false;
        if (kept != i)
            st->disks[kept] = *d;
        kept++;
    }
    st->n = kept;
}

static void count_kinds(struct disk_state *st)
{
    st->physical = st->virtual = 0;
    for (size_t i = 0; i < st->n; i++) {
        st->physical += st->disks[i].kind == DISK_PHYSICAL;
        st->virtual += st->disks[i].kind == DISK_VIRTUAL;
    }
}

/* ---- values ---- */

static void probe_disk_add_slots(struct disk_state *st, struct disk *d)
{
    d->has_slots = true;
    for (enum probe_disk_part p = 0; p < PARTS; p++)
        d->slot[p] = group_add(&st->group, parts[p].metric, d->name);
}

/* A device made anew under its old name starts from zero. Its operations tell, as they do not wrap
 * within a life; the other counters alone could be mistaken for having wrapped. */
static bool probe_disk_was_reset(const struct disk *d, const uint64_t now[PARTS])
{
    return LONG_BITS > 32 && d->counter[READ_OPS].known &&
           (now[READ_OPS] < d->counter[READ_OPS].last ||
            now[WRITE_OPS] < d->counter[WRITE_OPS].last);
}

/* Puts the disk's cells and adds its growth to `sum`. */
static void put_disk(struct disk_state *st, struct disk *d, const struct disk_line *line, mono_ns t,
                     struct sink *s, double sum[PARTS])
{
    const uint64_t now[PARTS] = {line->reads, line->writes, line->read_sectors,
                                 line->written_sectors, line->busy_ms};
    bool ok = !probe_disk_was_reset(d, now);
    if (!ok)
        memset(d->counter, 0, sizeof d->counter);
    if (!d->has_slots && (line->reads || line->writes))
        probe_disk_add_slots(st, d);
    /* A disk that only lists show may have grown over several of the total's intervals. */
    const int64_t dt = mono_diff(t, st->last), own_dt = mono_diff(t, d->counter[0].at);
    const double share = own_dt > dt && own_dt > 0 ? (double)dt / (double)own_dt : 1;
    for (enum probe_disk_part p = 0; p < PARTS; p++) {
        double growth;
        ok &= counter_read(&st->group, d->slot[p], &d->counter[p], now[p], parts[p].bits, t,
                           &growth) != COUNTER_RESET;
        sum[p] += growth * share;
    }
    if (!ok)
        lose_reset(s, &st->resets_said, LOST_PART(d->name));
}

static void probe_disk_put_total(struct disk_state *st, const double sum[PARTS], mono_ns t)
{
    const unsigned n = st->physical ? st->physical : st->virtual;
    if (n && !st->has_total)
        for (enum probe_disk_part p = 0; p < PARTS; p++)
            st->total[p] = group_add(&st->group, parts[p].metric, ENTITY_TOTAL);
    st->has_total |= n > 0;
    if (!n || !st->last.ns)
        return;
    for (enum probe_disk_part p = 0; p < PARTS; p++) /* the disks' mean busy time */
        group_rate(&st->group, st->total[p], p == BUSY ? sum[p] / n : sum[p],
                   mono_diff(t, st->last));
}

static void probe_disk_put_lines(struct disk_state *st, struct lines *l, mono_ns t, struct sink *s)
{
    double sum[DISK_PHYSICAL + 1][PARTS] = {0};
    struct disk_line line;
    bool changed = false;
    for (size_t i = 0; procfs_disk_next(l, &line); i++) {
        const size_t before = st->n;
        struct disk *d = find_disk(st, line.name, i);
        changed |= st->n != before;
        d->seen = true;
        if (d->kind != DISK_IGNORED)
            put_disk(st, d, &line, t, s, sum[d->kind]);
    }
    const size_t before = st->n;
    probe_disk_drop_unseen(st);
    if (changed || st->n != before)
        count_kinds(st);
    probe_disk_put_total(st, sum[st->physical ? DISK_PHYSICAL : DISK_VIRTUAL], t);
}

/* ---- the disks' own files ---- */

static bool open_own(struct disk_state *st, struct disk *d)
{
    char folder[DISK_NAME_LEN];
    struct err ignored;
    sys_name(folder, d->name);
    return source_is_open(&d->own) ||
           source_open(&d->own, &ignored, "%s/block/%s/stat", st->sys, folder) == 0;
}

/* Decides how the readings until the next list are made. */
static void choose_files(struct disk_state *st)
{
    unsigned moving = 0;
    for (size_t i = 0; i < st->n; i++)
        moving += st->disks[i].has_slots;
    st->own_files = moving > 0 && moving <= OWN_FILES_MOST;
    for (size_t i = 0; i < st->n; i++)
        if (st->disks[i].has_slots && st->own_files)
            st->own_files = open_own(st, &st->disks[i]);
    for (size_t i = 0; i < st->n && !st->own_files; i++)
        source_close(&st->disks[i].own);
}

/* False when a disk could not be read: it may be gone, and a list will tell. */
static bool read_own(struct disk_state *st, struct sink *s)
{
    double sum[DISK_PHYSICAL + 1][PARTS] = {0};
    mono_ns first = {0};
    for (size_t i = 0; i < st->n; i++) {
        struct disk *d = &st->disks[i];
        char text[512];
        struct reading r;
        struct disk_line line;
        if (!source_is_open(&d->own))
            continue;
        if (!source_read(&d->own, text, sizeof text, &r) || !procfs_disk_stat(text, r.n, &line))
            return false;
        if (!first.ns)
            first = r.at;
        put_disk(st, d, &line, r.at, s, sum[d->kind]);
    }
    probe_disk_put_total(st, sum[st->physical ? DISK_PHYSICAL : DISK_VIRTUAL], first);
    st->last = first;
    group_commit(&st->group, s, first);
    return true;
}

/* ---- all disks ---- */

static void probe_disk_read_list(struct disk_state *st, struct sink *s)
{
    struct near_text near;
    struct reading r;
    const char *text;
    if (!source_read_text(&st->diskstats, &near, &st->text, &text, &r)) {
        lose_read(s, &st->said, SAID_READ, LOST_PART("disk"), r.sys);
        return;
    }
    struct lines l = lines_of(text, r.n);
    probe_disk_put_lines(st, &l, r.at, s);
    if (l.bad && say_once(&st->said, SAID_MALFORMED))
        sink_loss(s, LOSS_MALFORMED, LOST_PART("disk"), "%s has an unexpected format",
                  st->diskstats.path);
    if (!st->physical && !st->virtual && say_once(&st->said, SAID_NO_DISK))
        sink_loss(s, LOSS_ABSENT, LOST_PART("disk"), "no disk is visible");
    st->last = r.at;
    group_commit(&st->group, s, r.at);
    choose_files(st);
}

static void disk_read(void *state, struct sink *s)
{
    struct disk_state *st = state;
    warm(st, sizeof *st);
    warm(st->disks, st->n * sizeof *st->disks);
    warm_group(&st->group);
    const bool list = !st->own_files || cadence_due(&st->list_at, clock_mono(), st->period_ns / 2);
    if (list || !read_own(st, s))
        probe_disk_read_list(st, s);
}

/* ---- the record ---- */

static void disk_set_period(void *state, int64_t period_ns)
{
    struct disk_state *st = state;
    st->period_ns = MAX_OF(period_ns, MIN_PERIOD_NS);
    st->list_at.period_ns = MAX_OF(period_ns, LIST_PERIOD_NS);
    group_set_period(&st->group, st->period_ns);
}

static int disk_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    struct disk_state *st = state;
    const int rc = source_open(&st->diskstats, e, "%s/diskstats", env->proc);
    if (rc)
        return rc;
    st->sys = xstrdup(env->sys);
    group_open(&st->group, "disk", MAX_OF(period_ns, MIN_PERIOD_NS));
    disk_set_period(st, period_ns);
    return 0;
}

static void disk_close(void *state)
{
    struct disk_state *st = state;
    for (size_t i = 0; i < st->n; i++)
        source_close(&st->disks[i].own);
    source_close(&st->diskstats);
    textbuf_free(&st->text);
    free(st->sys);
    free(st->disks);
    group_close(&st->group);
}

const struct probe probe_disk = {
    .name = "disk",
    .title = "operations, bytes and busy time of the disks",
    .lane = LANE_FAST,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct disk_state),
    .open = disk_open,
    .read = disk_read,
    .set_period = disk_set_period,
    .close = disk_close,
};
