/* SPDX-License-Identifier: Apache-2.0 */
/* SlowStorage: the loop waits for data or saves checkpoints while tasks of the node wait for I/O.
 */
#include <math.h>

#include "base/human.h"
#include "base/mem.h"
#include "query/steps.h"
#include "rules/per_entity.h"
#include "rules/seconds.h"
#include "rules/windows.h"

enum { THRESHOLD, PRESSURE }; /* parameters */

/* Of an iteration that must be waiting for it to count. */
static const double WAITS = 0.2;
/* Percent: a node that is busier has no idle core. */
static const float NODE_FULL = 90;

enum { LEAST = 20 };

struct storage_rank {
    struct rank_head head;
    int64_t wait_ns, save_ns;
    struct seconds when;
};

struct storage_state {
    struct node_state head;
    struct seconds slow;
    struct episodes slow_when;
    uint64_t reads, read_bytes; /* readings of the disks' rate meanwhile; the sum of the rates */
};

/* ---- seeing ---- */

/* The pressure is a mean of the cores that are not idle. Where others compute on all of them, a
 * task that waits for storage hardly shows in it, but in its state (D) it does. */
static bool storage_is_slow(const struct sweeps *s, size_t i, float limit)
{
    const float *io = s->v[SIG_PSI_IO], *cpu = s->v[SIG_CPU], *blocked = s->v[SIG_BLOCKED];
    return (io && io[i] > limit) || (cpu && blocked && cpu[i] >= NODE_FULL && blocked[i] >= 1);
}

/* Bytes per second. */
static void storage_add_read(struct storage_state *t, float rate)
{
    if (!(rate >= 0))
        return;
    t->reads++;
    t->read_bytes += (uint64_t)rate;
}

static void storage_sweeps(void *state, const struct rule_view *c, const struct sweeps *s)
{
    struct storage_state *t = state;
    const float limit = (float)c->p[PRESSURE].v;
    if (!(values_highest(s->v[SIG_PSI_IO], s->n, 0) > limit) &&
        !(values_highest(s->v[SIG_BLOCKED], s->n, 0) >= 1))
        return;
    for (size_t i = 0; i < s->n; i++)
        if (storage_is_slow(s, i, limit)) {
            seconds_mark(&t->slow, s->at[i], s->period_ns);
            episodes_add(&t->slow_when, s->at[i], s->period_ns);
            storage_add_read(t, s->v[SIG_DISK_READ] ? s->v[SIG_DISK_READ][i] : NAN);
        }
}

static void storage_steps(void *state, const struct rule_view *c, const struct rule_rank *r,
                          const struct step *v, size_t n)
{
    struct storage_rank *own = state_rank(state, c, r);
    const size_t data = step_part_of(EV_DATA);
    for (size_t i = 0; i < n; i++) {
        const int64_t wait = v[i].part_ns[data],
                      all = MAX_OF(step_iteration_ns(&v[i]), v[i].dur_ns);
        if (!step_is_steady(&v[i]) || (double)(wait + v[i].save_ns) < WAITS * (double)all)
            continue;
        own->wait_ns += wait;
        own->save_ns += v[i].save_ns;
        seconds_mark(&own->when, v[i].start, all);
    }
}

static void storage_memory_rank(void *rank, enum state_op op)
{
    seconds_memory(&((struct storage_rank *)rank)->when, op);
}

static void storage_memory(void *state, enum state_op op)
{
    struct storage_state *t = state;
    seconds_memory(&t->slow, op);
    episodes_memory(&t->slow_when, op);
}

/* ---- judging ---- */

/* Of the seconds in which the rank waited, the share in which storage was slow. */
static double storage_share(const struct storage_state *t, const struct storage_rank *r)
{
    double both = 0, all = 0;
    for (int64_t at = seconds_next(&r->when, 0), end; at != INT64_MAX;
         at = seconds_next(&r->when, end)) {
        uint64_t of;
        end = seconds_pause(&r->when, at);
        both += (double)seconds_touched(&t->slow, (wall_ns){at * NS_PER_S},
                                        (end - at) * NS_PER_S - 1, &of);
        all += (double)of;
    }
    return all > 0 ? both / all : 0;
}

static double storage_lost(const struct storage_state *t, const struct storage_rank *r)
{
    return ns_to_s(r->wait_ns + r->save_ns) * storage_share(t, r);
}

/* "; the disks read 3.1 MB/s meanwhile": a network file system reads none. */
static const char *storage_read_words(const struct judge *j, double rate, bool saves)
{
    return saves || isnan(rate)
               ? ""
               : arena_printf(j->arena, "; the disks of the node read %s meanwhile",
                              value_text(j->arena, rate, "B/s"));
}

static void storage_find(const struct judge *j, struct verdict *v, const struct judged_node *node,
                         const struct storage_rank *r)
{
    const struct storage_state *t = node->state;
    const bool saves = r->save_ns > r->wait_ns;
    const double s = storage_lost(t, r), share = 100 * s / judge_counted_s(j),
                 io = hist_mean(state_signal(t, 0)), full = hist_mean(state_signal(t, 1)),
                 rate = t->reads ? (double)t->read_bytes / (double)t->reads : NAN;
    struct finding *f = verdict_find(v, node->facts->id, rank_entity(j, r));
    finding_in(v, f, &t->slow_when);
    finding_say(v, f,
                "%s took %s, %.0f %% of the training loop (threshold %g %%), while tasks of the "
                "node waited for storage; I/O pressure was %.0f %% on average%s",
                saves ? "saving checkpoints" : "waiting for data", judge_time(j, s), share,
                j->p[THRESHOLD].v, io, storage_read_words(j, rate, saves));
    f->advice = saves ? "Write checkpoints to a faster disk, or in the background, or less often."
                      : "Keep the data on a local disk or in memory, read it in a few large files, "
                        "and prefetch more of it.";
    f->part = saves ? NULL : step_part_name(step_part_of(EV_DATA));
    f->refute = "another job causes the I/O pressure, and the loader waits for its own computation";
    FINDING_NUMBERS(v, f, share, io, full, ns_to_s(r->wait_ns), ns_to_s(r->save_ns),
                    t->reads ? rate : NUMBER_ABSENT);
    finding_lost(f, s, node->facts->n_gpus);
    finding_count(v, f, 1, 1);
}

static void storage_judge(const struct judge *j, struct verdict *out)
{
    double worst = 0;
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct storage_state *t = j->nodes[i].state;
        const struct storage_rank *most = NULL;
        out->datapoints = MAX_OF(out->datapoints, state_signal(t, 0)->n);
        for (size_t k = 0; k < t->head.n_ranks; k++) {
            const struct storage_rank *r = t->head.ranks[k];
            most = !most || storage_lost(t, r) > storage_lost(t, most) ? r : most;
        }
        const double s = most ? storage_lost(t, most) : 0,
                     share = 100 * s / fmax(judge_counted_s(j), 1e-9);
        worst = fmax(worst, share);
        if (share > j->p[THRESHOLD].v && judge_is_much(j, s) && state_signal(t, 0)->n >= LEAST &&
            !(node_gpu_use(t) > GPU_BUSY))
            storage_find(j, out, &j->nodes[i], most);
    }
    if (out->datapoints < LEAST && !judge_is_short(j, LEAST, out))
        verdict_not_evaluated(out, "I/O pressure was not recorded (a kernel with PSI is needed)");
    else if (out->state == RULE_CLEAR)
        verdict_why(out, "the loop waited during I/O pressure for %.1f %% of its time", worst);
}

const struct rule rule_slow_storage = {
    .name = "SlowStorage",
    .title = "Slow storage",
    .description =
        "Checks what share of the training loop is spent waiting for data, or saving "
        "checkpoints, while tasks of the node wait for I/O (PSI). Where the node has no idle "
        "core, a process of the job that waits for storage (state D) counts too.",
    .recommendation = "Keep the data on a local disk or in memory, and prefetch more of it.",
    RULE_PARAMS([THRESHOLD] =
                    {"threshold", 10, 0, 100, PARAM_PERCENT,
                     "maximum share of the training loop spent waiting during I/O pressure"},
                [PRESSURE] = {"io_threshold", 30, 0, 100, PARAM_PERCENT,
                              "I/O pressure above this is high"}),
    .labels = {{"share", "%", "Share of the training loop"},
               {"io_mean", "%", "I/O pressure, mean"},
               {"io_full_mean", "%", "I/O pressure (all tasks), mean"},
               {"wait", "s", "Loader wait"},
               {"save", "s", "Checkpoint time"},
               {"read_rate", "B/s", "Read from disk meanwhile"}},
    .estimates = true,
    .needs = NEEDS_SWEEPS | NEEDS_STEPS,
    .explained_by = (const char *const[]){"CheckpointStall", "IOBottleneck", NULL},
    RULE_STATE(struct storage_state, .signals = {SIG_PSI_IO, SIG_PSI_IO_FULL}, .n_signals = 2,
               KEEPS_BUSY_GPUS, .rank_size = sizeof(struct storage_rank), .sweeps = storage_sweeps,
               .memory_rank = storage_memory_rank, .memory_own = storage_memory),
    .steps = storage_steps,
    .judge = storage_judge,
};
