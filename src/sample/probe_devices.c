/* SPDX-License-Identifier: Apache-2.0 */
/* probe_devices.c - disks and network interfaces: devices that come and go, each with counters that
 * only grow, in a file of the kernel with a line for each.
 *
 * The total is that of the physical devices, because what passes through dm, md, bridges, bonds and
 * veth pairs is counted again below; where none is physical (some virtual machines, containers) it
 * is that of all. A device gets its series when it has moved something. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"
#include "sample/probe.h"
#include "sample/probe_util.h"
#include "sample/procfs.h"
#include "sample/source.h"

#define MIN_PERIOD_NS (100 * NS_PER_MS)

/* ------------------------------------------------------------------------------------------------
 * Devices that come and go */

enum device_kind {
    DEVICE_OTHER, /* not in the total: loop disks, the interface lo */
    DEVICE_VIRTUAL,
    DEVICE_PHYSICAL,
    DEVICE_KINDS
};

enum { DEVICE_PARTS = 5, DEVICE_NAME = MAX_OF((int)DISK_NAME_LEN, (int)NIC_NAME_LEN) };
enum { LONG_BITS = 8 * sizeof(long) };

struct device_part {
    enum metric_id metric;
    unsigned bits; /* width of the counter: the kernel's own type, or the narrowest driver's */
    bool mean;     /* the total is the devices' mean and not their sum */
};

struct devices;
struct device_round;

/* What disks and interfaces differ in. */
struct device_family {
    const char *name, *file, *none; /* of the probe; in /proc; why there is no device */
    unsigned n_parts;
    struct device_part part[DEVICE_PARTS];
    enum device_kind (*classify)(const char *sys, const char *name);
    void (*put)(struct devices *st, struct lines *l, mono_ns t, struct device_round *round);
};

struct device {
    char name[DEVICE_NAME];
    enum device_kind kind;
    bool seen, has_slots;
    slot_id slot[DEVICE_PARTS];
    struct counter counter[DEVICE_PARTS];
    uint64_t packets[2]; /* of an interface: received, sent */
};

struct devices {
    const struct device_family *family;
    struct source file;
    struct textbuf text;
    char *sys;
    struct group group;
    slot_id total[DEVICE_PARTS];
    bool has_total;
    mono_ns last;     /* time of the previous reading; 0: none */
    struct device *v; /* in the order of the file */
    size_t n, cap;
    unsigned count[DEVICE_KINDS];
    uint32_t reported;
    unsigned resets_reported;
};

enum { REPORTED_READ, REPORTED_MALFORMED, REPORTED_NONE };

/* One reading of all devices. */
struct device_round {
    struct sink *sink;
    double sum[DEVICE_KINDS][DEVICE_PARTS]; /* growth, by kind of device */
};

/* `hint`: where it was the last time, as the order of the lines hardly ever changes. */
static struct device *devices_find(struct devices *st, const char *name, size_t hint)
{
    if (hint < st->n && strcmp(st->v[hint].name, name) == 0)
        return &st->v[hint];
    for (size_t i = 0; i < st->n; i++)
        if (strcmp(st->v[i].name, name) == 0)
            return &st->v[i];
    struct device *d = VEC_ADD(st->v, st->n, st->cap);
    *d = (struct device){.kind = st->family->classify(st->sys, name)};
    snprintf(d->name, sizeof d->name, "%s", name);
    for (unsigned p = 0; p < DEVICE_PARTS; p++)
        d->slot[p] = SLOT_NONE;
    st->count[d->kind]++;
    return d;
}

static void devices_drop_unseen(struct devices *st)
{
    size_t kept = 0;
    for (size_t i = 0; i < st->n; i++) {
        struct device *d = &st->v[i];
        if (!d->seen) {
            for (unsigned p = 0; p < st->family->n_parts; p++)
                group_drop(&st->group, d->slot[p]);
            st->count[d->kind]--;
            continue;
        }
        d->seen = false;
        if (kept != i)
            st->v[kept] = *d;
        kept++;
    }
    st->n = kept;
}

/* Sets the device's cells and adds its growth to the sums. `reset`: it was made anew under its old
 * name and starts from zero. */
static void devices_put(struct devices *st, struct device *d, const uint64_t *now, bool reset,
                        mono_ns t, struct device_round *round)
{
    const struct device_family *f = st->family;
    bool ok = !reset;
    if (reset)
        memset(d->counter, 0, sizeof d->counter);
    if (!d->has_slots && (now[0] || now[1])) {
        d->has_slots = true;
        for (unsigned p = 0; p < f->n_parts; p++)
            d->slot[p] = group_add(&st->group, f->part[p].metric, d->name);
    }
    for (unsigned p = 0; p < f->n_parts; p++) {
        double growth;
        ok &= counter_read(&st->group, d->slot[p], &d->counter[p], now[p], f->part[p].bits, t,
                           &growth) != COUNTER_RESET;
        round->sum[d->kind][p] += growth;
    }
    if (!ok)
        lose_reset(round->sink, &st->resets_reported, LOST_PART(d->name));
}

static void devices_put_total(struct devices *st, const struct device_round *round, mono_ns t)
{
    const struct device_family *f = st->family;
    const enum device_kind kind = st->count[DEVICE_PHYSICAL] ? DEVICE_PHYSICAL : DEVICE_VIRTUAL;
    const unsigned n = st->count[kind];
    if (n && !st->has_total)
        for (unsigned p = 0; p < f->n_parts; p++)
            st->total[p] = group_add(&st->group, f->part[p].metric, ENTITY_TOTAL);
    st->has_total |= n > 0;
    if (!n || !st->last.ns)
        return;
    for (unsigned p = 0; p < f->n_parts; p++)
        group_rate(&st->group, st->total[p], round->sum[kind][p] / (f->part[p].mean ? n : 1),
                   mono_diff(t, st->last));
}

static void devices_read(void *state, struct sink *s)
{
    struct devices *st = state;
    const struct loss_subject of = LOST_PART(st->family->name);
    struct device_round round = {.sink = s};
    struct near_text near;
    struct reading r;
    const char *text;
    if (!source_read_text(&st->file, &near, &st->text, &text, &r)) {
        lose_read(s, &st->reported, REPORTED_READ, of, r.sys);
        return;
    }
    struct lines l = lines_of(text, r.n);
    st->family->put(st, &l, r.at, &round);
    devices_drop_unseen(st);
    devices_put_total(st, &round, r.at);
    if (l.bad && report_once(&st->reported, REPORTED_MALFORMED))
        sink_loss(s, LOSS_MALFORMED, of, "%s has an unexpected format", st->file.path);
    if (!st->count[DEVICE_PHYSICAL] && !st->count[DEVICE_VIRTUAL] &&
        report_once(&st->reported, REPORTED_NONE))
        sink_loss(s, LOSS_ABSENT, of, "%s", st->family->none);
    st->last = r.at;
    group_commit(&st->group, s, r.at);
}

static int devices_open(struct devices *st, const struct device_family *f,
                        const struct probe_env *env, int64_t period_ns, struct err *e)
{
    TRY(source_open(&st->file, e, "%s/%s", env->proc, f->file));
    st->family = f;
    st->sys = xstrdup(env->sys);
    group_open(&st->group, f->name, MAX_OF(period_ns, MIN_PERIOD_NS));
    return 0;
}

static void devices_close(void *state)
{
    struct devices *st = state;
    source_close(&st->file);
    textbuf_free(&st->text);
    free(st->sys);
    free(st->v);
    group_close(&st->group);
}

/* ------------------------------------------------------------------------------------------------
 * Disks: operations, bytes and busy time, from /proc/diskstats.
 *
 * Whole disks only, as their partitions' traffic is in theirs. */

static bool disk_in_sys(const char *sys, const char *name, const char *sub)
{
    char path[PATH_LEN], folder[DISK_NAME_LEN];
    snprintf(folder, sizeof folder, "%s", name);
    for (char *p = folder; *p; p++)
        if (*p == '/') /* "cciss/c0d0" is a folder "cciss!c0d0" */
            *p = '!';
    snprintf(path, sizeof path, "%s/block/%s%s", sys, folder, sub);
    return access(path, F_OK) == 0;
}

/* Memory that looks like a disk, or a file that does: its traffic is another disk's or none. */
static bool disk_is_pretended(const char *name)
{
    const char *const prefix[] = {"loop", "ram", "zram"};
    return FIND_ANY(i, COUNT_OF(prefix), text_starts(name, prefix[i]));
}

static enum device_kind disk_classify(const char *sys, const char *name)
{
    if (disk_is_pretended(name) || !disk_in_sys(sys, name, ""))
        return DEVICE_OTHER;
    return disk_in_sys(sys, name, "/device") ? DEVICE_PHYSICAL : DEVICE_VIRTUAL;
}

/* Operations do not wrap within a life, so they show whether a disk was made anew; the other
 * counters alone could be mistaken for having wrapped. */
static void disk_put_lines(struct devices *st, struct lines *l, mono_ns t,
                           struct device_round *round)
{
    struct disk_line line;
    for (size_t i = 0; procfs_disk_next(l, &line); i++) {
        struct device *d = devices_find(st, line.name, i);
        const uint64_t now[DEVICE_PARTS] = {line.reads, line.writes, line.read_sectors,
                                            line.written_sectors, line.busy_ms};
        const bool reset = LONG_BITS > 32 && d->counter[0].known &&
                           (now[0] < d->counter[0].last || now[1] < d->counter[1].last);
        d->seen = true;
        if (d->kind != DEVICE_OTHER)
            devices_put(st, d, now, reset, t, round);
    }
}

/* The kernel's own types: unsigned long, and unsigned int for milliseconds. */
static const struct device_family disks = {
    .name = "disk",
    .file = "diskstats",
    .none = "no disk is visible",
    .n_parts = 5,
    .part = {{M_DISK_READ_OPS, LONG_BITS, false},
             {M_DISK_WRITE_OPS, LONG_BITS, false},
             {M_DISK_READ, LONG_BITS, false},
             {M_DISK_WRITE, LONG_BITS, false},
             {M_DISK_BUSY, 32, true}},
    .classify = disk_classify,
    .put = disk_put_lines,
};

static int disk_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    return devices_open(state, &disks, env, period_ns, e);
}

const struct probe probe_disk = {
    .name = "disk",
    .title = "operations, bytes and busy time of the disks",
    .lane = LANE_FAST,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct devices),
    .open = disk_open,
    .read = devices_read,
    .group = offsetof(struct devices, group),
    .close = devices_close,
};

/* ------------------------------------------------------------------------------------------------
 * Network interfaces: bytes through them, from /proc/net/dev */

static enum device_kind nic_classify(const char *sys, const char *name)
{
    char path[PATH_LEN];
    if (strcmp(name, "lo") == 0)
        return DEVICE_OTHER;
    snprintf(path, sizeof path, "%s/class/net/%s/device", sys, name);
    return access(path, F_OK) == 0 ? DEVICE_PHYSICAL : DEVICE_VIRTUAL;
}

/* Packet counters take far longer to wrap than byte counters, so when those went backwards too the
 * interface was reset. */
static void nic_put_lines(struct devices *st, struct lines *l, mono_ns t,
                          struct device_round *round)
{
    struct nic_line line;
    for (size_t i = 0; procfs_nic_next(l, &line); i++) {
        struct device *d = devices_find(st, line.name, i);
        const uint64_t now[DEVICE_PARTS] = {line.rx_bytes, line.tx_bytes};
        const bool reset = d->counter[0].known &&
                           (line.rx_packets < d->packets[0] || line.tx_packets < d->packets[1]);
        d->seen = true;
        devices_put(st, d, now, reset, t, round);
        d->packets[0] = line.rx_packets;
        d->packets[1] = line.tx_packets;
    }
}

/* Byte counters of some drivers are 32 bits wide and wrap within seconds. */
static const struct device_family nics = {
    .name = "net",
    .file = "net/dev",
    .none = "no network interface except lo",
    .n_parts = 2,
    .part = {{M_NET_RX, 32, false}, {M_NET_TX, 32, false}},
    .classify = nic_classify,
    .put = nic_put_lines,
};

static int net_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    return devices_open(state, &nics, env, period_ns, e);
}

const struct probe probe_net = {
    .name = "net",
    .title = "bytes through the network interfaces",
    .lane = LANE_FAST,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct devices),
    .open = net_open,
    .read = devices_read,
    .group = offsetof(struct devices, group),
    .close = devices_close,
};
