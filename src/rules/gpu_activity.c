/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_activity.c - see gpu_activity.h. */
#include "rules/gpu_activity.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "query/steps.h"
#include "rules/hist.h"
#include "rules/per_entity.h"

/* ---- seeing ---- */

static void level_add_tenths(struct gpu_level *l, const uint16_t *tenths, size_t n)
{
    uint64_t sum = 0, read = 0;
    for (size_t i = 0; i < n; i++) {
        const bool is_read = tenths[i] != TENTHS_NAN;
        read += is_read;
        sum += is_read ? tenths[i] : 0u;
    }
    l->n += read;
    l->tenths += sum;
}

static void level_add(struct gpu_level *l, const struct sweeps *s, const float *v)
{
    enum { CHUNK = 256 };
    uint16_t chunk[CHUNK];
    if (!v)
        return;
    const uint16_t *shared = shared_tenths(s, v);
    if (shared) {
        level_add_tenths(l, shared, s->n);
        return;
    }
    for (size_t i = 0; i < s->n; i += CHUNK) {
        const size_t n = MIN_OF(s->n - i, (size_t)CHUNK);
        hist_tenths(v + i, n, chunk);
        level_add_tenths(l, chunk, n);
    }
}

void gpu_activity_see(void *gpu, const struct gpu_batch *c)
{
    struct gpu_activity *a = gpu;
    level_add(&a->util, c->s, c->gpu->v[GPU_SIG_UTIL]);
    level_add(&a->sm, c->s, c->gpu->v[GPU_SIG_SM]);
    level_add(&a->tensor, c->s, c->gpu->v[GPU_SIG_TENSOR]);
    level_add(&a->dram, c->s, c->gpu->v[GPU_SIG_DRAM]);
    a->range.start = a->range.start.ns ? a->range.start : c->s->at[0];
    a->range.end.ns = c->s->at[c->s->n - 1].ns + c->s->period_ns;
}

/* ---- judging ---- */

double gpu_level_mean(const struct gpu_level *l)
{
    return l->n >= GPU_ACTIVITY_LEAST ? (double)l->tenths / 10 / (double)l->n : NAN;
}

static void mean_add(double *sum, size_t *n, double v)
{
    if (isnan(v))
        return;
    *sum += v;
    ++*n;
}

struct node_activity node_activity_of(const struct node_state *t)
{
    struct node_activity out = {.util = NAN, .sm = NAN};
    double util = 0, sm = 0;
    size_t n_util = 0, n_sm = 0;
    for (size_t i = 0; i < t->n_gpus; i++) {
        const struct gpu_activity *a = state_gpu(t, i);
        if (!gpu_was_used(&a->head))
            continue;
        out.range = out.gpus ? out.range : a->range;
        out.gpus++;
        mean_add(&util, &n_util, gpu_level_mean(&a->util));
        mean_add(&sm, &n_sm, gpu_level_mean(&a->sm));
    }
    out.util = n_util ? util / (double)n_util : NAN;
    out.sm = n_sm ? sm / (double)n_sm : NAN;
    return out;
}

void gpu_activity_is_missing(const struct judge *j, struct verdict *out)
{
    const char *gpu = NULL;
    if (judge_is_short(j, GPU_ACTIVITY_LEAST, out))
        return;
    for (size_t i = 0; i < j->n_nodes && !gpu; i++)
        gpu = j->nodes[i].facts->gpu && *j->nodes[i].facts->gpu ? j->nodes[i].facts->gpu : NULL;
    verdict_not_evaluated(
        out,
        "SM activity was not recorded on %s; it needs a Hopper (H100) or newer GPU without MIG",
        gpu ? gpu : "this GPU");
}

/* ==== the time of ranks ==== */

/* ---- sums ---- */

static void rank_time_add_step(struct rank_time *t, const struct step *s)
{
    const int64_t iteration_ns = step_iteration_ns(s);
    t->steps++;
    t->step_ns += s->dur_ns;
    t->iteration_ns += iteration_ns < 0 ? s->dur_ns : iteration_ns;
    t->between_sync_ns += iteration_ns < 0 ? 0 : s->between_sync_ns;
    for (size_t k = 0; k < STEP_PARTS_MOST; k++)
        t->part_ns[k] += s->part_ns[k];
}

void rank_time_add(struct rank_time *t, wall_ns from, const struct step *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].mode == MODE_TRAIN && step_is_steady(&v[i]) && v[i].start.ns >= from.ns)
            rank_time_add_step(t, &v[i]);
}

/* ---- seconds ---- */

double rank_time_part_s(const struct rank_time *t, enum event_id part)
{
    return ns_to_s(t->part_ns[step_part_of(part)]);
}

double rank_time_waits_s(const struct rank_time *t)
{
    return rank_time_part_s(t, EV_SYNC) + (double)t->between_sync_ns / 1e9;
}

double rank_time_launch_s(const struct rank_time *t)
{
    static const enum event_id others[] = {EV_DATA, EV_SYNC, EV_COMM, EV_COMPILE, EV_CHECKPOINT};
    double s = (double)t->step_ns / 1e9;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        s -= rank_time_part_s(t, others[i]);
    return fmax(s, 0);
}

double rank_time_gpu_use(const struct judge *j, const struct rank_time *t, double mean)
{
    const double launch_s = rank_time_launch_s(t);
    if (isnan(mean) || launch_s <= 0)
        return NAN;
    return fmin(mean * judge_counted_s(j) / launch_s, 100);
}

/* ==== memory ==== */

static const float *memory_of_job(const struct gpu_batch *c, float *room)
{
    const float *bytes = c->gpu->v[GPU_SIG_JOB_MEM], *totals = c->gpu->v[GPU_SIG_MEM_TOTAL];
    const float known = (float)c->rule->node->gpu_memory_bytes;
    bool any = false;
    for (size_t i = 0; bytes && i < c->s->n; i++) {
        const float total = totals && totals[i] > 0 ? totals[i] : known;
        room[i] = bytes[i] > 0 && total > 0 ? 100 * (bytes[i] / total) : NAN;
        any |= !isnan(room[i]);
    }
    return any ? room : NULL;
}

const float *gpu_memory_column(enum gpu_memory which, const struct gpu_batch *c, float *room)
{
    if (which == MEMORY_OF_JOB)
        return memory_of_job(c, room);
    const float *v = c->gpu->v[which == MEMORY_OF_DEVICE ? GPU_SIG_MEM : GPU_SIG_MEM_CTRL];
    return v && values_read(v, c->s->n) ? v : NULL;
}
