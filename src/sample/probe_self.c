/* SPDX-License-Identifier: Apache-2.0 */
/* probe_self.c - what Footplate itself costs, shown beside the data. */
#include <time.h>
#include <unistd.h>

#include "sample/probe.h"
#include "sample/probe_util.h"
#include "sample/procfs.h"
#include "sample/source.h"

#define MIN_PERIOD_NS NS_PER_S

struct self_state {
    struct source statm;
    struct probe_env env;
    double page_bytes;
    struct group group;
    slot_id cpu, rss, written, late;
    struct counter cpu_ns, written_bytes;
    uint32_t reported;
};

enum { REPORTED_READ, REPORTED_MALFORMED };

static void put_rss(struct self_state *st, struct sink *s)
{
    char text[128];
    struct reading r;
    uint64_t pages;
    if (!source_read(&st->statm, text, sizeof text, &r))
        lose_read(s, &st->reported, REPORTED_READ, LOST_METRIC(M_SELF_RSS), r.sys);
    else if (procfs_statm(text, r.n, &pages))
        group_gauge(&st->group, st->rss, (double)pages * st->page_bytes);
    else if (report_once(&st->reported, REPORTED_MALFORMED))
        sink_loss(s, LOSS_MALFORMED, LOST_METRIC(M_SELF_RSS), "%s has an unexpected format",
                  st->statm.path);
}

static void self_read(void *state, struct sink *s)
{
    struct self_state *st = state;
    const struct probe_env *env = &st->env;
    const mono_ns t = clock_mono();
    struct timespec cpu;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
        group_counter(&st->group, st->cpu, &st->cpu_ns,
                      (uint64_t)cpu.tv_sec * (uint64_t)NS_PER_S + (uint64_t)cpu.tv_nsec, 64, t);
    put_rss(st, s);
    if (env->bytes_written)
        group_counter(&st->group, st->written, &st->written_bytes, env->bytes_written(env->ctx), 64,
                      t);
    if (env->late_ns)
        group_gauge(&st->group, st->late, (double)env->late_ns(env->ctx));
    group_commit(&st->group, s, t);
}

static int self_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    struct self_state *st = state;
    TRY(source_open(&st->statm, e, "%s/self/statm", env->proc));
    st->env = *env;
    st->page_bytes = (double)sysconf(_SC_PAGESIZE);
    group_open(&st->group, "self", MAX_OF(period_ns, MIN_PERIOD_NS));
    st->cpu = group_add(&st->group, M_SELF_CPU, ENTITY_TOTAL);
    st->rss = group_add(&st->group, M_SELF_RSS, ENTITY_TOTAL);
    st->written =
        env->bytes_written ? group_add(&st->group, M_SELF_WRITTEN, ENTITY_TOTAL) : SLOT_NONE;
    st->late = env->late_ns ? group_add(&st->group, M_SELF_LATE, ENTITY_TOTAL) : SLOT_NONE;
    return 0;
}

static void self_close(void *state)
{
    struct self_state *st = state;
    source_close(&st->statm);
    group_close(&st->group);
}

const struct probe probe_self = {
    .name = "self",
    .title = "overhead of Footplate",
    .lane = LANE_FAST,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct self_state),
    .open = self_open,
    .read = self_read,
    .group = offsetof(struct self_state, group),
    .close = self_close,
};
