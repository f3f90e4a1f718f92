/* SPDX-License-Identifier: Apache-2.0 */
/* probe_net.c - bytes through the network interfaces, from /proc/net/dev.
 *
 * The total is that of the interfaces with a device behind them, because bridges, bonds and veth
 * pairs count the same bytes again; where there is none (a container) it is that of all but lo. An
 * interface gets its series when it has moved a byte. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "sample/probe.h"
#include "sample/probe_util.h"
#include "sample/procfs.h"
#include "sample/source.h"

#define MIN_PERIOD_NS (100 * NS_PER_MS)

enum nic_kind { NIC_LOOPBACK, NIC_VIRTUAL, NIC_DEVICE, NIC_KINDS };

enum probe_net_part { RX, TX, PARTS };

static const enum metric_id part_metric[PARTS] = {[RX] = M_NET_RX, [TX] = M_NET_TX};

struct nic {
    char name[NIC_NAME_LEN];
    enum nic_kind kind;
    bool seen;
    slot_id slot[PARTS]; /* SLOT_NONE until it has moved a byte */
    struct counter counter[PARTS];
    uint64_t packets[PARTS];
};

struct net_state {
    struct source dev;
    struct textbuf text;
    char *sys;
    struct group group;
    slot_id total[PARTS];
    bool has_total;
    mono_ns last;     /* time of the previous reading; 0: none */
    struct nic *nics; /* in the order of the file */
    size_t n, cap;
    unsigned count[NIC_KINDS];
    uint32_t said;
    unsigned resets_said;
};

enum { SAID_READ, SAID_MALFORMED, SAID_NONE };

/* ---- interfaces that come and go ---- */

static enum nic_kind probe_net_classify(const struct net_state *st, const char *name)
{
    char path[PATH_LEN];
    if (strcmp(name, "lo") == 0)
        return NIC_LOOPBACK;
    snprintf(path, sizeof path, "%s/class/net/%s/device", st->sys, name);
    return access(path, F_OK) == 0 ? NIC_DEVICE : NIC_VIRTUAL;
}

static struct nic *find_nic(struct net_state *st, const char *name, size_t hint)
{
    if (hint < st->n && strcmp(st->nics[hint].name, name) == 0)
        return &st->nics[hint];
    for (size_t i = 0; i < st->n; i++)
        if (strcmp(st->nics[i].name, name) == 0)
            return &st->nics[i];
    if (st->n == st->cap) {
        st->cap = st->cap ? st->cap * 2 : 8;
        st->nics = xrealloc(st->nics, st->cap, sizeof *st->nics);
    }
    struct nic *c = &st->nics[st->n++];
    *c = (struct nic){.kind = probe_net_classify(st, name), .slot = {SLOT_NONE, SLOT_NONE}};
    snprintf(c->name, sizeof c->name, "%s", name);
    st->count[c->kind]++;
    return c;
}

static void probe_net_drop_unseen(struct net_state *st)
{
    size_t kept = 0;
    for (size_t i = 0; i < st->n; i++) {
        struct nic *c = &st->nics[i];
        if (!c->seen) {
            group_drop(&st->group, c->slot[RX]);
            group_drop(&st->group, c->slot[TX]);
            st->count[c->kind]--;
            continue;
        }
        c->seen = false;
        if (kept != i)
            st->nics[kept] = *c;
        kept++;
    }
    st->n = kept;
}

/* ---- values ---- */

/* Byte counters of some drivers are 32 bits wide and wrap within seconds. Packet counters take far
 * longer, so when those went backwards too the interface was reset. */
static bool probe_net_was_reset(const struct nic *c, const struct nic_line *line)
{
    return c->counter[RX].known &&
           (line->rx_packets < c->packets[RX] || line->tx_packets < c->packets[TX]);
}

static void put_nic(struct net_state *st, struct nic *c, const struct nic_line *line, mono_ns t,
                    struct sink *s, double sum[PARTS])
{
    const uint64_t now[PARTS] = {line->rx_bytes, line->tx_bytes};
    bool ok = !probe_net_was_reset(c, line);
    if (!ok)
        memset(c->counter, 0, sizeof c->counter);
    for (enum probe_net_part p = 0; p < PARTS; p++) {
        if (c->slot[p] == SLOT_NONE && (now[RX] || now[TX]))
            c->slot[p] = group_add(&st->group, part_metric[p], c->name);
        double growth;
        ok &= counter_read(&st->group, c->slot[p], &c->counter[p], now[p], 32, t, &growth) !=
              COUNTER_RESET;
        sum[p] += growth;
    }
    c->packets[RX] = line->rx_packets;
    c->packets[TX] = line->tx_packets;
    if (!ok)
        lose_reset(s, &st->resets_said, LOST_PART(c->name));
}

static void probe_net_put_total(struct net_state *st, const double sum[PARTS], mono_ns t)
{
    if (!st->has_total)
        for (enum probe_net_part p = 0; p < PARTS; p++)
            st->total[p] = group_add(&st->group, part_metric[p], ENTITY_TOTAL);
    st->has_total = true;
    if (!st->last.ns)
        return;
    for (enum probe_net_part p = 0; p < PARTS; p++)
        group_rate(&st->group, st->total[p], sum[p], mono_diff(t, st->last));
}

static void probe_net_put_lines(struct net_state *st, struct lines *l, mono_ns t, struct sink *s)
{
    double sum[NIC_KINDS][PARTS] = {0};
    struct nic_line line;
    for (size_t i = 0; procfs_nic_next(l, &line); i++) {
        struct nic *c = find_nic(st, line.name, i);
        c->seen = true;
        put_nic(st, c, &line, t, s, sum[c->kind]);
    }
    probe_net_drop_unseen(st);
    if (st->count[NIC_DEVICE] || st->count[NIC_VIRTUAL])
        probe_net_put_total(st, sum[st->count[NIC_DEVICE] ? NIC_DEVICE : NIC_VIRTUAL], t);
}

static void net_read(void *state, struct sink *s)
{
    struct net_state *st = state;
    struct near_text near;
    struct reading r;
    const char *text;
    warm(st, sizeof *st);
    warm(st->nics, st->n * sizeof *st->nics);
    warm_group(&st->group);
    if (!source_read_text(&st->dev, &near, &st->text, &text, &r)) {
        lose_read(s, &st->said, SAID_READ, LOST_PART("net"), r.sys);
        return;
    }
    struct lines l = lines_of(text, r.n);
    probe_net_put_lines(st, &l, r.at, s);
    if (l.bad && say_once(&st->said, SAID_MALFORMED))
        sink_loss(s, LOSS_MALFORMED, LOST_PART("net"), "%s has an unexpected format", st->dev.path);
    if (!st->count[NIC_DEVICE] && !st->count[NIC_VIRTUAL] && say_once(&st->said, SAID_NONE))
        sink_loss(s, LOSS_ABSENT, LOST_PART("net"), "no network interface except lo");
    st->last = r.at;
    group_commit(&st->group, s, r.at);
}

/* ---- the record ---- */

static int net_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    struct net_state *st = state;
    const int rc = source_open(&st->dev, e, "%s/net/dev", env->proc);
    if (rc)
        return rc;
    st->sys = xstrdup(env->sys);
    group_open(&st->group, "net", MAX_OF(period_ns, MIN_PERIOD_NS));
    return 0;
}

static void net_set_period(void *state, int64_t period_ns)
{
    struct net_state *st = state;
    group_set_period(&st->group, MAX_OF(period_ns, MIN_PERIOD_NS));
}

static void net_close(void *state)
{
    struct net_state *st = state;
    source_close(&st->dev);
    textbuf_free(&st->text);
    free(st->sys);
    free(st->nics);
    group_close(&st->group);
}

const struct probe probe_net = {
    .name = "net",
    .title = "bytes through the network interfaces",
    .lane = LANE_FAST,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct net_state),
    .open = net_open,
    .read = net_read,
    .set_period = net_set_period,
    .close = net_close,
};
