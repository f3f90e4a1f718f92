/* SPDX-License-Identifier: Apache-2.0 */
/* probe_cpu.c - how busy the cores are, from /proc/stat.
 *
 * The kernel counts in ticks of 10 ms, so reading faster than every 100 ms gives nothing new. Only
 * the cpu lines at the top of the file are read. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"
#include "sample/probe.h"
#include "sample/probe_util.h"
#include "sample/procfs.h"
#include "sample/source.h"

#define MIN_PERIOD_NS (100 * NS_PER_MS)

enum { TICKS_PER_S = 100 }; /* of the metric; the kernel's may differ */

enum cpu_part { UTIL, USER, SYSTEM, IOWAIT, STEAL, PARTS };

static const enum metric_id part_metric[PARTS] = {
    [UTIL] = M_CPU_UTIL,     [USER] = M_CPU_USER,   [SYSTEM] = M_CPU_SYSTEM,
    [IOWAIT] = M_CPU_IOWAIT, [STEAL] = M_CPU_STEAL,
};

/* A core, or the machine. */
struct cpu_busy {
    int core; /* CPU_ALL: the machine */
    bool seen, known;
    mono_ns at;           /* of the reading before, when known */
    uint64_t last[PARTS]; /* its ticks */
    slot_id slot[PARTS];  /* steal only for the machine */
};

struct cpu_state {
    struct source stat;
    struct textbuf text;    /* when the cpu lines are longer than near_text */
    struct cpu_line *lines; /* of the latest reading: the cores */
    size_t n_lines, lines_cap;
    struct group group;
    struct cpu_busy total;
    struct cpu_busy *cores; /* in the order of the file */
    size_t n, cap;
    unsigned online;   /* cores that the total is the mean of; 0: no total yet */
    double tick_scale; /* ticks of 10 ms per tick of the kernel */
    uint32_t reported;
    unsigned resets_reported;
};

enum { REPORTED_READ, REPORTED_MALFORMED, REPORTED_STEAL };

/* ---- reading ---- */

/* False when the cpu lines did not fit. */
static bool parse_lines(struct cpu_state *st, const char *text, const struct reading *r,
                        struct cpu_line *total, unsigned *bad)
{
    struct lines l = lines_of(text, r->n);
    struct cpu_line c;
    st->n_lines = 0;
    *total = (struct cpu_line){0};
    while (procfs_cpu_next(&l, &c))
        if (c.core == CPU_ALL)
            *total = c;
        else
            *VEC_ADD(st->lines, st->n_lines, st->lines_cap) = c;
    *bad = l.bad;
    return !l.cut || !r->full;
}

static bool cpu_read_lines(struct cpu_state *st, struct cpu_line *total, unsigned *bad,
                           struct reading *r)
{
    struct near_text near;
    char *text;
    do {
        text = st->text.p ? st->text.p : near.p;
        if (!source_read(&st->stat, text, st->text.p ? st->text.size : sizeof near.p, r))
            return false;
    } while (!parse_lines(st, text, r, total, bad) && textbuf_grow(&st->text));
    return true;
}

/* ---- cores that come and go ---- */

static void drop_slots(struct cpu_state *st, struct cpu_busy *b)
{
    for (enum cpu_part p = 0; p < PARTS; p++)
        group_drop(&st->group, b->slot[p]);
}

static void cpu_add_slots(struct cpu_state *st, struct cpu_busy *b, const char *entity,
                          unsigned parts)
{
    for (enum cpu_part p = 0; p < PARTS; p++)
        b->slot[p] = p == STEAL && b->core != CPU_ALL
                         ? SLOT_NONE
                         : group_add_mean(&st->group, part_metric[p], entity, parts);
}

/* `hint`: where it was the last time, as the order of the lines hardly ever changes. */
static struct cpu_busy *find_core(struct cpu_state *st, int core, size_t hint)
{
    if (hint < st->n && st->cores[hint].core == core)
        return &st->cores[hint];
    for (size_t i = 0; i < st->n; i++)
        if (st->cores[i].core == core)
            return &st->cores[i];
    struct cpu_busy *b = VEC_ADD(st->cores, st->n, st->cap);
    *b = (struct cpu_busy){.core = core};
    char entity[ENTITY_LEN];
    snprintf(entity, sizeof entity, "cpu%d", core);
    cpu_add_slots(st, b, entity, 1);
    return b;
}

static void cpu_drop_unseen(struct cpu_state *st)
{
    size_t kept = 0;
    for (size_t i = 0; i < st->n; i++) {
        if (!st->cores[i].seen) {
            drop_slots(st, &st->cores[i]);
            continue;
        }
        st->cores[i].seen = false;
        if (kept != i)
            st->cores[kept] = st->cores[i];
        kept++;
    }
    st->n = kept;
}

/* The total's resolution depends on how many cores it is the mean of. */
static void set_online(struct cpu_state *st, unsigned online)
{
    if (online == st->online)
        return;
    if (st->online)
        drop_slots(st, &st->total);
    st->online = online;
    cpu_add_slots(st, &st->total, ENTITY_TOTAL, online);
}

/* ---- values ---- */

static void part_values(const struct cpu_line *c, uint64_t v[PARTS])
{
    v[USER] = c->user + c->nice;
    v[SYSTEM] = c->system + c->irq + c->softirq;
    v[IOWAIT] = c->iowait;
    v[STEAL] = c->steal;
    v[UTIL] = v[USER] + v[SYSTEM] + v[STEAL];
}

/* iowait is known to step back a little when a core's idle time is credited from elsewhere: then
 * the high-water mark stays, and growth resumes above it. More than a second's worth is a reset. */
static uint64_t smoothed_iowait(const struct cpu_busy *b, uint64_t now)
{
    const uint64_t last = b->last[IOWAIT];
    return b->known && now < last && last - now <= TICKS_PER_S ? last : now;
}

/* False when a counter went backwards. */
static bool put_busy(struct cpu_state *st, struct cpu_busy *b, const struct cpu_line *line,
                     mono_ns t)
{
    const double scale = st->tick_scale / (b->core == CPU_ALL ? st->online : 1);
    const int64_t dt = mono_diff(t, b->at);
    uint64_t now[PARTS];
    bool ok = true;
    part_values(line, now);
    now[IOWAIT] = smoothed_iowait(b, now[IOWAIT]);
    for (enum cpu_part p = 0; p < PARTS; p++) {
        if (b->known && now[p] >= b->last[p])
            group_rate(&st->group, b->slot[p], (double)(now[p] - b->last[p]) * scale, dt);
        ok = ok && (!b->known || now[p] >= b->last[p]);
        b->last[p] = now[p];
    }
    b->known = true;
    b->at = t;
    return ok;
}

static void put_cores(struct cpu_state *st, struct sink *s, mono_ns t)
{
    for (size_t i = 0; i < st->n_lines; i++) {
        struct cpu_busy *b = find_core(st, st->lines[i].core, i);
        b->seen = true;
        if (!put_busy(st, b, &st->lines[i], t)) {
            char core[ENTITY_LEN];
            snprintf(core, sizeof core, "cpu%d", b->core);
            lose_reset(s, &st->resets_reported, LOST_PART(core));
        }
    }
    cpu_drop_unseen(st);
}

static void cpu_put_total(struct cpu_state *st, const struct cpu_line *line, struct sink *s,
                          mono_ns t)
{
    set_online(st, (unsigned)MAX_OF(st->n, 1));
    if (!put_busy(st, &st->total, line, t))
        lose_reset(s, &st->resets_reported, LOST_PART("cpu total"));
    enum { FIELDS_WITH_STEAL = 8 };
    if (line->fields >= FIELDS_WITH_STEAL)
        return;
    if (report_once(&st->reported, REPORTED_STEAL))
        sink_loss(s, LOSS_ABSENT, LOST_METRIC(M_CPU_STEAL), "this kernel does not report it");
    st->group.cells[st->total.slot[STEAL]] = CELL_MISSING;
}

static void cpu_read(void *state, struct sink *s)
{
    struct cpu_state *st = state;
    struct cpu_line total;
    struct reading r;
    unsigned bad = 0;
    if (!cpu_read_lines(st, &total, &bad, &r)) {
        lose_read(s, &st->reported, REPORTED_READ, LOST_PART("cpu"), r.sys);
        return;
    }
    if ((bad || !total.fields) && report_once(&st->reported, REPORTED_MALFORMED))
        sink_loss(s, LOSS_MALFORMED, LOST_PART("cpu"), "%s has an unexpected format",
                  st->stat.path);
    put_cores(st, s, r.at);
    if (total.fields)
        cpu_put_total(st, &total, s, r.at);
    group_commit(&st->group, s, r.at);
}

/* ---- the record ---- */

static int cpu_open(void *state, const struct probe_env *env, int64_t period_ns, struct err *e)
{
    struct cpu_state *st = state;
    TRY(source_open(&st->stat, e, "%s/stat", env->proc));
    st->total.core = CPU_ALL;
    const long hz = sysconf(_SC_CLK_TCK);
    st->tick_scale = hz > 0 ? (double)TICKS_PER_S / (double)hz : 1;
    group_open(&st->group, "cpu", MAX_OF(period_ns, MIN_PERIOD_NS));
    return 0;
}

static void cpu_close(void *state)
{
    struct cpu_state *st = state;
    source_close(&st->stat);
    textbuf_free(&st->text);
    free(st->lines);
    free(st->cores);
    group_close(&st->group);
}

const struct probe probe_cpu = {
    .name = "cpu",
    .title = "CPU utilization per core and of the machine",
    .lane = LANE_FAST,
    .min_period_ns = MIN_PERIOD_NS,
    .state_size = sizeof(struct cpu_state),
    .open = cpu_open,
    .read = cpu_read,
    .group = offsetof(struct cpu_state, group),
    .close = cpu_close,
};
