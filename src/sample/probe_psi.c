/* SPDX-License-Identifier: Apache-2.0 */
/* probe_psi.c - time that tasks were stalled for want of CPU, I/O or memory (/proc/pressure).
 * Taken from the running totals in microseconds, as the kernel's own averages are over 10 s. */
#include <errno.h>
#include <string.h>

#include "sample/probe.h"
#include "sample/probe_util.h"
#include "sample/procfs.h"
#include "sample/source.h"

#define MIN_PERIOD_NS (100 * NS_PER_MS)

enum { RESOURCES = 3, TEXT_SIZE = 512 };

static const struct probe_psi_resource {
    const char *file;
    enum metric_id some, full; /* METRIC_N: not kept */
} resources[RESOURCES] = {
    {"cpu", M_PSI_CPU_SOME, METRIC_N}, /* "full" of the whole machine is always 0 */
    {"io", M_PSI_IO_SOME, M_PSI_IO_FULL},
    {"memory", M_PSI_MEM_SOME, M_PSI_MEM_FULL},
};

struct stall {
    struct source file;
    slot_id some, full;
    struct counter some_us, full_us;
};

struct psi_state {
    struct group group;
    struct stall stall[RESOURCES];
    uint32_t reported; /* bits: a failed reading, then malformed, per resource */
    unsigned resets_reported;
};

static void put_stall(struct psi_state *st, struct stall *x, const struct pressure *p, mono_ns t,
                      struct sink *s, struct loss_subject of)
{
    enum counter_step some = group_counter(&st->group, x->some, &x->some_us, p->some_us, 64, t);
    enum counter_step full = COUNTER_OK;
    if (p->has_full && x->full != SLOT_NONE)
        full = group_counter(&st->group, x->full, &x->full_us, p->full_us, 64, t);
    if (some == COUNTER_RESET || full == COUNTER_RESET)
        lose_reset(s, &st->resets_reported, of);
}

static mono_ns read_stall(struct psi_state *st, unsigned i, struct sink *s)
{
    struct stall *x = &st->stall[i];
    const struct loss_subject of = LOST_METRIC(resources[i].some);
    char text[TEXT_SIZE];
    struct reading r;
    struct pressure p;
    if (!source_read(&x->file, text, sizeof text, &r))
        lose_read(s, &st->reported, i, of, r.sys);
    else if (procfs_pressure(text, r.n, &p))
        put_stall(st, x, &p, r.at, s, of);
    else if (report_once(&st->reported, RESOURCES + i))
        sink_loss(s, LOSS_MALFORMED, of, "%s has an unexpected format", x->file.path);
    return r.at;
}

static void psi_read(void *state, struct sink *s)
{
    struct psi_state *st = state;
    mono_ns first = {0};
    for (unsigned i = 0; i < RESOURCES; i++) {
        if (!source_is_open(&st->stall[i].file))
            continue;
        const mono_ns at = read_stall(st, i, s);
        if (first.ns == 0)
            first = at;
    }
    group_commit(&st->group, s, first);
}

/* A kernel that has it compiled in but switched off answers EOPNOTSUPP to the first read. */
static bool open_stall(struct psi_state *st, unsigned i, const char *proc, int *sys)
{
    struct stall *x = &st->stall[i];
    struct err e;
    char text[TEXT_SIZE];
    struct reading r;
    if (source_open(&x->file, &e, "%s/pressure/%s", proc, resources[i].file)) {
        *sys = e.sys;
        return false;
    }
    if (!source_read(&x->file, text, sizeof text, &r)) {
        *sys = r.sys;
        source_close(&x->file);
        return false;
    }
    x->some = group_add(&st->group, resources[i].some, ENTITY_TOTAL);
    x->full = resources[i].full == METRIC_N
                  ? SLOT_NONE
                  : group_add(&st->group, resources[i].full, ENTITY_TOTAL);
    return true;
}

static int psi_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    struct psi_state *st = state;
    unsigned found = 0;
    int sys = 0;
    group_open(&st->group, "psi", MAX_OF(period_ns, MIN_PERIOD_NS));
    for (unsigned i = 0; i < RESOURCES; i++)
        found += open_stall(st, i, env->proc, &sys);
    if (found)
        return 0;
    group_close(&st->group);
    if (sys == EOPNOTSUPP)
        return err_set(e, ERR_NOT_FOUND,
                       "pressure stall information is disabled (boot with psi=1)");
    if (sys == ENOENT)
        return err_set(e, ERR_NOT_FOUND, "this kernel has no pressure stall information");
    return err_set(e, ERR_NOT_FOUND, "%s/pressure cannot be read: %s", env->proc, strerror(sys));
}

static void psi_close(void *state)
{
    struct psi_state *st = state;
    for (unsigned i = 0; i < RESOURCES; i++)
        source_close(&st->stall[i].file);
    group_close(&st->group);
}

const struct probe probe_psi = {
    .name = "psi",
    .title = "pressure stall: time tasks waited for CPU, I/O or memory",
    .lane = LANE_FAST,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct psi_state),
    .open = psi_open,
    .read = psi_read,
    .group = offsetof(struct psi_state, group),
    .close = psi_close,
};
