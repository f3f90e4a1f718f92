/* SPDX-License-Identifier: Apache-2.0 */
/* compare_read.c - everything of the runs of both sides, each side by a thread of its own. */
#include <math.h>
#include <pthread.h>

#include "base/arena.h"
#include "compare/compare_internal.h"
#include "query/eventsum.h"

/* ---- one run ---- */

static unsigned unseen_by_all(const struct show *s)
{
    unsigned bits = s->n_ranks ? ~0u : 0;
    for (size_t i = 0; i < s->n_ranks; i++)
        bits &= steps_unseen(&s->ranks[i], MODE_TRAIN, s->losses.v, s->losses.n);
    return bits;
}

/* Ranks work side by side: what they process in a second adds up, the time of a part does not. */
static void read_rates(const struct show *s, struct arena *a, struct compare_reading *out)
{
    size_t timed[STEP_PARTS_MOST] = {0};
    double sum[STEP_PARTS_MOST] = {0};
    out->throughput_steady = out->throughput_overall = s->n_ranks ? 0 : NAN;
    for (size_t i = 0; i < s->n_ranks; i++) {
        struct step_stats stats;
        step_stats_of(&s->ranks[i], MODE_TRAIN, a, &stats);
        if (stats.count == 0)
            continue;
        out->throughput_steady += stats.throughput_steady;
        out->throughput_overall += stats.throughput_overall;
        out->gpu_timed_steps += stats.gpu_timed_steps;
        out->gpu_steps += stats.count;
        if (stats.gpu_timed_steps == 0)
            continue;
        double left = stats.iteration_mean_s; /* idle, or work that no timed phase has: "other" */
        for (size_t k = 0; k + 1 < step_parts(); k++)
            if (!isnan(stats.gpu_part_s[k])) {
                left -= stats.gpu_part_s[k];
                sum[k] += stats.gpu_part_s[k];
                timed[k]++;
            }
        sum[step_parts() - 1] += fmax(left, 0);
        timed[step_parts() - 1]++;
    }
    for (size_t k = 0; k < step_parts(); k++)
        out->gpu_part_s[k] = timed[k] ? sum[k] / (double)timed[k] : NAN;
}

static int read_judge(struct run *r, const struct pricing *pricing, const struct run_steps *steps,
                      struct arena *a, struct compare_reading *out, struct err *e)
{
    struct rule_params params;
    rule_params_init(&params, a);
    const struct check_ask ask = {&params, pricing, steps};
    return rules_check_steps(r, &ask, a, &out->checked, e);
}

/* Steps take a lot of memory, those of the job little: the rest is freed at once. */
static int read_show(struct run *r, const struct pricing *pricing, struct arena *a,
                     struct compare_reading *out, struct err *e)
{
    struct arena large = {0};
    struct run_steps steps;
    struct show s;
    int rc = rules_read_steps(r, &large, &steps, e);
    if (rc == 0)
        rc = show_read_named(&s, r, &steps, &large, e);
    if (rc == 0)
        rc = read_judge(r, pricing, &steps, a, out, e);
    if (rc == 0) {
        jobsteps_of(s.ranks, s.n_ranks, a, &out->steps);
        out->unseen = unseen_by_all(&s);
        read_rates(&s, &large, out);
        out->has_phases = s.phases.has_steps;
        for (size_t k = 0; k < PHASE_N; k++)
            out->phase_s[k] = s.phases.seconds[k];
        out->job_s = wall_span_s(s.phases.job_start, s.phases.job_end);
        out->no_steps = s.no_steps ? arena_strdup(a, s.no_steps) : NULL;
        out->n_lines = s.n_lines;
        out->lines = arena_array(a, struct summary_line, s.n_lines + 1);
        for (size_t i = 0; i < s.n_lines; i++) {
            out->lines[i] = s.lines[i];
            out->lines[i].why = s.lines[i].why ? arena_strdup(a, s.lines[i].why) : NULL;
        }
    }
    arena_free(&large);
    return rc;
}

/* Without them operators would be the spans of hooks, which the parts of steps already have. */
static int read_detail(struct run *r, struct arena *a, struct compare_reading *out, struct err *e)
{
    TRY(events_have_operators(r, &out->detail, e));
    if (!out->detail)
        return 0;
    TRY(ops_read(r, &(struct ops_ask){.by = OPS_BY_NAME}, a, &out->ops, &out->n_ops, e));
    return breakdown_read(r, &(struct trace_ask){0}, a, &out->breakdown, e);
}

static int read_run(struct run *r, const struct pricing *pricing, struct arena *a,
                    struct compare_reading *out, struct err *e)
{
    out->info = run_get_info(r);
    int rc = read_show(r, pricing, a, out, e);
    if (rc == 0)
        rc = read_detail(r, a, out, e);
    return rc ? err_in(e, "run '%s'", out->info->name) : 0;
}

/* ---- both sides at once ---- */

struct read_reader {
    const struct compare_group *group;
    const struct machines *table;
    struct arena *arena;
    struct side_reading *out;
    int rc;
    struct err e;
};

static void *read_side(void *arg)
{
    struct read_reader *r = arg;
    const struct pricing pricing = {.table = r->table, .price_per_hour = r->group->price_per_hour};
    r->out->n = r->group->n;
    r->out->v = arena_array(r->arena, struct compare_reading, r->group->n + 1);
    for (size_t i = 0; r->rc == 0 && i < r->group->n; i++)
        r->rc = read_run(r->group->runs[i], &pricing, r->arena, &r->out->v[i], &r->e);
    return NULL;
}

int readings_open(const struct compare_ask *ask, struct arena scratch[COMPARE_SIDES],
                  struct side_reading out[COMPARE_SIDES], struct err *e)
{
    struct read_reader r[COMPARE_SIDES];
    pthread_t other;
    for (int s = 0; s < COMPARE_SIDES; s++)
        r[s] = (struct read_reader){
            .group = &ask->side[s], .table = ask->table, .arena = &scratch[s], .out = &out[s]};
    const bool started = pthread_create(&other, NULL, read_side, &r[COMPARE_B]) == 0;
    read_side(&r[COMPARE_A]);
    if (started)
        pthread_join(other, NULL);
    else
        read_side(&r[COMPARE_B]);
    for (int s = 0; s < COMPARE_SIDES; s++)
        if (r[s].rc) {
            *e = r[s].e;
            return r[s].rc;
        }
    return 0;
}

double side_mean(const struct side_reading *s, double (*of)(const struct compare_reading *, size_t),
                 size_t arg)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++)
        sum += of(&s->v[i], arg);
    return sum / (double)s->n;
}
