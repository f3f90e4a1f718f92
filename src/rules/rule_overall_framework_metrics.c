/* SPDX-License-Identifier: Apache-2.0 */
/* OverallFrameworkMetrics: where the time of the job and of its iterations went. Never an issue.
 *
 * What the program spends on a part is host time: on a GPU it launches work and continues, so host
 * time hardly shows how long that work takes. Where hooks timed phases on the GPU those come
 * first. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/stat.h"
#include "query/steps.h"
#include "rules/per_entity.h"

/* Shares from which a sentence is worth it. */
static const double OTHERS_HIGH = 0.25, PASS_HIGH = 0.7;

enum { ROWS_MOST = 64 };

/* Phases that hooks time on the GPU in training steps. */
static const enum event_id gpu_phases[] = {EV_FORWARD, EV_BACKWARD, EV_OPTIMIZER};

enum { GPU_PHASES = COUNT_OF(gpu_phases) };

struct framework_rank {
    struct rank_head head;
    uint64_t n[MODE_N];
    int64_t ns[MODE_N];
    uint64_t steady;                  /* training steps that are no warm-up */
    int64_t part_ns[STEP_PARTS_MOST]; /* of those; waits for the GPU between steps are in "sync" */
    int64_t between_ns;               /* the rest of the time between them */
    uint64_t gpu_n[GPU_PHASES];       /* timed on the GPU */
    int64_t gpu_ns[GPU_PHASES];
};

/* ---- seeing ---- */

static void see_parts(struct framework_rank *own, const struct step *s, size_t sync)
{
    own->steady++;
    for (size_t k = 0; k < STEP_PARTS_MOST; k++)
        own->part_ns[k] += s->part_ns[k];
    if (s->between_ns > 0) {
        own->part_ns[sync] += s->between_sync_ns;
        own->between_ns += s->between_ns - s->between_sync_ns;
    }
}

/* A step that was cut is time all the same. GPU phases are those of the whole rank, each time. */
static void framework_steps(void *state, const struct rule_view *c, const struct rule_rank *r,
                            const struct step *v, size_t n)
{
    struct framework_rank *own = state_rank(state, c, r);
    const size_t sync = step_part_of(EV_SYNC);
    for (size_t k = 0; r->gpu && k < GPU_PHASES; k++) {
        own->gpu_n[k] = r->gpu->n[gpu_phases[k]];
        own->gpu_ns[k] = r->gpu->sum_ns[gpu_phases[k]];
    }
    for (size_t i = 0; i < n; i++) {
        const enum event_mode m = v[i].mode < MODE_N ? v[i].mode : MODE_TRAIN;
        own->n[m]++;
        own->ns[m] += v[i].dur_ns;
        if (m == MODE_TRAIN && step_is_steady(&v[i]))
            see_parts(own, &v[i], sync);
    }
}

static void framework_add_rank(struct framework_rank *a, const struct framework_rank *b)
{
    for (size_t m = 0; m < MODE_N; m++) {
        a->n[m] += b->n[m];
        a->ns[m] += b->ns[m];
    }
    a->steady += b->steady;
    a->between_ns += b->between_ns;
    for (size_t k = 0; k < STEP_PARTS_MOST; k++)
        a->part_ns[k] += b->part_ns[k];
    for (size_t k = 0; k < GPU_PHASES; k++) {
        a->gpu_n[k] += b->gpu_n[k];
        a->gpu_ns[k] += b->gpu_ns[k];
    }
}

/* ---- judging ---- */

/* Of the time of the job: in training steps, in others, in none. */
struct shares {
    double train, eval, others;
};

static struct shares shares_of(const struct framework_rank *r, double all_s)
{
    struct shares x = {.train = (double)r->ns[MODE_TRAIN] / 1e9 / all_s};
    x.eval = (double)(r->ns[MODE_EVAL] + r->ns[MODE_PREDICT]) / 1e9 / all_s;
    x.others = fmax(1 - x.train - x.eval, 0);
    return x;
}

static void framework_pie(struct verdict *v, const char *title, const char *const *labels,
                          const double *s, size_t n)
{
    struct plot *p = verdict_plot(v, PLOT_PIE, title, "s");
    for (size_t i = 0; i < n; i++)
        if (s[i] > 0)
            plot_row(v, p, labels[i], &s[i], 1);
}

static void plot_shares(struct verdict *v, const struct shares *x, double all_s)
{
    static const char *const labels[] = {"training", "evaluation", "other"};
    const double s[] = {x->train * all_s, x->eval * all_s, x->others * all_s};
    framework_pie(v, "Job time", labels, s, COUNT_OF(s));
}

/* Names and host seconds of the parts of an iteration, what lies between steps last; returns how
 * many there are. */
static size_t host_parts(const struct framework_rank *sum, const char **names, double *s)
{
    const size_t n = step_parts();
    for (size_t i = 0; i < n; i++) {
        names[i] = step_part_name(i);
        s[i] = (double)sum->part_ns[i] / 1e9;
    }
    names[n] = "between steps";
    s[n] = (double)sum->between_ns / 1e9;
    return n + 1;
}

/* The same of the GPU, per step on average; 0: nothing was timed. */
static size_t gpu_parts(const struct framework_rank *sum, const char **names, double *s)
{
    size_t n = 0;
    for (size_t k = 0; k < GPU_PHASES; k++)
        if (sum->gpu_n[k]) {
            names[n] = step_part_name(step_part_of(gpu_phases[k]));
            s[n++] = (double)sum->gpu_ns[k] / (double)sum->gpu_n[k] / 1e9;
        }
    return n;
}

/* "forward 21 %, backward 40 %": of the parts that took time. */
static const char *parts_text(const struct judge *j, const char *const *names, const double *s,
                              size_t n)
{
    const char *text = "";
    double pct[STEP_PARTS_MOST + 1];
    percents_of(s, n, pct);
    for (size_t i = 0; i < n; i++)
        if (pct[i] > 0)
            text =
                arena_printf(j->arena, "%s%s%s %.1f %%", text, *text ? ", " : "", names[i], pct[i]);
    return text;
}

static void remark_on_passes(struct verdict *v, const char *const *names, const double *s, size_t n,
                             const char *whose)
{
    static const char *const passes[] = {"forward", "backward"};
    double all = 0;
    for (size_t i = 0; i < n; i++)
        all += s[i];
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < COUNT_OF(passes); k++)
            if (strcmp(names[i], passes[k]) == 0 && s[i] > PASS_HIGH * all)
                verdict_remark(v,
                               "the %s pass takes %.0f %% of the %stime of training steps; look at "
                               "its operators",
                               passes[k], 100 * s[i] / all, whose);
}

static void remark_on_parts(const struct judge *j, struct verdict *v,
                            const struct framework_rank *sum)
{
    const char *names[STEP_PARTS_MOST + 1];
    double s[STEP_PARTS_MOST + 1];
    const bool gpu = judge_gpus(j) > 0;
    const size_t n_gpu = gpu_parts(sum, names, s);
    uint64_t timed = 0;
    for (size_t k = 0; k < GPU_PHASES; k++)
        timed = MAX_OF(timed, sum->gpu_n[k]);
    if (n_gpu) {
        verdict_remark(v, "GPU time of training steps (%llu timed): %s", (unsigned long long)timed,
                       parts_text(j, names, s, n_gpu));
        remark_on_passes(v, names, s, n_gpu, "GPU ");
    }
    if (sum->steady == 0)
        return;
    const size_t n = host_parts(sum, names, s);
    verdict_remark(v, "%s of training iterations: %s",
                   n_gpu ? "host time"
                   : gpu ? "host time (launch)"
                         : "host time",
                   parts_text(j, names, s, n));
    framework_pie(v, "Host time of training iterations", names, s, n);
    if (!gpu)
        remark_on_passes(v, names, s, n, "");
}

static void remark_on(const struct judge *j, struct verdict *v, const struct framework_rank *sum,
                      const struct shares *x)
{
    double pct[3];
    percents_of((const double[]){x->train, x->eval, x->others}, COUNT_OF(pct), pct);
    verdict_remark(v, "training %.1f %%, evaluation %.1f %%, other %.1f %% of job time", pct[0],
                   pct[1], pct[2]);
    remark_on_parts(j, v, sum);
    if (x->others > OTHERS_HIGH)
        verdict_remark(v,
                       "%.0f %% of the time is spent outside steps; look at initialization, "
                       "checkpoints and the code between steps",
                       x->others * 100);
}

static void framework_judge(const struct judge *j, struct verdict *out)
{
    struct framework_rank sum = {0};
    const struct framework_rank *r;
    size_t n = 0;
    struct plot *bars = verdict_plot(out, PLOT_BARS, "Training steps by rank", "s");
    for (struct entity_at at = {0}; (r = next_rank(j, &at)); n++) {
        const double s = ns_to_s(r->ns[MODE_TRAIN]);
        framework_add_rank(&sum, r);
        if (n < ROWS_MOST)
            plot_row(out, bars, rank_entity(j, r), &s, 1);
    }
    for (size_t m = 0; m < MODE_N; m++)
        out->datapoints += sum.n[m];
    if (n == 0 || judge_job_s(j) <= 0) {
        verdict_not_evaluated(out, "no training steps were detected");
        return;
    }
    const struct shares x = shares_of(&sum, judge_job_s(j) * (double)n);
    plot_shares(out, &x, judge_job_s(j));
    remark_on(j, out, &sum, &x);
}

const struct rule rule_overall_framework_metrics = {
    .name = "OverallFrameworkMetrics",
    .title = "Job time breakdown",
    .description = "Summarizes job time (training, evaluation, other) and the breakdown of "
                   "training iterations, on the host and, where timed, on the GPU.",
    .recommendation = "",
    .needs = NEEDS_STEPS,
    .summary = true,
    RULE_STATE(struct node_state, .rank_size = sizeof(struct framework_rank)),
    .steps = framework_steps,
    .judge = framework_judge,
};
