/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_activity.c - see gpu_activity.h. */
#include "rules/gpu_activity.h"

#include <math.h>

#include "base/mem.h"
#include "rules/shared.h"

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
    enum { PIECE = 256 };
    uint16_t piece[PIECE];
    if (!v)
        return;
    const uint16_t *shared = shared_tenths(s, v);
    if (shared) {
        level_add_tenths(l, shared, s->n);
        return;
    }
    for (size_t i = 0; i < s->n; i += PIECE) {
        const size_t n = MIN_OF(s->n - i, (size_t)PIECE);
        hist_tenths(v + i, n, piece);
        level_add_tenths(l, piece, n);
    }
}

void gpu_activity_see(struct per_gpu *g, const struct sweeps *s)
{
    per_gpu_see(g, sizeof(struct gpu_activity), s);
    for (size_t i = 0; i < s->n_gpus && s->n; i++) {
        struct gpu_activity *a = per_gpu_at(g, i);
        level_add(&a->util, s, s->gpus[i].v[GPU_SIG_UTIL]);
        level_add(&a->sm, s, s->gpus[i].v[GPU_SIG_SM]);
        level_add(&a->tensor, s, s->gpus[i].v[GPU_SIG_TENSOR]);
        level_add(&a->dram, s, s->gpus[i].v[GPU_SIG_DRAM]);
        a->first_ns = a->first_ns ? a->first_ns : s->at[0].ns;
        a->end_ns = s->at[s->n - 1].ns + s->period_ns;
    }
}

/* ---- judging ---- */

double gpu_level_mean(const struct gpu_level *l)
{
    return l->n >= GPU_ACTIVITY_LEAST ? (double)l->tenths / 10 / (double)l->n : NAN;
}

struct time_range gpu_activity_range(const struct gpu_activity *a)
{
    return (struct time_range){{a->first_ns}, {a->end_ns}};
}

static void mean_add(double *sum, size_t *n, double v)
{
    if (isnan(v))
        return;
    *sum += v;
    ++*n;
}

struct node_activity node_activity_of(const struct per_gpu *g)
{
    struct node_activity out = {.util = NAN, .sm = NAN};
    double util = 0, sm = 0;
    size_t n_util = 0, n_sm = 0;
    for (size_t i = 0; i < g->n; i++) {
        const struct gpu_activity *a = per_gpu_at(g, i);
        if (!gpu_was_used(&a->head))
            continue;
        out.range = out.gpus ? out.range : gpu_activity_range(a);
        out.gpus++;
        out.readings = MAX_OF(out.readings, a->util.n);
        mean_add(&util, &n_util, gpu_level_mean(&a->util));
        mean_add(&sm, &n_sm, gpu_level_mean(&a->sm));
    }
    out.util = n_util ? util / (double)n_util : NAN;
    out.sm = n_sm ? sm / (double)n_sm : NAN;
    return out;
}

const char *gpu_activity_missing(const struct judge *j)
{
    const char *gpu = NULL;
    for (size_t i = 0; i < j->n_nodes && !gpu; i++)
        gpu = j->nodes[i].facts->gpu && *j->nodes[i].facts->gpu ? j->nodes[i].facts->gpu : NULL;
    return arena_printf(
        j->arena,
        "SM activity was not recorded on %s; it needs a Hopper (H100) or newer GPU without MIG",
        gpu ? gpu : "this GPU");
}
