/* SPDX-License-Identifier: Apache-2.0 */
/* probe_mem.c - the machine's memory and swap, from /proc/meminfo. */
#include "sample/probe.h"
#include "sample/probe_util.h"
#include "sample/procfs.h"
#include "sample/source.h"

#define MIN_PERIOD_NS (100 * NS_PER_MS)

/* What is looked at is at the top: SwapFree ends before byte 600 on every kernel seen. */
enum { TEXT_SIZE = 1024 };

struct mem_state {
    struct source meminfo;
    struct group group;
    slot_id util, used, available;
    slot_id swap; /* SLOT_NONE until there is some */
    uint32_t reported;
};

enum { REPORTED_READ, REPORTED_MALFORMED, REPORTED_NO_SWAP };

static void put_swap(struct mem_state *st, const struct meminfo *m, struct sink *s)
{
    const uint64_t total = m->kb[MEM_SWAP_TOTAL], free_kb = m->kb[MEM_SWAP_FREE];
    if (total == 0) {
        if (report_once(&st->reported, REPORTED_NO_SWAP))
            sink_loss(s, LOSS_ABSENT, LOST_METRIC(M_SWAP_USED), "this machine has no swap");
        return;
    }
    if (st->swap == SLOT_NONE)
        st->swap = group_add(&st->group, M_SWAP_USED, ENTITY_TOTAL);
    group_gauge(&st->group, st->swap, total > free_kb ? (double)(total - free_kb) : 0);
}

static void mem_put_memory(struct mem_state *st, const struct meminfo *m)
{
    const double total = (double)m->kb[MEM_TOTAL];
    const double available = (double)meminfo_available_kb(m);
    group_gauge(&st->group, st->used, total - available);
    group_gauge(&st->group, st->available, available);
    if (total > 0)
        group_gauge(&st->group, st->util, 1000 * (total - available) / total);
}

static void mem_read(void *state, struct sink *s)
{
    struct mem_state *st = state;
    char text[TEXT_SIZE];
    struct reading r;
    struct meminfo m;
    if (!source_read(&st->meminfo, text, sizeof text, &r)) {
        lose_read(s, &st->reported, REPORTED_READ, LOST_PART("mem"), r.sys);
        return;
    }
    if (!procfs_meminfo(text, r.n, &m)) {
        if (report_once(&st->reported, REPORTED_MALFORMED))
            sink_loss(s, LOSS_MALFORMED, LOST_PART("mem"), "%s has no MemTotal or no MemFree",
                      st->meminfo.path);
        return;
    }
    mem_put_memory(st, &m);
    put_swap(st, &m, s);
    group_commit(&st->group, s, r.at);
}

static int mem_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    struct mem_state *st = state;
    TRY(source_open(&st->meminfo, e, "%s/meminfo", env->proc));
    group_open(&st->group, "mem", MAX_OF(period_ns, MIN_PERIOD_NS));
    st->util = group_add(&st->group, M_MEM_UTIL, ENTITY_TOTAL);
    st->used = group_add(&st->group, M_MEM_USED, ENTITY_TOTAL);
    st->available = group_add(&st->group, M_MEM_AVAILABLE, ENTITY_TOTAL);
    st->swap = SLOT_NONE;
    return 0;
}

static void mem_close(void *state)
{
    struct mem_state *st = state;
    source_close(&st->meminfo);
    group_close(&st->group);
}

const struct probe probe_mem = {
    .name = "mem",
    .title = "memory and swap of the machine",
    .lane = LANE_FAST,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct mem_state),
    .open = mem_open,
    .read = mem_read,
    .group = offsetof(struct mem_state, group),
    .close = mem_close,
};
