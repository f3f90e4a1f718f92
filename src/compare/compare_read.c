/* SPDX-License-Identifier: Apache-2.0 */
/* compare_read.c - everything of the runs of both sides, each side by a separate thread; first
 * the steps of a job from those of its ranks. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "compare/compare_internal.h"
#include "query/eventsum.h"

/* ---- the steps of a job ---- */

size_t iteration_parts(void)
{
    return step_parts() + 1;
}

const char *iteration_part_name(size_t part)
{
    return part < step_parts() ? step_part_name(part) : "between";
}

/* The position in one rank. */
struct jobsteps_head {
    const struct step *at, *end;
    int64_t order; /* how many of its steps come before */
};

static bool jobsteps_counts(const struct step *s)
{
    return s->mode == MODE_TRAIN && !s->cut && s->dur_ns >= 0;
}

static void skip(struct jobsteps_head *h)
{
    while (h->at < h->end && !jobsteps_counts(h->at))
        h->at++;
}

/* Restarts begin at an earlier number again. */
static bool ascends(const struct rank_steps *r)
{
    const struct step *last = NULL;
    for (size_t i = 0; i < r->n; i++) {
        if (!jobsteps_counts(&r->steps[i]))
            continue;
        if (last && r->steps[i].number <= last->number)
            return false;
        last = &r->steps[i];
    }
    return true;
}

struct merge {
    struct jobsteps_head *heads;
    size_t n;
    bool by_number;
    bool batches; /* known in every step */
    struct jobsteps *out;
    struct arena *arena;
};

static int64_t jobsteps_key_of(const struct merge *m, const struct jobsteps_head *h)
{
    return m->by_number ? h->at->number : h->order;
}

static bool least_key(const struct merge *m, int64_t *key)
{
    bool some = false;
    for (size_t i = 0; i < m->n; i++) {
        const struct jobsteps_head *h = &m->heads[i];
        if (h->at == h->end)
            continue;
        const int64_t k = jobsteps_key_of(m, h);
        *key = some ? MIN_OF(*key, k) : k;
        some = true;
    }
    return some;
}

/* ---- one iteration ---- */

static int64_t jobsteps_end_of(const struct step *s)
{
    const int64_t ns = step_iteration_ns(s);
    return s->start.ns + (ns < 0 ? s->dur_ns : ns);
}

/* Waits for the GPU after the end of a step count for "sync", as those inside it do, so parts add
 * up to the iteration. */
static int64_t jobsteps_part_of(const struct step *s, size_t part)
{
    const int64_t between = MAX_OF(s->between_ns, 0), waited = MIN_OF(s->between_sync_ns, between);
    if (part == step_parts())
        return between - waited;
    return s->part_ns[part] + (part == STEP_PART_SYNC ? waited : 0);
}

/* All ranks' steps of one number. The iteration of the job lasts from where the last rank begins
 * to where the last rank ends: so iterations add up to the time of the loop. The longest of each
 * number would not: ranks that run ahead of their GPUs have long ones at different numbers. */
struct jobsteps_taken {
    const struct step *last; /* of the rank that ends last */
    int64_t begin, end, batch;
    bool warmup, disturbed;
};

static void jobsteps_put_step(struct merge *m, const struct jobsteps_taken *t, size_t most)
{
    struct jobsteps *o = m->out;
    const size_t k = o->n++;
    o->number[k] = t->last->number;
    o->s[k] = (double)(t->end - t->begin) / (double)NS_PER_S;
    o->warmup[k] = t->warmup;
    o->disturbed[k] = t->disturbed;
    for (size_t p = 0; p < iteration_parts(); p++) {
        const int64_t ns = jobsteps_part_of(t->last, p);
        if (!o->part_s[p] && ns)
            o->part_s[p] = arena_array(m->arena, double, most); /* zeros so far */
        if (o->part_s[p])
            o->part_s[p][k] = (double)ns / (double)NS_PER_S;
    }
    m->batches &= t->batch > 0;
    o->batch[k] = (double)t->batch;
}

/* The ranks continue with their next step. */
static struct jobsteps_taken jobsteps_take(struct merge *m, int64_t key)
{
    struct jobsteps_taken t = {0};
    for (size_t i = 0; i < m->n; i++) {
        struct jobsteps_head *h = &m->heads[i];
        if (h->at == h->end || jobsteps_key_of(m, h) != key)
            continue;
        t.begin = t.last ? MAX_OF(t.begin, h->at->start.ns) : h->at->start.ns;
        if (!t.last || jobsteps_end_of(h->at) > t.end) {
            t.last = h->at;
            t.end = jobsteps_end_of(h->at);
        }
        t.batch = t.batch < 0 || h->at->batch <= 0 ? -1 : t.batch + h->at->batch;
        t.warmup |= h->at->warmup;
        t.disturbed |= h->at->disturbed;
        h->at++;
        h->order++;
        skip(h);
    }
    return t;
}

static void rewind_heads(struct merge *m, const struct rank_steps *ranks)
{
    for (size_t i = 0; i < m->n; i++) {
        m->heads[i] = (struct jobsteps_head){ranks[i].steps, ranks[i].steps + ranks[i].n, 0};
        skip(&m->heads[i]);
    }
}

static size_t jobsteps_count_steps(struct merge *m)
{
    size_t n = 0;
    for (int64_t key; least_key(m, &key); n++)
        jobsteps_take(m, key);
    return n;
}

void jobsteps_of(const struct rank_steps *ranks, size_t n, struct arena *a, struct jobsteps *out)
{
    struct merge m = {.n = n, .by_number = true, .batches = true};
    *out = (struct jobsteps){0};
    m.out = out;
    m.arena = a;
    m.heads = arena_array(a, struct jobsteps_head, n + 1);
    rewind_heads(&m, ranks);
    for (size_t i = 0; i < n; i++) {
        out->ranks += m.heads[i].at < m.heads[i].end;
        m.by_number &= ascends(&ranks[i]);
    }
    const size_t most = jobsteps_count_steps(&m);
    out->number = arena_array(a, int64_t, most + 1);
    out->s = arena_array(a, double, most + 1);
    out->batch = arena_array(a, double, most + 1);
    out->warmup = arena_array(a, bool, most + 1);
    out->disturbed = arena_array(a, bool, most + 1);
    rewind_heads(&m, ranks);
    for (int64_t key; least_key(&m, &key);) {
        const struct jobsteps_taken t = jobsteps_take(&m, key);
        jobsteps_put_step(&m, &t, most);
    }
    if (!m.batches || out->n == 0)
        out->batch = NULL;
}

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
    if (rc == 0)
        rc = compare_read_health(r, a, out, e);
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

static void read_side(struct read_reader *r)
{
    const struct pricing pricing = {.table = r->table, .price_per_hour = r->group->price_per_hour};
    r->out->n = r->group->n;
    r->out->v = arena_array(r->arena, struct compare_reading, r->group->n + 1);
    for (size_t i = 0; r->rc == 0 && i < r->group->n; i++)
        r->rc = read_run(r->group->runs[i], &pricing, r->arena, &r->out->v[i], &r->e);
}

static void read_sides(struct parallel *c, struct arena *results)
{
    struct read_reader *r = c->ctx;
    (void)results; /* each side has its own arena */
    for (size_t s; parallel_next(c, &s);)
        read_side(&r[s]);
}

int readings_open(const struct compare_ask *ask, struct arena scratch[COMPARE_SIDES],
                  struct side_reading out[COMPARE_SIDES], struct err *e)
{
    struct read_reader r[COMPARE_SIDES];
    struct arena unused = {0};
    struct parallel job = {.n = COMPARE_SIDES, .each = 1, .work = read_sides, .ctx = r};
    for (int s = 0; s < COMPARE_SIDES; s++)
        r[s] = (struct read_reader){
            .group = &ask->side[s], .table = ask->table, .arena = &scratch[s], .out = &out[s]};
    parallel_run(&job, &unused);
    arena_free(&unused);
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
