/* SPDX-License-Identifier: Apache-2.0 */
/* OverallFrameworkMetrics: where the time of the job and of its steps went. Never an issue. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/percents.h"
#include "rules/judging.h"
#include "rules/per_rank.h"

/* Shares from which a sentence is worth it. */
static const double OTHERS_HIGH = 0.25, PASS_HIGH = 0.7;

enum { ROWS_MOST = 64 };

struct rank {
    struct rank_head head;
    uint64_t n[MODE_N];
    int64_t ns[MODE_N];
    int64_t part_ns[STEP_PARTS_MOST]; /* of training steps */
};

struct state {
    struct per_rank ranks;
};

/* ---- seeing ---- */

/* A step that was cut is time all the same. */
static void steps(void *state, const struct rule_view *c, const struct rank_sight *r,
                  const struct step *v, size_t n)
{
    struct state *t = state;
    struct rank *own = per_rank_see(&t->ranks, sizeof *own, r);
    (void)c;
    for (size_t i = 0; i < n; i++) {
        const enum event_mode m = v[i].mode < MODE_N ? v[i].mode : MODE_TRAIN;
        own->n[m]++;
        own->ns[m] += v[i].dur_ns;
        for (size_t k = 0; m == MODE_TRAIN && k < STEP_PARTS_MOST; k++)
            own->part_ns[k] += v[i].part_ns[k];
    }
}

static void add_rank(struct rank *a, const struct rank *b)
{
    for (size_t m = 0; m < MODE_N; m++) {
        a->n[m] += b->n[m];
        a->ns[m] += b->ns[m];
    }
    for (size_t k = 0; k < STEP_PARTS_MOST; k++)
        a->part_ns[k] += b->part_ns[k];
}

static void join_rank(void *own, void *its)
{
    add_rank(own, its);
}

static void join(void *state, const struct rule_view *c, void *later)
{
    (void)c;
    per_rank_join(&((struct state *)state)->ranks, sizeof(struct rank),
                  &((struct state *)later)->ranks, join_rank, NULL);
}

static void free_state(void *state)
{
    per_rank_free(&((struct state *)state)->ranks, NULL);
}

/* ---- judging ---- */

/* Of the time of the job: in training steps, in others, in none. */
struct shares {
    double train, eval, others;
};

static struct shares shares_of(const struct rank *r, double all_s)
{
    struct shares x = {.train = (double)r->ns[MODE_TRAIN] / 1e9 / all_s};
    x.eval = (double)(r->ns[MODE_EVAL] + r->ns[MODE_PREDICT]) / 1e9 / all_s;
    x.others = fmax(1 - x.train - x.eval, 0);
    return x;
}

static void pie(struct verdict *v, const char *title, const char *const *labels, const double *s,
                size_t n)
{
    struct plot *p = verdict_plot(v, PLOT_PIE, title, "s");
    for (size_t i = 0; i < n; i++)
        if (s[i] > 0)
            plot_row(v, p, labels[i], &s[i], 1);
}

static void plot_shares(struct verdict *v, const struct shares *x, double all_s)
{
    static const char *const labels[] = {"train", "eval", "others"};
    const double s[] = {x->train * all_s, x->eval * all_s, x->others * all_s};
    pie(v, "Time of the job", labels, s, COUNT_OF(s));
}

static void plot_parts(struct verdict *v, const struct rank *sum)
{
    const char *labels[STEP_PARTS_MOST];
    double s[STEP_PARTS_MOST];
    for (size_t i = 0; i < step_parts(); i++) {
        labels[i] = step_part_name(i);
        s[i] = (double)sum->part_ns[i] / 1e9;
    }
    pie(v, "Time of training steps", labels, s, step_parts());
}

static double part_share(const struct rank *sum, const char *name)
{
    for (size_t i = 0; i < step_parts(); i++)
        if (strcmp(step_part_name(i), name) == 0 && sum->ns[MODE_TRAIN] > 0)
            return (double)sum->part_ns[i] / (double)sum->ns[MODE_TRAIN];
    return 0;
}

/* "forward 21 %, backward 40 %": of the parts that were told. */
static const char *parts_text(const struct judge *j, const struct rank *sum)
{
    const char *text = "";
    double s[STEP_PARTS_MOST], pct[STEP_PARTS_MOST];
    for (size_t i = 0; i < step_parts(); i++)
        s[i] = (double)sum->part_ns[i];
    percents_of(s, step_parts(), pct);
    for (size_t i = 0; i < step_parts(); i++)
        if (pct[i] > 0)
            text = arena_printf(j->arena, "%s%s%s %.1f %%", text, *text ? ", " : "",
                                step_part_name(i), pct[i]);
    return text;
}

static void remark_on(const struct judge *j, struct verdict *v, const struct rank *sum,
                      const struct shares *x)
{
    static const char *const passes[] = {"forward", "backward"};
    double pct[3];
    percents_of((const double[]){x->train, x->eval, x->others}, COUNT_OF(pct), pct);
    verdict_remark(
        v, "of the time of the job %.1f %% are training, %.1f %% evaluation and %.1f %% others",
        pct[0], pct[1], pct[2]);
    if (sum->ns[MODE_TRAIN] > 0)
        verdict_remark(v, "of training steps: %s", parts_text(j, sum));
    if (x->others > OTHERS_HIGH)
        verdict_remark(v,
                       "%.0f %% of the time lie outside of steps: look at initialization, "
                       "checkpoints and what is done between steps",
                       x->others * 100);
    for (size_t i = 0; i < COUNT_OF(passes); i++) {
        const double share = part_share(sum, passes[i]);
        if (share > PASS_HIGH)
            verdict_remark(v, "the %s pass takes %.0f %% of training steps: look at its operators",
                           passes[i], share * 100);
    }
}

static void judge(const struct judge *j, struct verdict *out)
{
    struct rank sum = {0};
    size_t n = 0;
    struct plot *bars = verdict_plot(out, PLOT_BARS, "Training steps by rank", "s");
    for (size_t i = 0; i < j->n_nodes; i++) {
        const struct state *t = j->nodes[i].state;
        for (size_t k = 0; k < t->ranks.n; k++, n++) {
            const struct rank *r = t->ranks.v[k];
            const double s = (double)r->ns[MODE_TRAIN] / 1e9;
            add_rank(&sum, r);
            if (n < ROWS_MOST)
                plot_row(out, bars, rank_entity(j, &r->head.who), &s, 1);
        }
    }
    for (size_t m = 0; m < MODE_N; m++)
        out->datapoints += sum.n[m];
    if (n == 0 || judge_job_s(j) <= 0) {
        verdict_not_evaluated(out, "no steps were seen");
        return;
    }
    const struct shares x = shares_of(&sum, judge_job_s(j) * (double)n);
    plot_shares(out, &x, judge_job_s(j));
    plot_parts(out, &sum);
    remark_on(j, out, &sum, &x);
}

const struct rule rule_overall_framework_metrics = {
    .name = "OverallFrameworkMetrics",
    .title = "Where the time went",
    .description = "Sums up the time of the job: training, evaluation and the rest, and the parts "
                   "of training steps.",
    .recommendation = "",
    .patience = -1,
    .needs = NEEDS_STEPS,
    .summary = true,
    .state_size = sizeof(struct state),
    .steps = steps,
    .join = join,
    .free_state = free_state,
    .judge = judge,
};
